"""One interest in a subject, whoever holds it: a client's SUB, a leaf's LS+, an internal callback, an import.

A subscription belongs to exactly one account and one sink; it is identified by itself, not by its fields.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .source import ConnectionKind

if TYPE_CHECKING:
    from ...protocol.transform import SubjectTransform
    from .account import Account
    from .message import Message
    from .source import MessageSink

Callback = Callable[["Message"], None]
# A publish as the wire brings it: subject, reply, header size, size, tail (see protocol.wire.ops).
Publish = tuple[bytes, bytes, int, int, bytes]
ReadCallback = Callable[[list[Publish]], None]


class Subscription:
    """subject may have wildcards; queue "" is none; sid is the client's own name for it.

    max: deliver so many in all, then forget (0: no limit); delivered counts. weight: members a remote queue
    group stands for. A shadow is what a stream import adds in the exporting account for its `parent`;
    transform: subject as exported -> as the importer sees it, None when the same. reader: takes, instead of
    `callback`, publishes that came together and that nobody else receives; it does not keep the list.
    """

    __slots__ = (
        "account",
        "callback",
        "closed",
        "delivered",
        "kind",
        "max",
        "origin",
        "parent",
        "queue",
        "reader",
        "shadows",
        "sid",
        "sink",
        "subject",
        "transform",
        "weight",
    )

    def __init__(
        self,
        subject: str,
        sink: MessageSink,
        *,
        queue: str = "",
        sid: bytes = b"",
        callback: Callback | None = None,
        weight: int = 1,
        origin: str = "",
    ) -> None:
        self.subject = subject
        self.sink = sink
        self.kind = ConnectionKind(sink.kind)
        self.queue = queue
        self.sid = sid
        self.callback = callback
        self.reader: ReadCallback | None = None
        self.weight = weight
        self.origin = origin
        self.account: Account | None = None
        self.max = 0
        self.delivered = 0
        self.closed = False
        self.parent: Subscription | None = None
        self.transform: SubjectTransform | None = None
        self.shadows: list[Subscription] | None = None

    def __repr__(self) -> str:
        queue = f" {self.queue!r}" if self.queue else ""
        return f"<Subscription {self.subject!r}{queue} {self.kind.name}>"


@dataclass(frozen=True, slots=True)
class InterestChange:
    """What a watcher of interest is told.

    count: members (weights added) that `subject` and `queue` have now in the account, of all kinds; delta:
    what changed by (negative when leaving).
    """

    subject: str
    queue: str
    count: int
    kind: ConnectionKind
    delta: int
    subscription: Subscription
