"""Random numbers of a replicated stream: the same ones for the same entry on every replica."""

from __future__ import annotations

from hashlib import blake2b


class DeterministicRandom:
    """Random numbers that follow from the log's index alone."""

    __slots__ = ("_index", "_throws")

    def __init__(self) -> None:
        self._index = self._throws = 0

    def begin(self, index: int) -> None:
        """The entry `index` is applied now."""
        self._index, self._throws = index, 0

    def below(self, bound: int) -> int:
        """Draw a number in [0, bound)."""
        self._throws += 1
        seed = b"%d %d" % (self._index, self._throws)
        return int.from_bytes(blake2b(seed, digest_size=8).digest(), "big") % bound
