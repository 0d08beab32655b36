"""Leaving: how the subscriptions of a closed connection are removed, in slices.

Promises that nobody finds one of them from the first moment on, so that no message goes to a peer that has
left, not even through a queue group; and that watchers of interest are told of each one as it is removed.
A peer that comes back has another sink, and is found at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..slices import EachTurn, Slices, Steps, at_once, paced

if TYPE_CHECKING:
    from ..clock import Clock
    from .space import SubjectSpace
    from .subscription import MessageEndpoint, Subscription

_AT_ONCE = 250  # subscriptions
_FREED = 64  # between two looks at the clock


class Leaver(NamedTuple):
    """A connection that leaves an account, where it will never receive anything again.

    sink: the connection's endpoint.
    subscriptions: all subscriptions of `sink` in `account` and in the accounts that it imports from.
    told: the interest of these accounts that was announced to the peer.
    """

    account: SubjectSpace
    sink: MessageEndpoint
    subscriptions: dict[Any, Subscription]
    told: dict[Any, int]


def leave(clock: Clock, leavers: list[Leaver]) -> None:
    """Remove the subscriptions of all `leavers`. Empties their `subscriptions` and `told`."""
    if sum(len(leaver.subscriptions) + len(leaver.told) for leaver in leavers) <= _AT_ONCE:
        at_once(_removing(leavers))
        return
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
    Slices(EachTurn(clock), paced(_removing(leavers)), done)


def _mark(leaver: Leaver) -> set[SubjectSpace]:
    accounts = {leaver.account, *(stream.exporter for stream in leaver.account.imports_streams)}
    for account in accounts:
        account.leave(leaver.sink)
    return accounts


def _removing(leavers: list[Leaver]) -> Steps[None]:
    for _, _, subscriptions, told in leavers:
        while subscriptions:
            _, subscription = subscriptions.popitem()
            if subscription.account is not None:
                subscription.account.remove_subscription(subscription)
            yield
        while told:
            for _ in range(min(len(told), _FREED)):
                told.popitem()
            yield
