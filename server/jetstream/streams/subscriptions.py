"""StreamSubscriptions: the subjects that a stream subscribes to.

There may be ten thousand of them. Promises: the subscriptions change in steps; a change that begins ends the
one before it; afterwards exactly the subjects that the last one wanted are subscribed to, each once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...slices import Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...accounts.account import Account
    from ...accounts.subscription import Message, ReadCallback, Subscription

STEP = 128  # subscriptions made or ended in one go


class StreamSubscriptions:
    """The subscriptions of a stream. receive, read: see Subscription's `callback` and `reader`."""

    __slots__ = ("_account", "_read", "_receive", "_subscriptions", "_turn")

    def __init__(self, account: Account, receive: Callable[[Message], None], read: ReadCallback) -> None:
        self._account = account
        self._receive = receive
        self._read = read
        self._subscriptions: dict[str, Subscription] = {}
        self._turn = 0

    def changing(self, subjects: Iterable[str]) -> Steps[None]:
        """Subscribe to these subjects, and to no others."""
        self._turn += 1
        turn, there = self._turn, self._subscriptions
        wanted = dict.fromkeys(subjects)
        changed = [subject for subject in there if subject not in wanted]
        changed += [subject for subject in wanted if subject not in there]
        for start in range(0, len(changed), STEP):
            if start:
                yield
                if self._turn != turn:
                    return
            if len(changed) > STEP:
                self._account.forget_plans()  # rather than look for each subject which plans it touches
            for subject in changed[start : start + STEP]:
                if subject in wanted:
                    there[subject] = self._account.subscribe(subject, self._receive, reader=self._read)
                else:
                    self._account.unsubscribe(there.pop(subject))

    def take(self, subscriptions: Iterable[Subscription]) -> None:
        """Take over these subscriptions; what is missing then is for `changing`."""
        for subscription in subscriptions:
            if subscription.shadows:  # they have the callback too
                self._account.unsubscribe(subscription)
                continue
            subscription.callback, subscription.reader = self._receive, self._read
            self._subscriptions[subscription.subject] = subscription
        self._account.forget_plans()
