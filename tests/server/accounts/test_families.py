"""Acks of one consumer share a plan, but never when somebody can tell them apart."""

from __future__ import annotations

from lib.fake_clock import FakeClock
from pyjs.server.accounts.account import Account
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.accounts.parcel import Message


def hear(account: Account, subject: str) -> list[str]:
    got: list[str] = []

    def take(message: Message) -> None:
        got.append(message.subject)

    account.subscribe(subject, take)
    return got


def test_each_ack_is_heard_under_its_own_subject_and_not_cached() -> None:
    account = Account("A", Flusher(FakeClock()))
    got = hear(account, "$JS.ACK.S.C.*.*.*.*.*")
    for n in range(3):
        account.publish(f"$JS.ACK.S.C.1.{n}.{n}.0.0")
    assert got == [f"$JS.ACK.S.C.1.{n}.{n}.0.0" for n in range(3)]
    assert not account.plans


def test_one_who_hears_only_some_acks_hears_those_and_no_others() -> None:
    account = Account("A", Flusher(FakeClock()))
    every = hear(account, "$JS.ACK.S.C.*.*.*.*.*")
    account.publish("$JS.ACK.S.C.1.1.1.0.0")
    second = hear(account, "$JS.ACK.S.C.2.>")
    account.publish("$JS.ACK.S.C.1.2.2.0.0")
    account.publish("$JS.ACK.S.C.2.3.3.0.0")
    assert len(every) == 3
    assert second == ["$JS.ACK.S.C.2.3.3.0.0"]


def test_a_consumer_that_ends_hears_no_more_acks() -> None:
    account = Account("A", Flusher(FakeClock()))
    got: list[Message] = []
    subscription = account.subscribe("$JS.ACK._.h.S.C.*.*.*.*.>", got.append)
    account.publish("$JS.ACK._.h.S.C.1.1.1.0.0")
    account.unsubscribe(subscription)
    assert account.publish("$JS.ACK._.h.S.C.1.2.2.0.0") == 0
    assert len(got) == 1
