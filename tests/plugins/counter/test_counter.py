"""Counters: added to, read with their sources, listed; refused where a stream or server has none."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from lib.cli import Cli
from lib.eventually import eventually


@pytest.fixture
def counters(cli: Cli, unique: str) -> Iterator[str]:
    """A stream of counters."""
    cli.ok("stream", "add", unique, "--subjects", f"{unique}.>", "--allow-counter", "--defaults")
    yield unique
    cli.run("stream", "rm", unique, "--force")


def test_a_counter_is_added_to_and_read(cli: Cli, counters: str) -> None:
    hits = f"{counters}.hits"
    assert cli.ok("counter", "increment", hits, "5") == "5\n"
    assert cli.ok("ctr", "dec", hits, "7") == "-2\n"
    assert cli.ok("counter", "incr", hits, "-1") == "-3\n"
    assert cli.ok("counter", "d", hits, "-1") == "-2\n"
    huge = "9" * 40
    assert cli.ok("counter", "i", hits, huge) == f"{int(huge) - 2}\n"
    assert cli.ok("counter", "get", hits) == f"{int(huge) - 2}\n"
    assert json.loads(cli.ok("counter", "get", hits, "--stream", counters, "-o", "json")) == {
        "stream": counters,
        "subject": hits,
        "value": str(int(huge) - 2),
        "increment": huge,
    }
    assert "Counter Value: 4" in cli.run("pub", "-J", f"{counters}.pub", "", "-H", "Nats-Incr:4").err


def test_what_sources_added_is_shown(cli: Cli, counters: str, unique: str) -> None:
    total = f"{unique}_total"
    source = {"name": counters, "subject_transforms": [{"src": f"{counters}.>", "dest": f"{total}.>"}]}
    cli.ok(
        *("stream", "add", total, "--subjects", f"{total}.>", "--source", json.dumps(source)),
        *("--allow-counter", "--defaults"),
    )
    try:
        cli.ok("counter", "incr", f"{counters}.hits", "3")
        assert "No source information found" in cli.ok("counter", "view", f"{counters}.hits")
        cli.ok("counter", "incr", f"{total}.own", "2")
        copied = f"{counters} > {counters}.hits: 3\n"
        eventually(lambda: copied in cli.run("counter", "view", f"{total}.hits").out)
        seen = json.loads(cli.ok("counter", "view", f"{total}.hits", "-o", "json"))
        assert (seen["value"], seen["sources"]) == ("3", {counters: {f"{counters}.hits": "3"}})
    finally:
        cli.run("stream", "rm", total, "--force")


def test_counters_are_listed(cli: Cli, counters: str) -> None:
    empty = cli.run("counter", "list", "--stream", counters)
    assert (empty.code, "no counters found" in empty.err) == (3, True)
    for name in ("b", "a", "x.y"):
        cli.ok("counter", "incr", f"{counters}.{name}", "1")
    assert cli.ok("counter", "ls", f"{counters}.*") == f"{counters}.a\n{counters}.b\n"
    everything = [f"{counters}.{name}" for name in ("a", "b", "x.y")]
    assert json.loads(cli.ok("counter", "ls", "--stream", counters, "--json")) == everything
    listed = json.loads(cli.ok("counter", "ls", "--stream", counters, "-o", "json"))
    assert listed == [{"subject": each} for each in everything]
    nothing = cli.run("counter", "list")
    assert (nothing.code, "no stream or subject specified" in nothing.err) == (2, True)


def test_a_counter_that_was_never_added_to_is_told(cli: Cli, counters: str) -> None:
    result = cli.run("counter", "get", f"{counters}.none")
    assert (result.code, result.out) == (3, "")
    assert f"counter not initialized for subject: {counters}.none" in result.err
    assert cli.run("counter", "get", f"{counters}.*").code == 2
    assert cli.run("counter", "incr", f"{counters}.a", "many").code == 2
    assert cli.run("counter", "incr", f"{counters}.a", "1" * 2000).code == 2


def test_what_has_no_counters_says_so(cli: Cli, unique: str) -> None:
    cli.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    for words in (("get",), ("view",), ("list",), ("incr", "1")):
        result = cli.run("counter", words[0], unique, *words[1:])
        assert (result.code, result.out) == (4, "")
        assert f'"{unique}" is not a valid counter stream' in result.err
    assert "Messages: 0" in cli.ok("stream", "info", unique)
    assert cli.run("counter", "get", f"{unique}.nosuch").code == 3
    cli.ok("stream", "rm", unique, "--force")
