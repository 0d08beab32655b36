"""The sink of internal subscribers: a callback on the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .message import Message, RoutedMessage
from .plan import shown_to
from .source import ConnectionKind

if TYPE_CHECKING:
    from .subscription import Subscription


class InternalSink:
    """Calls the subscription's callback with a Message."""

    __slots__ = ("kind",)

    def __init__(self) -> None:
        self.kind = ConnectionKind.INTERNAL

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        """Always takes the message."""
        subscription.delivered += 1
        text = (msg.shown or msg.subject).decode("utf-8", "surrogateescape")
        if subscription.transform is not None and not msg.shown:
            text = shown_to(subscription, text).decode("utf-8", "surrogateescape")
        callback = subscription.callback
        if callback is None:
            return False
        callback(
            Message(
                text,
                msg.reply.decode("utf-8", "surrogateescape"),
                msg.header,
                msg.body,
                msg.account,
                msg.source,
            )
        )
        return True
