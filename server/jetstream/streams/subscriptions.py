"""StreamSubscriptions: the subscriptions of a stream to its subjects.

There may be ten thousand of them, so they change in steps. Promises: a new change ends the one before it, and
when the last change is done, exactly the subjects that it asked for are subscribed to, each once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...slices import Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...accounts.account import Account
    from ...accounts.subscription import BatchCallback, Message, Subscription

STEP = 128  # subscriptions made or ended in one step


class StreamSubscriptions:
    """The subscriptions of a stream.

    receive, receive_batch: see `callback` and `batch_callback` of Subscription.
    """

    __slots__ = ("_account", "_changes", "_receive", "_receive_batch", "_subscriptions")

    def __init__(
        self, account: Account, receive: Callable[[Message], None], receive_batch: BatchCallback
    ) -> None:
        self._account = account
        self._receive = receive
        self._receive_batch = receive_batch
        self._subscriptions: dict[str, Subscription] = {}
        self._changes = 0

    def changing(self, subjects: Iterable[str]) -> Steps[None]:
        """Subscribe to these subjects and to no others, in steps."""
        self._changes += 1
        change, there = self._changes, self._subscriptions
        wanted = dict.fromkeys(subjects)
        changed = [subject for subject in there if subject not in wanted]
        changed += [subject for subject in wanted if subject not in there]
        for start in range(0, len(changed), STEP):
            if start:
                yield
                if self._changes != change:
                    return
            if len(changed) > STEP:
                self._account.forget_plans()  # cheaper than to look up the plans of each subject
            for subject in changed[start : start + STEP]:
                if subject in wanted:
                    there[subject] = self._account.subscribe(
                        subject, self._receive, batch_callback=self._receive_batch
                    )
                else:
                    self._account.unsubscribe(there.pop(subject))

    def take(self, subscriptions: Iterable[Subscription]) -> None:
        """Take over existing subscriptions. `changing` must follow, to add the missing ones."""
        for subscription in subscriptions:
            if subscription.shadows:  # these have the old callback too, so `changing` subscribes again
                self._account.unsubscribe(subscription)
                continue
            subscription.callback, subscription.batch_callback = self._receive, self._receive_batch
            self._subscriptions[subscription.subject] = subscription
        self._account.forget_plans()
