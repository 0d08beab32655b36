"""`pyjs nsc … -i`: the questions on a terminal, in nsc's words, and the line that asks nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lib.cli import Cli
from pyjs.keys import KeyPair, KeyRole

ENV = {"XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "", "NO_COLOR": "1"}
DOWN, SPACE = "\x1b[B", " "


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path, "nsc")


def _ask(cli: Cli, line: str, *answers: tuple[str, str]) -> str:
    """Run a line on a terminal and answer its questions; what it shows at the end, stderr too."""
    with cli.terminal(line.split(), env=ENV) as terminal:
        for question, answer in answers:
            terminal.answer(question, answer)
        code = terminal.finish()
        shown = "\n".join(terminal.lines()) + "\n" + terminal.errors()
    assert code == 0, shown
    return shown


def _claims(cli: Cli, *words: str) -> dict[str, object]:
    found = json.loads(cli.ok("describe", *words, "-J", env=ENV))
    assert isinstance(found, dict)
    return found


def test_everything_can_be_asked_for(cli: Cli) -> None:
    shown = _ask(
        cli,
        "add operator -i",
        ("import operator from a JWT", "n"),
        ("operator name", "OP"),
        ("valid from", ""),
        ("valid until (0 is always)", "2031-01-01"),
        ("Generate system account?", "n"),
        ("Generate signing key?", "y"),
        ("generate an operator nkey", ""),
    )
    assert '[ OK ] added operator "OP"' in shown
    assert "pyjs nsc add operator --name=OP" in shown
    shown = _ask(
        cli,
        "add account -i",
        ("account name", "A"),
        ("generate an account nkey", ""),
        ("valid from", ""),
        ("valid until (0 is always)", ""),
        ("select the key to sign the account", DOWN),
    )
    assert '[ OK ] added account "A"' in shown
    account, operator = _claims(cli, "account"), _claims(cli, "operator")
    assert account["iss"] != operator["sub"] and operator["exp"]
    shown = _ask(
        cli,
        "add user -i",
        ("user name", "ann"),
        ("generate an user nkey", ""),
        ("valid from", ""),
        ("valid until (0 is always)", "9x"),
        ("valid until (0 is always)", "0"),
    )
    assert "'9x' is no time" in shown and '[ OK ] added user "ann" to account "A"' in shown


EDIT_ACCOUNT = (
    ("add a signing key", "y"),
    ("path to sk nkey or nkey", "generate"),
    ("add another signing key", "n"),
    ("max connections (-1 unlimited)", "7"),
    ("max leaf node connections (-1 unlimited)", ""),
    ("max data (-1 unlimited)", "1k"),
    ("max exports (-1 unlimited)", ""),
    ("max imports (-1 unlimited)", ""),
    ("max payload (-1 unlimited)", ""),
    ("max subscriptions (-1 unlimited)", ""),
    ("set JetStream limits", "y"),
    ("edit tier (0 matches all tiers)", "3"),
    ("max mem storage (-1 unlimited / 0 disabled)", ""),
    ("max disk storage (-1 unlimited / 0 disabled)", "1G"),
    ("max streams (-1 unlimited)", ""),
    ("max consumer (-1 unlimited)", ""),
    ("max size for a memory stream (-1 unlimited)", ""),
    ("max size for a disk stream (-1 unlimited)", ""),
    ("max number of pending acks for a consumer", ""),
    ("require max bytes when creating a stream", ""),
    ("valid from", ""),
    ("valid until (0 is always)", ""),
    ("add a tags", "y"),
    ("enter a tags", "T"),
    ("add another tags", "n"),
    ("Account Description", "words"),
    ("Info url", ""),
    ("Enable context tracing?", "n"),
)


def test_edits_ask_with_what_is_there(cli: Cli) -> None:
    for line in ("add operator OP", "add account A", "add user ann --tag x,y", "add user bob"):
        cli.ok(*line.split(), env=ENV)
    shown = _ask(
        cli,
        "edit account -i",
        *EDIT_ACCOUNT,
    )
    assert "changed max connections to 7" in shown and "changed leaf node" not in shown
    nats = _claims(cli, "account")["nats"]
    assert isinstance(nats, dict)
    assert nats["limits"]["tiered_limits"]["R3"]["disk_storage"] == 10**9
    assert (nats["limits"]["data"], nats["tags"], nats["description"]) == (1000, ["t"], "words")
    shown = _ask(
        cli,
        "edit user -n ann -i",
        ("select the key to sign the user", ""),
        ("max payload (-1 unlimited)", "5"),
        ("valid from", ""),
        ("valid until (0 is always)", ""),
        ("remove tags", "y"),
        ("select tags to remove", SPACE),
        ("add another tags", "n"),
    )
    assert 'removed tag "x"' in shown
    shown = _ask(
        cli,
        "delete user -i",
        ("select users", SPACE),
        ("revoke user before deleting", "y"),
        ("delete associated nkey", ""),
        ("delete associated creds file", ""),
        ("deleting a user, nkey or creds file cannot be undone - continue", "y"),
    )
    assert "user ann" in shown and "user deleted" in shown


def test_init_asks_at_first_contact(cli: Cli) -> None:
    shown = _ask(
        cli,
        "init",
        ("enter a configuration directory", ""),
        ("Select an operator", ""),
        ("name your operator, account and user", "X"),
    )
    assert "all jobs succeeded" in shown


def test_a_question_that_cannot_be_asked_names_its_flag(cli: Cli) -> None:
    result = cli.run("add", "account", "-i", env=ENV)
    assert result.code == 2
    assert result.err.splitlines() == [
        'Error: cannot ask for "account name" without a terminal',
        "hint: give it as --name",
    ]


def test_a_seed_that_was_typed_is_not_shown_again(cli: Cli) -> None:
    cli.ok("add", "operator", "OP", env=ENV)
    seed = KeyPair.create(KeyRole.ACCOUNT).seed
    with cli.terminal(["add", "account", "A", "-i"], env=ENV) as terminal:
        for question, answer in (("account name", ""), ("generate an account nkey", "n")):
            terminal.answer(question, answer)
        terminal.answer("path to an account nkey or nkey", seed)
        terminal.answer("valid from", "")
        terminal.answer("valid until (0 is always)", "")
        assert terminal.finish() == 0
        output = terminal.errors()
    assert "--public-key=<SEED>" in output and seed not in output


def test_the_line_that_asks_nothing_has_each_flag_once_and_does_the_same(cli: Cli) -> None:
    for line in ("add operator OP", "add account A"):
        cli.ok(*line.split(), env=ENV)
    shown = _ask(
        cli,
        "add export -i --service -s a.b --private=false -n given --account A",
        ("export type", ""),
        ("subject", ""),
        ("name", "other"),
        ("private service", "y"),
        ("track service latency", ""),
        ("service response type", ""),
        ("response threshold (0 disabled)", ""),
        ("allow tracing", ""),
    )
    words = shown.strip().splitlines()[-1].split()
    assert words[:3] == ["pyjs", "nsc", "add"] and not {"-i", "-s", "-n"} & set(words)
    assert words.count("--service") == 1 and "--subject=a.b" in words and "--name=other" in words
    cli.ok("delete", "export", "--subject", "a.b", env=ENV)
    output = cli.ok(*words[2:], env=ENV)
    assert '[ OK ] added private service export "other"' in output
