"""`pyjs explain`: why it is so. The commands are rows, imported when called.

`stream` and `consumer` say why nothing arrives, `subject` who hears a message. A first word that is none of
these is a subject: `pyjs explain orders.new` is short for `pyjs explain subject orders.new`.
"""

from __future__ import annotations

import click

from ...cli.command import CommandGroup, table_rows

_ROWS = (
    ("consumer", "consumer:consumer", "Why a Consumer delivers nothing", ("con", "c")),
    ("stream", "stream:stream", "Why nothing arrives in a Stream", ("str", "s")),
    ("subject", "subject:subject", "Who hears a message", ("subj",)),
)


class Explain(CommandGroup):
    """The group; a first word that names no command is a subject."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the command `subject` before flags of its own, if no word names another command."""
        known = {*self.rows, *self.aliases}
        if args and not known & set(args) and not {"-h", "--help"} & set(args):
            args = ["subject", *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve the first word; if it names no command, it is a subject."""
        if self.row(args[0]) is None:
            args = ["subject", *args]
        return super().resolve_command(ctx, args)


@click.group(cls=Explain, rows=table_rows("pyjs.plugins.explain", _ROWS))
def explain() -> None:
    """Say who hears a message on a subject, and why nothing arrives in a Stream or Consumer.

    A word that is none of the commands below is a subject: explain orders.new, as explain subject orders.new.
    """
