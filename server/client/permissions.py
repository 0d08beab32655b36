"""What a client may publish and receive, message by message: its user's permissions, with caches of what they
decided, and the replies that it may send.

One per connection, of which it knows nothing. Promises that a cache never changes a decision and stays
bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..accounts.permissions import Permissions
    from ..clock import Clock

_MOST_DECISIONS = 512
_MOST_REPLIES = 4096


class ClientPermissions:
    """The decisions about one client.

    permissions: the user's; None for a user without restrictions.
    denies: some of what the client subscribes to is denied, so that `may_receive` must be asked.
    expects_replies: what it receives with a reply must be told to `expect_reply`.
    filters: deliveries must be looked at one by one.
    restricts_publish: publishes must be looked at one by one.
    """

    __slots__ = (
        "_clock",
        "_may_receive_cache",
        "_publish",
        "_replies",
        "denies",
        "expects_replies",
        "permissions",
    )

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.permissions: Permissions | None = None
        self.denies = False
        self.expects_replies = False
        self._publish: dict[str, bool] = {}
        self._may_receive_cache: dict[tuple[str, str], bool] = {}
        self._replies: dict[str, tuple[int, int]] = {}  # subject -> (replies sent, ns of the request)

    @property
    def filters(self) -> bool:
        """Whether what the client receives must be looked at."""
        return self.denies or self.expects_replies

    @property
    def restricts_publish(self) -> bool:
        """Whether what it publishes must be looked at."""
        return self.permissions is not None

    def set_permissions(self, permissions: Permissions | None) -> None:
        """Other permissions hold from now on."""
        self.permissions = permissions
        self._publish.clear()
        self._may_receive_cache.clear()
        self.denies = False
        self.expects_replies = permissions is not None and permissions.responses is not None
        if not self.expects_replies:
            self._replies.clear()

    def watch_denied(self, subject: str, queue: str) -> None:
        """A new subscription: if it overlaps what is denied, filter from now on."""
        if self.permissions is not None and not self.denies and self.permissions.needs_filter(subject, queue):
            self.denies = True

    def may_publish(self, subject: str) -> bool:
        """Whether the client may publish to `subject` now; counts a reply as sent."""
        permissions = self.permissions
        if permissions is None:
            return True
        allowed = self._publish.get(subject)
        if allowed is None:
            allowed = permissions.may_publish(subject)
            if len(self._publish) >= _MOST_DECISIONS:
                self._publish.clear()
            self._publish[subject] = allowed
        return allowed or (bool(self._replies) and self._may_reply(permissions, subject))

    def _may_reply(self, permissions: Permissions, subject: str) -> bool:
        sent = self._replies.get(subject)
        if sent is None or permissions.responses is None:
            return False
        most, expires = permissions.responses
        count, asked = sent
        if expires > 0 and self._clock.now() - asked > expires:
            del self._replies[subject]
            return False
        if count + 1 == most:
            del self._replies[subject]  # that was the last
        else:
            self._replies[subject] = (count + 1, asked)
        return True

    def may_receive(self, subject: str, queue: str) -> bool:
        """Whether a message on `subject` may be delivered to a subscription with this queue."""
        allowed = self._may_receive_cache.get((subject, queue))
        if allowed is None:
            allowed = self.permissions is None or self.permissions.may_receive(subject, queue)
            if len(self._may_receive_cache) >= _MOST_DECISIONS:
                self._may_receive_cache.clear()
            self._may_receive_cache[subject, queue] = allowed
        return allowed

    def expect_reply(self, reply: str) -> None:
        """The client has received a message with this reply, to which it may publish."""
        if self.permissions is None or self.permissions.may_publish(reply):
            return
        now = self._clock.now()
        self._replies.pop(reply, None)  # asked again, it is the newest
        if len(self._replies) >= _MOST_REPLIES:
            del self._replies[next(iter(self._replies))]  # the oldest: the first to expire
        self._replies[reply] = (0, now)
