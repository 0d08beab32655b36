"""Replies that go back through gateways: for how long, and who is sent there."""

from __future__ import annotations

import pytest
from lib.fake_clock import FakeClock
from pyjs.server.accounts import Account, ConnectionKind, Subscription, reply_ways
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.accounts.subscription import MessageEndpoint, RoutedMessage

WAY = b"_GR_.aaaaaa.bbbbbb."


class Gateway(MessageEndpoint):
    """Another cluster, which keeps the subjects that it is sent."""

    kind = ConnectionKind.GATEWAY

    def __init__(self) -> None:
        self.subjects: list[str] = []

    def may_send(self, subject: str) -> bool:
        return True

    def deliver_to_server(self, msg: RoutedMessage, queues: tuple[bytes, ...]) -> bool:
        self.subjects.append(msg.subject.decode())
        return True


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def account(clock: FakeClock) -> Account:
    return Account("A", Flusher(clock))


@pytest.fixture
def gateway(account: Account) -> Gateway:
    found = Gateway()
    account.add_subscription(Subscription("_GR_.aaaaaa.>", found))
    return found


def test_a_reply_goes_back_and_nowhere_else(account: Account, gateway: Gateway) -> None:
    heard: list[str] = []
    account.subscribe("r", lambda message: heard.append(message.subject))
    account.publish("r", b"before")
    account.reply_ways.remember(b"r", WAY)
    assert account.has_interest("r")
    account.publish("r", b"x")
    account.publish_each([(b"r", b"x"), (b"s", b"x")])
    account.publish_answers([(b"r", b"", b"x")])
    assert heard == ["r"]
    assert gateway.subjects == ["_GR_.aaaaaa.bbbbbb.r"] * 3


def test_what_comes_from_other_servers_takes_no_way_back(account: Account, gateway: Gateway) -> None:
    heard: list[str] = []
    account.subscribe("r", lambda message: heard.append(message.subject))
    account.reply_ways.remember(b"r", WAY)
    account.publish("r", b"x", source=Gateway())
    assert (heard, gateway.subjects) == (["r"], [])


def test_a_way_is_forgotten_after_the_last_request(
    account: Account, gateway: Gateway, clock: FakeClock
) -> None:
    for _ in range(3):
        account.reply_ways.remember(b"r", WAY)
        clock.advance(reply_ways.KNOWN - 1)
    account.publish("r", b"x")
    assert gateway.subjects == ["_GR_.aaaaaa.bbbbbb.r"]
    clock.advance(reply_ways.KNOWN)
    assert len(account.reply_ways) == 0
    assert not account.has_interest("r")
    assert account.publish("r", b"x") == 0


def test_the_newest_way_counts(account: Account, gateway: Gateway) -> None:
    account.reply_ways.remember(b"r", b"_GR_.cccccc.dddddd.")
    account.publish("r", b"x")
    account.reply_ways.remember(b"r", WAY)
    account.publish("r", b"x")
    assert gateway.subjects == ["_GR_.aaaaaa.bbbbbb.r"]


def test_there_are_never_too_many(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_ways, "MOST", 10)
    for number in range(100):
        account.reply_ways.remember(b"r.%d" % number, WAY)
    assert len(account.reply_ways) == 10
    assert [*account.ways] == [b"r.%d" % number for number in range(90, 100)]
