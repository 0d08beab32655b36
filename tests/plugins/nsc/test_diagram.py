"""`pyjs nsc generate diagram`: where the text and the pictures go."""

from __future__ import annotations

from pathlib import Path

import pytest
from lib.cli import Cli
from lib.operator_fixture import OperatorEnv
from lib.operator_store import written


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    env = OperatorEnv()
    env.account("ONE", exports=[{"subject": "a", "type": "stream"}])
    written(env, tmp_path / "nsc")
    return Cli(tmp_path, "nsc", "-H", str(tmp_path / "nsc"), "generate", "diagram")


@pytest.mark.parametrize("kind", ["component", "object"])
def test_text_goes_to_stdout_or_to_a_file(cli: Cli, kind: str) -> None:
    text = cli.ok(kind)
    assert text.startswith("@startuml\n")
    assert text.endswith("@enduml\n\n")
    assert "wrote" in cli.ok(kind, "-o", "x.uml")
    kept = [line for line in (cli.home / "x.uml").read_text().splitlines() if not line.startswith("footer")]
    assert kept == [line for line in text.splitlines()[:-1] if not line.startswith("footer")]


@pytest.mark.parametrize("kind", ["component", "object"])
def test_pictures_go_to_files(cli: Cli, kind: str) -> None:
    pytest.importorskip("PIL")
    shown = cli.ok(kind, "--svg", "x.svg", "--png", "x.png")
    assert "@startuml" not in shown
    assert shown.count(f"[ OK ] wrote {kind} diagram to") == 2
    assert (cli.home / "x.svg").read_text().startswith("<?xml")
    assert (cli.home / "x.png").read_bytes().startswith(b"\x89PNG")


def test_pictures_of_exports_and_imports_do_not_pretend_to_have_details(cli: Cli) -> None:
    result = cli.run("component", "--detail", "--svg", "x.svg")
    assert result.code == 2 and "--detail is for the text" in result.err
    assert not (cli.home / "x.svg").exists()


def test_a_place_where_nothing_can_be_written(cli: Cli) -> None:
    (cli.home / "file").write_text("")
    result = cli.run("component", "--svg", "file/x.svg")
    assert result.code == 1
    assert result.err.startswith("Error: cannot")
