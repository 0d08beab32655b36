"""The parsed configuration: values with the place where they were written, and problems with them.

A `ConfigNode` contains a Python value: str, bool, int, float, datetime, list[ConfigNode] or dict[str,
ConfigNode]. Its position is that of its key, if it has one, as that is where a person looks first.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, TypeAlias

from ...protocol.lazy_dataclass import dataclass

Value: TypeAlias = "str | bool | int | float | datetime | list[ConfigNode] | dict[str, ConfigNode]"


class SourcePosition(NamedTuple):
    """A place in a file. Line and column begin at 1. The file is "" for a text that is in none."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """Return the place as editors read it: file:line:column."""
        return f"{self.file}:{self.line}:{self.column}" if self.file else f"{self.line}:{self.column}"


class ConfigNode:
    """A value and its position. `used`: whether it was used as a variable, so that its key may be unknown."""

    __slots__ = ("position", "used", "value")

    def __init__(self, value: Value, position: SourcePosition) -> None:
        self.value = value
        self.position = position
        self.used = False

    def __repr__(self) -> str:
        return f"Node({self.value!r}, {self.position})"

    @property
    def kind(self) -> str:
        """The type of the value, in words for messages."""
        return _KINDS[type(self.value)]


_KINDS: dict[type, str] = {
    str: "a string",
    bool: "a bool",
    int: "an integer",
    float: "a float",
    datetime: "a date",
    list: "a list",
    dict: "a map",
}


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One thing that is wrong, where, and a hint. A warning does not keep the server from starting."""

    position: SourcePosition | None
    message: str
    hint: str = ""

    def __str__(self) -> str:
        """Return one line: file:line:column: message (hint)."""
        where = f"{self.position}: " if self.position else ""
        return f"{where}{self.message}" + (f" ({self.hint})" if self.hint else "")


class ConfigError(Exception):
    """The configuration cannot be used. `problems` has everything that was found, in order; never empty."""

    def __init__(self, problems: list[ConfigProblem]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(p) for p in problems))

    @classmethod
    def syntax(cls, position: SourcePosition | None, message: str, hint: str = "") -> ConfigError:
        """Return an error with one problem: invalid syntax. Test helpers look for its words."""
        return cls.at(position, f"Parse error: {message}", hint)

    @classmethod
    def at(cls, position: SourcePosition | None, message: str, hint: str = "") -> ConfigError:
        """Return an error with one problem."""
        return cls([ConfigProblem(position, message, hint)])
