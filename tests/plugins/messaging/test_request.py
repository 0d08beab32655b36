"""`request` and `reply` talk to each other; `rtt` measures."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from lib.cli import Cli
from lib.jetstream import JetStream
from lib.process import ServerProcess
from lib.terminal import Terminal


@contextmanager
def answering(cli: Cli, *words: str) -> Iterator[Terminal]:
    """A `reply` that listens."""
    with cli.terminal(["reply", *words]) as terminal:
        while "Listening" not in terminal.errors():
            assert terminal.process.poll() is None, terminal.errors()
            terminal.read(0.02)
        yield terminal


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--echo"], "question"),
        ([], "question"),
        (["{{Request}} is answer {{Count}}"], "question is answer 0"),
        (["--command", "tr a-z A-Z"], "QUESTION"),
        (["--command", "sh -c 'echo {{1}} $NATS_REQUEST_SUBJECT'"], "two U.two"),
        (["--command", "echo {{1}} {{ Request }} {{Count}} {{7}}."], "two question 0 ."),
    ],
)
def test_requests_are_answered(cli: Cli, unique: str, words: list[str], answer: str) -> None:
    subject = f"{unique}.two"
    with answering(cli, f"{unique}.*", *words, "--count", "1", "-H", "Kind: answer") as terminal:
        result = cli.run("request", subject, "question")
        assert result.code == 0
        assert f'Sending request on "{subject}"' in result.err
        assert re.search(r"Received with rtt \S+s\n", result.err)
        assert "Kind: answer\n" in result.out
        assert answer.replace("U.", f"{unique}.") in result.out
        assert terminal.finish() == 0
        assert f'[#0] Received on subject "{subject}":' in terminal.errors()
        assert "question" in terminal.lines()


def test_an_echo_has_the_headers_of_the_request(cli: Cli, unique: str) -> None:
    with answering(cli, unique, "-H", "Own: {{Count}}", "--echo", "--count", "2"):
        assert cli.run("req", unique, "q", "-H", "Kind: question").code == 0
        out = cli.ok("req", unique, "q", "-H", "Kind: question")
    assert {"Own: 1", "Kind: question", "NATS-Reply-Counter: 1"} <= set(out.splitlines())


def test_a_command_that_cannot_be_run_is_told(cli: Cli, unique: str) -> None:
    with answering(cli, unique, "--command", "/no/such/command", "--count", "1") as terminal:
        assert cli.ok("req", unique, "q", "--raw").strip() == ""
        assert terminal.finish() == 0
        assert "The command cannot be run: [Errno 2]" in terminal.errors()


def test_a_request_is_never_more_than_a_part_of_a_word(cli: Cli, unique: str) -> None:
    command = """python3 -c 'import sys; print(sys.argv[1:])' a{{Request}}b {{1}}"""
    with answering(cli, f"{unique}.*", "--command", command, "--count", "1"):
        out = cli.ok("req", f"{unique}.{{{{Request}}}}", "x' y; {{1}}", "--raw", "--no-templates")
    assert out.strip() == str(["ax' y; {{1}}b", "{{Request}}"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{{Nothing}}"], "no template function {{Nothing}}"),
        (["x", "-H", "A: {{Nothing}}"], "no template function {{Nothing}}"),
        (["--command", "echo {{Nothing}}"], "no template function {{Nothing}}"),
        (["--command", "echo 'a"], "the command cannot be read: No closing quotation"),
        (["--command", " "], "the command is empty"),
    ],
)
def test_what_cannot_be_answered_is_refused_before_a_request_comes(
    cli: Cli, unique: str, words: list[str], said: str
) -> None:
    result = cli.run("reply", unique, *words)
    assert (result.code, said in result.err) == (2, True), result


def test_a_request_for_a_message_of_a_consumer_shows_it(cli: Cli, server: ServerProcess, unique: str) -> None:
    with JetStream.of(server) as js:
        js.create(unique, subjects=[unique])
        js.publish(unique, b"delivered")
        js.consumer(unique, "C")
    result = cli.run("req", f"$JS.API.CONSUMER.MSG.NEXT.{unique}.C", "1")
    assert (result.code, "delivered" in result.out) == (0, True)


DENYING = """
listen: "127.0.0.1:<client>"
jetstream { store_dir: "<store>" }
authorization { users: [
  { user: eve, password: eve, permissions: { publish: { deny: ["$JS.API.STREAM.>", "secret.>"] } } }
  { user: mute, password: mute, permissions: { subscribe: { deny: "_INBOX.>" } } }
] }
"""


@pytest.mark.parametrize(
    ("user", "words", "said"),
    [
        ("eve", ("request", "secret.x", "q"), 'Publish to "secret.x"'),
        ("eve", ("request", "secret.x", "q", "--replies", "0"), 'Publish to "secret.x"'),
        ("eve", ("pub", "secret.x", "q", "--jetstream"), 'Publish to "secret.x"'),
        ("eve", ("stream", "ls"), 'Publish to "$JS.API.STREAM.LIST"'),
        ("mute", ("request", "free.x", "q"), 'Subscription to "_INBOX.'),
    ],
)
def test_a_request_that_is_denied_ends_at_once(
    cli: Cli, serve: Callable[[str], ServerProcess], user: str, words: tuple[str, ...], said: str
) -> None:
    login = ("--server", serve(DENYING).url, "--user", user, "--password", user, "--timeout", "60s")
    before = time.monotonic()
    result = cli.with_flags(*login).run(*words)
    assert (result.code, said in result.err, result.err.count("Violation")) == (4, True, 1), result
    assert time.monotonic() - before < 30


def test_raw_answers_are_bodies_only(cli: Cli, unique: str) -> None:
    with answering(cli, unique, "yes", "--count", "2"):
        assert cli.run("req", unique, "q", "--raw", "--count", "2").out.split() == ["yes", "yes"]


def test_several_answer(cli: Cli, unique: str) -> None:
    with answering(cli, unique, "one", "-q", "a"), answering(cli, unique, "two", "-q", "b"):
        out = cli.ok("request", unique, "q", "--replies", "2", "--raw")
        assert sorted(out.split()) == ["one", "two"]
        out = cli.ok("request", unique, "q", "--replies", "0", "--raw", "--reply-timeout", "200ms")
        assert sorted(out.split()) == ["one", "two"]


def test_an_empty_answer_ends_the_wait_for_it(cli: Cli, unique: str) -> None:
    with answering(cli, unique, "--echo"):
        assert cli.run("request", unique, "", "--wait-for-empty", "--raw").code == 0


def test_nobody_there_is_reported(cli: Cli, unique: str) -> None:
    result = cli.run("request", unique, "q")
    assert result.code == 0  # as nats ends
    assert "No responders are available" in result.err


def test_ctrl_c_ends_an_answerer_in_good_order(cli: Cli, unique: str) -> None:
    with answering(cli, unique, "--echo") as terminal:
        terminal.type("\x03")
        assert terminal.finish() == 130
        assert terminal.errors().strip().endswith("pyjs: error: interrupt")
        assert "Traceback" not in terminal.errors()


def test_one_way_to_answer_only(cli: Cli, unique: str) -> None:
    result = cli.run("reply", unique, "body", "--echo")
    assert result.code == 2
    assert "one way only" in result.err


def test_round_trip_times(cli: Cli) -> None:
    out = cli.ok("rtt", "3")
    assert re.fullmatch(r"nats://127\.0\.0\.1:\d+:\n\n   nats://127\.0\.0\.1:\d+: [\d.]+(µs|ms|s)\n\n", out)
    found = json.loads(cli.ok("rtt", "--json"))
    assert found[0]["results"][0]["rtt"] > 0
    assert cli.run("rtt", "0").code == 2
