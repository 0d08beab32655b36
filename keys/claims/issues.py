"""The findings of a validation of claims.

Errors block, time checks block where time matters, and warnings never block.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from ...protocol.lazy_dataclass import dataclass


class Level(StrEnum):
    """The severity of an issue."""

    ERROR = "error"
    TIME = "time"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Issue:
    """One finding of a validation."""

    level: Level
    text: str

    @property
    def blocking(self) -> bool:
        """Whether tools stop at this issue: they do for errors and time checks."""
        return self.level is not Level.WARNING


class Issues:
    """The findings of one validation, in order."""

    def __init__(self) -> None:
        self.all: list[Issue] = []

    def error(self, text: str) -> None:
        """Add an error."""
        self.all.append(Issue(Level.ERROR, text))

    def time(self, text: str) -> None:
        """Add a failed time check."""
        self.all.append(Issue(Level.TIME, text))

    def warn(self, text: str) -> None:
        """Add a warning."""
        self.all.append(Issue(Level.WARNING, text))

    def blocking(self, *, time: bool = True) -> list[Issue]:
        """Return the blocking issues: the errors, and the time checks unless `time` is False."""
        return [i for i in self.all if i.level is Level.ERROR or (time and i.level is Level.TIME)]

    def __iter__(self) -> Iterator[Issue]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def __repr__(self) -> str:
        return f"Issues({self.all})"


def quote(text: str) -> str:
    """Return a text in quotes, as messages have it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
