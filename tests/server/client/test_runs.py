"""Publishes of one read for several receivers that take them in runs."""

from __future__ import annotations

import pytest
from lib.fake_wire import ClientsFixture
from pyjs.native import COMPILED
from pyjs.server.accounts.subscription import Publish


@pytest.mark.parametrize("count", [10, 400])
def test_publishes_to_two_receivers_in_turn(count: int) -> None:
    fixture = ClientsFixture()
    client = fixture.connected()
    taken: list[bytes] = []

    def take(run: list[Publish]) -> None:
        taken.extend(subject + tail for subject, _, _, _, tail in run)

    for subject in ("a", "b"):
        fixture.registry.global_account.subscribe(subject, lambda _: None, batch_callback=take)
    client.says("PUB a 0\r\n\r\nPUB b 0\r\n\r\n")
    taken.clear()
    frames = [b"PUB %b 3\r\n%03d\r\n" % (b"ab"[number % 2 :][:1], number) for number in range(count)]
    client.says(b"".join(frames))
    while len(taken) < count and client.open and fixture.clock.pending():
        fixture.clock.advance(1)
    assert taken == [b"%b3\r\n%03d\r\n" % (b"ab"[number % 2 :][:1], number) for number in range(count)]


@pytest.mark.skipif(not COMPILED, reason="the plain form delivers all publishes as operations")
@pytest.mark.parametrize("pattern", ["a.>", "a.*.*"])
def test_a_plan_that_is_missing_does_not_end_the_pass(pattern: str) -> None:
    fixture = ClientsFixture()
    client = fixture.connected()
    client.says(f"SUB {pattern} 1\r\n")
    frames = [b"PUB a.%d.x 0\r\n\r\n" % (number % 40) for number in range(60)]
    answer = client.says(b"".join(frames))
    assert client.connection.parser.delivered == 60
    assert answer == b"".join(b"MSG a.%d.x 1 0\r\n\r\n" % (number % 40) for number in range(60))


@pytest.mark.skipif(not COMPILED, reason="the plain form delivers all publishes as operations")
def test_who_receives_without_a_plan_is_who_is_interested_now() -> None:
    fixture = ClientsFixture()
    client, other = fixture.connected(), fixture.connected()
    account = fixture.registry.global_account
    client.says("SUB a.*.x 1\r\nSUB a.> 2\r\n")

    def heard(subject: str) -> list[str]:
        answer = other.says(f"PUB {subject} 0\r\n\r\n") + client.says("")
        return [line.split()[2] for line in answer.decode().split("\r\n") if line.startswith("MSG")]

    assert heard("a.1.x") == ["2", "1"]
    assert not account.plans
    client.says("UNSUB 2\r\n")
    assert heard("a.2.x") == ["1"]
    assert heard("a.2.y") == []
    assert not account.plans
    client.says("SUB a.> 3\r\nUNSUB 3 2\r\n")  # two more, and no others
    assert [heard(f"a.3{number}.x") for number in range(3)] == [["3", "1"], ["3", "1"], ["1"]]
    assert heard("a.4.x") == ["1"]
    client.says("SUB a.5.x 4\r\n")
    assert heard("a.5.x") == ["4", "1"]
    other.says("SUB a.6.> 5\r\n")
    assert heard("a.6.x") == ["5", "1"]
    client.connection.close("Client Closed")
    assert heard("a.6.x") == heard("a.6.y") == ["5"]
    other.says('CONNECT {"verbose":false,"echo":false}\r\n')
    assert heard("a.6.z") == []


@pytest.mark.skipif(not COMPILED, reason="the plain form delivers all publishes as operations")
def test_a_subject_that_comes_often_gets_a_plan_and_no_others_do() -> None:
    fixture = ClientsFixture()
    client = fixture.connected()
    client.says("SUB a.> 1\r\nSUB a.*.x 2\r\n")
    account = fixture.registry.global_account
    for number in range(20):
        client.says(f"PUB a.{number}.x 0\r\n\r\nPUB a.often.x 0\r\n\r\n")
    assert [*account.plans] == [b"a.often.x"]


@pytest.mark.skipif(not COMPILED, reason="the plain form delivers all publishes as operations")
def test_no_plan_is_made_when_the_turn_is_over() -> None:
    fixture = ClientsFixture()
    client = fixture.connected()
    client.says("SUB a.> workers 1\r\n")
    client.connection.until = fixture.clock.now()
    frame = b"PUB a.b.c 0\r\n\r\n"
    deliver = client.connection.parser.deliver
    assert deliver is not None
    assert deliver(frame, 0, 512, 4096, 1 << 20, (b"PUB ", b"HPUB ")) == (0, 0, True)
    client.connection.until += 1
    assert deliver(frame, 0, 512, 4096, 1 << 20, (b"PUB ", b"HPUB ")) == (len(frame), 1, True)
