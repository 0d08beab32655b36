"""AllowedReplies: the reply subjects to which one peer may publish because it received messages with them.

This is what the permission `allow_responses` gives. Promises: there are never more than 4096 subjects; the
oldest make room, which expire first. Source: nats-server's server/client.go, the field
`replies` of the client.
"""

from __future__ import annotations

_MOST = 4096


class AllowedReplies:
    """The replies of one peer.

    limits: how many replies may be sent to each subject, and within how many ns of the message. A number that
    is not positive means no limit. None means that no reply is allowed.
    """

    __slots__ = ("_sent", "limits")

    def __init__(self) -> None:
        self.limits: tuple[int, int] | None = None
        self._sent: dict[str, tuple[int, int]] = {}  # subject -> (replies sent, ns of the message)

    def __len__(self) -> int:
        return len(self._sent)

    def limit(self, limits: tuple[int, int] | None) -> None:
        """Replace the limits. None forgets the replies."""
        self.limits = limits
        if limits is None:
            self._sent.clear()

    def expect(self, reply: str, now: int) -> None:
        """Allow replies to `reply`, from `now` (ns) on."""
        if self.limits is None:
            return
        self._sent.pop(reply, None)  # a repeated reply becomes the newest
        if len(self._sent) >= _MOST:
            del self._sent[next(iter(self._sent))]
        self._sent[reply] = (0, now)

    def take(self, subject: str, now: int) -> bool:
        """Return whether a reply to `subject` is allowed. If so, it counts as sent."""
        sent = self._sent.get(subject)
        if sent is None or self.limits is None:
            return False
        most, expires = self.limits
        count, received = sent
        if expires > 0 and now - received > expires:
            del self._sent[subject]
            return False
        if count + 1 == most:
            del self._sent[subject]  # this is the last reply
        else:
            self._sent[subject] = (count + 1, received)
        return True
