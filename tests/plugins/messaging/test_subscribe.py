"""`sub`: which messages it shows, in which form, and when it ends; and messages of streams."""

from __future__ import annotations

import json
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


def test_the_time_since_the_start(cli: Cli, wire: Wire, unique: str) -> None:
    with listening(cli, unique, "--count", "1", "-d") as terminal:
        output(wire, unique, "x")
        assert terminal.finish() == 0
        assert re.match(rf'\[#1\] @ [\d.]+m?s Received on "{unique}"', terminal.lines()[0])
    assert cli.run("sub", unique, "-d", "-t").code == 2


def test_a_report_counts_subjects_or_subscriptions(cli: Cli, wire: Wire, unique: str) -> None:
    for flags, rows in (
        (["--report-subjects"], [["U.a", "2", "6 B"], ["U.b", "1", "3 B"], ["Totals", "3", "9 B"]]),
        (["--report-subjects", "--report-top", "1"], [["U.a", "2", "6 B"], ["Totals", "2", "6 B"]]),
        (["--report-subscriptions"], [["U.*", "3", "9 B"], ["Totals", "3", "9 B"]]),
    ):
        with listening(cli, f"{unique}.*", "--count", "3", *flags) as terminal:
            output(wire, f"{unique}.a", "one", "two")
            output(wire, f"{unique}.b", "one")
            assert terminal.finish() == 0
            lines = [re.split(r" *│ *", line.strip("│ ")) for line in terminal.lines() if "│" in line]
        assert [[cell.replace(unique, "U") for cell in line] for line in lines[2:]] == rows


def test_a_graph_shows_what_arrives(cli: Cli, wire: Wire, unique: str) -> None:
    with listening(cli, f"{unique}.*", "other", "--graph") as terminal:
        terminal.shows(lambda text: "other: -" in text)
        output(wire, f"{unique}.a", *"12345")
        terminal.shows(lambda text: "█" in text and f"{unique}.*: " in text)
        terminal.type("\x03")
        assert terminal.finish() == 0
    assert "terminal" in cli.run("sub", unique, "--graph").err
    assert cli.run("sub", *"abcde", "--graph").code == 2


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


def test_messages_are_dumped_into_files(cli: Cli, wire: Wire, unique: str) -> None:
    with listening(cli, unique, "--dump", "saved", "--count", "2", "--translate", "tr a-z A-Z") as terminal:
        output(wire, unique, "one", reply="back")
        output(wire, unique, "two", headers={"K": "v"})
        assert terminal.finish() == 0
    dumped = {path.name: json.loads(path.read_text()) for path in (cli.home / "saved").iterdir()}
    assert dumped == {
        "1.json": {"Subject": unique, "Reply": "back", "Header": None, "Data": "T05F", "Sub": None},
        "2.json": {"Subject": unique, "Reply": "", "Header": {"K": ["v"]}, "Data": "VFdP", "Sub": None},
    }


def test_messages_of_a_stream_are_dumped_by_their_sequence(cli: Cli, filled: str) -> None:
    for flags in ([], ["--direct"]):
        cli.ok("sub", f"{filled}.a", "--all", "-T", "--dump", "saved", *flags)
        assert sorted(path.name for path in (cli.home / "saved").iterdir()) == ["2.json", "4.json"]
    written = cli.ok("sub", f"{filled}.a", "--all", "-T", "--dump", "-").split("\0")
    assert [json.loads(each)["Data"] for each in written[:-1]] == ["Mg==", "NA=="]
    assert written[-1] == ""


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


def test_replies_are_shown_with_their_requests(cli: Cli, wire: Wire, unique: str) -> None:
    with listening(cli, f"{unique}.*", "--match-replies", "--count", "3") as terminal:
        output(wire, f"{unique}.a", "first?", reply=f"_INBOX.{unique}.1")
        output(wire, f"{unique}.b", "plain")
        output(wire, f"{unique}.c", "second?", reply=f"_INBOX.{unique}.2", headers={"K": "v"})
        output(wire, f"_INBOX.{unique}.other", "not asked for")
        output(wire, f"_INBOX.{unique}.2", "second!")
        output(wire, f"_INBOX.{unique}.1", "first!")
        assert terminal.finish() == 0
        shown = [line for line in terminal.lines() if line]
    assert shown == [
        f'[#1] Received on "{unique}.b"',
        "plain",
        f'[#2] Received on "{unique}.c" with reply "_INBOX.{unique}.2"',
        "K: v",
        "second?",
        f'[#2] Matched reply on "_INBOX.{unique}.2"',
        "second!",
        f'[#3] Received on "{unique}.a" with reply "_INBOX.{unique}.1"',
        "first?",
        f'[#3] Matched reply on "_INBOX.{unique}.1"',
        "first!",
    ]


