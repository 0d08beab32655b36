"""What a tool of NATS has, as a list in a file, compared with what pyjs has.

A line of the file is `PATH|ALIAS...: FLAGS`. In FLAGS, `--[no-]x` can be negated, `-x` is a short form, `=`
takes a value. The path `*` stands for the global flags.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import click


class Flag(NamedTuple):
    """A flag: all its spellings, and whether it takes a value."""

    spellings: tuple[str, ...]
    takes_value: bool


class Line(NamedTuple):
    """A command. An empty path stands for the global flags."""

    path: str
    aliases: tuple[str, ...]
    flags: tuple[Flag, ...]


def read(path: Path) -> Iterator[Line]:
    """Yield the commands of a file, and first the global flags."""
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            names, _, rest = line.partition(":")
            name, *aliases = names.replace("*", "").split("|")
            yield Line(name, tuple(aliases), tuple(map(_flag, rest.split())))


def _flag(text: str) -> Flag:
    long, *short = text.removesuffix("=").split(",")
    name = long.replace("[no-]", "")
    negated = [f"--no-{name[2:]}"] if name != long else []
    return Flag((name, *negated, *short), text.endswith("="))


def found(root: click.Command, path: str) -> click.Command | None:
    """Return the command below `root` with this path of names or aliases."""
    command: click.Command | None = root
    for word in path.split():
        if not isinstance(command, click.Group):
            return None
        command = command.get_command(click.Context(command), word)
    return command


def missing(root: click.Command, lines: Iterable[Line], known: dict[str, bool]) -> Iterator[str]:
    """Yield what `root` lacks: `stream graph`, `stream graph (an alias)`, `stream find --expression`.

    known: flags of every command that are not among its parameters; whether each takes a value.
    """
    for line in lines:
        command = found(root, line.path)
        if command is None:
            yield line.path
            continue
        parent = line.path.rpartition(" ")[0]
        yield from (
            f"{line.path} ({alias})"
            for alias in line.aliases
            if found(root, f"{parent} {alias}") is not command
        )
        yield from (f"{line.path} {flag}".strip() for flag in _missing_flags(line, command, known))


def _missing_flags(line: Line, command: click.Command, known: dict[str, bool]) -> Iterator[str]:
    # A command keeps the flag of help that it makes first: other tests of this process need both names.
    context = click.Context(command, help_option_names=["-h", "--help"])
    there = {  # an option with `bare` may stand without its value, see plugins.nsc.command.BareOption
        text: not param.is_flag and not param.count and not hasattr(param, "bare")
        for param in command.get_params(context)
        if isinstance(param, click.Option)
        for text in (*param.opts, *param.secondary_opts)
    } | known
    there |= dict.fromkeys(("--help", "-h"), False)
    for flag in line.flags:
        lacking = [text for text in flag.spellings if text not in there]
        yield from lacking
        if not lacking and there[flag.spellings[0]] != flag.takes_value:
            yield f"{flag.spellings[0]} {'takes no value' if flag.takes_value else 'takes a value'}"
