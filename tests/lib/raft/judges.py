"""Judges of a simulated group: they see what members did, never how, and know none of the code they test."""

from __future__ import annotations

import hashlib


class ViolationError(AssertionError):
    """A promise of Raft was broken."""


def link(chain: bytes, data: bytes) -> bytes:
    """Return the hash after one more entry."""
    return hashlib.blake2b(chain + data, digest_size=16).digest()


class Judges:
    """All judges. Call `leads`, `applies`, `installs`, `acknowledges` as it happens, then `at_the_end`."""

    def __init__(self) -> None:
        self.leaders: dict[int, str] = {}
        self.committed: dict[int, tuple[int, bytes]] = {}
        self.chains: dict[int, bytes] = {}
        self.acknowledged: dict[bytes, int] = {}

    def leads(self, member: str, term: int) -> None:
        """Check that there is one leader per term."""
        other = self.leaders.setdefault(term, member)
        if other != member:
            raise ViolationError(f"{other} and {member} both lead in term {term}")

    def applies(self, member: str, index: int, before: int, term: int, data: bytes, chain: bytes) -> None:
        """Check that committed entries never change, are applied in order, and lead to one state."""
        if index != before + 1:
            raise ViolationError(f"{member} applies {index} after {before}")
        known = self.committed.setdefault(index, (term, data))
        if known != (term, data):
            raise ViolationError(f"{member} applies {data!r} of term {term} at {index}, others {known}")
        if self.chains.setdefault(index, chain) != chain:
            raise ViolationError(f"{member} has another state at {index}")

    def repeats(self, member: str, index: int, term: int, data: bytes) -> None:
        """Check that an entry that is applied again is the same as before."""
        if self.committed.get(index) != (term, data):
            raise ViolationError(f"{member} is given {data!r} of term {term} at {index} for something else")

    def installs(self, member: str, index: int, chain: bytes) -> None:
        """Check that a snapshot is the state that everyone has at its index."""
        if index and self.chains.get(index) != chain:
            raise ViolationError(f"{member} installs another state at {index}")

    def acknowledges(self, value: bytes, index: int) -> None:
        """Check that an acknowledged proposal has one place."""
        if self.acknowledged.setdefault(value, index) != index:
            raise ViolationError(f"{value!r} is acknowledged at {index} and at {self.acknowledged[value]}")
        if self.committed.get(index, (0, b""))[1] != value:
            raise ViolationError(f"{value!r} is acknowledged at {index}, where something else is committed")

    def at_the_end(self, member: str, applied: int, chain: bytes, values: dict[int, bytes]) -> None:
        """Check that nothing acknowledged is lost at a member that has applied everything."""
        for value, index in self.acknowledged.items():
            if index > applied or values.get(index) != value:
                raise ViolationError(f"{member} lost {value!r}, acknowledged at {index} (it is at {applied})")
        if self.chains[applied] != chain:
            raise ViolationError(f"{member} has another state at the end")
