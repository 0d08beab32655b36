"""`cheat`: the sheets are shown and saved, and every command line in them exists, with its flags."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest
from lib.cli import Cli
from pyjs.cli.entry import root
from pyjs.plugins.cheat.command import sheets


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def test_sheets_are_listed_shown_and_saved(cli: Cli, tmp_path: Path) -> None:
    names = list(sheets())
    assert {"stream", "kv", "bench", "service"} <= set(names)
    for words in ((), ("--list",)):
        assert cli.ok("cheat", *words).split()[2:] == names
    assert cli.ok("cheat", "stream") == sheets()["stream"]
    assert cli.ok("cheat", "--save", "saved") == f"Saved {len(names)} cheat sheets to saved\n"
    assert sorted(each.name for each in (tmp_path / "saved").iterdir()) == names
    assert (
        tmp_path / "saved" / "kv"
    ).read_text() == "---\nsyntax: bash\ntags: [ pyjs, nats ]\n---\n" + sheets()["kv"]
    again = cli.run("cheat", "--save", "saved")
    assert (again.code, again.out) == (2, "")
    wrong = cli.run("cheat", "steam")
    assert (wrong.code, wrong.out.split()[2:]) == (0, names)  # as nats
    assert "did you mean stream?" in wrong.err


@pytest.mark.parametrize(
    ("label", "name"),
    [("pub", "publish"), ("sub", "subscribe"), ("req", "request"), ("str", "stream"), ("con", "consumer"),
     ("obj", "object"), ("micro", "service"), ("srv", "server"), ("schema", "schemas"), ("nsc", "nsc")],
)  # fmt: skip
def test_a_sheet_is_found_by_any_name_of_its_command(cli: Cli, label: str, name: str) -> None:
    assert cli.ok("cheat", label) == sheets()[name]


# What the sheets of nats are about. Its auth sheet and others repeat commands that have a sheet of their own.
NATS = """
account: account info, account report connections, account backup
auth: auth operator add, auth operator select, auth account add, auth account push, auth user add,
      auth user credential, server generate, context add
bench: bench pub, bench sub, bench service serve, bench service request, bench js pub async, bench js ordered,
       bench js consume, bench js fetch, bench kv put, bench kv get
consumer: consumer add, consumer info, consumer rm, consumer edit, consumer next, consumer sub,
          consumer cluster step-down
context: context add, context edit, context select, context ls, context validate, pub
errors: errors lookup, errors ls, errors edit
events: events
kv: kv add, kv put, kv get, kv watch, kv del, kv info, stream backup, stream restore
latency: latency
object: object add, object put, object get, object del, object ls, stream backup, stream restore
publish: pub, request
reply: reply
schemas: schema search, schema info, schema validate
server: server ping, server info, server list, server report connections, server report accounts,
        server report jetstream, server passwd, server request subscriptions, server request variables,
        server request connections, server request gateways, server request leafnodes,
        server request accounts, server request jetstream, server cluster step-down
stream: stream add, stream info, stream rm, stream edit, stream ls, stream find, stream copy, stream get,
        stream rmm, stream purge, stream view, stream backup, stream restore, stream seal,
        stream cluster step-down, stream cluster peer-remove
subscribe: sub
"""


@pytest.mark.parametrize("topic", NATS.replace("\n ", " ").strip().splitlines())
def test_every_topic_of_nats_has_a_sheet_with_its_commands(topic: str) -> None:
    name, _, commands = topic.partition(":")
    lines = sheets()[name].splitlines()
    missing = [each for each in (" ".join(one.split()) for one in commands.split(","))
               if not any(f"{line} ".startswith(f"pyjs {each} ") for line in lines)]  # fmt: skip
    assert missing == []


@pytest.mark.parametrize("name", sheets())
def test_the_lines_of_a_sheet_are_right(name: str) -> None:
    for line in sheets()[name].splitlines():
        assert not line or line.startswith(("# ", "pyjs ")), line
        if line.startswith("pyjs "):
            check(shlex.split(line)[1:], line)


def check(words: list[str], line: str) -> None:
    """Look up the command and its flags."""
    command: click.Command = root
    context = click.Context(root, help_option_names=["-h", "--help"])  # which the command keeps
    while isinstance(command, click.Group) and words:
        found = command.get_command(context, words[0])
        assert found is not None, line
        command, context, words = found, click.Context(found, parent=context, info_name=words[0]), words[1:]
    assert not isinstance(command, click.Group), line
    if line.startswith("pyjs server run"):
        return  # its flags are those of nats-server, which it parses itself
    known = {flag for param in command.get_params(context) for flag in (*param.opts, *param.secondary_opts)}
    assert [word for word in words if word.startswith("-") and word.partition("=")[0] not in known] == [], (
        line
    )
