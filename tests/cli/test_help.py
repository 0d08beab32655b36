"""Every page of help shows each flag of its command, with a text; what it leaves out has a reason here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from lib import command_list
from pyjs.cli import flags
from pyjs.cli.command import CommandGroup
from pyjs.cli.entry import root

REFUSED = "always refused: nsc has given the experiment up, too"
HIDDEN = {
    "nsc req --encrypt": REFUSED,
    "nsc sub --encrypt": REFUSED,
    "nsc tool req --encrypt": REFUSED,
    "nsc tool sub --encrypt": REFUSED,
    "request --wait": "changes nothing: a request always waits; hidden in nats, too",
}
GLOBAL = {"tls-first": "the help of --tlsfirst names it", "domain": "the help of --js-domain names it"}
AS_IN_NATS, AS_IN_NSC = "hidden in nats, too", "hidden in nsc, too"
HIDDEN_COMMANDS = {
    "plugins": AS_IN_NATS,
    "traffic": AS_IN_NATS,
    "auth account exports kv": AS_IN_NATS,
    "auth account imports kv": AS_IN_NATS,
    "backup account": "account backup, under the name of the preview",
    "bench oldjs": AS_IN_NATS,
    "server check exporter": AS_IN_NATS,
    **dict.fromkeys(("nsc rename", "nsc test", "nsc fix", "nsc migrate", "nsc upgrade-jwt"), AS_IN_NSC),
    **dict.fromkeys(
        ("nsc pub", "nsc sub", "nsc req", "nsc reply", "nsc rtt"), "nsc tool has them; hidden in nsc, too"
    ),
}


def walk(
    command: click.Command, context: click.Context, path: str = ""
) -> Iterator[tuple[str, click.Context]]:
    """Yield every command, hidden ones too, with its words."""
    yield path, context
    if isinstance(command, click.Group):
        rows = command.rows if isinstance(command, CommandGroup) else {}
        for name in sorted({*command.list_commands(context), *rows}):
            found = command.get_command(context, name)
            assert found is not None
            # as when it is run: a command keeps the flag of help that it makes first
            inner = click.Context(found, parent=context, info_name=name)
            yield from walk(found, inner, f"{path} {name}".strip())


@pytest.fixture(scope="module")
def commands() -> dict[str, click.Context]:
    context = click.Context(root, info_name="pyjs", help_option_names=["-h", "--help"])
    return dict(walk(root, context))


def test_no_flag_is_hidden_without_a_reason(commands: dict[str, click.Context]) -> None:
    found = {
        f"{path} {max(param.opts, key=len)}"
        for path, context in commands.items()
        for param in context.command.params
        if isinstance(param, click.Option) and param.hidden
    }
    assert found == set(HIDDEN)
    assert {flag.name for flag in flags.FLAGS if flag.hidden} == set(GLOBAL)
    for flag in flags.FLAGS:
        if flag.hidden:
            (shown,) = (each for each in flags.FLAGS if each.name == flag.key)
            assert f"--{flag.name}" in shown.help


def test_no_command_is_hidden_without_a_reason(commands: dict[str, click.Context]) -> None:
    found = {
        f"{path} {name}".strip()
        for path, context in commands.items()
        for name, row in getattr(context.command, "rows", {}).items()
        if row.hidden
    }
    assert found == set(HIDDEN_COMMANDS)


def shown_in(context: click.Context) -> set[str]:
    """Return the flags that a page of help has in its column of flags."""
    heads = re.findall(r"(?m)^ {2}(-[^ ].*?)(?: {2}|$)", context.get_help())
    return {each for head in heads for each in re.findall(r"--?[\w?][\w-]*", head)}


def test_every_page_shows_every_flag_and_what_it_does(commands: dict[str, click.Context]) -> None:
    wrong = [
        f"{path} {param.opts}"
        for path, context in commands.items()
        for shown in [shown_in(context)]
        for param in context.command.params
        if isinstance(param, click.Option) and not param.hidden and path != "server run"
        if not param.help or not {*param.opts, *param.secondary_opts} <= shown
    ]  # the flags of `server run` are those of nats-server
    assert wrong == []


@pytest.mark.parametrize(
    ("prefix", "file"), [("", "cli/nats_commands.txt"), ("nsc", "plugins/nsc/nsc_commands.txt")]
)
def test_the_pages_have_the_flags_of_nats_and_nsc(
    commands: dict[str, click.Context], prefix: str, file: str
) -> None:
    general = shown_in(commands[prefix])
    for line in command_list.read(Path(__file__).parents[1] / file):
        path = f"{prefix} {line.path}".strip()
        command = command_list.found(root, path)
        found = [context for context in commands.values() if context.command is command]
        if not found or not line.path or path == "server run":
            continue
        known = shown_in(found[0]) | general
        names = [flag.spellings[0] for flag in line.flags]
        missing = [name for name in names if name not in known and f"{path} {name}" not in HIDDEN]
        assert missing == [], path
