"""Leaving: how the subscriptions of a closed connection are removed, in slices.

Promises that nobody finds one of them from the first moment on, so that no message goes to a peer that has
left, not even through a queue group; and that watchers of interest are told of each one as it is removed.
A peer that comes back has another sink, and is found at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, NamedTuple

from ..slices import Slices, Steps, at_once, paced

if TYPE_CHECKING:
    from ..clock import Clock
    from .space import SubjectSpace
    from .subscription import MessageEndpoint, Subscription

_AT_ONCE = 250  # subscriptions
_FREED = 64  # between two looks at the clock


class LeavingConnection(NamedTuple):
    """A connection that leaves an account, where it will never receive anything again.

    account: None if it had ended before.
    sink: the connection's endpoint.
    subscriptions: all subscriptions of `sink` in `account` and in the accounts that it imports from.
    stop: ends the advertising of the account's interest to the peer, and returns what it was told; None if
        none was advertised.
    """

    account: SubjectSpace | None
    sink: MessageEndpoint
    subscriptions: dict[Any, Subscription]
    stop: Callable[[], dict[Any, int]] | None = None


def leave(clock: Clock, leavers: list[LeavingConnection]) -> None:
    """Remove the subscriptions of all `leavers`, and call each `stop`. Empties their `subscriptions`."""
    marked = []
    if sum(len(leaver.subscriptions) for leaver in leavers) <= _AT_ONCE:
        for leaver in leavers:  # of a route there are as many as accounts, most without subscriptions
            if leaver.subscriptions:
                at_once(_removing(leaver))
        if all(leaver.stop is None for leaver in leavers):
            return
    else:
        marked = [
            (leaver.sink, account.sublist)
            for leaver in leavers
            if leaver.subscriptions
            for account in _mark(leaver)
        ]

    def done(_: None) -> None:
        for sink, sublist in marked:
            sublist.leaving.pop(sink, None)

    # Each connection has steps of its own: the work keeps up with connections that come and go all the time.
    Slices(clock, paced(_ending(leavers)), done)


def _mark(leaver: LeavingConnection) -> Collection[SubjectSpace]:
    account, sink = leaver.account, leaver.sink
    if account is None:
        return ()
    account.leave(sink)
    if not account.imports_streams:
        return (account,)
    exporters = {stream.exporter for stream in account.imports_streams} - {account}
    for exporter in exporters:
        exporter.leave(sink)
    return account, *exporters


def _ending(leavers: list[LeavingConnection]) -> Steps[None]:
    for leaver in leavers:
        counts = {} if leaver.stop is None else leaver.stop()
        yield from _removing(leaver)
        while counts:
            for _ in range(min(len(counts), _FREED)):
                counts.popitem()
            yield
        yield


def _removing(leaver: LeavingConnection) -> Steps[None]:
    subscriptions = leaver.subscriptions
    while subscriptions:
        _, subscription = subscriptions.popitem()
        if subscription.account is not None:
            subscription.account.remove_subscription(subscription)
        yield
