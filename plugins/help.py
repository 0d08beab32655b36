"""`pyjs help <command>…`: the same as `--help` at the end of that command."""

from __future__ import annotations

import click

from ..cli.command import Command, show_paged
from ..cli.errors import PROGRAM


@click.command("help", cls=Command)
@click.argument("path", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def help_command(context: click.Context, path: tuple[str, ...]) -> None:
    """Show help for a command."""
    root = context.find_root()
    command: click.Command = root.command
    walked = click.Context(command, info_name=PROGRAM, help_option_names=root.help_option_names)
    for name in path:
        if not isinstance(command, click.Group):
            raise click.UsageError(f'"{command.name}" has no sub commands', ctx=walked)
        canonical, found, _ = command.resolve_command(walked, [name])
        assert found is not None
        command = found
        walked = click.Context(command, parent=walked, info_name=canonical)
    show_paged(walked.get_help())
