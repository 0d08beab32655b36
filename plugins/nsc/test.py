"""`nsc test`: pages and tables of nsc's own commands, for those who write about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from ...cli.command import CommandGroup
from .command import NscCommand, NscGroup
from .generate.nkey import nkey


@click.command(cls=NscCommand)
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.pass_context
def doc(context: click.Context, directory: Path) -> None:
    """Write a Markdown page for each command to a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for found in _commands(context):
        path = found.command_path.removeprefix("pyjs ")
        text = f"## {path}\n\n```\n{found.get_help()}\n```\n"
        (directory / f"{path.replace(' ', '_')}.md").write_text(text, encoding="utf-8")


@click.command("flags", cls=NscCommand)
@click.pass_context
def flag_table(context: click.Context) -> None:
    """Print a table with all flags, as CSV: a row for each command, with the flags' short forms."""
    table = {found.command_path.removeprefix("pyjs "): _flags(found) for found in _commands(context)}
    names = sorted({name for flags in table.values() for name in flags})
    click.echo(",".join(["cmd", *names]))
    for path, flags in table.items():
        click.echo(",".join([path, *(flags.get(name, "") for name in names)]))


@click.command(cls=NscCommand)
@click.argument("flag")
@click.pass_context
def whoflag(context: click.Context, flag: str) -> None:
    """Print the commands that have a flag, which is named by its long or its short form without dashes."""
    for found in _commands(context):
        if any(flag in (name, short) for name, short in _flags(found).items()):
            click.echo(found.command_path.removeprefix("pyjs "))


def _commands(context: click.Context) -> Iterator[click.Context]:
    """Yield a context for each command of nsc that has no sub commands, in the order of their names."""
    group = context.parent
    assert group is not None and group.parent is not None  # `test`, and `nsc` above it
    waiting = [group.parent]
    while waiting:
        found = waiting.pop()
        if isinstance(found.command, CommandGroup):
            waiting += reversed(list(_children(found, found.command)))
        else:
            yield found


def _children(parent: click.Context, group: CommandGroup) -> Iterator[click.Context]:
    for name in sorted({*group.list_commands(parent), *group.rows}):  # the hidden ones, too
        command = group.get_command(parent, name)
        assert command is not None
        yield click.Context(command, parent=parent, info_name=name)


def _flags(found: click.Context) -> dict[str, str]:
    """Return the flags of a command: the short form by the long one, "-" where there is none."""
    flags = {}
    for param in found.command.get_params(found):
        if isinstance(param, click.Option):
            long = next((text[2:] for text in param.opts if text.startswith("--")), "")
            short = next((text[1:] for text in param.opts if not text.startswith("--")), "")
            flags[long or short] = short or "-"
    return flags


test = NscGroup(
    name="test",
    help="Pages and tables of the commands themselves.",
    commands=[doc, flag_table, nkey, whoflag],
)
