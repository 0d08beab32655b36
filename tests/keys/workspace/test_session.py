"""How long a session waits for the answers of all servers that are slow, unknown, silent or stopped."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from nats import errors
from pyjs.keys.workspace.servers.answers import ServerResponses, read
from pyjs.keys.workspace.servers.connection import ServersConnection
from pyjs.keys.workspace.servers.session import PING, QUIET, ServersSession

ASK = "$SYS.REQ.CLAIMS.LIST"


@dataclass
class Server:
    """One server: how long it takes (seconds, None for never), and how many it says there are."""

    name: str
    delay: float | None = 0.01
    active: int = 1
    ping: bool = True

    def answer(self, subject: str) -> bytes | None:
        me = {"name": self.name, "id": f"ID-{self.name}"}
        if subject == PING:
            return json.dumps({"server": me, "statsz": {"active_servers": self.active}}).encode()
        return json.dumps({"server": me, "data": []}).encode()


@dataclass
class Message:
    subject: str
    data: bytes
    headers: dict[str, str] | None = None


@dataclass
class Net:
    """Servers and the connection to them, in a time of its own."""

    servers: list[Server]
    now: float = 100.0
    due: list[tuple[float, int, Message]] = field(default_factory=list)
    numbers: Any = field(default_factory=itertools.count)

    def new_inbox(self) -> str:
        return "_INBOX.x"

    async def subscribe(self, subject: str) -> Net:
        assert subject == "_INBOX.x.*"
        return self

    async def publish(self, subject: str, body: bytes, reply: str) -> None:
        if not self.servers:
            none = Message(reply, b"", {"Status": "503"})
            heapq.heappush(self.due, (self.now, next(self.numbers), none))
        for server in self.servers:
            delay = 0.001 if subject == PING and server.ping else server.delay
            if delay is None or (subject == PING and not server.ping):
                continue
            body = server.answer(subject) or b""
            heapq.heappush(self.due, (self.now + delay, next(self.numbers), Message(reply, body)))

    async def next_msg(self, timeout: float) -> Message:
        if not self.due or self.due[0][0] > self.now + timeout:
            self.now += timeout
            raise errors.TimeoutError
        self.now, _, message = heapq.heappop(self.due)
        return message


def ask(net: Net, timeout: float = 1.0, times: int = 1) -> tuple[ServerResponses, float]:
    """Ask some times; the last answer, and how long all took."""

    async def run() -> tuple[ServerResponses, float]:
        session = ServersSession(ServersConnection(net), timeout, clock=lambda: net.now)
        await session.start()
        began, responses = net.now, ServerResponses(ASK)
        for _ in range(times):
            responses = await session.ask(ASK)
        return responses, net.now - began

    return asyncio.run(run())


def names(responses: ServerResponses) -> list[str]:
    return [answer.server for answer in responses.answers]


def test_a_round_ends_a_moment_after_all_that_are_known_have_answered() -> None:
    responses, took = ask(Net([Server("a", active=3), Server("b", active=3), Server("c", active=3)]))
    assert names(responses) == ["a", "b", "c"]
    assert took < 2 * QUIET


def test_the_whole_timeout_is_waited_for_once_when_the_servers_count_differently() -> None:
    # a server that does not count those at its leaf nodes, as some do
    slow = Server("c", delay=0.9, active=1)
    responses, took = ask(Net([Server("a", active=1), Server("b", active=1), slow]))
    assert names(responses) == ["a", "b", "c"]
    assert took == pytest.approx(1.0)


def test_the_second_round_ends_when_all_that_are_known_have_answered() -> None:
    net = Net([Server("a", active=1), Server("b", active=1)])
    _, took = ask(net, times=2)
    assert took < 1.0 + 2 * QUIET


def test_a_slow_server_that_is_known_is_waited_for() -> None:
    responses, took = ask(Net([Server("a", active=2), Server("b", delay=0.8, active=2)]))
    assert names(responses) == ["a", "b"]
    assert 0.8 < took <= 1.0


def test_a_server_that_nobody_knows_is_awaited_for_a_moment_that_grows_with_the_slowest() -> None:
    net = Net([Server("a", delay=0.2, active=1), Server("b", delay=0.9, ping=False)])
    responses, _ = ask(net)
    assert names(responses) == ["a", "b"]


def test_a_server_that_is_there_and_does_not_answer_is_reported() -> None:
    responses, took = ask(Net([Server("a", active=2), Server("b", delay=None, active=2)]))
    assert (names(responses), responses.silent, responses.error) == (["a"], ["b"], "")
    assert took == pytest.approx(1.0)


def test_an_answer_that_comes_late_counts_for_its_own_question() -> None:
    net = Net([Server("a", active=2), Server("b", delay=1.5, active=2)])

    async def run() -> list[list[str]]:
        session = ServersSession(ServersConnection(net), 1.0, clock=lambda: net.now)
        await session.start()
        first, second = await session.ask(ASK), await session.ask(ASK)
        return [names(first), names(second)]

    assert asyncio.run(run()) == [["a", "b"], ["a"]]


def test_nobody_there_ends_at_once() -> None:
    responses, took = ask(Net([]))
    assert "no responders" in responses.error
    assert took < QUIET


def test_silence_is_a_timeout() -> None:
    responses, took = ask(Net([Server("a", delay=None, ping=False)]))
    assert responses.error == "nats: timeout"
    assert took == pytest.approx(1.0)


def test_many_questions_are_asked_at_once() -> None:
    net = Net([Server("a", delay=0.3, active=1)])

    async def run() -> float:
        session = ServersSession(ServersConnection(net), 1.0, clock=lambda: net.now)
        await session.start()
        began = net.now
        found = await session.ask_all([(ASK, b"")] * 20)
        assert [names(responses) for responses in found] == [["a"]] * 20
        return net.now - began

    assert asyncio.run(run()) < 2.0


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (b"", "failed to parse response"),
        (b"[]", "failed to parse response"),
        (b'{"server": {}}', "without server name"),
        (b'{"server": "x", "data": 1}', "without server name"),
        (b'{"server": {"name": "s"}}', "server s responded without data"),
        (b'{"server": {"name": "s"}, "error": {"code": 500}}', "server s responded with error: code 500"),
        (
            b'{"server": {"name": "s"}, "error": {"description": "no"}}',
            "server s responded with error: no",
        ),
        (b"\xff\xfe" * 400, "failed to parse response"),
        (b"no eyJh.eyJi.sig_-x here", "data: no <token> here"),
        (
            b'{"server": {"name": "s\\u001b[1m"}, "error": {"description": "a\\nb"}}',
            "server s\ufffd[1m responded",
        ),
    ],
)
def test_an_answer_that_is_none_says_why(raw: bytes, error: str) -> None:
    answer = read(raw)
    assert error in answer.error
    assert len(answer.error) < 400


def test_servers_of_which_others_know_are_missed() -> None:
    responses, took = ask(Net([Server("a", active=3), Server("b", active=2)]))
    assert responses.unheard == 1
    assert took == pytest.approx(1.0)
