"""PendingPublishes: keeps the publishes to a stream that is not open yet, and stores them once it is.

A message is not lost because a server has just started. A client that asked for an acknowledgement gets it
when the message is stored, as always, or an error that JetStream is temporarily unavailable.

Promises: messages keep their order. One limit (`MOST`) applies to all waiting messages of the server; those
beyond it are refused with that error, and their number is logged.
"""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING

from ....protocol.errors import ApiError, api_error
from ...accounts.subscription import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....protocol.api.stream import StreamConfig
    from ...accounts.account import Account
    from ...accounts.server_trace import ServerTrace
    from ...accounts.traced_message import StreamSubscription, TracedMessage
    from ...slices import Steps

MOST = 64 << 20  # bytes that may wait on one server
OVERHEAD = 512  # bytes that each message counts in addition to its content


class PendingLimit:
    """The limit of waiting messages, shared by all streams of a server.

    left: how many bytes may still be added.
    """

    __slots__ = ("left",)

    def __init__(self, most: int = MOST) -> None:
        self.left = most


class PendingPublishes:
    """The waiting publishes to one stream of an account.

    pending_limit: the limit that it shares with other streams.
    log_error: called with a text when messages were dropped.
    """

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
        self._subscriptions: list[StreamSubscription] = []

    def starting(self) -> Steps[None]:
        """Subscribe to the stream's subjects, one in each step."""
        for subject in self._subjects:
            self._subscriptions.append(self._account.subscribe_stream(subject, self.receive, self._trace))
            yield

    def _trace(self, msg: TracedMessage, trace: ServerTrace) -> bool:
        """See StreamSubscription. What becomes of a message that waits is not known yet."""
        entry = trace.stored(self._name)
        if trace.only:
            entry["error"] = api_error("JSClusterNotAvailErr").description
            return True
        untraced = msg.untraced()
        subject, reply = untraced.subject, untraced.reply
        self.receive(
            Message(
                subject.decode("utf-8", "surrogateescape"),
                reply.decode("utf-8", "surrogateescape"),
                untraced.header,
                untraced.body,
                untraced.source,
            )
        )
        return True

    def receive(self, message: Message) -> None:
        """Keep a message, or refuse it if too many wait."""
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
        """Call `receive` with each waiting message, in steps, and with those that come meanwhile."""
        while self._messages:
            receive(self._take())
            yield

    def _take(self) -> Message:
        message = self._messages.popleft()
        self._pending_limit.left += _size(message)
        return message

    def stop(self) -> None:
        """End the subscriptions."""
        for subscription in self.hand_over():
            self._account.unsubscribe(subscription)

    def hand_over(self) -> list[StreamSubscription]:
        """Return the subscriptions, for the open stream to take over. Logs how many messages were dropped."""
        subscriptions, self._subscriptions = self._subscriptions, []
        if self._dropped:
            self._log_error(
                f"{self._dropped} messages for stream '{self._account.name} > {self._name}' came before it "
                "was open and could not wait: they are not stored"
            )
        return subscriptions

    def refuse(self, reason: str | None) -> None:
        """Answer all waiting messages with an error, because they cannot be stored, and unsubscribe.

        reason: why the stream is offline; None if it is only unavailable for now.
        """
        self._dropped += len(self._messages)
        if reason is None:
            self.refuse_with(api_error("JSClusterNotAvailErr"))
        else:
            self.refuse_with(api_error("JSStreamOfflineReasonErrF", err=reason))

    def refuse_with(self, error: ApiError) -> None:
        """Answer all waiting messages with this error, and unsubscribe."""
        while self._messages:
            self._refuse(self._take(), error)
        self.stop()


def _size(message: Message) -> int:
    return OVERHEAD + len(message.subject) + len(message.header) + len(message.body)
