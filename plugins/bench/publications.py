"""The messages that a publisher sends, as bytes for the socket.

Messages that are all alike are encoded once, and many of them sent as one string.
"""

from __future__ import annotations

import random

from ...protocol import headers as header_block
from ...protocol.wire import encode
from ..messaging.body import parse_headers
from ..messaging.template import Filler
from .client import ClientPlan
from .settings import BenchmarkSettings

MSG_ID = b"Nats-Msg-Id"
WRITE = 64 << 10  # bytes of messages that are sent with one write


class Publications:
    """The messages of one client, by their number from 0.

    run_id: part of the message IDs for deduplication.
    """

    def __init__(self, settings: BenchmarkSettings, plan: ClientPlan, run_id: str = "") -> None:
        self._settings = settings
        self._offset = plan.offset
        self._subject = settings.subject.encode()
        self._width = len(str(settings.multisubject_max))
        self.payload = settings.payload
        self._headers = b""
        filler = Filler()
        for name, values in parse_headers(settings.header).items():
            for value in values:
                filled = filler.fill(value, 0)
                self._headers = header_block.add(self._headers, name.encode(), filled.encode())
        self._id = f"{run_id}-{plan.number}-".encode() if settings.dedup else b""
        self._alike = b""  # many equal messages
        self._reply = b""  # that these have

    @property
    def size(self) -> int:
        """The bytes of one payload."""
        return len(self.payload)

    @property
    def alike(self) -> bool:
        """Whether all messages are the same bytes."""
        return not (self._settings.multisubject or self._id)

    def subject(self, number: int) -> bytes:
        """Return the subject of a message."""
        settings = self._settings
        if not settings.multisubject:
            return self._subject
        most = settings.multisubject_max
        if not most:
            return b"%b.%d" % (self._subject, number + self._offset)
        chosen = random.randrange(most) if settings.multisubject_randomize else number + self._offset
        return b"%b.%0*d" % (self._subject, self._width, chosen % most)

    def headers(self, number: int) -> bytes:
        """Return the header block of a message."""
        if not self._id:
            return self._headers
        return header_block.add(self._headers, MSG_ID, self._id + b"%d" % (number + self._offset))

    def frame(self, number: int, reply: bytes = b"") -> bytes:
        """Return one message."""
        return encode.pub(self.subject(number), reply, self.headers(number), self.payload)

    def at_once(self) -> int:
        """Return how many messages make up one write."""
        return max(1, WRITE // len(self.frame(0)))

    def frames(self, first: int, count: int, reply: bytes = b"") -> bytes:
        """Return `count` messages from number `first` on."""
        if not self.alike:
            return b"".join([self.frame(number, reply) for number in range(first, first + count)])
        one = encode.pub(self._subject, reply, self._headers, self.payload)
        if reply != self._reply or len(self._alike) < count * len(one):
            self._alike, self._reply = one * count, reply
        if len(self._alike) == count * len(one):
            return self._alike
        return self._alike[: count * len(one)]
