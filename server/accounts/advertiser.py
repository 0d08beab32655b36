"""Advertiser: tells a peer of the interest of one account, and no more than it needs to know.

It counts the interest that the peer may know of by subject, queue and whatever else the peer distinguishes.
It advertises the first plain subscription and the end of the last one, and every change of a queue group's
size. Promises that the peer's picture is right after each change, in the order of the connection's other
frames. Promises also that even a very large account keeps nobody waiting: `sync` and `withdraw` work in
slices, and what the peer sends is not served before they end.

A sync walks through the subjects. A change of a subject that it has not reached yet is not counted, because
the sync will find it there. A withdrawal is a sync without subjects.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from ..slices import Slices, Steps, TurnScheduler, paced

if TYPE_CHECKING:
    from .space import InterestWatch, SubjectSpace
    from .sublist import Subjects
    from .subscription import InterestChange, Subscription

K = TypeVar("K", bound="tuple[str, ...]")  # subject, queue, and what else the peer distinguishes
_AT_ONCE = 64  # subscriptions of a subject that are counted in one step


class _Sync(Generic[K]):
    """One walk through the subjects of an account.

    repeats: whether the peer is told again what it already knows.
    ahead: the subjects that are still to come; None before the walk begins.
    subject: the subject that is being counted.
    counts: what was found of it.
    uncounted: its subscriptions that are not counted yet.
    """

    __slots__ = ("ahead", "counts", "repeats", "subject", "uncounted")

    def __init__(self, *, repeats: bool) -> None:
        self.repeats = repeats
        self.ahead: Subjects | None = None
        self.subject = ""
        self.counts: dict[K, int] = {}
        self.uncounted: dict[Subscription, None] = {}

    def will_count(self, subscription: Subscription) -> bool:
        """Return whether the walk has yet to reach a subscription that has just changed."""
        if self.ahead is None or subscription.subject in self.ahead:
            return True
        if subscription.subject != self.subject or subscription not in self.uncounted:
            return False
        if subscription.closed:
            del self.uncounted[subscription]
        return True


class Advertiser(ABC, Generic[K]):
    """What one peer was told of an account's interest. Each kind of peer defines what concerns it."""

    def __init__(self, turns: TurnScheduler) -> None:
        self._turns = turns
        self._counts: dict[K, int] = {}
        self._before: dict[K, int] = {}  # what the peer was told, and the current sync has not reached yet
        self._account: SubjectSpace | None = None
        self._watch: InterestWatch | None = None
        self._sync: _Sync[K] | None = None
        self._holding = False

    def start(self, account: SubjectSpace) -> None:
        """Advertise all present interest in `account`, and all changes from now on.

        If another account's interest is still being withdrawn, the peer is told the differences only.
        """
        self._account = account
        self._watch = account.watch_interest(self._changed)
        self.sync()

    def stop(self) -> dict[K, int]:
        """Stop advertising, and return what the peer was told."""
        self._unwatch()
        self._end()
        sent, self._counts = self._counts, {}
        before, self._before = self._before, {}
        if before:
            sent.update(before)
        return sent

    def withdraw(self) -> None:
        """Stop advertising, and tell the peer that all of the interest has ended."""
        self._unwatch()
        self._walk(repeats=False)

    def sync(self, *, repeats: bool = False) -> None:
        """Tell the peer what differs from what it was told, because mappings or permissions have changed.

        repeats: tell it everything, because it now takes other interest than before.
        """
        if self._watch is not None:
            self._walk(repeats=repeats)

    def _unwatch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        self._account = self._watch = None

    def _walk(self, *, repeats: bool) -> None:
        if self._sync is not None:
            repeats = repeats or self._sync.repeats
        sync = self._sync = _Sync[K](repeats=repeats)
        self._turns.now(partial(self._begin, sync))
        if self._sync is sync and not self._holding:
            self._holding = True
            self._hold()

    # --- what each kind of peer defines

    @abstractmethod
    def _should_advertise(self, subscription: Subscription) -> bool:
        """Return whether the peer may know of the subscription."""

    @abstractmethod
    def _key(self, subscription: Subscription) -> K:
        """Return the key under which the subscription is counted."""

    @abstractmethod
    def _send_count(self, key: K, count: int) -> None:
        """Send the peer the present count of a key; 0 ends the interest."""

    @abstractmethod
    def _hold(self) -> None:
        """Serve nothing that the peer sends until `_go_on`."""

    @abstractmethod
    def _go_on(self) -> None:
        """Serve again what the peer sends."""

    def _extra_interest(self, account: SubjectSpace) -> Iterable[K]:
        """Return what else to advertise. A new peer is told of this last, and in this order."""
        del account
        return ()

    # --- changes

    def _changed(self, change: InterestChange) -> None:
        subscription, sync = change.subscription, self._sync
        if (sync is not None and sync.will_count(subscription)) or not self._should_advertise(subscription):
            return
        key = self._key(subscription)
        if sync is not None and subscription.subject == sync.subject:
            sync.counts[key] = sync.counts.get(key, 0) + change.delta
        else:
            self._add(key, change.delta)

    def _add(self, key: K, delta: int) -> None:
        count = sent = self._counts.get(key, 0)
        again = False
        if not sent and self._sync is not None:
            sent = self._before.pop(key, 0)
            again = self._sync.repeats
        count += delta
        if count > 0:
            self._counts[key] = count
        else:
            self._counts.pop(key, None)
        if (sent > 0) != (count > 0) or (key[1] and sent != count) or (again and sent):
            self._send_count(key, count)

    # --- a sync

    def _begin(self, sync: _Sync[K]) -> None:
        if self._sync is not sync:
            return  # it was stopped, or another was begun
        if self._before:
            self._before.update(self._counts)
        else:
            self._before = self._counts
        self._counts = {}
        sync.ahead = {} if self._account is None else self._account.sublist.subjects()
        Slices(self._turns, paced(self._while_current(sync, self._account)), lambda _: None)

    def _while_current(self, sync: _Sync[K], account: SubjectSpace | None) -> Steps[None]:
        """Walk until the end, unless the walk is stopped or another one begins."""
        for _ in self._steps(sync, account):
            if self._sync is not sync:
                return
            yield
            if self._sync is not sync:
                return
        self._end()

    def _end(self) -> None:
        """End a walk, which has reached everything or is stopped."""
        self._sync = None
        if self._holding:
            self._holding = False
            self._go_on()

    def _steps(self, sync: _Sync[K], account: SubjectSpace | None) -> Steps[None]:
        if account is not None:
            yield from self._advertising(sync, account)
        while self._before:
            key, _ = self._before.popitem()
            self._send_count(key, 0)
            yield

    def _advertising(self, sync: _Sync[K], account: SubjectSpace) -> Steps[None]:
        assert sync.ahead is not None
        for subject in list(sync.ahead):
            del sync.ahead[subject]
            yield from self._count(sync, account, subject)
        for key in self._extra_interest(account):
            self._add(key, 1)
            yield

    def _count(self, sync: _Sync[K], account: SubjectSpace, subject: str) -> Steps[None]:
        assert self._watch is not None
        sync.subject = subject
        sync.uncounted = account.sublist.exactly(subject)
        while sync.uncounted:
            for _ in range(min(len(sync.uncounted), _AT_ONCE)):
                subscription, _ = sync.uncounted.popitem()
                if account.announces_end(self._watch, subscription) and self._should_advertise(subscription):
                    key = self._key(subscription)
                    sync.counts[key] = sync.counts.get(key, 0) + subscription.weight
            yield
        sync.subject = ""
        counts, sync.counts = sync.counts, {}
        for key, count in counts.items():
            self._add(key, count)
        yield
