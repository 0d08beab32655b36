"""On a terminal, missing flags are asked for: the documents' questions, their order and their answers."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from lib.cli import Cli
from lib.terminal import Terminal


def asked(terminal: Terminal, *answers: tuple[str, str]) -> None:
    for question, answer in answers:
        terminal.answer(question, answer)


def config(cli: Cli, stream: str, name: str) -> dict[str, Any]:
    return dict(json.loads(cli.ok("consumer", "info", stream, name, "--json"))["config"])


def test_a_pull_consumer_by_the_documents_questions(cli: Cli, stream: str) -> None:
    with cli.terminal(["consumer", "add"]) as terminal:
        asked(
            terminal,
            ("Consumer name", "dur"),
            ("Delivery target (empty for Pull Consumers)", ""),
            ("Start policy (all, new, last, 1h, msg sequence)", ""),
            ("Replay policy", ""),
            ("Filter Stream by subject (blank for all)", ""),
            ("Maximum Allowed Deliveries", ""),
            ("Maximum Acknowledgements Pending", ""),
            ("Select a Stream", stream),
        )
        assert terminal.finish() == 0
        shown = terminal.lines()
    assert shown[:9] == [
        "? Consumer name dur",
        "? Delivery target (empty for Pull Consumers)",
        "? Start policy (all, new, last, 1h, msg sequence) all",
        "? Replay policy instant",
        "? Filter Stream by subject (blank for all)",
        "? Maximum Allowed Deliveries -1",
        "? Maximum Acknowledgements Pending 0",
        f"? Select a Stream {stream}",
        next(line for line in shown if line.startswith(f"Information for Consumer {stream} > dur created ")),
    ]


def test_a_push_consumer_is_asked_for_its_acknowledgements(cli: Cli, stream: str) -> None:
    with cli.terminal(["con", "add", stream]) as terminal:
        asked(
            terminal,
            ("Consumer name", "MONITOR"),
            ("Delivery target (empty for Pull Consumers)", "monitor.ORDERS"),
            ("Start policy (all, new, last, 1h, msg sequence)", "last"),
            ("Acknowledgement policy", ""),
            ("Replay policy", ""),
            ("Filter Stream by subject (blank for all)", ""),
            ("Maximum Allowed Deliveries", ""),
        )
        assert terminal.finish() == 0
    found = config(cli, stream, "MONITOR")
    assert (found["ack_policy"], found["deliver_policy"]) == ("none", "last")
    assert found["deliver_subject"] == "monitor.ORDERS"


def test_a_flag_answers_its_question(cli: Cli, stream: str) -> None:
    flags = f"--pull --deliver all --replay instant --filter {stream}.a --max-deliver 20 --sample 100"
    with cli.terminal(["consumer", "add", stream, "C", *flags.split()]) as terminal:
        asked(terminal, ("Maximum Acknowledgements Pending", "5"))
        assert terminal.finish() == 0
    found = config(cli, stream, "C")
    assert (found["max_deliver"], found["max_ack_pending"], found["sample_freq"]) == (20, 5, "100")


def test_a_wrong_answer_is_asked_again_and_a_question_mark_explains(cli: Cli, stream: str) -> None:
    with cli.terminal(["consumer", "add", stream]) as terminal:
        asked(
            terminal,
            ("Consumer name", ""),
            ("Consumer name", "a.b"),
            ("Consumer name", "C"),
            ("Delivery target (empty for Pull Consumers)", "?"),
            ("Delivery target (empty for Pull Consumers)", "a.*"),
            ("Delivery target (empty for Pull Consumers)", ""),
            ("Start policy (all, new, last, 1h, msg sequence)", "soon"),
            ("Start policy (all, new, last, 1h, msg sequence)", "2"),
            ("Replay policy", "orig"),
            ("Filter Stream by subject (blank for all)", "a..b"),
            ("Filter Stream by subject (blank for all)", f"{stream}.a {stream}.b"),
            ("Maximum Allowed Deliveries", "lots"),
            ("Maximum Allowed Deliveries", "3"),
            ("Maximum Acknowledgements Pending", "10"),
        )
        assert terminal.finish() == 0
        shown = terminal.lines()
    assert any("Settable using --target and --pull" in line for line in shown)
    assert '  "lots" is not a whole number' in shown
    found = config(cli, stream, "C")
    assert (found["opt_start_seq"], found["replay_policy"]) == (2, "original")
    assert found["filter_subjects"] == [f"{stream}.a", f"{stream}.b"]
    assert (found["max_deliver"], found["max_ack_pending"]) == (3, 10)


def test_the_same_without_questions_is_shown_and_does_the_same(cli: Cli, stream: str) -> None:
    with cli.terminal(["consumer", "add", "--js-api-prefix", "$JS.API"]) as terminal:
        asked(
            terminal,
            ("Consumer name", "C"),
            ("Delivery target (empty for Pull Consumers)", ""),
            ("Start policy (all, new, last, 1h, msg sequence)", "new"),
            ("Replay policy", ""),
            ("Filter Stream by subject (blank for all)", f"{stream}.a"),
            ("Maximum Allowed Deliveries", "4"),
            ("Maximum Acknowledgements Pending", ""),
            ("Select a Stream", stream),
        )
        assert terminal.finish() == 0
        line = terminal.errors().strip().splitlines()[-1].strip()
    first = config(cli, stream, "C")
    cli.ok("consumer", "rm", stream, "C", "-f")
    cli.with_flags().ok(*shlex.split(line)[1:])
    assert config(cli, stream, "C") == first


def test_an_unknown_stream_is_reported_before_anything_is_asked(cli: Cli, stream: str) -> None:
    with cli.terminal(["consumer", "add", f"{stream}X"]) as terminal:
        assert terminal.finish() == 3
        assert "stream not found (10059)" in terminal.errors()
        assert terminal.lines() == []


def test_ctrl_c_at_a_question_changes_nothing(cli: Cli, stream: str) -> None:
    with cli.terminal(["consumer", "add", stream]) as terminal:
        asked(terminal, ("Consumer name", "C"))
        assert terminal.question().startswith("Delivery target")
        terminal.type("\x03")
        assert terminal.finish() == 130
        assert terminal.errors().strip() == "pyjs: error: interrupt"
    assert cli.ok("consumer", "ls", stream, "-n") == ""


@pytest.mark.parametrize(("answer", "gone"), [("y", True), ("", False)])
def test_a_consumer_is_chosen_from_lists_and_removed_after_a_question(
    cli: Cli, stream: str, answer: str, gone: bool
) -> None:
    cli.ok("consumer", "add", stream, "one", "--pull", "--defaults")
    cli.ok("consumer", "add", stream, "two", "--pull", "--defaults")
    with cli.terminal(["consumer", "rm"]) as terminal:
        asked(
            terminal,
            ("Select a Stream", stream),
            ("Select a Consumer", "two"),
            (f"Really delete Consumer {stream} > two", answer),
        )
        assert terminal.finish() == 0
    assert cli.ok("consumer", "ls", stream, "-n") == ("one\n" if gone else "one\ntwo\n")


def test_how_long_to_pause_is_asked(cli: Cli, stream: str) -> None:
    cli.ok("consumer", "add", stream, "C", "--pull", "--defaults")
    with cli.terminal(["consumer", "pause", stream, "C", "--force"]) as terminal:
        asked(terminal, ("Pause until (time or duration)", "soon"), ("Pause until (time or duration)", "1h"))
        assert terminal.finish() == 0
    assert json.loads(cli.ok("consumer", "info", stream, "C", "-j"))["paused"] is True
