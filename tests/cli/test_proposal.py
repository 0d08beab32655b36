"""Proposed command lines: they have the flags of the connection that were typed, and no secret."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from pyjs.cli.flags import BY_NAME, CliSession
from pyjs.cli.prompt import equivalent
from pyjs.cli.proposal import CONNECTION, command, in_hint, typed_line, without_password

SEED = "SUAIBDPBAUTWCWBKIO6XHQNINK5FWJW4OHLXC3HQ2KFE4PEJUA44CNHTC4"
ROOT = Path(__file__).resolve().parents[2]
WRITTEN = re.compile(r"(?:pyjs |')(?:stream|consumer|explain|kv|object|dlq|counter|service)(?: [\w-]+)* \{\}")


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("NATS_PASSWORD", "NATS_CONTEXT"):
        monkeypatch.delenv(name, raising=False)


def within(propose: Callable[[], str], *argv: str, **given: Any) -> str:
    """What is proposed by a run that was given these flags."""
    run = CliSession(list(argv), {name.replace("_", "-"): value for name, value in given.items()})
    with click.Context(click.Command("x"), obj=run):
        return propose()


@pytest.mark.parametrize(
    ("given", "flags"),
    [
        ({}, ""),
        ({"server": "nats://a:4222,b"}, " --server nats://a:4222,b"),
        ({"context": "prod", "js_domain": "edge"}, " --context prod --js-domain edge"),
        ({"creds": "/my keys/u.creds"}, " --creds '/my keys/u.creds'"),
        ({"no_context": True, "tlsfirst": False}, " --no-context --no-tlsfirst"),
        ({"user": "me", "password": "s3cret"}, " --user me --password …"),
        ({"user": "me", "password": "env://PASSWORD"}, " --user me --password env://PASSWORD"),
        ({"user": "t0ken"}, " --user …"),
        ({"token": "t0ken"}, " --token …"),
        ({"jwt": "u.jwt", "seed": SEED}, " --jwt u.jwt --seed …"),
        ({"seed": "u.nk", "nkey": "u.nk"}, " --nkey u.nk --seed u.nk"),
        ({"server": "nats://me:s3:c@ret@h,t0ken@g"}, " --server nats://me:…@h,…@g"),
        ({"timeout": 5, "trace": True, "colors": "red"}, ""),
    ],
)
def test_a_proposal_has_the_flags_that_were_typed(given: dict[str, Any], flags: str) -> None:
    shown = within(lambda: command("stream", "info", "A;$(reboot)"), **given)
    assert shown == f"pyjs{flags} stream info 'A;$(reboot)'"


def test_every_flag_of_a_connection_is_one() -> None:
    others = {"timeout", "connection-name", "js-event-prefix", "colors", "trace", "no-pager"}
    aliases = {name for name, flag in BY_NAME.items() if flag.key}
    assert set(CONNECTION) | others | aliases == set(BY_NAME)


def test_what_a_proposal_names_itself_takes_the_place_of_a_flag() -> None:
    given = {"server": "a", "creds": "c"}
    assert within(lambda: command("rtt", "--server", "b"), **given) == "pyjs --creds c rtt --server b"
    assert within(lambda: command("rtt", "--context=x"), **given) == "pyjs rtt --context=x"
    assert within(lambda: command("nsc", "list", "keys"), **given) == "pyjs nsc list keys"
    moved = within(lambda: command("stream", "ls", "--js-api-prefix", "$JS.x.API"), js_domain="hub")
    assert moved == "pyjs stream ls --js-api-prefix '$JS.x.API'"


def test_a_hint_names_the_program_where_flags_were_typed() -> None:
    assert in_hint("stream ls") == "'stream ls'"
    assert within(lambda: in_hint("stream ls"), context="prod") == "'pyjs --context prod stream ls'"


def test_the_line_that_was_typed_is_shown_without_secrets() -> None:
    urls = "nats://me:s3cret@h:1,nats://me:s3cret@g"
    words = ["-s", urls, "--token=s3cret", "--password", "s3cret"]
    shown = "-s nats://me:…@h:1,nats://me:…@g --token=… --password …"
    given = {"server": urls, "token": "s3cret", "password": "s3cret"}
    assert within(typed_line, *words, **given) == f"pyjs {shown}"
    assert within(typed_line, *words, token="s3cret", password="s3cret") == f"pyjs {shown}"
    run = CliSession([*words, "stream", "add"], dict(given), [("", ["A B"]), ("--subjects", ["a"])])
    assert equivalent(run) == f"pyjs {shown} stream add 'A B' --subjects=a"


def test_passwords_of_urls() -> None:
    assert without_password("nats://h:4222") == "nats://h:4222"
    assert without_password("me:a/b@h") == "me:…@h"


def test_nothing_else_writes_a_command_line() -> None:
    """Find texts in the code that propose `pyjs …` with a name filled in."""
    found = []
    for path in [*(ROOT / "cli").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]:
        if {"demo", "pipeline", "nsc"} & set(path.parts) or path.name == "proposal.py":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr) and len(node.values) > 1:
                parts = [each.value if isinstance(each, ast.Constant) else "{}" for each in node.values]
                text = "".join(map(str, parts))
                if WRITTEN.search(text):
                    found.append(f"{path}:{node.lineno}: {text}")
    assert not found
