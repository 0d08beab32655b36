"""PendingPublishes: publishes to a stream that is not open yet are kept, and stored once it is.

Nothing that a client sends vanishes because a server has just started: who asked for an acknowledgement gets
it when the message is stored, as ever, or an error that JetStream is temporarily unavailable. Promises: the
order is kept; what waits has one bound for the whole server.
"""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING

from ....protocol.errors import ApiError, api_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....protocol.api.stream import StreamConfig
    from ...accounts.account import Account
    from ...accounts.subscription import Message, Subscription
    from ...slices import Steps

MOST = 64 << 20  # bytes that wait, on one server
OVERHEAD = 512  # bytes that a message counts besides what is in it


class PendingLimit:
    """How much may still wait."""

    __slots__ = ("left",)

    def __init__(self, most: int = MOST) -> None:
        self.left = most


class PendingPublishes:
    """The publishes to one stream of an account. log_error: is given what went wrong, for the log."""

    def __init__(
        self,
        account: Account,
        config: StreamConfig,
        pending_limit: PendingLimit,
        log_error: Callable[[str], None],
    ) -> None:
        self._account = account
        self._log_error = log_error
        self._name = config.name
        self._subjects = [] if config.mirror is not None else config.subjects
        self._answers = not config.no_ack
        self._pending_limit = pending_limit
        self._messages: deque[Message] = deque()
        self._dropped = 0
        self._subscriptions: list[Subscription] = []

    def starting(self) -> Steps[None]:
        """Subscribe to the stream's subjects, one after the other."""
        for subject in self._subjects:
            self._subscriptions.append(self._account.subscribe(subject, self._receive))
            yield

    def _receive(self, message: Message) -> None:
        size = _size(message)
        if size > self._pending_limit.left:
            self._dropped += 1
            self._refuse(message, api_error("JSClusterNotAvailErr"))
            return
        self._pending_limit.left -= size
        self._messages.append(message)

    def _refuse(self, message: Message, error: ApiError) -> None:
        if message.reply and self._answers:
            answer = {"error": error.to_json(), "stream": self._name, "seq": 0}
            self._account.publish(message.reply, json.dumps(answer, separators=(",", ":")).encode())

    def drain(self, receive: Callable[[Message], None]) -> Steps[None]:
        """Give the stream what has waited, bit by bit; what comes meanwhile waits behind it."""
        while self._messages:
            receive(self._take())
            yield

    def _take(self) -> Message:
        message = self._messages.popleft()
        self._pending_limit.left += _size(message)
        return message

    def stop(self) -> None:
        """Unsubscribe."""
        for subscription in self.hand_over():
            self._account.unsubscribe(subscription)

    def hand_over(self) -> list[Subscription]:
        """Hand its subscriptions over to the stream, which is open."""
        subscriptions, self._subscriptions = self._subscriptions, []
        if self._dropped:
            self._log_error(
                f"{self._dropped} messages for stream '{self._account.name} > {self._name}' came before it "
                "was open and could not wait: they are not stored"
            )
        return subscriptions

    def refuse(self, reason: str | None) -> None:
        """Nothing that has waited can be stored. reason: why the stream is offline; None: not for now."""
        if reason is None:
            error = api_error("JSClusterNotAvailErr")
        else:
            error = api_error("JSStreamOfflineReasonErrF", err=reason)
        self._dropped += len(self._messages)
        while self._messages:
            self._refuse(self._take(), error)
        self.stop()


def _size(message: Message) -> int:
    return OVERHEAD + len(message.subject) + len(message.header) + len(message.body)
