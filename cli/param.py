"""Parameter types for click: durations, sizes, `K=V` pairs, regular expressions, subject lists.

Promises: a value that does not parse is a usage error that names the flag and shows the grammar. Durations
and sizes use the grammar of `nats` (`1d`, `2m0s`, `-1`; `1GB` is 1024-based).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..protocol import duration, size
from .errors import CliError, NotFoundError

if TYPE_CHECKING:  # generic for the type checker; at run time older clicks have no type argument
    Whole = click.ParamType[int]
    Words = click.ParamType[tuple[str, str]]
    Regex = click.ParamType[re.Pattern[str]]
else:
    Whole = Words = Regex = click.ParamType


class Duration(Whole):
    """Converts text such as `1d12h` to nanoseconds; `-1` (unlimited) stays -1."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return `value` in nanoseconds; an int passes through."""
        if isinstance(value, int):
            return value
        text = str(value).strip()
        if text == "-1":
            return -1
        try:
            return duration.parse(text)
        except duration.DurationError as error:
            self.fail(str(error), param, ctx)


class Size(Whole):
    """Converts text such as `256MB` to bytes; anything that starts with `-` is -1 (unlimited)."""

    name = "bytes"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return `value` in bytes; an int passes through."""
        if isinstance(value, int):
            return value
        text = str(value).strip()
        if text.startswith("-"):
            return -1
        try:
            return size.parse(text)
        except size.SizeError as error:
            self.fail(str(error), param, ctx)


class Pair(Words):
    """Converts `K=V` or `K:V` to (K, V)."""

    name = "key=value"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Return key and value, split at the first `=` or `:`."""
        if isinstance(value, tuple):
            return value
        found = re.match(r"([^=:]+)[=:](.*)", str(value), re.DOTALL)
        if found is None:
            self.fail(f"expected KEY=VALUE but got {value!r}", param, ctx)
        return found.group(1), found.group(2)


class Pattern(Regex):
    """Converts a regular expression to a compiled one, which is searched for anywhere in a text."""

    name = "regex"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> re.Pattern[str]:
        """Return the compiled expression of `value`; a compiled one passes through."""
        if isinstance(value, re.Pattern):
            return value
        try:
            return re.compile(str(value))
        except re.error as error:
            self.fail(f"{value!r} is not a regular expression: {error}", param, ctx)


class ExistingPath(click.Path):
    """A path of a file or directory that is there; one that is not is no usage error, but not found."""

    def __init__(self, **rules: Any) -> None:
        super().__init__(exists=True, **rules)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. Raises NotFoundError; CliError if the system does not let us look."""
        try:
            Path(value).stat()
        except (FileNotFoundError, NotADirectoryError):
            raise NotFoundError(f"{self.name} '{value}' does not exist") from None
        except OSError as error:
            raise CliError(f"{self.name} '{value}' cannot be read: {error.strerror}") from None
        return super().convert(value, param, ctx)


DURATION = Duration()
SIZE = Size()
PAIR = Pair()
PATTERN = Pattern()


def split_list(values: tuple[str, ...] | list[str] | str) -> list[str]:
    """Return subjects, tags and the like from repeated flags, each split at blanks and commas, in order."""
    texts = [values] if isinstance(values, str) else values
    return [part for text in texts for part in re.split(r"[\s,]+", text) if part]
