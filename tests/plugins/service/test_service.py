"""`service` on both servers: found, described, asked; and answers that are none of a service."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import nats
import nats.micro
import pytest
from lib.cli import Cli
from lib.process import ServerProcess
from lib.terminal import Terminal
from pyjs.protocol import micro


@contextmanager
def serving(cli: Cli, name: str, *more: str) -> Iterator[Terminal]:
    """A `service serve` that listens."""
    with cli.terminal(["service", "serve", name, *more]) as terminal:
        while not any("waits for requests" in line for line in terminal.lines()):
            assert terminal.process.poll() is None, terminal.errors()
            terminal.read(0.02)
        yield terminal


def test_a_service_is_found_asked_and_counted(cli: Cli, unique: str) -> None:
    with serving(cli, unique, "-H", "Kind: demo") as terminal:
        listed = json.loads(cli.ok("service", "ls", unique, "--json"))
        assert [(each["name"], each["version"]) for each in listed] == [(unique, "1.0.0")]
        instance = listed[0]["id"]
        assert f"│ {unique} " in cli.ok("micro", "l")
        assert cli.ok("service", "ls", unique, "-o", "name") == f"{unique}\n"
        assert re.fullmatch(rf"{unique} {instance} +rtt=\S+\n", cli.ok("service", "ping", unique))

        answer = cli.run("service", "req", unique, "echo", "x{{Count}}", "-H", "More: yes", "--count", "2")
        assert answer.code == 0
        assert answer.err.count(f'Sending request on "{unique}.echo"') == 2
        assert "Kind: demo\n" in answer.out
        assert "More: yes\n" in answer.out
        assert f"Subject: {unique}.echo\n" in answer.out
        assert "\nx1\n" in answer.out
        assert "\nx2\n" in answer.out
        plain = cli.ok("service", "request", unique, "echo", "{{x}}", "--no-templates", "--raw")
        assert plain == "{{x}}\n"
        loud = cli.ok("service", "request", unique, "echo", "abc", "-r", "--translate", "tr a-z A-Z")
        assert loud == "ABC\n"
        lines = cli.run("service", "req", unique, "echo", "-r", "--send-on", "newline", stdin="one\ntwo\n")
        assert lines.out == "one\ntwo\n"

        (counted,) = json.loads(cli.ok("service", "stats", unique, "-j"))
        (endpoint,) = counted["endpoints"]
        assert (endpoint["num_requests"], endpoint["num_errors"]) == (6, 0)
        assert endpoint["average_processing_time"] == endpoint["processing_time"] // 6 > 0
        assert endpoint["data"] == {"total_payload": 2 + 2 + 5 + 3 + 3 + 3}
        assert re.search(rf"│ {instance} │ echo +│ 6 ", cli.ok("service", "stats", unique, instance))

        whole = json.loads(cli.ok("service", "info", unique, instance, "--json"))
        assert whole["info"]["endpoints"][0]["subject"] == f"{unique}.echo"
        assert whole["stats"]["endpoints"][0]["num_requests"] == 6
        page = cli.ok("service", "i", unique)
        assert f"Service: {unique} ({instance})" in page
        assert 'Requests: 6 in group "q"' in page
        none = json.loads(cli.ok("service", "info", unique, "-e", "nothing", "--json"))
        assert none["info"]["endpoints"] == none["stats"]["endpoints"] == []

        terminal.type("\x03")
        assert terminal.finish() == 130
    gone = cli.run("service", "info", unique)
    assert (gone.code, gone.out) == (3, "")
    assert f"no service instances found: {unique}" in gone.err


def test_several_instances(cli: Cli, unique: str) -> None:
    with serving(cli, unique), serving(cli, unique):
        listed = json.loads(cli.ok("service", "ls", unique, "-j"))
        assert listed[0]["id"] < listed[1]["id"]
        cli.ok("service", "req", unique, "echo", "", "--count", "4", "--raw")
        counted = json.loads(cli.ok("service", "stats", unique, "-o", "json"))
        assert sum(each["num_requests"] for each in counted) == 4
        assert len(cli.ok("service", "ping", unique).splitlines()) == 2


def test_services_of_another_client(cli: Cli, server: ServerProcess, unique: str) -> None:
    async def failing(request: Any) -> None:
        await request.respond_error("500", "it broke")

    async def scenario() -> None:
        nc = await nats.connect(server.url)
        service = await nats.micro.add_service(
            nc, name=unique, version="2.0.1", description="made by nats-py", metadata={"a": "b"}
        )
        await service.add_endpoint(name="fail", subject=f"{unique}.fail", handler=failing)
        try:
            await asyncio.to_thread(questions)
        finally:
            await service.stop()
            await nc.close()

    def questions() -> None:
        (found,) = json.loads(cli.process("service", "ls", unique, "--json").out)
        assert (found["description"], found["metadata"]) == ("made by nats-py", {"a": "b"})
        answer = cli.process("service", "req", unique, "fail", "x").out
        assert "Nats-Service-Error: it broke\n" in answer
        assert "Requests: 1 in group" in cli.process("service", "info", unique).out

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"not json",
        b"[]",
        b'{"type":"io.nats.micro.v1.info_response"}',
        b'{"type":"io.nats.micro.v1.ping_response","name":"a","id":"b","version":"1"}',
        b'{"type":"io.nats.micro.v1.info_response","name":"a","id":7,"version":"1"}',
        b'{"type":"io.nats.micro.v1.info_response","name":"a\\u001b[2J","id":"b","version":"1"}',
        b'{"type":"io.nats.micro.v1.info_response","name":"a","id":"b","version":"1","endpoints":[1]}',
        b'{"type":"io.nats.micro.v1.info_response","name":"a","id":"b","version":"1","endpoints":7}',
    ],
)
def test_what_is_no_answer_of_a_service_is_skipped(answer: bytes) -> None:
    assert micro.document_of(answer, micro.INFO) is None


def test_nonsense_stops_nobody(cli: Cli, unique: str) -> None:
    subject = f"$SRV.INFO.{unique}"
    with serving(cli, unique), cli.terminal(["reply", subject, "nonsense", "-q", "liars"]) as liar:
        while "Listening" not in liar.errors():
            assert liar.process.poll() is None, liar.errors()
            liar.read(0.02)
        assert cli.ok("service", "ls", unique, "-o", "name") == f"{unique}\n"
        assert "Received on subject" in liar.errors()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("service", "ls", "No.Name"), 2, "cannot be the name"),
        (("service", "info", "NoSuch"), 3, "no service instances found: NoSuch"),
        (("service", "stats", "NoSuch", "x"), 3, "no service instances found: NoSuch x"),
        (("service", "req", "NoSuch", "echo", "x"), 3, "service ls' shows all services"),
        (("service", "serve", "a b"), 2, "cannot be the name of a service"),
        (("service", "serve", "a", "-H", "nocolon"), 2, "expected KEY=VALUE"),
    ],
)
def test_mistakes(cli: Cli, words: tuple[str, ...], code: int, said: str) -> None:
    result = cli.run(*words)
    assert (result.code, result.out) == (code, "")
    assert said in result.err


def test_an_endpoint_that_is_not_there(cli: Cli, unique: str) -> None:
    with serving(cli, unique):
        result = cli.run("service", "req", unique, "ecko", "x")
    assert result.code == 3
    assert f'service "{unique}" has no endpoint "ecko" (available: echo)' in result.err
    assert "did you mean echo?" in result.err


def test_no_service_at_all_answers_a_ping(cli: Cli, unique: str) -> None:
    result = cli.run("service", "ping", unique)
    assert (result.code, result.out) == (0, "")
    assert "No service answered" in result.err
