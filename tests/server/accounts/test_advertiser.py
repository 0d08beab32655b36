"""What a peer learns while an account's interest is walked in slices, and changes meanwhile."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from lib.examples import seeds
from lib.fake_clock import FakeClock, FakeTimer
from pyjs.server.accounts import Account, Subscription
from pyjs.server.accounts.advertiser import Advertiser
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.accounts.leaving import LeavingConnection, leave
from pyjs.server.accounts.subscription import InternalEndpoint
from pyjs.server.slices import TurnScheduler

SUBJECTS = ["a", "b", "c.*", "d.>", "e", "$JS.ACK.S.C.1"]
QUEUES = ["", "q", "r"]
Key = tuple[str, str]


class TurnClock(FakeClock):
    """A turn of the loop takes 1 ns: what is asked for in one runs in the next."""

    def call_later(self, delay: int, callback: Callable[[], None]) -> FakeTimer:
        return super().call_later(max(1, delay), callback)


class Peer(Advertiser[Key]):
    """A peer whose picture is what it was told; `hidden` it must not know of."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(TurnScheduler(clock.soon))
        self.hidden: set[str] = set()
        self.picture: dict[Key, int] = {}
        self.reported: list[tuple[Key, int]] = []
        self.holds = 0

    def _should_advertise(self, subscription: Subscription) -> bool:
        return subscription.subject not in self.hidden

    def _key(self, subscription: Subscription) -> Key:
        return subscription.subject, subscription.queue

    def _send_count(self, key: Key, count: int) -> None:
        self.reported.append((key, count))
        assert count or key in self.picture, f"the end of {key} that was never told"
        if count:
            self.picture[key] = count
        else:
            del self.picture[key]

    def _hold(self) -> None:
        self.holds += 1

    def _go_on(self) -> None:
        self.holds -= 1


def wanted(account: Account, hidden: set[str]) -> dict[Key, int]:
    """A queue group's size, and 1 for plain interest."""
    found: dict[Key, int] = {}
    for each in account.subscriptions():
        if each.subject not in hidden:
            key = each.subject, each.queue
            found[key] = found.get(key, 0) + each.weight if each.queue else 1
    return found


class Play:
    """An account with some interest, which changes at random."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.clock = TurnClock()
        self.account = Account("A", Flusher(self.clock))
        self.peer = Peer(self.clock)
        self.started = False
        self.sinks = [InternalEndpoint() for _ in range(4)]
        self.present: list[Subscription] = []
        self.gone: list[Subscription] = []

    def add(self) -> None:
        if self.gone and self.random.random() < 0.3:
            subscription = self.gone.pop(self.random.randrange(len(self.gone)))
        else:
            choice = self.random.choice
            subscription = Subscription(choice(SUBJECTS), choice(self.sinks), queue=choice(QUEUES))
        self.present.append(subscription)
        self.account.add_subscription(subscription)

    def remove(self) -> None:
        if self.present:
            subscription = self.present.pop(self.random.randrange(len(self.present)))
            self.account.remove_subscription(subscription)
            self.gone.append(subscription)

    def weigh(self) -> None:
        groups = [each for each in self.present if each.queue]
        if groups:
            self.account.set_weight(self.random.choice(groups), self.random.randint(1, 5))

    def permit(self) -> None:
        self.peer.hidden = set(self.random.sample(SUBJECTS, 2))
        self.peer.sync()

    def leave(self) -> None:
        """All subscriptions of one sink are taken out, in slices of their own."""
        sink = self.sinks.pop(0)
        self.sinks.append(InternalEndpoint())
        leaving = dict(enumerate(each for each in self.present if each.sink is sink))
        self.present = [each for each in self.present if each.sink is not sink]
        self.gone = [each for each in self.gone if each.sink is not sink]
        leave(self.clock, [LeavingConnection(self.account, sink, leaving)])

    def withdraw(self) -> None:
        """The account ends, as far as the peer is concerned, or is there again."""
        self.started = not self.started
        if self.started:
            self.peer.start(self.account)
        else:
            self.peer.withdraw()

    def turn(self) -> None:
        self.clock.advance(1)

    def converge(self) -> None:
        while self.peer.holds or self.account.sublist.leaving:
            self.turn()


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step for each subscription."""
    monkeypatch.setattr("pyjs.server.slices.SECONDS", 0.0)
    monkeypatch.setattr("pyjs.server.accounts.advertiser._AT_ONCE", 1)
    monkeypatch.setattr("pyjs.server.accounts.leaving._AT_ONCE", 1)


