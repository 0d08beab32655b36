"""Acks of one consumer share a plan, but never when a subscriber can tell them apart."""

from __future__ import annotations

import pytest
from lib.fake_clock import FakeClock
from pyjs.protocol.subject import is_subset
from pyjs.server.accounts import ack_routes
from pyjs.server.accounts.account import Account
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.accounts.subscription import Message


def hear(account: Account, subject: str) -> list[str]:
    got: list[str] = []

    def take(message: Message) -> None:
        got.append(message.subject)

    account.subscribe(subject, take)
    return got


def test_each_ack_is_received_under_its_own_subject_and_not_cached() -> None:
    account = Account("A", Flusher(FakeClock()))
    got = hear(account, "$JS.ACK.S.C.*.*.*.*.*")
    for n in range(3):
        account.publish(f"$JS.ACK.S.C.1.{n}.{n}.0.0", own=True)
    assert got == [f"$JS.ACK.S.C.1.{n}.{n}.0.0" for n in range(3)]
    assert not account.plans


def test_one_who_receives_only_some_acks_receives_those_and_no_others() -> None:
    account = Account("A", Flusher(FakeClock()))
    every = hear(account, "$JS.ACK.S.C.*.*.*.*.*")
    account.publish("$JS.ACK.S.C.1.1.1.0.0", own=True)
    second = hear(account, "$JS.ACK.S.C.2.>")
    account.publish("$JS.ACK.S.C.1.2.2.0.0", own=True)
    account.publish("$JS.ACK.S.C.2.3.3.0.0", own=True)
    assert len(every) == 3
    assert second == ["$JS.ACK.S.C.2.3.3.0.0"]


def test_a_consumer_that_ends_receives_no_more_acks() -> None:
    account = Account("A", Flusher(FakeClock()))
    got: list[Message] = []
    subscription = account.subscribe("$JS.ACK._.h.S.C.*.*.*.*.>", got.append)
    account.publish("$JS.ACK._.h.S.C.1.1.1.0.0", own=True)
    account.unsubscribe(subscription)
    assert account.publish("$JS.ACK._.h.S.C.1.2.2.0.0", own=True) == 0
    assert len(got) == 1


def test_the_first_ack_of_a_consumer_looks_at_those_who_receive_it(monkeypatch: pytest.MonkeyPatch) -> None:
    account = Account("A", Flusher(FakeClock()))
    got = hear(account, "$JS.ACK.S.C.*.*.*.*.*")
    for number in range(2000):
        hear(account, f"$JS.ACK.S.C{number}.*.*.*.*.*")
        hear(account, f"inbox.{number}.*")
        hear(account, f"literal.{number}")
    compared: list[str] = []

    def counted(subject: str, of: str) -> bool:
        compared.append(of)
        return is_subset(subject, of)

    monkeypatch.setattr(ack_routes, "is_subset", counted)
    account.publish("$JS.ACK.S.C.1.1.1.0.0", own=True)
    assert len(got) == 1
    assert compared == ["$JS.ACK.S.C.*.*.*.*.*"]


def test_one_who_receives_a_single_ack_is_not_passed_by() -> None:
    account = Account("A", Flusher(FakeClock()))
    every = hear(account, "$JS.ACK.S.C.*.*.*.*.*")
    one = hear(account, "$JS.ACK.S.C.1.2.2.0.0")
    for number in (1, 2, 3):
        account.publish(f"$JS.ACK.S.C.1.{number}.{number}.0.0", own=True)
    assert len(every) == 3
    assert one == ["$JS.ACK.S.C.1.2.2.0.0"]


class Acks:
    """A consumer, and the acks that it took together."""

    def __init__(self, account: Account, *, simple: bool = True) -> None:
        self.taken: list[tuple[list[int], list[tuple[int, bytes]]]] = []
        self.simple = simple
        self.subscription = account.subscribe_to_acks(
            "$JS.ACK.S.C.*.*.*.*.*", lambda _: None, lambda _: None, self._take
        )

    def _take(self, seqs: list[int], replies: list[tuple[int, bytes]]) -> bool:
        if self.simple:
            self.taken.append((seqs, replies))
        return self.simple


DATA = b"".join(
    b"PUB $JS.ACK.S.C.1.%d.9.0.0 %b4\r\n+ACK\r\n" % one for one in ((5, b""), (7, b"r "), (6, b""))
)
LIMITS = 4096, 1 << 20, (b"PUB ", b"HPUB ")


def deliver(account: Account, pos: int = 0, most: int = 9) -> tuple[int, int, int]:
    return account.ack_routes.deliver(DATA, pos, most, *LIMITS)


def test_acks_that_come_together_are_delivered_once_the_first_one_had_a_plan() -> None:
    account = Account("A", Flusher(FakeClock()))
    consumer = Acks(account)
    assert deliver(account) == (0, 0, 0)
    account.plan(b"$JS.ACK.S.C.1.1.1.0.0")
    assert deliver(account, most=2) == (stop := DATA.rindex(b"PUB"), 2, 8)
    assert deliver(account, stop) == (len(DATA), 1, 4)
    assert consumer.taken == [([5, 7], [(7, b"r")]), ([6], [])]
    assert consumer.subscription.delivered == 3


@pytest.mark.parametrize("other", ["$JS.ACK.S.C.*.*.*.*.*", "$JS.ACK.S.C.1.>", "$JS.ACK.S.C.1.5.9.0.0"])
def test_acks_that_others_receive_are_not_delivered_together(other: str) -> None:
    account = Account("A", Flusher(FakeClock()))
    consumer = Acks(account)
    account.plan(b"$JS.ACK.S.C.1.1.1.0.0")
    hear(account, other)
    for _ in range(2):
        assert deliver(account) == (0, 0, 0)
        account.plan(b"$JS.ACK.S.C.1.5.9.0.0")
    assert consumer.taken == []


def test_a_consumer_may_want_to_see_each_ack() -> None:
    account = Account("A", Flusher(FakeClock()))
    consumer = Acks(account, simple=False)
    account.plan(b"$JS.ACK.S.C.1.1.1.0.0")
    assert deliver(account) == (0, 0, 0)
    assert consumer.subscription.delivered == 0
