"""`errors`: the table of error codes, files of them, and their edit. No server takes part."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from lib.cli import Cli

GOOD = {"constant": "JSBadErr", "code": 400, "error_code": 10003, "description": "bad", "help": "Ask again"}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def test_the_own_table(cli: Cli) -> None:
    listed = json.loads(cli.ok("errors", "ls", "-o", "json"))
    codes = [each["error_code"] for each in listed]
    assert len(codes) > 200
    assert codes == sorted(codes)
    assert cli.ok("err", "list", "stream not found", "-o", "name") == "10059\n"
    assert cli.ok("errors", "ls", "10059", "-o", "name") == "10059\n"
    backwards = json.loads(cli.ok("errors", "ls", "consumer", "d", "-R", "-o", "json"))
    texts = [each["description"] for each in backwards]
    assert texts == sorted(texts, reverse=True)
    page = cli.ok("error", "show", "10059")
    assert "NATS Error Code: 10059" in page
    assert "Description: stream not found" in page
    assert "HTTP Code: 404" in page
    assert "Go Index Constant: JSStreamNotFoundErr" in page


@pytest.mark.parametrize("words", [("--errors", "F", "ls"), ("ls", "--errors", "F")])
def test_a_file(cli: Cli, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "F").write_text(json.dumps([GOOD]))
    found = json.loads(cli.ok("errors", *words, "-j"))
    assert [each["constant"] for each in found] == ["JSBadErr"]
    assert "Ask again" in cli.ok("errors", "--errors", "F", "lookup", "10003")
    assert cli.ok("errors", "validate", "F") == "Validated 1 errors\n"
    assert cli.ok("errors", "--errors", "F", "validate") == "Validated 1 errors\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"error_code": 999}, "may not be below 1000"),
        ({"code": 0}, "code is missing"),
        ({"constant": ""}, "constant is missing"),
        ({"description": ""}, "description is missing"),
        ({"description": "a {b"}, "unmatched"),
        ({"description": "a {b}"}, "end in F"),
        ({"description": "{err}", "constant": "XF"}, "needs a comment"),
    ],
)
def test_faults_of_a_file(cli: Cli, tmp_path: Path, change: dict[str, object], said: str) -> None:
    (tmp_path / "F").write_text(json.dumps([{**GOOD, **change}]))
    result = cli.run("errors", "validate", "F")
    assert result.code == 1
    assert said in result.out
    assert "F is invalid" in result.err


@pytest.mark.parametrize(
    ("code", "words", "said"),
    [
        (3, ("lookup", "1"), "no error matches code 1"),
        (3, ("ls", "nothing has this"), "no errors found matching"),
        (2, ("ls", "("), "not a regular expression"),
        (2, ("ls", "a", "size"), "size"),
        (2, ("validate",), "errors file is required"),
        (3, ("validate", "missing"), "missing"),
        (1, ("validate", "text"), "text is not JSON"),
        (1, ("validate", "object"), "object is not a list of errors"),
        (1, ("validate", "types"), "code is not a number, help is not a text"),
        (1, ("validate", "twice"), "twice is invalid"),
    ],
)
def test_mistakes(cli: Cli, tmp_path: Path, code: int, words: tuple[str, ...], said: str) -> None:
    (tmp_path / "text").write_text("{")
    (tmp_path / "object").write_text("{}")
    (tmp_path / "types").write_text(json.dumps([{**GOOD, "code": "x", "help": 3}]))
    (tmp_path / "twice").write_text(json.dumps([GOOD, GOOD]))
    result = cli.run("errors", *words)
    assert result.code == code
    for part in said.split(", "):
        assert part in result.err


def editing(tmp_path: Path, **change: object) -> dict[str, str]:
    """An editor that changes fields of the error it is given."""
    script = tmp_path / "editor.py"
    script.write_text(
        "import json, pathlib, sys\n"
        "p = pathlib.Path(sys.argv[1])\n"
        f"change = json.loads({json.dumps(json.dumps(change))})\n"
        "p.write_text(json.dumps(json.loads(p.read_text()) | change))\n"
    )
    return {"EDITOR": f"{sys.executable} {script}", "VISUAL": ""}


def test_edit(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "F"
    file.write_text(json.dumps([GOOD]))
    file.chmod(0o640)
    result = cli.run("errors", "edit", "F", "10003", env=editing(tmp_path, description="worse"))
    assert (result.code, result.out) == (0, "Validated 1 errors\n")
    assert json.loads(file.read_text()) == [{**GOOD, "description": "worse"}]
    assert file.stat().st_mode & 0o777 == 0o640
    added = editing(tmp_path, constant="JSNewErr", code=500, description="new")
    assert cli.run("errors", "add", "F", env=added).code == 0
    assert json.loads(file.read_text())[1]["error_code"] == 10004
    assert sorted(each.name for each in tmp_path.iterdir()) == ["F", "editor.py"]


def test_an_edit_that_is_wrong_changes_nothing(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "F"
    file.write_text(json.dumps([GOOD]))
    result = cli.run("errors", "edit", "F", "10003", env=editing(tmp_path, code=0))
    assert result.code != 0
    assert "code is missing" in result.err
    assert json.loads(file.read_text()) == [GOOD]