@seeds(100)
@pytest.mark.usefixtures("small_steps")
def test_the_picture_is_right_whatever_changes_during_a_sync(seed: int) -> None:
    play = Play(seed)
    for _ in range(play.random.randrange(20)):
        play.add()
    play.withdraw()
    operations = [
        play.add,
        play.add,
        play.remove,
        play.remove,
        play.weigh,
        play.permit,
        play.leave,
        play.withdraw,
        play.turn,
    ]
    weights = [4, 4, 4, 4, 2, 1, 1, 1, 12]
    for _ in range(60):
        play.random.choices(operations, weights)[0]()
    play.converge()
    right = wanted(play.account, play.peer.hidden) if play.started else {}
    assert {key: count if key[1] else 1 for key, count in play.peer.picture.items()} == right
    reported = play.peer.stop()
    assert reported.keys() == play.peer.picture.keys()
    play.add()
    assert reported.keys() == play.peer.picture.keys(), "nothing is told after the end"


@pytest.mark.usefixtures("small_steps")
def test_what_is_stopped_half_way_withdraws_what_it_sent_and_continues() -> None:
    play = Play(1)
    for _ in range(30):
        play.add()
    play.peer.start(play.account)
    while not play.peer.picture:
        play.turn()
    assert play.peer.holds == 1
    play.peer.withdraw()
    assert play.peer.holds == 1
    left = len(play.peer.picture)
    while play.peer.holds:
        play.turn()
        assert left - len(play.peer.picture) <= 1, "a turn tells one end"
        left = len(play.peer.picture)
    assert play.peer.picture == {}
    for _ in range(50):
        play.turn()
    assert play.peer.picture == {}


@pytest.mark.usefixtures("small_steps")
def test_an_account_that_comes_back_meanwhile_is_sent_as_differences() -> None:
    play = Play(1)
    for _ in range(30):
        play.add()
    play.peer.start(play.account)
    play.converge()
    before = dict(play.peer.picture)
    play.peer.reported.clear()
    play.peer.withdraw()
    play.turn()
    ended = {key for key, count in play.peer.reported if not count}
    assert ended and len(ended) < len(before)
    play.peer.reported.clear()
    play.peer.start(play.account)
    play.converge()
    assert play.peer.picture == before
    assert {key for key, _ in play.peer.reported} == ended


@pytest.mark.usefixtures("small_steps")
def test_all_is_sent_again_once_even_if_another_sync_comes_between() -> None:
    play = Play(2)
    for _ in range(30):
        play.add()
    play.peer.start(play.account)
    play.converge()
    before = dict(play.peer.picture)
    play.peer.reported.clear()
    play.peer.sync(repeats=True)
    play.turn()
    play.peer.sync()
    play.converge()
    assert dict(play.peer.reported) == before == play.peer.picture
    play.peer.reported.clear()
    play.peer.sync()
    play.converge()
    assert play.peer.reported == []


def test_a_peer_that_leaves_while_it_is_notified_gets_no_more() -> None:
    play = Play(3)
    for _ in range(30):
        play.add()
    send_count = play.peer._send_count

    def last(key: Key, count: int) -> None:
        send_count(key, count)
        play.peer.stop()

    play.peer._send_count = last  # type: ignore[method-assign]
    play.peer.start(play.account)
    for _ in range(10):
        play.turn()
    assert len({subject for (subject, _), _ in play.peer.reported}) == 1, (
        "the subject under way is told at once"
    )
    assert play.peer.holds == 0
