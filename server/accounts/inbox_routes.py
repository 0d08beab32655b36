"""InboxRouteCache: who receives subjects that differ in their last token only, as replies to one client do.

Each request has a reply subject of its own, `_INBOX.<client>.<request>`, so a plan for it is hardly ever used
twice. But nearly always one subscription of the client, `_INBOX.<client>.*`, receives all of them, and nobody
else does. That is worked out here once, for all subjects that share all tokens but the last.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from ...protocol.subject import has_wildcard, is_valid

if TYPE_CHECKING:
    from .flusher import OutboundQueue
    from .sublist import Sublist
    from .subscription import Subscription

Receiver = tuple["Subscription", "OutboundQueue"]
_MOST = 4096
_OTHERS = ("$", "_GR_")  # begin what clients may not publish to, and what the server serves


class InboxRouteCache:
    """The only receivers of the inboxes of one account, by all tokens of the subject but the last.

    It holds at most `_MOST` of them: when there would be more, some of the oldest make room.

    receivers: what is known so far, None where there is no such receiver.
    """

    __slots__ = ("_sublist", "receivers")

    def __init__(self, sublist: Sublist) -> None:
        self._sublist = sublist
        self.receivers: dict[bytes, Receiver | None] = {}

    def receiver(self, subject: bytes) -> Receiver | None:
        """Return the only subscription that receives a literal `subject`, and its connection's queue.

        That is a subscription of a client by a pattern, which takes every message as it is. None means that
        the subject needs a plan, as those of the server's services do (see `is_request`).
        """
        head, _, last = subject.rpartition(b".")
        try:
            found = self.receivers[head]
        except KeyError:
            found = self._find(head)
        if found is None or not last:
            return None
        # A pattern that ends in the very token, or a subscription to the very subject, may receive it, too.
        sublist = self._sublist
        if last in sublist.ends or subject.decode("utf-8", "surrogateescape") in sublist.literal:
            return None
        return found

    def _find(self, head: bytes) -> Receiver | None:
        text = head.decode("utf-8", "surrogateescape")
        if len(self.receivers) >= _MOST:
            for oldest in list(islice(self.receivers, _MOST >> 5)):
                del self.receivers[oldest]
        found: Subscription | None = None
        if is_valid(text) and not has_wildcard(text) and not text.startswith(_OTHERS):
            found = self._sublist.only_covering(text + ".*")
        receiver = None if found is None or found.direct is None else (found, found.direct)
        self.receivers[head] = receiver
        return receiver

    def clear(self) -> None:
        """Forget everything, because the interest in a pattern has changed."""
        if self.receivers:
            self.receivers.clear()
