"""Identity: which stream or consumer a file belongs to.

Each stream and each consumer gets a random number when it is created. Its meta file keeps the number, and its
blocks, sidecars, manifest and state repeat it. Promises: a file with another identity is never taken for the
owner's, whatever its name and place. It is renamed (`fs.set_aside`), not removed. Files of the previous
version have no identity. They are the owner's only if the owner is known to be as old.
"""

from __future__ import annotations

from collections.abc import Callable
from secrets import randbits
from typing import NamedTuple

from .errors import Damaged

_BITS = 64


class ForeignFilesError(Damaged):
    """Everything in the folder of a stream or consumer belongs to another one."""

    def __init__(self, where: str) -> None:
        super().__init__(0, where)


class Identity(NamedTuple):
    """The identity of an owner.

    value: the random number; 0 for none.
    since: the first block number from which on a file must have an identity.

    `ANYBODY` does not know whose files these are, and accepts all of them.
    """

    value: int = 0
    since: int = 0

    def owns(self, value: int, number: int = 0) -> bool:
        """Return whether a file of identity `value` is the owner's.

        number: the block that it is, or names.
        """
        if self == ANYBODY:
            return True
        return value == self.value if value else number < self.since


ANYBODY = Identity()


def new_identity(random: Callable[[int], int] = randbits) -> int:
    """Return a number that no other stream or consumer has."""
    return random(_BITS) or 1
