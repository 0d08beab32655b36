"""What validation finds in claims: errors block, time checks block where time matters, warnings never do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How grave an issue is."""

    ERROR = "error"
    TIME = "time"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Issue:
    """One finding."""

    level: Level
    text: str

    @property
    def blocking(self) -> bool:
        """Whether tools stop at it: errors and time checks."""
        return self.level is not Level.WARNING


class Issues:
    """The findings of one validation, in order."""

    def __init__(self) -> None:
        self.all: list[Issue] = []

    def error(self, text: str) -> None:
        """Note an error."""
        self.all.append(Issue(Level.ERROR, text))

    def time(self, text: str) -> None:
        """Note a failed time check."""
        self.all.append(Issue(Level.TIME, text))

    def warn(self, text: str) -> None:
        """Note a warning."""
        self.all.append(Issue(Level.WARNING, text))

    def blocking(self, *, time: bool = True) -> list[Issue]:
        """Give what blocks: the errors, and the time checks unless `time` is False."""
        return [i for i in self.all if i.level is Level.ERROR or (time and i.level is Level.TIME)]

    def __iter__(self) -> Iterator[Issue]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def __repr__(self) -> str:
        return f"Issues({self.all})"


def quote(text: str) -> str:
    """Quote a text in messages."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
