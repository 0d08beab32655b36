"""`--json` on every command: stdout is one JSON document, whatever the command prints without it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from lib.cli import Cli

TIME = re.compile(r"\d\d:\d\d:\d\d")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    cli = Cli(tmp_path, "nsc", "-H", str(tmp_path / "nsc"))
    for line in ("add operator OP --sys", "add account A", "add user ann"):
        cli.ok(*line.split())
    return cli


@pytest.mark.parametrize(
    "line",
    [
        "generate config --mem-resolver",
        "generate creds -a A -n ann",
        "generate diagram component",
        "generate diagram object",
        "describe account A --raw",
        "help add account",
        "update",
        "completion bash",
    ],
)
def test_texts_are_reported_as_text(cli: Cli, line: str) -> None:
    plain = cli.ok(*line.split())
    output = json.loads(cli.ok(*line.split(), "--json"))
    assert [*output] == ["text"]
    # A diagram says when it was drawn.
    assert TIME.sub("", output["text"]).split() == TIME.sub("", plain).split()


def test_what_is_json_already_is_not_wrapped(cli: Cli) -> None:
    assert json.loads(cli.ok("describe", "account", "A", "--json"))["name"] == "A"
    assert json.loads(cli.ok("describe", "account", "A", "-F", "name", "--json")) == "A"
    assert json.loads(cli.ok("describe", "-J", "account", "A"))["name"] == "A"
    assert json.loads(cli.ok("describe", "-F", "name", "account", "A")) == "A"
    assert "operator" in json.loads(cli.ok("generate", "profile", "nsc://OP/A", "--json"))


def test_a_selection_shows_what_is_current(cli: Cli) -> None:
    assert cli.ok("select", "account", "SYS") == ""
    output = json.loads(cli.ok("select", "account", "A", "--json"))
    assert (output["operator"], output["account"]) == ("OP", "A")


def test_both_pictures_are_one_document(cli: Cli) -> None:
    pytest.importorskip("PIL")
    line = "generate diagram object --svg x.svg --png x.png --json"
    assert json.loads(cli.ok(*line.split()))["paths"] == ["x.png", "x.svg"]
