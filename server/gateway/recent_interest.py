"""RecentInterest: the interest of an account that other clusters may not have heard of yet.

The reply of a request that crosses a gateway names its way back, if somebody has just subscribed to it here;
see `protocol.gateway_reply`. Interest is recent for `RECENT`. Source: nats-server's gateway.go
(shouldMapReplyForGatewaySend). Promises that what is forgotten costs what was added, never more at once.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ...protocol.reserved import SERVICE_REPLY
from ..accounts.sublist import Sublist
from ..accounts.subscription import ConnectionKind

if TYPE_CHECKING:
    from ..accounts import Account, AccountRegistry
    from ..accounts.space import SubjectSpace
    from ..accounts.subscription import InterestChange, Subscription
    from ..clock import Clock

RECENT = 2_000_000_000  # ns
_OTHERS = (ConnectionKind.ROUTER, ConnectionKind.GATEWAY)
_AT_ONCE = 8  # forgotten for each that is added, at most


class RecentInterest:
    """What was subscribed on this server in the last moment; `len` is how much is remembered."""

    __slots__ = ("_clock", "_due", "_sublist", "_watch")

    def __init__(self, space: SubjectSpace, clock: Clock) -> None:
        self._clock = clock
        self._sublist = Sublist()
        self._due: deque[tuple[int, Subscription]] = deque()
        self._watch = space.watch_interest(self._changed)

    def __len__(self) -> int:
        return len(self._due)

    def stop(self) -> None:
        """Watch no longer."""
        self._watch.cancel()
        self._due.clear()
        self._sublist = Sublist()

    def includes(self, reply: bytes) -> bool:
        """Return whether a literal `reply` was subscribed to just now."""
        if not self._due:
            return False
        self._forget()
        return bool(len(self._sublist)) and self._sublist.has_match(reply.decode("utf-8", "surrogateescape"))

    def _changed(self, change: InterestChange) -> None:
        subscription, kind = change.subscription, change.kind
        if subscription.closed:
            self._sublist.remove(subscription)
            return
        if kind in _OTHERS or change.delta <= 0:
            return
        if kind is ConnectionKind.IMPORT and not change.subject.startswith(SERVICE_REPLY):
            return
        self._forget()
        self._sublist.insert(subscription)
        self._due.append((self._clock.now() + RECENT, subscription))

    def _forget(self) -> None:
        now = self._clock.now()
        for _ in range(_AT_ONCE):
            if not self._due or self._due[0][0] > now:
                return
            self._sublist.remove(self._due.popleft()[1])


class RecentInterests:
    """The recent interest of every account of this server."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, tuple[Account, RecentInterest]] = {}

    def of(self, account: Account) -> RecentInterest:
        """Return the recent interest of an account, which is watched from now on."""
        known = self._known.get(account.name)
        if known is not None:
            if known[0] is account:
                return known[1]
            known[1].stop()
        recent = RecentInterest(account, self._clock)
        self._known[account.name] = account, recent
        return recent

    def forget_ended(self, registry: AccountRegistry) -> list[str]:
        """Stop watching accounts that have ended, and return their names."""
        gone = [name for name, (account, _) in self._known.items() if registry.get(name) is not account]
        for name in gone:
            self._known.pop(name)[1].stop()
        return gone

    def stop(self) -> None:
        """Watch nothing any longer."""
        for _, recent in self._known.values():
            recent.stop()
        self._known.clear()
