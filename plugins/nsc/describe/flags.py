"""The flags of `describe`, which may come before or after its sub command, as in nsc.

`asked()` returns their values. They are separate from the pages, since a group's help needs no tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from ..command import BareOption

_KEY = "pyjs.nsc.describe"


@dataclass(slots=True)
class DescribeFlags:
    """How a token should be shown."""

    field: str = ""
    raw: bool = False
    long_ids: bool = False
    json: bool = False


def asked(context: click.Context | None = None) -> DescribeFlags:
    """Return the flags of a line, as far as it has been read."""
    found = (context or click.get_current_context()).meta.setdefault(_KEY, DescribeFlags())
    assert isinstance(found, DescribeFlags)
    return found


def options() -> list[click.Option]:
    """Return the flags, for the group or for one of its commands."""
    switches = (
        ("-R", "--raw", "raw", "The token as it is."),
        ("-W", "--long-ids", "long_ids", "Account ids instead of names."),
        ("-J", "", "json", "The token's body as JSON; --json too."),
    )
    made = [
        _option("field", "-F", "--field", metavar="PATH", help="Only this field: nats.limits.conn, a[0].")
    ]
    for short, long, name, text in switches:
        spellings = (short, long) if long else (short,)
        made.append(_option(name, *spellings, cls=BareOption, type=click.BOOL, metavar="", help=text))
    return made


def _option(name: str, *spellings: str, cls: type[click.Option] = click.Option, **more: Any) -> click.Option:
    def note(context: click.Context, _: click.Parameter, value: Any) -> None:
        if value is not None:
            setattr(asked(context), name, value)

    return cls([*spellings, f"describe_{name}"], expose_value=False, callback=note, default=None, **more)
