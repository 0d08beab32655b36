"""What a stream store is: the one contract that the file and the memory stream keep.

A store holds messages by sequence and gives primitives; it knows no policy (limits, retention, discard), no
clock and no event loop. All calls but `Commit.run` come from one thread.

Invariants:
 1. Sequences grow and are never given twice: `last_seq` never falls, `append` gives `last_seq + 1`.
 2. `first_seq` is the sequence of the first message; of an empty store it is `last_seq + 1`, of a store that
    never held anything and skipped nothing it is 0.
 3. What `append` took is readable at once; it is on disk when the `Commit` that took it has run.
 4. `note` is its owner's to set; a file stream opened as `exact` gives the one of the last whole commit, and
    exactly the messages that commit left.
 5. A message that fails its checksum is never given out: `get` raises `Damaged`, `next` and `last` pass it
    by, and from then on `damaged()` names it.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Protocol

from .errors import Damaged, NotFound, StoreClosed, StoreError, StoreFailed
from .message import StoredMessage
from .sequences import Sequences
from .subjects import Heap

__all__ = [
    "Commit",
    "Damaged",
    "NotFound",
    "StoreClosed",
    "StoreError",
    "StoreFailed",
    "StoredMessage",
    "StreamStore",
]

Octets = bytes  # in `StreamStore`, `bytes` is a figure


class Commit(Protocol):
    """What was buffered when `begin_commit` was called, on its way to the disk."""

    @property
    def last_seq(self) -> int:
        """The stream's last sequence when this commit was begun: all up to it is durable after `finish`."""
        ...

    def run(self) -> None:
        """Write and sync; may be called from any thread, once. Raises OSError when the disk fails."""
        ...


