"""Identity: which stream or consumer a file belongs to.

Each stream and each consumer gets a random number when it is created. Its meta file keeps it, and its blocks,
indexes, manifest and state repeat it. Promises: a file with another identity is never taken for the
owner's, whatever its name and place; it is renamed (`fs.set_aside`), not removed. Files of the version before
have none: they are the owner's only where it is known to be as old.
"""

from __future__ import annotations

from collections.abc import Callable
from secrets import randbits
from typing import NamedTuple

from .errors import Damaged

_BITS = 64


class Foreign(Damaged):
    """All that lies in a stream's or consumer's folder belongs to another one."""

    def __init__(self, where: str) -> None:
        super().__init__(0, where)


class Identity(NamedTuple):
    """value: the identity; 0 for none. since: the first block number that cannot be without one.

    ANYBODY does not know whose files these are, and takes them all.
    """

    value: int = 0
    since: int = 0

    def owns(self, value: int, number: int = 0) -> bool:
        """Whether a file of identity `value` is the owner's. number: of the block that it is, or names."""
        if self == ANYBODY:
            return True
        return value == self.value if value else number < self.since


ANYBODY = Identity()


def new_identity(random: Callable[[int], int] = randbits) -> int:
    """Give a number that no other stream or consumer has."""
    return random(_BITS) or 1
