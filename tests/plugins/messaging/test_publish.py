"""`pub`: bodies from the line and from stdin, templates, headers, JetStream's acknowledgement, and Ctrl-C."""

from __future__ import annotations

import re

import pytest
from lib.cli import Cli
from lib.wire import Msg, Wire


@pytest.fixture
def heard(wire: Wire, unique: str) -> Wire:
    """A raw client that listens to `<unique>.>`."""
    wire.sub(f"{unique}.>")
    wire.sync()
    return wire


def bodies(messages: list[Msg]) -> list[bytes]:
    return [message.body for message in messages]


def test_a_message_is_sent_and_reported_on_stderr(cli: Cli, heard: Wire, unique: str) -> None:
    headers = ["-H", "Kind: test", "-H", "b:1:2"]
    result = cli.run("pub", f"{unique}.a", "hello world", "--reply", "back", *headers)
    assert (result.code, result.out) == (0, "")
    assert re.fullmatch(rf'\d\d:\d\d:\d\d Published 11 bytes to "{unique}\.a"\n', result.err)
    message = heard.msg()
    assert (message.subject, message.reply, message.body) == (f"{unique}.a", "back", b"hello world")
    assert message.headers == {"Kind": "test", "b": "1:2"}


def test_templates_are_filled_in_subject_headers_and_body(cli: Cli, heard: Wire, unique: str) -> None:
    cli.ok("pub", unique + ".{{Count}}", "n {{Count}} {{Random 4 4}}", "-H", "N: {{Count}}", "--count", "3")
    for number, message in enumerate(heard.msgs(3), 1):
        assert message.subject == f"{unique}.{number}"
        assert message.headers == {"N": str(number)}
        assert re.fullmatch(rf"n {number} \w{{4}}", message.body.decode())


def test_templates_can_be_left_alone_and_wrong_ones_send_nothing(cli: Cli, heard: Wire, unique: str) -> None:
    cli.ok("pub", f"{unique}.a", "{{Count}}", "--no-templates")
    wrong = cli.run("pub", f"{unique}.a", "{{Cuont}}")
    assert wrong.code == 2
    assert "did you mean Count" in wrong.err
    cli.ok("pub", f"{unique}.a", "end")
    assert bodies(heard.msgs(2)) == [b"{{Count}}", b"end"]


@pytest.mark.parametrize(
    ("words", "given", "sent"),
    [
        ([], "a\nb\n", [b"a\nb\n"]),
        ([], "", [b""]),
        (["--send-on", "newline"], "a\nb\r\nc", [b"a", b"b", b"c"]),
        (["--send-on", "newline"], "", []),
        (["--send-on", "newline", "--count", "2"], "a\n", [b"a", b"a"]),
        (["argument"], "stdin", [b"argument"]),
        (["argument", "--force-stdin"], "stdin", [b"stdin"]),
        (["", "--send-on", "newline"], "stdin", [b""]),
    ],
)
def test_where_bodies_come_from(
    cli: Cli, heard: Wire, unique: str, words: list[str], given: str, sent: list[bytes]
) -> None:
    result = cli.run("pub", f"{unique}.a", *words, stdin=given)
    assert result.code == 0
    cli.ok("pub", f"{unique}.a", "end", "-q")
    assert bodies(heard.msgs(len(sent) + 1)) == [*sent, b"end"]


def test_jetstream_says_where_it_stored_a_message(cli: Cli, stream: str) -> None:
    first = cli.run("pub", f"{stream}.a", "x", "-J", "-H", "Nats-Msg-Id: 1")
    assert f"Stored in Stream: {stream} Sequence: 1\n" in first.err
    again = cli.run("pub", f"{stream}.a", "x", "-J", "-H", "Nats-Msg-Id: 1")
    assert f"Stored in Stream: {stream} Sequence: 1 Duplicate: true\n" in again.err
    many = cli.run("pub", f"{stream}.a", "{{Count}}", "--jetstream", "--count", "3", "--sleep", "1ms")
    assert re.findall(r"Sequence: (\d+)", many.err) == ["2", "3", "4"]


def test_what_jetstream_refuses_is_an_error_with_its_code(cli: Cli, stream: str) -> None:
    wrong = cli.run("pub", f"{stream}.a", "x", "-J", "-H", "Nats-Expected-Stream: OTHER")
    assert wrong.code == 4
    assert "expected stream does not match (10060)" in wrong.err
    nowhere = cli.run("pub", f"no.{stream}", "x", "-J")
    assert nowhere.code == 6
    assert "nats: no responders available for request" in nowhere.err
    assert "no stream listens to" in nowhere.err
    assert f"explain subject no.{stream}" in nowhere.err
    both = cli.run("pub", f"{stream}.a", "x", "-J", "--reply", "back")
    assert (both.code, "--reply" in both.err) == (2, True)


def test_an_answer_that_is_no_acknowledgement_is_reported(cli: Cli, unique: str) -> None:
    with cli.terminal(["reply", unique, "thanks", "--count", "1"]) as terminal:
        while "Listening" not in terminal.errors():
            terminal.read(0.02)
        result = cli.run("pub", unique, "x", "-J")
        assert result.code == 1
        assert "not JetStream's acknowledgement" in result.err
        terminal.finish()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a b", "x"], "invalid subject"),
        (["a", "x", "-H", "nocolon"], 'invalid header "nocolon"'),
        (["a", "x", "--count", "0"], "--count"),
        (["a", "x", "--sleep", "soon"], "--sleep"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(cli: Cli, words: list[str], said: str) -> None:
    result = cli.run("pub", *words)
    assert result.code == 2
    assert said in result.err


def test_many_messages_are_counted_and_quiet_is_quiet(cli: Cli, heard: Wire, unique: str) -> None:
    many = cli.run("pub", f"{unique}.a", "{{Count}}", "--count", "1000")
    assert re.fullmatch(r"\d\d:\d\d:\d\d Published 1,000 messages\n", many.err)
    assert bodies(heard.msgs(1000)) == [str(number).encode() for number in range(1, 1001)]
    assert cli.run("pub", f"{unique}.a", "x", "-q").err == ""


def test_many_stored_messages_are_counted_once_they_are_stored(cli: Cli, unique: str) -> None:
    cli.ok("stream", "add", unique, "--subjects", f"{unique}.>")
    many = cli.run("pub", f"{unique}.a", "x", "--count", "21", "--jetstream")
    assert re.fullmatch(r"\d\d:\d\d:\d\d Published 21 messages\n", many.err)
    few = cli.run("pub", f"{unique}.a", "x", "--count", "20", "--jetstream").err.splitlines()
    assert few[-1].endswith(f"Stored in Stream: {unique} Sequence: 41")
    assert len(few) == 40


def test_ctrl_c_ends_a_long_run_and_says_how_far_it_came(cli: Cli, heard: Wire, unique: str) -> None:
    words = ["pub", f"{unique}.a", "{{Count}}", "--count", "1000000", "--sleep", "1h"]
    with cli.terminal(words) as terminal:
        assert heard.msg().body == b"1"
        terminal.type("\x03")
        assert terminal.finish() == 130
        assert terminal.errors().strip() == "pyjs: error: interrupt: 1 message was published"
