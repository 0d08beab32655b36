"""Messages whose way is traced, and the subscriptions that treat them in a way of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...protocol.tracing import disabled
from .subscription import RoutedMessage, Subscription

if TYPE_CHECKING:
    from .server_trace import ServerTrace
    from .subscription import ImportStep, MessageEndpoint

TraceCallback = Callable[["TracedMessage", "ServerTrace"], bool]


class TracedMessage(RoutedMessage):
    """A message whose way is traced."""

    __slots__ = ("trace",)

    def __init__(self, msg: RoutedMessage, trace: ServerTrace) -> None:
        self.source, self.subject, self.reply = msg.source, msg.subject, msg.reply
        self.header_size, self.size, self.tail = msg.header_size, msg.size, msg.tail
        self.shown, self.chain, self.answer = msg.shown, msg.chain, msg.answer
        self.way, self.returned = msg.way, msg.returned
        self.trace = trace  # type: ignore[misc]

    def renamed(self, subject: bytes) -> RoutedMessage:
        """See RoutedMessage."""
        assert self.trace is not None
        return TracedMessage(super().renamed(subject), self.trace)

    def rewritten(
        self,
        subject: bytes,
        reply: bytes,
        header: bytes,
        chain: tuple[ImportStep, ...],
        *,
        answer: bool = False,
    ) -> RoutedMessage:
        """See RoutedMessage."""
        assert self.trace is not None
        return TracedMessage(super().rewritten(subject, reply, header, chain, answer=answer), self.trace)

    def untraced(self) -> RoutedMessage:
        """Return the same message as it goes on where the trace may not follow."""
        return super().rewritten(self.subject, self.reply, disabled(self.header), self.chain)


class ShadowSubscription(Subscription):
    """The interest of an importer in a stream of another account; see `parent` of Subscription.

    allow_trace: whether the importer lets traces show where its messages go.
    """

    __slots__ = ("allow_trace",)

    def __init__(self, subject: str, importer: Subscription, *, allow_trace: bool) -> None:
        super().__init__(
            subject,
            importer.sink,
            queue=importer.queue,
            sid=importer.sid,
            callback=importer.callback,
            weight=importer.weight,
            origin=importer.origin,
        )
        self.parent = importer
        self.max = importer.max
        self.allow_trace = allow_trace


class StreamSubscription(Subscription):
    """A stream's own interest in one of its subjects.

    trace: is called instead of `callback` with a message that is traced, and returns whether it was taken.
    """

    __slots__ = ("trace",)

    def __init__(self, subject: str, sink: MessageEndpoint, trace: TraceCallback) -> None:
        super().__init__(subject, sink)
        self.trace = trace


class FallbackSubscription(Subscription):
    """The server's own interest in subjects that no stream has: of each message, it yields to a stream's."""

    __slots__ = ()


def without_fallbacks(found: list[Subscription]) -> list[Subscription]:
    """Return subscriptions without those that yield, if one of a stream is among them."""
    kinds = set(map(type, found))
    if FallbackSubscription not in kinds or StreamSubscription not in kinds:
        return found
    return [each for each in found if type(each) is not FallbackSubscription]
