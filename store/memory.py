"""A stream kept in memory: the reference's `memory` storage, and the simplest store of all."""

from array import array
from collections.abc import Sequence
from operator import gt
from typing import Final

from ..native import keep_messages
from .errors import StoreClosed
from .indexed import STEP, IndexedStream, check_rising
from .message import StoredMessage
from .stream import Commit
from .subjects import Heap

_SUBJECT: Final = 0
_HEADER: Final = 1
_TIME: Final = 3


class MemoryStream(IndexedStream):
    """A `StreamStore` without a disk: it has nothing to commit, and leaves nothing after `close`."""

    def __init__(self) -> None:
        super().__init__()
        # Plain tuples that refer to no containers: Python's cycle collector looks at each of them only once.
        self._messages: dict[int, tuple[str, bytes, bytes, int]] = {}  # subject, header, body, time
        self._time_fell = False
        self._closed = False

    def append(self, subject: str, header: bytes, body: bytes, time: int) -> int:
        """Store a message and return its sequence."""
        self._check_open()
        seq = self.last_seq + 1
        if time < self.last_time:
            self._time_fell = True
        self._messages[seq] = (subject, header, body, time)
        self._index.add(subject, seq)
        self.bytes += 16 + len(subject.encode("utf-8", "surrogateescape")) + len(header) + len(body)
        self.last_seq = seq
        self.last_time = time
        return seq

    def append_each(
        self, messages: Sequence[tuple[str, bytes, bytes]], seqs: "array[int]", times: "array[int]"
    ) -> None:
        """Store messages (subject, header, body) under these sequences, with these times."""
        self._check_open()
        check_rising(seqs, self.last_seq)
        if times[0] < self.last_time or any(map(gt, times, times[1:])):
            self._time_fell = True
        self.bytes += 16 * len(messages) + keep_messages(self._messages, messages, seqs, times)
        self._index.add_each(messages, seqs)
        self.last_seq, self.last_time = seqs[-1], times[-1]

    def skip_to(self, last_seq: int) -> None:
        """Consume the sequences up to `last_seq` without a message."""
        self._check_open()
        self.last_seq = max(last_seq, self.last_seq)

    def seq_at(self, time: int) -> int:
        """Return the first sequence whose message has this time or a later one."""
        live = self._index.live
        if self._time_fell:
            return next((seq for seq in live if self._messages[seq][_TIME] >= time), self.last_seq + 1)
        low, high = self.first_seq, self.last_seq + 1
        while low < high:
            middle = (low + high) // 2
            seq = live.at_or_after(middle)
            if not seq or self._messages[seq][_TIME] >= time:
                high = middle
            else:
                low = seq + 1
        return live.at_or_after(low) or self.last_seq + 1

    def headed(self, from_seq: int) -> list[int]:
        """Iterate over the sequences, from `from_seq` on, of messages that have a header."""
        live = self._index.live.between(from_seq, self.last_seq)
        return [seq for seq in live if self._messages[seq][_HEADER]]

    def size_of(self, subject: str, header_len: int, body_len: int) -> int:
        """Return what a message counts in `bytes`: its parts, and 16 bytes for sequence and time."""
        return 16 + len(subject.encode("utf-8", "surrogateescape")) + header_len + body_len

    def _load(self, seq: int) -> StoredMessage:
        return StoredMessage._make((seq, *self._messages[seq]))

    def _time_of(self, seq: int) -> int:
        return self._messages[seq][_TIME]

    def _forget(self, seq: int, *, erase: bool) -> tuple[str, int]:
        subject, header, body, _ = self._messages.pop(seq)
        size = self.size_of(subject, len(header), len(body))
        self._index.discard(self._index.ids[subject], seq)
        self.bytes -= size
        return subject, size

    def _forget_before(self, seq: int) -> None:
        for gone in self._index.live.between(0, seq - 1):
            subject, header, body, _ = self._messages.pop(gone)
            self.bytes -= self.size_of(subject, len(header), len(body))
        self._index.drop_before(seq)

    def _forget_all_but(self, kept: list[int]) -> list[Heap]:
        old = self._messages
        self._messages = {seq: old[seq] for seq in kept}
        remains = [old, *self._index.clear()]
        self.bytes = 0
        for seq, (subject, header, body, _) in self._messages.items():
            self._index.add(subject, seq)
            self.bytes += self.size_of(subject, len(header), len(body))
        return remains

    def _is_cheap(self, seq: int) -> bool:
        live = self._index.live
        return live.count - live.count_from(seq) <= STEP

    def _subject_of(self, seq: int) -> str:
        return self._messages[seq][_SUBJECT]

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed

    def begin_commit(self) -> Commit | None:
        """Return None, because memory has nothing to commit."""
        return None

    def finish(self, commit: Commit) -> None:
        """Do nothing: there are no commits."""

    def commit_sync(self) -> None:
        """Do nothing: there is no disk."""

    def compress(self, compress: bool) -> None:
        """Do nothing: memory is not compressed."""

    def begin_maintenance(self) -> Commit | None:
        """Return None, because deleted messages free their memory at once."""
        return None

    def close(self) -> None:
        """Drop all messages."""
        self._closed = True
        self._messages.clear()
        self._index = type(self._index)()
        self.bytes = 0

    def abandon(self) -> None:
        """Drop all messages."""
        self.close()

    def delete(self) -> None:
        """Drop all messages."""
        self.close()