def test_requests_without_a_reply_are_shown_at_the_end(cli: Cli, wire: Wire, unique: str) -> None:
    with listening(cli, unique, "--match-replies", "--wait", "4s") as terminal:
        output(wire, unique, "alone?", reply=f"_INBOX.{unique}")
        assert terminal.finish() == 0
        assert "alone?" in terminal.lines()


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
def test_what_a_stream_holds_by_direct_gets(cli: Cli, filled: str, flags: list[str], bodies: str) -> None:
    out = cli.ok("sub", "--stream", filled, "--direct", *flags, "--raw", "-T")
    assert out.split() == bodies.split()
    assert "No Consumers" in cli.run("consumer", "ls", filled).out


def test_new_messages_by_direct_gets(cli: Cli, wire: Wire, filled: str) -> None:
    with listening(cli, f"{filled}.a", "--direct", "--new", "--count", "1") as terminal:
        output(wire, f"{filled}.b", "not this")
        output(wire, f"{filled}.a", "this", headers={"K": "v"})
        assert terminal.finish() == 0
        shown = [line for line in terminal.lines() if line]
    assert shown[0].startswith(
        f"[#1] Received JetStream message (direct): stream: {filled} seq 6 / subject: {filled}.a / time: 2"
    )
    assert shown[1:] == ["K: v", "this"]


def test_many_messages_by_direct_gets(cli: Cli, filled: str) -> None:
    cli.ok("pub", f"{filled}.a", "{{Count}}", "--count", "250", "-J", "-q")
    out = cli.ok("sub", f"{filled}.a", "--direct", "--raw", "-T", "--start-sequence", "5")
    assert out.split() == [str(number) for number in range(1, 251)]


def test_a_work_queue_is_read_without_taking_from_it(cli: Cli, unique: str) -> None:
    cli.ok("stream", "add", unique, "--subjects", unique, "--retention", "work", "--defaults")
    cli.ok("pub", unique, "x", "-J", "-q")
    assert cli.ok("sub", "--stream", unique, "--all", "--raw", "-T") == "x\n"
    cli.ok("stream", "edit", unique, "--no-allow-direct", "--force")
    refused = cli.run("sub", "--stream", unique, "--all", "-T")
    assert refused.code == 4
    assert f"stream edit {unique} --allow-direct' sets it" in refused.err
    cli.ok("stream", "rm", unique, "--force")


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


def test_a_durable_consumer_is_made_if_there_is_none(cli: Cli, filled: str) -> None:
    listen = ("sub", "--stream", filled, "--durable", "C", "--raw", "--count", "1")
    first = cli.run(*listen, "--start-sequence", "2")
    assert (first.code, first.out) == (0, "2\n"), first
    assert f"Created the durable Consumer {filled} > C" in first.err
    second = cli.run(*listen)
    assert (second.code, second.out, second.err) == (0, "3\n", "")
    config = json.loads(cli.ok("consumer", "info", filled, "C", "--json"))["config"]
    assert (config["durable_name"], config["ack_policy"], config["opt_start_seq"]) == ("C", "explicit", 2)


def test_a_push_consumer_is_listened_to(cli: Cli, filled: str) -> None:
    cli.ok("consumer", "add", filled, "C", "--target", f"to.{filled}", "--ack", "explicit", "--defaults")
    assert cli.ok("sub", "--stream", filled, "--durable", "C", "--raw", "--count", "4").split() == list(
        "1234"
    )
    assert "Outstanding Acks: 0 out of" in cli.ok("consumer", "info", filled, "C")


def test_of_a_stream_only_headers_are_sent_if_only_they_are_shown(cli: Cli, filled: str) -> None:
    out = cli.ok("sub", "--stream", filled, "--last", "--headers-only", "-T")
    assert out.split("\n")[1] == "Nats-Msg-Size: 1"
    assert cli.ok("sub", "--stream", filled, "--last", "--subjects-only", "-T") == f"{filled}.a\n"
    assert cli.ok("sub", "--stream", filled, "--last", "--headers-only", "--raw", "-T") == "4\n"


def test_a_newline_is_not_doubled(cli: Cli, filled: str) -> None:
    cli.ok("pub", f"{filled}.a", "five\n", "-J", "-q")
    assert cli.ok("sub", "--stream", filled, "--start-sequence", "4", "--raw", "-T") == "4\nfive\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, "nothing to subscribe to"),
        (["x", "-T"], 2, "--terminate-at-end needs a Stream"),
        (["x", "--all", "--queue", "q"], 2, "queue groups are not for Streams"),
        (["x", "--all", "--inbox"], 2, "an inbox is not for Streams"),
        (["x", "--durable", "C"], 2, "cannot specify both subjects and a durable consumer"),
        (["x", "--all", "--last"], 2, "read from one place only"),
        (["x", "--all", "--match-replies", "--stream", "NOSUCH"], 2, "cannot enable --match-replies"),
        (["x", "--report-subjects", "--match-replies"], 2, "does not go with --graph or a report"),
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
