"""Subscriptions that leave in slices are never found again, and watchers are notified of those they knew."""

from __future__ import annotations

from collections import Counter

import pytest
from lib.fake_clock import FakeClock
from pyjs.server.accounts import Account, Subscription
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.accounts.leaving import LeavingConnection, leave
from pyjs.server.accounts.subscription import InterestChange, InternalEndpoint

COUNT = 2000


class Picture:
    """What a watcher makes of what it is told: subscriptions by subject."""

    def __init__(self, account: Account) -> None:
        self.counts: Counter[str] = Counter()
        self.watch = account.watch_interest(self.changed)
        for subscription in account.sublist:
            if account.announces_end(self.watch, subscription):
                self.counts[subscription.subject] += 1

    def changed(self, change: InterestChange) -> None:
        self.counts[change.subject] += change.delta

    @property
    def known(self) -> dict[str, int]:
        return {subject: count for subject, count in self.counts.items() if count}


class Play:
    """One account where somebody with many subscriptions leaves; one step is done at once."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.account = Account("A", Flusher(self.clock))
        self.early = Picture(self.account)
        self.gone = InternalEndpoint()
        self.subscriptions = {number: self.add(self.gone, f"a.{number}") for number in range(COUNT)}

    def add(self, sink: InternalEndpoint, subject: str, queue: str = "") -> Subscription:
        subscription = Subscription(subject, sink, queue=queue)
        self.account.add_subscription(subscription)
        return subscription

    def leave(self) -> None:
        leave(self.clock, [LeavingConnection(self.account, self.gone, self.subscriptions)])

    def finds(self, subject: str) -> list[Subscription]:
        plan = self.account.plan(subject.encode())
        return [*plan.plain, *(member for group in plan.groups for member in group.members)]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    monkeypatch.setattr("pyjs.server.slices.SECONDS", 0.0)  # a step for each
    return Play()


def test_nobody_finds_who_leaves_from_the_first_moment_on(play: Play) -> None:
    assert play.finds("a.0") == [play.subscriptions[0]]
    play.leave()
    assert len(play.account.sublist) > COUNT // 2, "they are still there"
    assert play.finds("a.0") == []
    assert not play.account.has_interest("a.0")
    new = play.add(InternalEndpoint(), "a.0")
    assert play.finds("a.0") == [new]
    play.clock.advance(1)
    assert len(play.account.sublist) == 1
    assert play.finds("a.0") == [new]
    assert play.account.sublist.leaving == {}


def test_a_queue_group_has_no_member_that_leaves(play: Play) -> None:
    play.subscriptions[COUNT] = play.add(play.gone, "q", "workers")
    play.subscriptions[COUNT + 1] = play.add(play.gone, "alone", "workers")
    stays = play.add(InternalEndpoint(), "q", "workers")
    play.leave()
    assert play.finds("q") == [stays]
    assert play.finds("alone") == []
    assert play.account.plan(b"alone").silent


def test_watchers_learn_of_what_they_have_known(play: Play) -> None:
    play.add(InternalEndpoint(), "a.0")
    play.leave()
    assert len(play.early.known) > COUNT // 2
    late = Picture(play.account)
    assert late.known == {"a.0": 1}, "what leaves is no news"
    play.add(InternalEndpoint(), "a.1")
    play.clock.advance(1)
    assert play.early.known == late.known == {"a.0": 1, "a.1": 1}


def test_few_are_gone_at_once(play: Play) -> None:
    few = dict(list(play.subscriptions.items())[:200])
    leave(play.clock, [LeavingConnection(play.account, play.gone, few)])
    assert len(play.account.sublist) == COUNT - 200
    assert play.clock.pending() == 0
