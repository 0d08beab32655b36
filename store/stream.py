"""What a stream store is: the contract that both the file and the memory stream keep.

A store holds messages by sequence and offers primitives. It knows no policy (limits, retention, discard), no
clock and no event loop. All calls except `Commit.run` come from one thread.

Invariants:
 1. Sequences grow and are never used twice: `last_seq` never falls, and `append` returns `last_seq + 1`.
 2. `first_seq` is the sequence of the first message. In an empty store it is `last_seq + 1`, and in a store
    that never held anything and skipped nothing it is 0.
 3. A message is readable as soon as `append` has taken it. It is on the disk when the `Commit` that took it
    has run.
 4. `note` belongs to the owner. A file stream opened with `cut_to_last_commit` has the note of the last
    whole commit, and exactly the messages that this commit left.
 5. A message that fails its checksum is never returned: `get` raises `Damaged`, `next` and `last` skip it,
    and from then on `damaged()` includes it.
"""

from array import array
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

Octets = bytes  # another name, because `bytes` in `StreamStore` is a number


class Commit(Protocol):
    """What was buffered when `begin_commit` was called, on its way to the disk.

    little: whether `run` only writes a little, and syncs it once.
    prompt: whether it is little, and `run` does not wait for that sync.
    """

    little: bool
    prompt: bool

    @property
    def last_seq(self) -> int:
        """The stream's last sequence when this commit began.

        Everything up to it is durable after `finish`.
        """
        ...

    def run(self) -> None:
        """Write and sync. Called once, from any thread. Raises OSError if the disk fails."""
        ...


