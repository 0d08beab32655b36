"""What MQTT does when time passes: keep alive, answers that do not come, a consumer that is gone."""

from __future__ import annotations

import json
from typing import Any, cast

from lib.fake_clock import FakeClock
from pyjs.server.accounts import Account
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.accounts.subscription import Message
from pyjs.server.clock import SECOND
from pyjs.server.logging import NullLogger
from pyjs.server.mqtt.flow import Flow, run, together
from pyjs.server.mqtt.keep_alive import KeepAlive, KeptConnection
from pyjs.server.mqtt.requests import JetStreamAnswerError, Requests
from pyjs.server.mqtt.retained import RetainedMessages


class Client:
    """A connection as its keep alive sees it."""

    def __init__(self, clock: FakeClock) -> None:
        self.context = self
        self.clock = clock
        self.start = self.last_activity = clock.now()
        self.upgrade = None
        self.holds_back = False
        self.gone = False

    def send_line(self, line: bytes) -> None:
        raise AssertionError(line)

    def stale(self) -> None:
        self.gone = True


class JetStreamAnswers:
    """Answers requests in place of JetStream.

    asked: the names of all requests. consumers: those that were made and not lost.
    """

    def __init__(self, account: Account) -> None:
        self.account = account
        self.asked: list[str] = []
        self.consumers: set[str] = set()
        self.silent = False
        account.subscribe("$JS.API.>", self._request)

    def _request(self, message: Message) -> None:
        name = message.subject.removeprefix("$JS.API.")
        self.asked.append(name)
        if self.silent:
            return
        answer: dict[str, Any] = {}
        if name.startswith("CONSUMER.CREATE"):
            self.consumers.add(json.loads(message.body)["config"]["name"])
        elif name.rpartition(".")[2] not in self.consumers:
            answer = {"error": {"code": 404, "err_code": 10014, "description": "consumer not found"}}
        self.account.publish(message.reply, json.dumps(answer).encode())


def made(clock: FakeClock) -> tuple[Requests, JetStreamAnswers]:
    account = Account("A", Flusher(clock))
    numbers = iter(range(1000))
    requests = Requests(account, clock, "node", lambda: str(next(numbers)), None, 5 * SECOND)
    return requests, JetStreamAnswers(account)


def test_a_client_that_is_silent_is_closed_after_half_as_much_again() -> None:
    clock = FakeClock()
    client = Client(clock)
    keep_alive = KeepAlive(cast("KeptConnection", client), cast("Any", client))
    keep_alive.begin(10)
    clock.advance(14 * SECOND)
    client.last_activity = clock.now()
    clock.advance(14 * SECOND)
    assert not client.gone
    client.holds_back = True  # what it has sent since then, nobody has read
    clock.advance(60 * SECOND)
    assert not client.gone
    client.holds_back = False
    clock.advance(16 * SECOND)
    assert client.gone


def test_an_answer_that_does_not_come_is_an_error() -> None:
    clock = FakeClock()
    requests, answers = made(clock)
    answers.silent = True
    found: list[Any] = []
    for number in range(3):
        requests.api_wait("CL", f"CONSUMER.INFO.S.{number}")(found.append)
        clock.advance(SECOND)
    clock.advance(3 * SECOND)
    assert len(found) == 2
    requests.stop()
    clock.advance(60 * SECOND)
    assert [type(each) for each in found] == [JetStreamAnswerError] * 3


def test_nobody_to_ask_is_an_error_at_once() -> None:
    clock = FakeClock()
    requests = Requests(Account("A", Flusher(clock)), clock, "node", lambda: "1", "hub", SECOND)
    found: list[Any] = []
    requests.store("$MQTT.msgs.a", b"", b"x")(found.append)
    assert str(found[0]) == "nobody answers $MQTT.msgs.a"


def test_a_consumer_that_is_gone_is_made_again() -> None:
    clock = FakeClock()
    requests, answers = made(clock)
    retained = RetainedMessages(requests, clock, NullLogger())
    run(retained.start())
    assert len(answers.consumers) == 1
    clock.advance(61 * SECOND)
    assert len(answers.consumers) == 1
    answers.consumers.clear()
    clock.advance(61 * SECOND)
    assert len(answers.consumers) == 1
    answers.silent = True
    clock.advance(61 * SECOND)
    answers.silent = False
    answers.consumers.clear()
    clock.advance(130 * SECOND)
    assert len(answers.consumers) == 1
    retained.stop()
    requests.stop()
    asked = len(answers.asked)
    clock.advance(600 * SECOND)
    assert len(answers.asked) == asked


def test_a_flow_of_answers_that_come_at_once_does_not_nest() -> None:
    def flow() -> Flow[int]:
        total = 0
        for _ in range(10_000):
            first, second = yield together([lambda resume: resume(1), lambda resume: resume(2)])
            total += first + second
        return total

    found: list[int] = []
    run(flow(), found.append)
    assert found == [30_000]
