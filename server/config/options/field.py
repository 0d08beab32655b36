"""One option: the field of a dataclass that carries its configuration keys, kind, reloadability and doc.

Everything that speaks of an option derives from these fields: the reader of the configuration file, the
reload diff, and docs/options.md. Nothing else in the tree lists the options again.

Values in the dataclasses are normalised: durations are nanoseconds, sizes are bytes, a port of 0 means
"any free port" and a port of None means "no such listener".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

KEY = "option"


@dataclass(frozen=True, slots=True)
class Spec:
    """What is known of one option besides its type.

    keys: spellings in the configuration file, the first is the documented one; none for flags only.
    kind: how the value is written; names a reader of `read/`.
    section: the dataclass read from a map, for kind "section" and "sections".
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
    """Declare an option. `keys` are separated by blanks; a callable default makes a new value each time."""
    spec = Spec(tuple(keys.split()), kind, reload, doc, section, minimum, maximum, choices, secret)
    if isinstance(default, (list, dict)):
        raise TypeError("a mutable default must be a factory")
    if callable(default):
        factory: Callable[[], object] = default
        return field(default_factory=factory, metadata={KEY: spec}, repr=not secret)
    return field(default=default, metadata={KEY: spec}, repr=not secret)


def specs(cls: type[Any]) -> dict[str, Spec]:
    """The options of a dataclass by field name, in declaration order."""
    return {f.name: f.metadata[KEY] for f in fields(cls) if KEY in f.metadata}
