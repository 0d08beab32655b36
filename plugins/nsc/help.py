"""`nsc help`: the help of a command, by its name."""

from __future__ import annotations

import click

from .command import NscCommand
from .output import STDOUT, write


@click.command("help", cls=NscCommand)
@click.argument("words", nargs=-1, metavar="[COMMAND]")
@click.pass_context
def show(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command of nsc."""
    assert ctx.parent is not None
    here = ctx.parent
    for word in words:
        group = here.command
        found = group.get_command(here, word) if isinstance(group, click.Group) else None
        if found is None:
            raise click.UsageError(f'there is no command "{word}"', here)
        here = click.Context(found, info_name=word, parent=here)
    write(here.get_help(), STDOUT, "help")
