"""A session of some 900 lines of the real `nsc`, recorded in session/*.txt, and played by `pyjs nsc`.

pyjs succeeds and fails at the same lines, prints the same, and leaves the same in the folders.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest
from lib import command_list, recording
from lib.cli import Cli
from lib.nsc_lines import VARIABLE, Pyjs, Replay
from pyjs.plugins.nsc import nsc

HERE = Path(__file__).parent
SESSION = sorted((HERE / "session").glob("*.txt"))
# Where pyjs differs, by file: the start of the line, and a part of what differs, with the reason.
# What nsc does wrong, and what pyjs does on purpose, is also in docs/differences.md.
PAYLOAD = {
    ("edit ", "max imports"): "nsc says so of the payload",
    ("edit ", "max payload"): "the line above",
}
NOT_REFERENCED = {
    ("list keys --not-referenced", "| "): "nsc does not know the other accounts, and forgets an end of line"
}
EXCEPTIONS: dict[str, dict[tuple[str, str], str]] = {
    "describing": {
        **NOT_REFERENCED,
        ("describe user", "orders."): "nsc shows `>` as in HTML",
        ("describe account BANK --field nothing", "failed"): "there is no such field",
        ("describe account SHOP --json --output-file", "wrote account description"): "pyjs tells it as JSON",
        ("expirations", "Never"): "nsc shows 1970 for it",
        ("list keys --curve", "| "): "nsc shows the users",
        ("edit export", "lacks nats.exports[0].response_type"): "nsc drops what no flag names",
        ("generate diagram component --output-file", "wrote component diagram"): "nsc is silent",
    },
    "folders": {
        ("help nothing", "failed"): "there is no such command",
        ("add nothing", "failed"): "there is no such command",
        ("--version", ""): "each has its own",
        ("-v", ""): "each has its own",
        ("test whoflag", "another order"): "any in nsc",
    },
    "keys": {
        **NOT_REFERENCED,
        ("export keys --curves", "failed"): "nsc exports all keys, and there are no curve keys",
        ("generate context", "failed"): "the file exists already",
        ("generate context", ".config/nats/context"): "mode 0600; nsc also prints the path alone",
        ("generate profile", "= p.json 0o6"): "mode 0600",
        ("delete account", "deleted priv"): "nsc has a word of its own",
        ("keys migrate", "keystore"): "pyjs marks it `[ OK ]`",
        ("NKEYS_PATH=one keys migrate", "keystore"): "the same",
    },
    "limits": {
        **PAYLOAD,
        ("edit account A --js-", "max_bytes_required"): "nsc ignores the flag",
        ("edit account A --js-", "max bytes required"): "the line above",
        ("edit account A --mem-storage", "changed global"): "nsc does not tell what older names change",
        ("describe account A", "another order"): "tiers, in any order in nsc",
    },
    "mappings": {("delete mapping", "in cluster east"): "nsc shows the cluster as the subject"},
    "moving": {
        ("migrate", ".jwt 0o600: iss"): "nsc keeps the other operator's signature",
        ("migrate", "succeeded"): "nsc sums up twice",
        ("add operator --url", "account: ''"): "nsc stays in the other operator's account of the same name",
        ("init --name FIFTH", "nsc.json"): "nsc forgets what was current",
        ("update --version", "succeeded"): "pip updates pyjs",
        ("fix --in", "| "): "pyjs tells it by operator, nsc by kind",
        ("rename account A NEW", "copy account"): "nsc leaves out the first step",
    },
    "servers": {("generate config --nkey", "succeeded"): "nsc refuses a system account"},
    "signing-keys": {
        **PAYLOAD,
        ("add operator OP --generate-signing-key", "<O1>"): "nsc does not tell the key that it made",
        ("add account A", "<O1>"): "here it is seen first",
        ("edit signing-key", "changed bearer"): "nsc says that it ignores what it does",
        ("edit signing-key", "change to bearer"): "the line above",
        ("edit operator", "lacks iss"): "nsc lets a signing key sign the operator, which strict mode forbids",
    },
}
# Orders that are those of random keys, or random themselves.
ORDERS = {
    ("revocations list-users", "another order"): "by key",
    ("generate config --mem-resolver", "another order"): "by key",
    ("pull --all", "another order"): "as the server answers",
    ("pull --all", "pulled "): "the account that came last",
    ("push --diff", "another order"): "as the server answers",
}


@pytest.mark.parametrize("page", SESSION, ids=lambda page: page.stem)
def test_pyjs_nsc_does_what_nsc_does(page: Path, tmp_path: Path) -> None:
    compared = recording.Comparison({**EXCEPTIONS.get(page.stem, {}), **ORDERS})
    replay = Replay(tmp_path, Pyjs(Cli(tmp_path, "nsc")))
    try:
        compared.play(page.read_text("utf-8"), replay.play)
    finally:
        replay.close()
    assert compared.found == []
    assert set(compared.unused()) <= set(ORDERS), "these do not differ any more"


def played() -> list[list[str]]:
    """The words of each line, without what stands before a command."""
    found = []
    for page in SESSION:
        for line, _ in recording.parts(page.read_text("utf-8")):
            words = [word for word in shlex.split(line) if not VARIABLE.fullmatch(word) and word != "&"]
            found.append(words[2:] if words and words[0] == "in" else words)
    return found


def path_of(words: list[str]) -> str:
    """The command that a line runs, by its own name."""
    command: click.Command = nsc
    path: list[str] = []
    for word in words:
        if isinstance(command, click.Group) and (below := command.get_command(click.Context(command), word)):
            command = below
            path.append(below.name or word)
    return " ".join(path)


def test_each_command_is_played() -> None:
    listed = {each.path for each in command_list.read(HERE / "nsc_commands.txt")} - {""}
    assert listed - {path_of(words) for words in played()} == set()
