"""The flags of `describe`, which may come before or after its sub command, as in nsc.

They are separate from the pages, since a group's help needs no tokens.
"""

from __future__ import annotations

import click

from ..command import options_of, switch

FLAGS = (
    click.option(
        "-F", "--field", default="", metavar="PATH", help="Only this field: nats.limits.conn, a[0]."
    ),
    switch("-R", "--raw", text="The token as it is."),
    switch("-W", "--long-ids", text="Account ids instead of names."),
    switch("-J", "as_json", text="The token's body as JSON; --json too."),
)


def options() -> list[click.Parameter]:
    """Return the flags, for the group or for one of its commands."""
    return options_of(*FLAGS)
