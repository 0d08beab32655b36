"""Advertiser: tells a peer of the interest of one account, no more than it needs to know.

Counts the interest that the peer may know of by subject, queue and what else the peer tells apart. The first
plain subscription is advertised and the last one's end, and every change of a queue group's size. Promises
that the peer's picture is right after each change, in the order of the connection's other frames; and that no
account is so large that telling of it keeps others waiting: `sync` works in slices, and what the peer sends
is not served before it ends.

A sync walks the subjects. A change of a subject that it has not come to is not counted: it is found there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..slices import Shared, Slices, Steps, paced

if TYPE_CHECKING:
    from .space import InterestWatch, SubjectSpace
    from .subscription import InterestChange, Subscription

K = TypeVar("K", bound="tuple[str, ...]")  # subject, queue, and what else the peer tells apart
SERVICE_REPLY = "_R_."  # answers to what was asked through an import find their way back by these
_AT_ONCE = 64  # subscriptions of a subject that are counted in one step


class _Sync(Generic[K]):
    """One walk. ahead: the subjects that are to come; None before it begins.

    subject, counts, uncounted: the one that is being counted, what was found of it, and what not yet.
    repeats: whether what the peer was told is told again.
    """

    __slots__ = ("ahead", "counts", "repeats", "slices", "subject", "uncounted")

    def __init__(self, *, repeats: bool) -> None:
        self.repeats = repeats
        self.ahead: dict[str, Any] | None = None
        self.subject = ""
        self.counts: dict[K, int] = {}
        self.uncounted: dict[Subscription, None] = {}
        self.slices: Slices | None = None

    def will_count(self, subscription: Subscription) -> bool:
        """Whether a subscription that has just changed is one that the walk is still to come to."""
        if self.ahead is None or subscription.subject in self.ahead:
            return True
        if subscription.subject != self.subject or subscription not in self.uncounted:
            return False
        if subscription.closed:
            del self.uncounted[subscription]
        return True


class Advertiser(ABC, Generic[K]):
    """What one peer was told of an account's interest. Each kind of peer says what concerns it."""

    def __init__(self, turns: Shared) -> None:
        self._turns = turns
        self._counts: dict[K, int] = {}
        self._before: dict[K, int] = {}  # told before the sync under way, which has not come to it
        self._account: SubjectSpace | None = None
        self._watch: InterestWatch | None = None
        self._sync: _Sync[K] | None = None
        self._holding = False

    def start(self, account: SubjectSpace) -> None:
        """Advertise all present interest in `account`, and all changes from now on."""
        self._account = account
        self._watch = account.watch_interest(self._changed)
        self.sync()

    def stop(self) -> dict[K, int]:
        """Advertise nothing more; gives what was."""
        if self._watch is not None:
            self._watch.cancel()
        if self._sync is not None and self._sync.slices is not None:
            self._sync.slices.stop()
        self._end()
        self._account = self._watch = None
        told, self._counts = self._counts, {}
        before, self._before = self._before, {}
        if before:
            told.update(before)
        return told

    def withdraw(self) -> None:
        """Advertise nothing more, and tell the peer that all of it has ended."""
        for key in self.stop():
            self._tell(key, 0)

    def sync(self, *, repeats: bool = False) -> None:
        """Tell what differs from what was told: mappings or permissions have changed.

        repeats: tell all, to a peer that takes other interest than before.
        """
        if self._watch is None:
            return
        if self._sync is not None:
            repeats = repeats or self._sync.repeats
            if self._sync.slices is not None:
                self._sync.slices.stop()
        sync = self._sync = _Sync[K](repeats=repeats)
        self._turns.now(partial(self._begin, sync))
        if self._sync is sync and not self._holding:
            self._holding = True
            self._hold()

    # --- what the peer is like

    @abstractmethod
    def _concerns(self, subscription: Subscription) -> bool:
        """Whether the peer may know of it."""

    @abstractmethod
    def _key(self, subscription: Subscription) -> K:
        """By what it is counted."""

    @abstractmethod
    def _tell(self, key: K, count: int) -> None:
        """Send the peer how many there are now; 0: no more."""

    @abstractmethod
    def _hold(self) -> None:
        """Serve nothing that the peer sends, until `_go_on`."""

    @abstractmethod
    def _go_on(self) -> None:
        """Serve it."""

    def _besides(self, account: SubjectSpace) -> Iterable[K]:
        """What else is advertised; the last of it is the last that a new peer is told."""
        del account
        return ()

    # --- changes

    def _changed(self, change: InterestChange) -> None:
        subscription, sync = change.subscription, self._sync
        if (sync is not None and sync.will_count(subscription)) or not self._concerns(subscription):
            return
        key = self._key(subscription)
        if sync is not None and subscription.subject == sync.subject:
            sync.counts[key] = sync.counts.get(key, 0) + change.delta
        else:
            self._add(key, change.delta)

    def _add(self, key: K, delta: int) -> None:
        count = told = self._counts.get(key, 0)
        again = False
        if not told and self._sync is not None:
            told = self._before.pop(key, 0)
            again = self._sync.repeats
        count += delta
        if count > 0:
            self._counts[key] = count
        else:
            self._counts.pop(key, None)
        if (told > 0) != (count > 0) or (key[1] and told != count) or (again and told):
            self._tell(key, count)

    # --- a sync

    def _begin(self, sync: _Sync[K]) -> None:
        if self._sync is not sync or self._account is None:
            return  # it was stopped, or another was begun
        if self._before:
            self._before.update(self._counts)
        else:
            self._before = self._counts
        self._counts = {}
        sync.ahead = self._account.sublist.subjects()
        sync.slices = Slices(self._turns, paced(self._steps(sync, self._account)), self._end)

    def _end(self, _: None = None) -> None:
        self._sync = None
        if self._holding:
            self._holding = False
            self._go_on()

    def _steps(self, sync: _Sync[K], account: SubjectSpace) -> Steps[None]:
        assert sync.ahead is not None
        for subject in list(sync.ahead):
            del sync.ahead[subject]
            yield from self._count(sync, account, subject)
        for key in self._besides(account):
            self._add(key, 1)
            yield
        while self._before:
            key, _ = self._before.popitem()
            self._tell(key, 0)
            yield

    def _count(self, sync: _Sync[K], account: SubjectSpace, subject: str) -> Steps[None]:
        assert self._watch is not None
        sync.subject = subject
        sync.uncounted = account.sublist.exactly(subject)
        while sync.uncounted:
            for _ in range(min(len(sync.uncounted), _AT_ONCE)):
                subscription, _ = sync.uncounted.popitem()
                if account.tells(self._watch, subscription) and self._concerns(subscription):
                    key = self._key(subscription)
                    sync.counts[key] = sync.counts.get(key, 0) + subscription.weight
            yield
        sync.subject = ""
        counts, sync.counts = sync.counts, {}
        for key, count in counts.items():
            self._add(key, count)
        yield
