"""`server watch` on both servers: what servers and accounts do, and what the JetStream API is asked."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from lib.cli import PYJS, Cli
from lib.process import ServerProcess
from pyjs.plugins.server.watch.api import MOST, OTHERS, PARTS, CountedRequest, RequestTally, request_of
from pyjs.plugins.server.watch.live import SILENT_SECONDS, LatestDocuments

CONFIG = """
listen: "127.0.0.1:<client>"
server_name: one
jetstream { store_dir: "<store>" }
accounts {
  APP { jetstream: enabled, users: [ {user: app, password: app} ] }
  SYS { users: [ {user: sys, password: sys} ] }
}
system_account: SYS
"""


@pytest.fixture
def url(serve: Callable[[str], ServerProcess]) -> str:
    return serve(CONFIG).url


@pytest.fixture
def app(cli: Cli, url: str) -> Cli:
    return cli.with_flags("--server", url, "--user", "app", "--password", "app")


@pytest.fixture
def system(cli: Cli, url: str) -> Cli:
    return cli.with_flags("--server", url, "--user", "sys", "--password", "sys")


@contextmanager
def watched(cli: Cli, *words: str) -> Iterator[Callable[[Callable[[Any], bool]], Any]]:
    """Run `pyjs server watch`, which listens when this begins; give what returns the first fitting record."""
    command = [*PYJS, *cli.flags, "server", "watch", *words, "-o", "json"]
    with subprocess.Popen(command, env=cli.environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            lists = listed(process.stdout)
            next(lists)
            yield lambda fits: next(record for records in lists for record in records if fits(record))
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
        finally:
            process.kill()


def listed(lines: Iterable[str]) -> Iterator[list[Any]]:
    """The lists of records that follow each other."""
    text = ""
    for line in lines:
        text += line
        if line in ("[]\n", "]\n"):
            yield json.loads(text)
            text = ""


def test_servers_are_there_at_once(system: Cli) -> None:
    with watched(system, "servers", "--sort", "mem") as first:
        record = first(lambda _: True)
    assert (record["name"], record["routes"], record["gateways"]) == ("one", 0, 0)
    assert record["mem"] > 0 and record["cores"] > 0 and record["subscriptions"] > 0


def test_jetstream_counts_requests_to_the_api(system: Cli, app: Cli) -> None:
    app.ok("stream", "ls")
    with watched(system, "js") as first:
        record = first(lambda _: True)
    assert (record["name"], record["leader"], record["snapshot"]) == ("one", False, "")
    assert record["api"] > 0


def test_an_account_is_there_when_a_connection_comes(system: Cli, app: Cli) -> None:
    with watched(system, "acct") as first, watched(app, "api", "requests"):
        record = first(lambda each: each["name"] == "APP" and each["connections"] == 1)
    assert (record["account"], record["servers"]) == ("APP", 1)


def test_requests_to_the_api_are_counted_by_what_they_are_about(app: Cli, unique: str) -> None:
    with watched(app, "api", "req", "-n", "30") as first:
        app.ok("stream", "add", unique, "--subjects", unique, "--defaults")
        app.ok("consumer", "add", unique, "C", "--pull", "--defaults")
        record = first(lambda each: each["type"] == "consumer_create_request")
    assert (record["stream"], record["consumer"], record["count"], record["recent"]) == (unique, "C", 1, 1)


def test_the_system_account_sees_of_whom_requests_are(
    system: Cli, app: Cli, unique: str, implementation: str
) -> None:
    if implementation == "pyjs":
        pytest.skip("takes requests in their account; documented in docs/differences.md")
    with watched(system, "api", "req", "--account", "^APP$") as first:
        app.ok("stream", "add", unique, "--subjects", unique, "--defaults")
        record = first(lambda each: each["type"] == "stream_create_request")
    assert (record["account"], record["stream"]) == ("APP", unique)


def test_a_table_fits_the_screen_and_counts_all(system: Cli) -> None:
    with system.terminal(["server", "watch", "srv"], columns=80, rows=24) as terminal:
        shown = terminal.shows(lambda text: "╯" in text)
        assert max(map(len, shown)) <= 80
        assert "Top 1 Server activity by Connections" in shown[3]
        assert any("│ Totals (1) " in line for line in shown)
        terminal.type("\x03")
        assert terminal.finish() == 0
    refused = system.run("server", "watch", "srv", "-o", "csv")
    assert (refused.code, "ndjson" in refused.err) == (2, True)


def test_who_is_silent_counts_no_more() -> None:
    now = [0.0]
    heard = LatestDocuments(lambda: now[0])
    heard.keep({"n": 1}, "A")
    now[0] = SILENT_SECONDS - 1
    heard.keep({"n": 2}, "B")
    assert heard.documents() == [{"n": 1}, {"n": 2}]
    now[0] = SILENT_SECONDS
    assert heard.documents() == [{"n": 2}]


def test_recent_requests_are_those_of_the_interval_and_strangers_fill_no_memory() -> None:
    now = [0]
    heard = RequestTally(PARTS * 10, lambda: now[0])
    heard.add(CountedRequest("a"))
    now[0] = PARTS * 10 - 1
    heard.add(CountedRequest("a"))
    assert [(each["count"], each["recent"]) for each in heard.records()] == [(2, 2)]
    now[0] = PARTS * 10
    assert [(each["count"], each["recent"]) for each in heard.records()] == [(2, 1)]
    for number in range(MOST + 5):
        heard.add(CountedRequest("b", stream=str(number)))
    records = heard.records()
    assert len(records) == MOST + 1
    assert next(each["count"] for each in records if each["type"] == OTHERS.type) == 6


@pytest.mark.parametrize(
    ("subject", "request_"),
    [
        ("INFO", CountedRequest("account_info_request")),
        ("STREAM.INFO.S", CountedRequest("stream_info_request", stream="S")),
        ("STREAM.NAMES", CountedRequest("stream_names_request")),
        ("STREAM.MSG.GET.S", CountedRequest("stream_msg_get_request", stream="S")),
        ("CONSUMER.CREATE.S.C.a.b", CountedRequest("consumer_create_request", stream="S", consumer="C")),
        ("CONSUMER.MSG.NEXT.S.C", CountedRequest("consumer_getnext_request", stream="S", consumer="C")),
        ("DIRECT.GET.S.a.b", CountedRequest("stream_direct_get_request", stream="S")),
        ("SERVER.REMOVE", CountedRequest("meta_server_remove_request")),
    ],
)
def test_a_request_is_known_by_its_subject(subject: str, request_: CountedRequest) -> None:
    assert request_of(f"$JS.API.{subject}") == request_


def test_another_subject_is_no_request() -> None:
    assert request_of("$JS.ACK.x") is None
