"""StreamSubscriptions: the subscriptions of a stream to its subjects.

There may be ten thousand of them, so they change in steps. Promises: a new change ends the one before it, and
when the last change is done, exactly the subjects that it asked for are subscribed to, each once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...slices import Steps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...accounts.account import Account
    from ...accounts.traced_message import StreamSubscription, TraceCallback
    from .parts import PublishReceiver

STEP = 128  # subscriptions made or ended in one step


class StreamSubscriptions:
    """The subscriptions of a stream.

    receiver: gets the publishes.
    trace: see StreamSubscription.
    """

    __slots__ = ("_account", "_changes", "_receive", "_receive_batch", "_subscriptions", "_trace")

    def __init__(self, account: Account, receiver: PublishReceiver, trace: TraceCallback) -> None:
        self._account = account
        self._receive, self._receive_batch = receiver.receive, receiver.receive_batch
        self._trace = trace
        self._subscriptions: dict[str, StreamSubscription] = {}
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
                    subscription = self._account.subscribe_stream(subject, self._receive, self._trace)
                    subscription.batch_callback = self._receive_batch
                    there[subject] = subscription
                else:
                    self._account.unsubscribe(there.pop(subject))

    def take(self, subscriptions: Iterable[StreamSubscription]) -> None:
        """Take over existing subscriptions. `changing` must follow, to add the missing ones."""
        for subscription in subscriptions:
            if subscription.shadows:  # these have the old callback too, so `changing` subscribes again
                self._account.unsubscribe(subscription)
                continue
            subscription.callback, subscription.batch_callback = self._receive, self._receive_batch
            subscription.trace = self._trace
            self._subscriptions[subscription.subject] = subscription
        self._account.forget_plans()
