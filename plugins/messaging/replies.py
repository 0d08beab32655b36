"""`pyjs subscribe --match-replies`: a request is shown together with its reply, when that has come.

Promises: at most MOST requests wait for their replies; beyond that the oldest is shown without one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

MOST = 10_000


class ReplyMatcher:
    """Matches requests and replies.

    inboxes: the subject that replies are heard on.
    show: shows a message, given the subject subscribed to.
    show_reply: shows the reply of the message shown last.
    """

    def __init__(
        self, inboxes: str, show: Callable[[str, Any], object], show_reply: Callable[[Any], object]
    ) -> None:
        self.inboxes = inboxes
        self._show = show
        self._show_reply = show_reply
        self._reply: Any = None  # of the message that was yielded last
        self._open: dict[str, tuple[str, Any]] = {}

    async def matched(self, messages: AsyncIterator[tuple[str, Any]]) -> AsyncIterator[tuple[str, Any]]:
        """Yield messages without a reply subject, and requests when their replies have come."""
        async for pattern, message in messages:
            self._reply = None
            if pattern == self.inboxes:
                request = self._open.pop(message.subject, None)
                if request is None:
                    continue
                self._reply = message
                yield request
            elif message.reply:
                self._open[message.reply] = (pattern, message)
                if len(self._open) > MOST:
                    yield self._open.pop(next(iter(self._open)))
            else:
                yield pattern, message
        self._reply = None
        for request in self._open.values():
            yield request

    def show(self, pattern: str, message: Any) -> None:
        """Show what `matched` yielded last, with its reply."""
        self._show(pattern, message)
        if self._reply is not None:
            self._show_reply(self._reply)
