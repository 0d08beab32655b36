"""`pub --atomic` and `pub --schedule-…`: on the reference; a server without them is told of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from pyjs.cli.errors import UsageError
from pyjs.plugins.messaging.schedule import schedule_headers
from pyjs.protocol.timestamp import parse_rfc3339

NOON = parse_rfc3339("2026-12-01T12:00:00Z")
SECOND = 1_000_000_000


@pytest.fixture
def stream(cli: Cli, unique: str) -> Iterator[str]:
    """A stream that allows batches and schedules."""
    flags = ("--allow-batch", "--allow-schedules", "--allow-msg-ttl")
    cli.ok("stream", "add", unique, "--subjects", f"{unique}.>", *flags, "--defaults")
    yield unique
    cli.run("stream", "rm", unique, "--force")


def count(cli: Cli, stream: str) -> int:
    messages: int = json.loads(cli.ok("stream", "info", stream, "-o", "json"))["state"]["messages"]
    return messages


def test_a_batch_is_stored_whole_or_not_at_all(cli: Cli, stream: str) -> None:
    lines = "".join(f"line {number}\n" for number in range(1, 101))
    words = ("--atomic", "--send-on", "newline", "-H", "N:{{Count}}")
    done = cli.run("pub", stream + ".{{Count}}", *words, stdin=lines)
    assert done.code == 0
    assert " Messages: 100 Sequence: 100\n" in done.err
    assert "line 100\n" in cli.ok("stream", "get", stream, "100")
    assert "N: 7" in cli.ok("stream", "get", stream, "7")
    refused = cli.run(
        *("pub", stream + ".{{Count}}", "x", "--atomic", "--count", "3", "-q"),
        *("-H", "Nats-Expected-Last-Subject-Sequence:7"),
    )
    assert (refused.code, refused.out) == (4, "")
    assert count(cli, stream) == 100
    one = cli.run("pub", f"{stream}.one", "x", "--atomic")
    assert " Messages: 1 Sequence: 101\n" in one.err
    empty = cli.run("pub", f"{stream}.one", "--atomic", "--send-on", "newline")
    assert (empty.code, "no messages to publish in atomic batch" in empty.err) == (2, True)


def test_a_batch_needs_a_stream_that_allows_it(cli: Cli, stream: str) -> None:
    cli.ok("stream", "edit", stream, "--no-allow-batch", "--force")
    refused = cli.run("pub", f"{stream}.a", "x", "--atomic")
    assert refused.code == 4
    assert f"stream edit {stream} --allow-batch' allows it" in refused.err
    assert count(cli, stream) == 0
    assert cli.run("pub", "nosuch.subject", "x", "--atomic").code == 3


def test_a_message_is_scheduled(cli: Cli, stream: str) -> None:
    where = ("--schedule-dest", f"{stream}.due")
    cli.ok("pub", f"{stream}.s", "later", "--schedule-after", "1ms", *where, "--schedule-ttl", "1h")
    eventually(lambda: "later" in cli.run("stream", "get", stream, "--last-for", f"{stream}.due").out)
    assert "Nats-TTL: 1h0m0s" in cli.ok("stream", "get", stream, "--last-for", f"{stream}.due")
    wrong = cli.run("pub", f"{stream}.s", "x", "--schedule-cron", "nonsense", *where)
    assert (wrong.code, wrong.out) == (4, "")
    assert "message schedules pattern is invalid (10189)" in wrong.err


def test_a_stream_that_has_neither_is_told_of(cli: Cli, unique: str) -> None:
    cli.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    for flags in (("--atomic",), ("--schedule-after", "1s", "--schedule-dest", unique)):
        result = cli.run("pub", unique, "x", *flags)
        assert (result.code, result.out) == (4, "")
    assert count(cli, unique) == 0
    cli.ok("stream", "rm", unique, "--force")


@pytest.mark.parametrize(
    ("given", "pattern"),
    [
        ({"after": 1500 * 10**6}, "@at 2026-12-01T12:00:01.5Z"),
        ({"at": "2026-12-01T09:00:00+01:00"}, "@at 2026-12-01T08:00:00Z"),
        ({"every": 90 * SECOND}, "@every 1m30s"),
        ({"cron": "0 0 * * * *"}, "0 0 * * * *"),
    ],
)
def test_the_headers_of_a_schedule(given: dict[str, Any], pattern: str) -> None:
    named = {f"schedule_{name}": value for name, value in given.items()}
    assert schedule_headers({**named, "schedule_dest": "a.b", "schedule_source": "c"}, NOON) == {
        "Nats-Schedule": pattern,
        "Nats-Schedule-Target": "a.b",
        "Nats-Schedule-Source": "c",
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"after": 1}, "schedule destination is required"),
        ({"after": 1, "dest": "a.*"}, "schedule destination is required"),
        ({"dest": "a"}, "give one of --schedule-at, --schedule-after"),
        ({"dest": "a", "at": "2026-12-01T09:00:00Z", "cron": "@daily"}, "give one of"),
        ({"dest": "a", "after": -1}, "--schedule-after must be greater than 0"),
        ({"dest": "a", "every": 1}, "at least 1s"),
        ({"dest": "a", "at": "tomorrow"}, '"tomorrow" is no time'),
    ],
)
def test_flags_that_make_no_schedule(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        schedule_headers({f"schedule_{name}": value for name, value in given.items()}, NOON)
