"""Streams of many subjects are created, changed and deleted in steps, with the effect of one step."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lib.streams import JetStreamFixture, Spy
from pyjs.server import slices
from pyjs.server.jetstream.overload import RequestQueues
from pyjs.server.slices import SerialQueue

MANY = [f"s.{number}.*" for number in range(1000)]


class Turns:
    """Keeps what is to run in the next turn."""

    def __init__(self) -> None:
        self.next: list[Callable[[], None]] = []

    def soon(self, callback: Callable[[], None]) -> None:
        self.next.append(callback)

    def turn(self) -> None:
        due, self.next = self.next, []
        for callback in due:
            callback()

    def finish(self) -> None:
        while self.next:
            self.turn()


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def fixture(tmp_path: Path, turns: Turns) -> Iterator[JetStreamFixture]:
    made = JetStreamFixture(str(tmp_path))
    made.js.changes = SerialQueue(turns)
    yield made
    made.close()


def ask(fixture: JetStreamFixture, call: str, **config: Any) -> Callable[[], dict[str, Any] | None]:
    """Send a request; what is given gives the answer, or None before it came."""
    spy = Spy(fixture.account, f"_INBOX.{fixture.host.new_id()}")
    reply = next(
        one.subject for one in fixture.account.subscriptions() if one.callback == spy.messages.append
    )
    body = json.dumps({"name": call.split(".")[2], **config}).encode() if config else b""
    fixture.account.publish(f"$JS.API.{call}", body, reply=reply, own=True)
    return lambda: json.loads(spy.bodies[0]) if spy.bodies else None


def code(answer: dict[str, Any] | None) -> int:
    assert answer is not None
    return int(answer.get("error", {}).get("err_code", 0))


def subscriptions(fixture: JetStreamFixture) -> int:
    return sum(one.subject.startswith("s.") for one in fixture.account.subscriptions())


def test_a_creation_is_answered_when_all_subjects_are_subscribed(
    fixture: JetStreamFixture, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SECONDS", 0.0)
    answer = ask(fixture, "STREAM.CREATE.S", subjects=MANY)
    counts = set()
    while answer() is None:
        counts.add(subscriptions(fixture))
        turns.turn()
    assert len(counts) > 4
    assert (code(answer()), subscriptions(fixture)) == (0, 1000)


def test_changes_of_an_account_wait_for_each_other(fixture: JetStreamFixture, turns: Turns) -> None:
    answers = [
        ask(fixture, "STREAM.CREATE.S", subjects=MANY),
        ask(fixture, "STREAM.CREATE.S", subjects=MANY),
        ask(fixture, "STREAM.CREATE.S", subjects=["other"]),
        ask(fixture, "STREAM.CREATE.T", subjects=["s.77.a"]),
        ask(fixture, "STREAM.UPDATE.S", subjects=[*MANY[:10], "more"]),
        ask(fixture, "STREAM.CREATE.T", subjects=["s.77.a"]),
        ask(fixture, "STREAM.DELETE.S"),
        ask(fixture, "STREAM.CREATE.U", subjects=MANY[:77]),
        ask(fixture, "STREAM.DELETE.S"),
    ]
    assert [answer() for answer in answers] == [None] * len(answers)
    turns.finish()
    assert [code(answer()) for answer in answers] == [0, 0, 10058, 10065, 0, 0, 0, 0, 10059]
    assert sorted(fixture.js.streams) == ["T", "U"]
    assert subscriptions(fixture) == 78


def test_one_that_is_refused_leaves_nothing(fixture: JetStreamFixture, turns: Turns) -> None:
    answers = [
        ask(fixture, "STREAM.CREATE.S", subjects=[*MANY, "s.7.7"]),
        ask(fixture, "STREAM.CREATE.S", subjects=[*MANY, "not..valid"]),
    ]
    turns.finish()
    assert [code(answer()) for answer in answers] == [10052, 10052]
    assert (fixture.js.streams, subscriptions(fixture)) == ({}, 0)


def test_an_account_that_is_left_in_between_has_nothing_of_it(
    fixture: JetStreamFixture, turns: Turns
) -> None:
    for early in range(2, 20, 3):
        answer = ask(fixture, "STREAM.CREATE.S", subjects=MANY)
        for _ in range(early):
            turns.turn()
        fixture.close()
        turns.finish()
        assert code(answer()) in {0, 10008}
        assert subscriptions(fixture) == 0
        fixture.open()
        fixture.js.changes = SerialQueue(turns)
        assert subscriptions(fixture) in {0, 1000}
        if "S" in fixture.js.streams:
            fixture.js.delete("S")


def test_a_deletion_that_is_overtaken_is_refused(
    fixture: JetStreamFixture, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SECONDS", 0.0)
    fixture.stream("S", subjects=MANY)
    answer = ask(fixture, "STREAM.DELETE.S")
    turns.turn()
    assert 0 < subscriptions(fixture) < 1000
    fixture.js.remove("S")
    turns.finish()
    assert (code(answer()), subscriptions(fixture)) == (10059, 0)


def test_no_more_wait_than_can_be_kept(fixture: JetStreamFixture, turns: Turns) -> None:
    fixture.host.queues = RequestQueues(10)
    first = ask(fixture, "STREAM.CREATE.S", subjects=MANY)
    answers = [ask(fixture, "STREAM.DELETE.X") for _ in range(11)]
    assert code(answers[-1]()) == 10023
    turns.finish()
    assert code(first()) == 0
    assert {code(answer()) for answer in answers[:-1]} == {10059}


def test_subjects_are_heard_after_a_restart(fixture: JetStreamFixture) -> None:
    fixture.stream("S", subjects=MANY, storage="file")
    fixture.close()
    fixture.open()
    assert subscriptions(fixture) == 1000
    assert json.loads(fixture.publish("s.5.a"))["seq"] == 1
    fixture.js.delete("S")
    assert subscriptions(fixture) == 0