class StreamStore(Protocol):
    """The messages of a stream.

    note: bytes of the owner, which each commit stores with the messages.
    last_time: the time of the last message stored in ns, even after its removal; 0 if there never was one.
    """

    note: Octets
    last_time: int

    @property
    def messages(self) -> int:
        """The number of messages in the store."""
        ...

    @property
    def bytes(self) -> int:
        """The bytes of the messages in the store, by the reference's accounting (see `size_of`)."""
        ...

    @property
    def first_seq(self) -> int:
        """The sequence of the first message; see invariant 2."""
        ...

    @property
    def last_seq(self) -> int:
        """The last sequence that was used."""
        ...

    @property
    def first_time(self) -> int:
        """The time of the first message in ns; 0 if there is none."""
        ...

    @property
    def num_deleted(self) -> int:
        """The number of sequences between the first and the last one that have no message."""
        ...

    @property
    def num_subjects(self) -> int:
        """The number of subjects that have a message."""
        ...

    def append(self, subject: str, header: Octets, body: Octets, time: int) -> int:
        """Store a message and return its sequence. `time` is in ns."""
        ...

    def append_each(
        self, messages: Sequence[tuple[str, Octets, Octets]], seqs: "array[int]", times: "array[int]"
    ) -> None:
        """Store messages (subject, header, body), at least one, under these sequences, with these times.

        seqs, times: columns of types "Q" and "q", the latter in ns. Raises ValueError, and stores nothing,
        unless each sequence is above the one before it, and the first above `last_seq`. The sequences between
        count as deleted.
        """
        ...

    def skip_to(self, last_seq: int) -> None:
        """Consume the sequences up to `last_seq` without a message.

        Nothing happens if they are consumed already.
        """
        ...

    def mark_used(self, last_seq: int) -> None:
        """Consume the sequences up to `last_seq`, which others know to have been used.

        Their messages, above `self.last_seq`, are lost, and `damaged()` includes them.
        """
        ...

    def get(self, seq: int) -> StoredMessage:
        """Read a message. Raises NotFound and Damaged."""
        ...

    def remove(self, seq: int, *, erase: bool = False) -> int | None:
        """Delete a message and return the bytes freed, None if there is none.

        With `erase`, its bytes are overwritten on the disk.
        """
        ...

    def remove_first(self) -> tuple[int, str, int]:
        """Delete the first message and return (sequence, subject, bytes freed).

        Raises NotFound if there is none.
        """
        ...

    def purge(self, *, subject: str | None = None, up_to: int = 0, keep: int = 0) -> int:
        """Delete many messages and return how many.

        subject: only messages that it matches; None for all.
        up_to: only messages below this sequence; 0 for no bound. Without a subject, an `up_to` beyond
            `last_seq` moves the sequence: the next message gets `up_to`.
        keep: the number of newest messages that stay.
        """
        ...

    def purging(
        self, *, subject: str | None = None, up_to: int = 0, keep: int = 0
    ) -> Generator[Sequence[int] | None, None, None]:
        """Purge what is stored now, oldest first, in steps of a few milliseconds.

        Anything may happen between steps. After each step the store is as after a `purge` with a lower bound.
        Yields the sequences that the step removed; None for all below `first_seq`.
        """
        ...

    def purge_bound(self, *, subject: str | None = None, up_to: int = 0, keep: int = 0) -> int:
        """Return the sequence below which one step of such a purge removes messages; 0 if it is one step."""
        ...

    def subject_of(self, seq: int) -> str:
        """Return the subject of a message without reading it. Raises NotFound."""
        ...

    def last(self, filter_: str) -> StoredMessage | None:
        """Return the newest message that the filter matches, None if there is none."""
        ...

    def next(self, filters: Sequence[str], from_seq: int) -> StoredMessage | None:
        """Return the first message from `from_seq` on that the filters match, None if there is none.

        Without a filter every message matches.
        """
        ...

    def next_seq(self, filters: Sequence[str], from_seq: int) -> int:
        """Return the sequence that `next` would read, 0 if there is none."""
        ...

    def headed(self, from_seq: int) -> Iterable[int]:
        """Iterate over the sequences of messages with a header, from `from_seq` on, without reading them."""
        ...

    def preparing(self, filters: Sequence[str]) -> Iterator[None]:
        """Prepare for queries about these filters, in steps of at most a few milliseconds.

        Afterwards they cost O(log n). Unprepared, the first query may take long. Anything may happen between
        steps.
        """
        ...

    def matching(self, filters: Sequence[str]) -> Iterator[list[str]]:
        """Iterate over the subjects that the filters match: a list in each step, in order for each filter.

        A subject that has messages throughout is listed once; others may or may not be. Without a filter all
        subjects are listed, in no order. The steps are as in `preparing`.
        """
        ...

    def count(self, filters: Sequence[str], from_seq: int) -> int:
        """Count the messages from `from_seq` on that one of the filters matches."""
        ...

    def subjects(self, filter_: str = ">") -> dict[str, int]:
        """Return the number of messages of each subject that the filter matches."""
        ...

    def subject_count(self, subject: str) -> int:
        """Count the messages of one literal subject."""
        ...

    def subject_first(self, subject: str) -> int:
        """Return the first sequence of one literal subject, 0 if it has no message."""
        ...

    def subject_last(self, subject: str) -> int:
        """Return the last sequence of one literal subject, 0 if it has no message."""
        ...

    def next_run(
        self, filters: Sequence[str], from_seq: int, up_to: int, most: int, size: int
    ) -> list[StoredMessage]:
        """Return the messages from `from_seq` to `up_to` that the filters match.

        There are at most `most` of them, and no more once their bodies make `size` bytes. Ends before the
        first damaged one.
        """
        ...

    def last_per_subject(self, filters: Sequence[str], up_to: int = 0) -> list[int]:
        """Return the last sequence (not above `up_to`, unless 0) of each matching subject, ascending."""
        ...

    def lasts(self, subjects: Iterable[str], up_to: int) -> list[int]:
        """Return the last sequence not above `up_to` of each of these literal subjects that has one."""
        ...

    def picking(self, filters: Sequence[str]) -> Generator[None, None, tuple[int, Sequences]]:
        """Like `last_per_subject`, in steps.

        Returns the last sequence at the beginning, and those up to it.
        """
        ...

    def seq_at(self, time: int) -> int:
        """Return the first sequence whose message has this time or a later one.

        The result is `last_seq + 1` if there is none.
        """
        ...

    def gaps(self, start: int = 0) -> Iterable[tuple[int, int]]:
        """Iterate over the runs of sequences without a message, from `start` on, between first and last.

        The items are (first, last), ascending. The store must not change meanwhile. A run may be of any
        length: a mirror of a stream that was purged to a high sequence has one.
        """
        ...

    def damaged(self) -> list[int]:
        """Return the sequences of messages that are known to be lost to damage."""
        ...

    def size_of(self, subject: str, header_len: int, body_len: int) -> int:
        """Return what a message counts in `bytes`."""
        ...

    def begin_commit(self) -> Commit | None:
        """Take what is buffered, for `Commit.run` to write. Return None if there is nothing.

        There is one commit at a time: raises RuntimeError if the last one is not finished.
        """
        ...

    def finish(self, commit: Commit) -> None:
        """Take note, on the store's own thread, that `commit.run()` has returned or raised."""
        ...

    def commit_sync(self) -> None:
        """Commit at once, in this thread. Raises OSError."""
        ...

    def compress(self, compress: bool) -> None:
        """Compress what is written to the disk as a whole from now on, or no longer."""
        ...

    def begin_maintenance(self) -> Commit | None:
        """Take one piece of work that frees disk space, or None. It has the protocol of a commit.

        It may run beside a commit.
        """
        ...

    def close(self) -> None:
        """Commit what is buffered and close all files. Raises OSError if that commit fails."""
        ...

    def abandon(self) -> None:
        """Close all files without committing. What was buffered is lost."""
        ...

    def release(self) -> list[Heap]:
        """Do what `abandon` does, but return what was in memory, for `subjects.releasing` to free it."""
        ...

    def delete(self) -> None:
        """Close without committing, and remove everything on the disk."""
        ...
