"""ReplyWays: the replies of one account that go back through gateways by the way that their requests named.

A request that crosses a gateway soon after its asker subscribed names the way back in its reply (see
`protocol.gateway_reply`), because the clusters beyond may not know of the subscription yet. Whoever answers
sees the asker's own reply. What this server's clients and the server itself send there within the next
seconds takes the way back, and nobody else gets it: the asker's cluster passes it on to all others.
Source: nats-server's trackGWReply and handleGWReplyMap.

Promises that a way is forgotten `KNOWN` after the last request that named it, by one timer for the account,
a few at a time; and that there are never more than `MOST` of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..clock import Clock, Timer
    from .space import SubjectSpace

KNOWN = 2_000_000_000  # ns until interest that is new has come everywhere
MOST = 1 << 16
_AT_ONCE = 1000  # ways that are forgotten
_PAUSE = 10_000_000  # ns between that


class ReplyWays:
    """The ways back of one account; `len` is how many there are."""

    def __init__(self, space: SubjectSpace, clock: Clock) -> None:
        self._space = space
        self._clock = clock
        self._due: dict[bytes, int] = {}  # by reply, the oldest first
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._due)

    def remember(self, reply: bytes, way: bytes) -> None:
        """Have replies to the literal `reply` take a way, of which a request has just told."""
        if self._due.pop(reply, None) is None and len(self._due) >= MOST:
            self._forget(next(iter(self._due)))
        self._due[reply] = self._clock.now() + KNOWN
        subject = way + reply
        if self._space.ways.get(reply) != subject:
            self._space.set_way(reply, subject)
        if self._timer is None:
            self._timer = self._clock.call_later(KNOWN, self._sweep)

    def _forget(self, reply: bytes) -> None:
        del self._due[reply]
        self._space.set_way(reply, None)

    def _sweep(self) -> None:
        self._timer = None
        now = self._clock.now()
        for _ in range(min(len(self._due), _AT_ONCE)):
            reply, due = next(iter(self._due.items()))
            if due > now:
                break
            self._forget(reply)
        if self._due:
            wait = next(iter(self._due.values())) - now
            self._timer = self._clock.call_later(max(wait, _PAUSE), self._sweep)

    def stop(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
