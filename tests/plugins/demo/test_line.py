"""Command lines of a demo: in this process, with given answers, and without the user's settings."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from lib.pool import Pool
from pyjs.cli.errors import CliError
from pyjs.plugins.demo.line import run, variables

ANSWERS = """
? Storage backend file
? Retention Policy Limits
? Discard Policy Old
? Stream Messages Limit -1
? Per Subject Messages Limit 7
? Message size limit -1
? Maximum message age limit -1
? Maximum individual message size -1
? Duplicate tracking time window 2m
? Replicas 1
"""
ADD = "stream add ORDERS --subjects orders --output orders.json"


@pytest.fixture(scope="module")
def at(pool: Pool) -> list[str]:
    """Flags that lead to a server with JetStream."""
    config = 'listen: "127.0.0.1:<client>"\njetstream { store_dir: "<store>" }\n'
    return ["--server", pool.get("pyjs", config).url]


def test_answers_are_given_and_shown(at: list[str], tmp_path: Path) -> None:
    done = run([*at, *ADD.split()], tmp_path, variables({}), ANSWERS)
    assert done.code == 0, done.text
    assert done.text.splitlines()[:10] == ANSWERS.strip().splitlines()
    assert json.loads((tmp_path / "orders.json").read_text())["max_msgs_per_subject"] == 7


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (
            ANSWERS.replace("Discard", "Other"),
            '"Discard Policy" is asked where the answer is "? Other Policy Old"',
        ),
        (ANSWERS.replace("file", "paper"), '"paper" is no answer to "Storage backend"'),
        (ANSWERS.replace("? Replicas 1\n", ""), '"Replicas" is asked where the answer is ""'),
    ],
)
def test_an_answer_to_another_question_is_an_error(
    at: list[str], tmp_path: Path, answers: str, said: str
) -> None:
    done = run([*at, *ADD.split()], tmp_path, variables({}), answers)
    assert done.code == 2
    assert said in done.text
    assert not (tmp_path / "orders.json").exists()


def test_an_answer_nobody_asks_for_is_an_error(at: list[str], tmp_path: Path) -> None:
    with pytest.raises(CliError, match="nobody asked for"):
        run([*at, *ADD.split()], tmp_path, variables({}), ANSWERS + "? And then nothing\n")


def test_nothing_of_this_process_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NATS_URL", "NSC_HOME", "NKEYS_PATH", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, "the user's")
    before = dict(os.environ), Path.cwd(), sys.stdin, sys.stdout, sys.stderr
    inside = variables({"XDG_CONFIG_HOME": str(tmp_path)})
    assert not {"NATS_URL", "NSC_HOME", "NKEYS_PATH"} & set(inside)
    done = run(["context", "save", "here", "--server", "nats://example:1"], tmp_path, inside)
    assert done.code == 0, done.text
    assert (tmp_path / "nats" / "context" / "here.json").exists()
    assert run(["no-such-command"], tmp_path, inside).code == 2
    assert (dict(os.environ), Path.cwd(), sys.stdin, sys.stdout, sys.stderr) == before
