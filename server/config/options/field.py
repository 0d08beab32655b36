"""One option: the dataclass field with its configuration keys, kind, reloadability and documentation.

All code about options uses these fields: the reader of the configuration file, the comparison at a reload,
and docs/options.md. No other list of the options exists.

Values in the dataclasses are normalised: durations are nanoseconds, sizes are bytes, a port of 0 means
"any free port" and a port of None means "no such listener".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, field
from typing import Any

from ....protocol.lazy_dataclass import dataclass, declared

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

KEY = "option"


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """What is known of one option besides its type.

    keys: its spellings in the configuration file, the documented one first; empty for a flag only.
    kind: how the value is written; it names a reader of `read/`.
    reload: whether a running server can follow a change.
    doc: its text in docs/options.md.
    section: the dataclass that a map is read into, for kinds with maps such as "section" and "sections".
    minimum, maximum: the bounds of an integer, None for none.
    choices: the allowed values for kind "choice".
    secret: whether the value must not be shown.
    """

    keys: tuple[str, ...]
    kind: str
    reload: bool
    doc: str
    section: type[Any] | None = None
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    secret: bool = False


def option(
    default: object,
    keys: str,
    kind: str,
    doc: str,
    *,
    reload: bool = False,
    section: type[Any] | None = None,
    minimum: int | None = None,
    maximum: int | None = None,
    choices: tuple[str, ...] = (),
    secret: bool = False,
) -> Any:
    """Declare an option. `keys` are separated by blanks. A callable default is called for each object."""
    spec = OptionSpec(tuple(keys.split()), kind, reload, doc, section, minimum, maximum, choices, secret)
    if isinstance(default, (list, dict)):
        raise TypeError("a mutable default must be a factory")
    if callable(default):
        factory: Callable[[], object] = default
        return field(default_factory=factory, metadata={KEY: spec}, repr=not secret)
    return field(default=default, metadata={KEY: spec}, repr=not secret)


def specs(cls: type[Any]) -> dict[str, OptionSpec]:
    """Return the options of a dataclass by field name, in the order of declaration."""
    return {
        name: value.metadata[KEY]
        for name, value in declared(cls).items()
        if isinstance(value, Field) and KEY in value.metadata
    }
