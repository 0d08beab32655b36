"""One entry of the replicated log. Its index is its place in the log and not repeated here."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class EntryType(IntEnum):
    """What an entry is for."""

    DATA = 0  # the application's
    EMPTY = 1  # a new leader's first, so that it can commit what came before (thesis 3.6.2)
    MEMBERS = 2  # a new configuration, whole


class Entry(NamedTuple):
    """term: of the leader that made it. data: the application's bytes, or an encoded `Members`."""

    term: int
    kind: int
    data: bytes


OVERHEAD = 24  # bytes an entry costs beside its data, on the wire and on the disk, near enough
