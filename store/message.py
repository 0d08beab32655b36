"""One stored message."""

from array import array
from collections.abc import Sequence
from typing import NamedTuple

Columns = tuple[list[tuple[str, bytes, bytes]], "array[int]", "array[int]"]


class StoredMessage(NamedTuple):
    """A message as it was stored.

    `header` is the whole header block, or empty. `time` is in ns since the epoch.
    """

    seq: int
    subject: str
    header: bytes
    body: bytes
    time: int


def columns(messages: Sequence[StoredMessage]) -> Columns:
    """Return what `StreamStore.append_each` takes: (subject, header, body) of each, sequences, and times."""
    seqs, times = [message[0] for message in messages], [message[4] for message in messages]
    return [message[1:4] for message in messages], array("Q", seqs), array("q", times)


def numbered(messages: list[tuple[str, bytes, bytes]], first: int, time: int) -> Columns:
    """Return what `StreamStore.append_each` takes for sequences from `first` on, all with the same time."""
    count = len(messages)
    return messages, array("Q", range(first, first + count)), array("q", [time]) * count
