"""Leaving: the subscriptions of a connection that is gone are taken out in slices.

Promises that nobody finds one of them from the first moment on, so that no message goes to who has left, not
even through a queue group; and that watchers of interest are told of each as it is taken out. The same peer
that comes again comes with another sink, and is found at once.
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
    """`subscriptions` are all of `sink` in `account` and in those that it imports from; it will never receive
    anything in these accounts again. told: what of their interest was announced to it.
    """

    account: SubjectSpace
    sink: MessageEndpoint
    subscriptions: dict[Any, Subscription]
    told: dict[Any, int]


def leave(clock: Clock, leavers: list[Leaver]) -> None:
    """Take out their subscriptions; empties `subscriptions` and `told`."""
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

    # Each connection has its own steps, so that those who come and go all the time are kept up with.
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
