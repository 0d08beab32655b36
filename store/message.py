"""One stored message."""

from typing import NamedTuple


class StoredMessage(NamedTuple):
    """A message as it was stored.

    `header` is the whole header block, or empty. `time` is in ns since the epoch.
    """

    seq: int
    subject: str
    header: bytes
    body: bytes
    time: int
