"""Which interest is recent, and that what is remembered of it is bounded by what is subscribed."""

from __future__ import annotations

import pytest
from lib.fake_clock import FakeClock
from pyjs.server.accounts import Account, ConnectionKind, Subscription
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.accounts.subscription import MessageEndpoint
from pyjs.server.gateway.recent_interest import RECENT, RecentInterest


class Endpoint(MessageEndpoint):
    def __init__(self, kind: ConnectionKind) -> None:
        self.kind = kind


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def account(clock: FakeClock) -> Account:
    return Account("A", Flusher(clock))


def subscribe(account: Account, subject: str, kind: ConnectionKind = ConnectionKind.CLIENT) -> Subscription:
    made = Subscription(subject, Endpoint(kind), sid=b"1")
    account.add_subscription(made)
    return made


def test_interest_is_recent_for_a_while(account: Account, clock: FakeClock) -> None:
    subscribe(account, "before")
    recent = RecentInterest(account, clock)
    subscribe(account, "inbox.*")
    assert recent.includes(b"inbox.1")
    assert not recent.includes(b"before")
    assert not recent.includes(b"other")
    clock.advance(RECENT)
    assert not recent.includes(b"inbox.1")
    assert len(recent) == 0


def test_interest_that_has_ended_is_not_recent(account: Account, clock: FakeClock) -> None:
    recent = RecentInterest(account, clock)
    account.remove_subscription(subscribe(account, "inbox"))
    assert not recent.includes(b"inbox")


@pytest.mark.parametrize(
    ("kind", "subject", "counts"),
    [
        (ConnectionKind.LEAF, "a", True),
        (ConnectionKind.INTERNAL, "a", True),
        (ConnectionKind.ROUTER, "a", False),
        (ConnectionKind.GATEWAY, "a", False),
        (ConnectionKind.IMPORT, "a", False),
        (ConnectionKind.IMPORT, "_R_.x.>", True),
    ],
)
def test_whose_interest_counts(
    account: Account, clock: FakeClock, kind: ConnectionKind, subject: str, counts: bool
) -> None:
    recent = RecentInterest(account, clock)
    subscribe(account, subject, kind)
    assert recent.includes(subject.replace(">", "1").encode()) is counts


def test_what_is_old_is_forgotten_as_more_comes(account: Account, clock: FakeClock) -> None:
    recent = RecentInterest(account, clock)
    for number in range(1000):
        subscribe(account, f"a.{number}")
    clock.advance(RECENT)
    for number in range(1000, 1200):
        subscribe(account, f"a.{number}")
    assert len(recent) == 200
