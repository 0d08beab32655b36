"""On a terminal, missing flags are asked for: the documents' questions, their order and their answers."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from lib.cli import Cli
from lib.process import ServerProcess
from lib.terminal import Terminal


def asked(terminal: Terminal, *answers: tuple[str, str]) -> None:
    for question, answer in answers:
        terminal.answer(question, answer)


def config(cli: Cli, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cli.ok("stream", "info", name, "--json"))
    return dict(found["config"])


def test_enter_takes_the_defaults_and_answers_stay_on_the_screen(cli: Cli, unique: str) -> None:
    with cli.terminal(["stream", "add"]) as terminal:
        asked(
            terminal,
            ("Stream Name", unique),
            ("Subjects to consume", f"{unique}.a {unique}.b"),
            ("Storage backend", ""),
            ("Retention Policy", ""),
            ("Discard Policy", ""),
            ("Stream Messages Limit", ""),
            ("Per Subject Messages Limit", ""),
            ("Message size limit", ""),
            ("Maximum message age limit", ""),
            ("Maximum individual message size", ""),
            ("Duplicate tracking time window", ""),
            ("Replicas", ""),
        )
        assert terminal.finish() == 0
        assert terminal.lines()[:13] == [
            f"? Stream Name {unique}",
            f"? Subjects to consume {unique}.a {unique}.b",
            "? Storage backend file",
            "? Retention Policy Limits",
            "? Discard Policy Old",
            "? Stream Messages Limit -1",
            "? Per Subject Messages Limit -1",
            "? Message size limit -1",
            "? Maximum message age limit -1",
            "? Maximum individual message size -1",
            "? Duplicate tracking time window 2m",
            "? Replicas 1",
            f"Stream {unique} was created",
        ]
    assert config(cli, unique)["subjects"] == [f"{unique}.a", f"{unique}.b"]


def test_a_flag_answers_its_question(cli: Cli, unique: str) -> None:
    flags = shlex.split(
        f"--subjects {unique} --storage file --retention work --discard new --max-msgs 5 --max-bytes=-1 "
        "--max-age 1h --max-msg-size=-1 --dupe-window 1m --max-msgs-per-subject=-1"
    )
    with cli.terminal(["stream", "add", unique, *flags]) as terminal:
        asked(terminal, ("Replicas", "1"))
        assert terminal.finish() == 0


def test_a_wrong_answer_is_asked_again_and_a_question_mark_explains(cli: Cli, unique: str) -> None:
    with cli.terminal(["stream", "add", unique, "--subjects", unique]) as terminal:
        asked(
            terminal,
            ("Storage backend", "mem"),
            ("Retention Policy", "work"),
            ("Discard Policy", "new"),
            ("Stream Messages Limit", "?"),
            ("Stream Messages Limit", "lots"),
            ("Stream Messages Limit", "100"),
            ("Per Subject Messages Limit", ""),
            ("Message size limit", "1XB"),
            ("Message size limit", "1MB"),
            ("Maximum message age limit", "5"),
            ("Maximum message age limit", "1m"),
            ("Maximum individual message size", ""),
            ("Duplicate tracking time window", ""),
            ("Replicas", "0"),
            ("Replicas", "1"),
        )
        assert terminal.finish() == 0
        shown = terminal.lines()
    assert any("Settable using --max-msgs" in line for line in shown)
    assert '  "lots" is not a whole number' in shown
    assert "? Duplicate tracking time window 1m0s" in shown
    found = config(cli, unique)
    assert (found["storage"], found["retention"], found["discard"]) == ("memory", "workqueue", "new")
    assert (found["max_msgs"], found["max_bytes"], found["max_age"]) == (100, 1048576, 60 * 10**9)


def test_the_same_without_questions_is_shown_and_does_the_same(
    cli: Cli, server: ServerProcess, unique: str
) -> None:
    cli.ok("stream", "add", unique, "--subjects", unique)
    flags = "--storage file --retention limits --discard old --max-bytes=-1 --max-age=-1 --max-msg-size=-1"
    words = ["stream", "add", *shlex.split(flags), "--source", unique]
    with cli.terminal(words) as terminal:
        asked(
            terminal,
            ("Stream Name", f"{unique}C"),
            ("Stream Messages Limit", "7"),
            ("Duplicate tracking time window", ""),
            ("Replicas", ""),
            (f'Adjust source "{unique}" start', "y"),
            (f"{unique} Source Start Sequence", "2"),
            (f"{unique} Source UTC Time Stamp (YYYY:MM:DD HH:MM:SS)", ""),
            (f'Import "{unique}" from a different JetStream domain', "n"),
            (f'Import "{unique}" from a different account', ""),
        )
        assert terminal.finish() == 0
        errors = terminal.errors()
    line = errors.strip().splitlines()[-1].strip()
    assert errors.strip().startswith("The same without questions:")
    assert line.startswith("pyjs --server")
    first = config(cli, f"{unique}C")
    assert first["sources"][0]["opt_start_seq"] == 2
    cli.ok("stream", "rm", f"{unique}C", "-f")
    bare = cli.with_flags()
    bare.ok(*shlex.split(line)[1:])
    second = config(cli, f"{unique}C")
    assert {**first, "metadata": None} == {**second, "metadata": None}


def test_a_mirror_from_another_account_needs_both_prefixes(cli: Cli, unique: str) -> None:
    with cli.terminal(["stream", "add", unique, "--mirror", "else", "--output", "saved"]) as terminal:
        asked(
            terminal,
            ("Storage backend", ""),
            ("Retention Policy", ""),
            ("Discard Policy", ""),
            ("Stream Messages Limit", ""),
            ("Message size limit", ""),
            ("Maximum message age limit", ""),
            ("Maximum individual message size", ""),
            ("Replicas", ""),
            ("Adjust mirror start", ""),
            ("Import mirror from a different JetStream domain", "No"),
            ("Import mirror from a different account", "Yes"),
            ("Foreign account API prefix", ""),
            ("Foreign account API prefix", "JS.acc@hub.API"),
            ("Foreign account delivery prefix", "deliver.acc"),
        )
        assert terminal.finish() == 0
    saved = json.loads((cli.home / "saved").read_text())
    assert saved["mirror"]["external"] == {"api": "JS.acc@hub.API", "deliver": "deliver.acc"}


def test_ctrl_c_at_a_question_changes_nothing(cli: Cli, unique: str) -> None:
    with cli.terminal(["stream", "add", unique, "--subjects", unique]) as terminal:
        asked(terminal, ("Storage backend", ""))
        assert terminal.question().startswith("Retention Policy")
        terminal.type("\x03")
        assert terminal.finish() == 130
        assert terminal.errors().strip() == "pyjs: error: interrupt"
    assert cli.run("stream", "info", unique).code == 3


@pytest.mark.parametrize(("answer", "gone"), [("y", True), ("", False), ("no", False)])
def test_removing_asks_and_takes_no_for_an_answer(cli: Cli, unique: str, answer: str, gone: bool) -> None:
    cli.ok("stream", "add", unique, "--subjects", unique)
    with cli.terminal(["stream", "rm", unique]) as terminal:
        asked(terminal, (f"Really delete Stream {unique}", answer))
        assert terminal.finish() == 0
    assert (cli.run("stream", "info", unique).code == 3) is gone


def test_a_stream_is_chosen_from_a_list_by_typing(cli: Cli, unique: str) -> None:
    for each in (f"{unique}one", f"{unique}two"):
        cli.ok("stream", "add", each, "--subjects", each)
    with cli.terminal(["stream", "info"]) as terminal:
        asked(terminal, ("Select a Stream", f"{unique}two"))
        assert terminal.finish() == 0
        shown = terminal.lines()
    assert shown[0] == f"? Select a Stream {unique}two"
    assert shown[1].startswith(f"Information for Stream {unique}two created ")
