"""`sub`: which messages it shows, in which form, and when it ends; and messages of streams."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from lib.cli import Cli
from lib.terminal import Terminal
from lib.wire import Msg, Wire


@contextmanager
def listening(cli: Cli, *words: str) -> Iterator[Terminal]:
    """A `sub` that has subscribed."""
    with cli.terminal(["sub", *words]) as terminal:
        while "Subscribing" not in terminal.errors():
            assert terminal.process.poll() is None, terminal.errors()
            terminal.read(0.02)
        yield terminal


def output(
    wire: Wire, subject: str, *bodies: str, reply: str = "", headers: dict[str, str] | None = None
) -> set[str]:
    """Publish; the bodies that came back to the client itself."""
    for body in bodies:
        wire.pub(subject, body, reply, headers)
    return {frame.body.decode() for frame in wire.sync() if isinstance(frame, Msg)}


def test_messages_are_shown_as_they_come(cli: Cli, wire: Wire, unique: str) -> None:
    with listening(cli, f"{unique}.*", "--count", "3") as terminal:
        output(wire, f"{unique}.a", "one")
        output(wire, f"{unique}.b", "two", reply="back")
        output(wire, f"{unique}.c", "three", headers={"Kind": "test"})
        assert terminal.finish() == 0
        shown = [line for line in terminal.lines() if line]
        assert re.fullmatch(rf"\d\d:\d\d:\d\d Subscribing on {unique}\.\*", terminal.errors().strip())
    assert shown == [
        f'[#1] Received on "{unique}.a"',
        "one",
        f'[#2] Received on "{unique}.b" with reply "back"',
        "two",
        f'[#3] Received on "{unique}.c"',
        "Kind: test",
        "three",
    ]


@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        (["--subjects-only"], ["U.a", "U.b"]),
        (["--headers-only"], ['[#1] Received on "U.a"', "K: v", '[#2] Received on "U.b"', "K: v"]),
        (["--ignore-subject", "U.ignored"], None),
        (["--translate", "tr a-z A-Z"], ['[#1] Received on "U.a"', "K: v", "ONE", '[#2] Received on "U.b"',
                                         "K: v", "TWO"]),
    ],
)  # fmt: skip
def test_ways_to_show_messages(
    cli: Cli, wire: Wire, unique: str, flags: list[str], shown: list[str] | None
) -> None:
    flags = [flag.replace("U", unique) if flag.startswith("U") else flag for flag in flags]
    with listening(cli, f"{unique}.*", "--count", "2", *flags) as terminal:
        if shown is None:
            output(wire, f"{unique}.ignored", "never")
        output(wire, f"{unique}.a", "one", headers={"K": "v"})
        output(wire, f"{unique}.b", "two", headers={"K": "v"})
        assert terminal.finish() == 0
        found = [line for line in terminal.lines() if line]
    if shown is not None:
        assert found == [line.replace("U.", f"{unique}.") for line in shown]
    else:
        assert "never" not in found


def test_timestamps(cli: Cli, wire: Wire, unique: str) -> None:
    with listening(cli, unique, "--count", "1", "-t") as terminal:
        output(wire, unique, "x")
        assert terminal.finish() == 0
        assert re.match(rf'\[#1\] @ \d\d:\d\d:\d\d\.\d+ Received on "{unique}"', terminal.lines()[0])


def test_a_queue_group_shares_messages(cli: Cli, wire: Wire, unique: str) -> None:
    wire.sub(unique, "mine", "group")
    with listening(cli, unique, "--queue", "group") as terminal:
        kept = output(wire, unique, *map(str, range(60)))
        while len(bodies(terminal)) + len(kept) < 60:
            assert terminal.read(40), terminal.lines()
        assert not kept & bodies(terminal)
        assert 0 < len(kept) < 60


def bodies(terminal: Terminal) -> set[str]:
    """The numbers that are shown."""
    return {line for line in terminal.lines() if line.isdecimal()}


def test_bodies_are_dumped_into_files(cli: Cli, wire: Wire, unique: str) -> None:
    with listening(cli, unique, "--dump", "saved", "--count", "2") as terminal:
        output(wire, unique, "one", "two")
        assert terminal.finish() == 0
    saved = cli.home / "saved"
    assert {path.name: path.read_text() for path in saved.iterdir()} == {"1": "one", "2": "two"}


def test_quiet_time_ends_the_run(cli: Cli, unique: str) -> None:
    assert cli.run("sub", unique, "--wait", "50ms").code == 0


def test_ctrl_c_ends_in_good_order(cli: Cli, wire: Wire, unique: str) -> None:
    with listening(cli, unique) as terminal:
        output(wire, unique, "one")
        while "one" not in terminal.lines():
            assert terminal.read(40)
        terminal.type("\x03")
        terminal.finish()
        assert "Traceback" not in terminal.errors()
        assert "error" not in terminal.errors().replace("pyjs: error: interrupt", "")


@pytest.fixture
def filled(cli: Cli, stream: str) -> str:
    """The stream with `1` to `4` on two subjects in turns."""
    for number in range(1, 5):
        cli.ok("pub", f"{stream}.{'ab'[number % 2]}", str(number), "-J", "-q")
    return stream


@pytest.mark.parametrize(
    ("flags", "bodies"),
    [
        (["--all"], "1 2 3 4"),
        (["--last"], "4"),
        (["--start-sequence", "3"], "3 4"),
        (["--since", "1h"], "1 2 3 4"),
        (["--last-per-subject"], "3 4"),
        ([], "1 2 3 4"),
    ],
)
def test_what_a_stream_holds(cli: Cli, filled: str, flags: list[str], bodies: str) -> None:
    out = cli.ok("sub", "--stream", filled, *flags, "--raw", "-T")
    assert out.split() == bodies.split()


def test_a_subject_finds_its_stream_and_filters_it(cli: Cli, filled: str) -> None:
    assert cli.ok("sub", f"{filled}.a", "--all", "--raw", "-T").split() == ["2", "4"]
    both = cli.ok("sub", f"{filled}.a", f"{filled}.b", "--stream", filled, "--raw", "-T", "--all")
    assert both.split() == ["1", "2", "3", "4"]
    nowhere = cli.run("sub", f"no.{filled}", "--all")
    assert nowhere.code == 3
    assert f"no Stream found for subject no.{filled}" in nowhere.err


def test_new_messages_of_a_stream(cli: Cli, wire: Wire, filled: str) -> None:
    with listening(cli, "--stream", filled, "--new", "--count", "1") as terminal:
        output(wire, f"{filled}.a", "five")
        assert terminal.finish() == 0
        assert f"Received JetStream message: stream: {filled} seq: 5 / pending: 0" in terminal.lines()[0]


def test_a_durable_consumer_is_used_and_acknowledged(cli: Cli, filled: str) -> None:
    cli.ok("consumer", "add", filled, "C", "--pull", "--defaults")
    out = cli.ok("sub", "--stream", filled, "--durable", "C", "--raw", "--count", "3")
    assert out.split() == ["1", "2", "3"]
    page = cli.ok("consumer", "info", filled, "C")
    assert "Unprocessed Messages: 1" in page
    assert "Outstanding Acks: 0 out of" in page
    assert cli.ok("sub", "--stream", filled, "--durable", "C", "--raw", "-T") == "4\n"
    assert cli.ok("sub", "--stream", filled, "--durable", "C", "--raw", "-T") == ""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, "nothing to subscribe to"),
        (["x", "--all", "--last"], 2, "read from one place only"),
        (["--stream", "NOSUCH", "--all"], 3, "stream not found (10059)"),
        (["--stream", "NOSUCH", "--durable", "C"], 3, "(100"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(cli: Cli, words: list[str], code: int, said: str) -> None:
    result = cli.run("sub", *words)
    assert result.code == code
    assert said in result.err


def test_a_wrong_stream_is_answered_with_the_nearest(cli: Cli, filled: str) -> None:
    result = cli.run("sub", "--stream", filled + "X", "--all")
    assert result.code == 3
    assert f"did you mean {filled}" in result.err
