"""ServedRequests: tells the next leader which requests of the API were served before it.

Servers hold the requests that they leave to a leader until they have heard from it since. A leader that hands
over first tells the others what it has served of late, in the system account, and so before the message that
lets another one lead. What they hold of that, they drop. Promises: memory is bounded. A leader that dies
tells nothing: what it has served may then be served once more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Any
from zlib import crc32

from ....protocol.gateway_reply import own_reply
from ...clock import SECOND

if TYPE_CHECKING:
    from ...accounts.subscription import Message
    from ...clock import Clock
    from ...cluster.transport import PubSub

SUBJECT = "$JSC.SERVED"
LATELY = 2 * SECOND  # ns; others hold a request for less, as long as they hear the leader
MOST = 4096  # requests that are reported
_DIGEST = Struct("<II")


class ServedRequests:
    """The requests that this server has served as a leader; a server has one.

    listeners: are called with the digests of what another server has served.
    """

    def __init__(self, pubsub: PubSub, clock: Clock) -> None:
        self.listeners: list[Callable[[frozenset[bytes]], None]] = []
        self._pubsub = pubsub
        self._clock = clock
        self._subscription: Any = None
        self._served: deque[tuple[int, bytes]] = deque(maxlen=MOST)

    def start(self) -> None:
        """Listen to the other servers."""
        self._subscription = self._pubsub.subscribe(SUBJECT, self._reported)

    def stop(self) -> None:
        """Listen no more."""
        if self._subscription is not None:
            self._pubsub.unsubscribe(self._subscription)
            self._subscription = None

    def note(self, account: str, message: Message) -> None:
        """Note that this server serves a request."""
        self._served.append((self._clock.now(), digest(account, message)))

    def tell(self) -> None:
        """Tell the other servers what this one has served of late, because it hands a lead over."""
        since = self._clock.now() - LATELY
        reported = b"".join(each for at, each in self._served if at >= since)
        self._served.clear()
        if reported and self._subscription is not None:
            self._pubsub.publish(SUBJECT, reported)

    def _reported(self, message: Message) -> None:
        body = bytes(message.body[: MOST * _DIGEST.size])
        reported = frozenset(body[at : at + _DIGEST.size] for at in range(0, len(body), _DIGEST.size))
        for listener in self.listeners:
            listener(reported)


def digest(account: str, message: Message) -> bytes:
    """Return what tells a request from others, and is the same on each server that receives it."""
    head = f"{account} {message.subject} {own_reply(message.reply)}"
    return _DIGEST.pack(crc32(head.encode("utf-8", "surrogateescape")), crc32(message.body))