class StreamStore(Protocol):
    """A stream's messages."""

    note: Octets
    last_time: int  # of the last message stored, also after its removal; 0 if there never was one

    @property
    def messages(self) -> int:
        """The number of messages held."""
        ...

    @property
    def bytes(self) -> int:
        """The bytes held, by the reference's accounting (see `size_of`)."""
        ...

    @property
    def first_seq(self) -> int:
        """See invariant 2."""
        ...

    @property
    def last_seq(self) -> int:
        """The last sequence given."""
        ...

    @property
    def first_time(self) -> int:
        """The time of the first message held; 0 if none is."""
        ...

    @property
    def num_deleted(self) -> int:
        """How many sequences between the first and the last one hold no message."""
        ...

    @property
    def num_subjects(self) -> int:
        """How many subjects have a message."""
        ...

    def append(self, subject: str, header: Octets, body: Octets, time: int) -> int:
        """Store a message and return its sequence."""
        ...

    def append_run(self, subject: str, bodies: Sequence[Octets], time: int) -> int:
        """Store messages of one subject, without headers, as `append` for each; return the first's sequence.

        There must be at least one.
        """
        ...

    def append_at(self, seq: int, subject: str, header: Octets, body: Octets, time: int) -> None:
        """Store a message under `seq`, which must be above `last_seq` (ValueError).

        What is between is deleted.
        """
        ...

    def skip_to(self, last_seq: int) -> None:
        """Consume the sequences up to `last_seq` without a message.

        Nothing happens if they are consumed already.
        """
        ...

    def account_for(self, last_seq: int) -> None:
        """Others know that the sequences up to `last_seq` were given: those above `self.last_seq` are lost.

        They are consumed, and named by `damaged()`.
        """
        ...

    def get(self, seq: int) -> StoredMessage:
        """Read a message; raises NotFound and Damaged."""
        ...

    def remove(self, seq: int, *, erase: bool = False) -> int | None:
        """Delete a message and return the bytes freed, None if there is none.

        `erase` overwrites it on the disk.
        """
        ...

    def remove_first(self) -> tuple[int, str, int]:
        """Delete the first message and return (sequence, subject, bytes freed).

        Raises NotFound if there is none.
        """
        ...

    def purge(self, *, subject: str | None = None, up_to: int = 0, keep: int = 0) -> int:
        """Delete many messages and return how many.

        Those that `subject` matches (None: all), below the sequence `up_to` (0: no bound), all but the newest
        `keep`. Without a subject, an `up_to` beyond `last_seq` moves the sequence: the next message gets
        `up_to`.
        """
        ...

    def purging(
        self, *, subject: str | None = None, up_to: int = 0, keep: int = 0
    ) -> Generator[Sequence[int] | None, None, None]:
        """Purge what is held now in steps of a few milliseconds, oldest first; anything may happen between.

        After each step the store is as after `purge` with a lower bound. Gives the sequences that each step
        removed; None: all below `first_seq`.
        """
        ...

    def purge_bound(self, *, subject: str | None = None, up_to: int = 0, keep: int = 0) -> int:
        """Give the sequence below which one step of such a purge removes messages; 0 if one step is all."""
        ...

    def subject_of(self, seq: int) -> str:
        """Give the subject of a message without reading it; raises NotFound."""
        ...

    def last(self, filter_: str) -> StoredMessage | None:
        """Read the newest message that the filter matches."""
        ...

    def next(self, filters: Sequence[str], from_seq: int) -> StoredMessage | None:
        """Read the first message at or after `from_seq` that the filters match (no filter: any)."""
        ...

    def next_seq(self, filters: Sequence[str], from_seq: int) -> int:
        """Find the sequence that `next` would read, without reading; 0 if there is none."""
        ...

    def headed(self, from_seq: int) -> Iterable[int]:
        """Give the sequences from `from_seq` on of messages with a header, ascending, without reading."""
        ...

    def preparing(self, filters: Sequence[str]) -> Iterator[None]:
        """Get ready for questions about these filters, in steps of a few milliseconds at most.

        After it they cost O(log n); without it the first may take long. Anything may happen between steps.
        """
        ...

    def matching(self, filters: Sequence[str]) -> Iterator[list[str]]:
        """Give the subjects that the filters match, those of each filter in order, in such steps, too.

        Those that have had a message all the while are given once; others may be. Without a filter all, in no
        order.
        """
        ...

    def count(self, filters: Sequence[str], from_seq: int) -> int:
        """Count the messages at or after `from_seq` that one of the filters matches."""
        ...

    def subjects(self, filter_: str = ">") -> dict[str, int]:
        """Give the number of messages of each subject that the filter matches."""
        ...

    def subject_count(self, subject: str) -> int:
        """Count the messages of one literal subject."""
        ...

    def subject_first(self, subject: str) -> int:
        """Give the first sequence of one literal subject, 0 if it has no message."""
        ...

    def subject_last(self, subject: str) -> int:
        """Give the last sequence of one literal subject, 0 if it has no message."""
        ...

    def next_run(
        self, filters: Sequence[str], from_seq: int, up_to: int, most: int, size: int
    ) -> list[StoredMessage]:
        """Read the messages from `from_seq` to `up_to` that the filters match: at most `most` of them, and
        no more once their bodies make `size` bytes. Ends before the first that is damaged.
        """
        ...

    def last_per_subject(self, filters: Sequence[str], up_to: int = 0) -> list[int]:
        """Give the last sequence (not above `up_to`, unless 0) of each subject matched, ascending."""
        ...

    def lasts(self, subjects: Iterable[str], up_to: int) -> list[int]:
        """Give the last sequence not above `up_to` of each of these literal subjects that has one."""
        ...

    def picking(self, filters: Sequence[str]) -> Generator[None, None, tuple[int, Sequences]]:
        """The same in steps: gives the last sequence when it began, and those not above it."""
        ...

    def seq_at(self, time: int) -> int:
        """Give the first sequence whose message has this time or a later one.

        `last_seq + 1` if there is none.
        """
        ...

    def gaps(self, start: int = 0) -> Iterable[tuple[int, int]]:
        """Give the runs of sequences from `start`, between first and last, that hold no message, ascending.

        First and last of each; no change while iterating. A run may be of any length: a mirror of a stream
        that was purged to a high sequence has one.
        """
        ...

    def damaged(self) -> list[int]:
        """Give the sequences whose messages are known to be lost to damage."""
        ...

    def size_of(self, subject: str, header_len: int, body_len: int) -> int:
        """Give what a message counts in `bytes`."""
        ...

    def begin_commit(self) -> Commit | None:
        """Take what is buffered, to be written by `Commit.run`; None if there is nothing.

        One commit at a time: RuntimeError while the last one is not finished.
        """
        ...

    def finish(self, commit: Commit) -> None:
        """Take note, on the store's own thread, that `commit.run()` has returned or raised."""
        ...

    def commit_sync(self) -> None:
        """Commit at once, in this thread. Raises OSError."""
        ...

    def begin_maintenance(self) -> Commit | None:
        """Take one piece of work that frees disk space; the same protocol as a commit, may run beside one."""
        ...

    def close(self) -> None:
        """Commit what is buffered and let go of all files; raises OSError if that commit fails."""
        ...

    def abandon(self) -> None:
        """Let go of all files and commit nothing: what was buffered is lost."""
        ...

    def release(self) -> list[Heap]:
        """The same; what it had in memory is not let go of at once, but given for `subjects.releasing`."""
        ...

    def delete(self) -> None:
        """Close without committing and remove all that is on disk."""
        ...
