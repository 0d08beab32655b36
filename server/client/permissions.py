"""ClientPermissions: what a client may publish and receive, message by message.

It decides by the permissions of the client's user, caches the decisions, and tracks the replies that the
client may send. There is one for each connection, of which it knows nothing. Promises that a cache never
changes a decision and stays bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..accounts.allowed_replies import AllowedReplies

if TYPE_CHECKING:
    from ..accounts.permissions import Permissions, Rules
    from ..clock import Clock

_MOST_DECISIONS = 512


class ClientPermissions:
    """The decisions about one client.

    permissions: those of its user; None for a user without restrictions.
    denies: a part of what the client subscribes to is denied, so `may_receive` decides about each message.
    expects_replies: `expect_reply` must be called for each message with a reply that the client receives.
    filters: each delivery needs a check.
    restricts_publish: each publish needs a check.
    rules: the permissions for publishing as few patterns, for `native.deliver_publishes`; None if there are
        no restrictions, or too many.
    """

    __slots__ = (
        "_clock",
        "_may_receive_cache",
        "_publish",
        "_replies",
        "denies",
        "expects_replies",
        "permissions",
        "rules",
    )

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.permissions: Permissions | None = None
        self.rules: Rules | None = None
        self.denies = False
        self.expects_replies = False
        self._publish: dict[str, bool] = {}
        self._may_receive_cache: dict[tuple[str, str], bool] = {}
        self._replies = AllowedReplies()

    @property
    def filters(self) -> bool:
        """Whether each message that the client receives needs a check."""
        return self.denies or self.expects_replies

    @property
    def restricts_publish(self) -> bool:
        """Whether each message that the client publishes needs a check."""
        return self.permissions is not None

    def set_permissions(self, permissions: Permissions | None) -> None:
        """Replace the permissions, and forget the decisions."""
        self.permissions = permissions
        self.rules = None if permissions is None else permissions.publish_rules()
        self._publish.clear()
        self._may_receive_cache.clear()
        self.denies = False
        self._replies.limit(None if permissions is None else permissions.responses)
        self.expects_replies = self._replies.limits is not None

    def watch_denied(self, subject: str, queue: str) -> None:
        """Filter from now on if a new subscription overlaps with what is denied."""
        if self.permissions is not None and not self.denies and self.permissions.needs_filter(subject, queue):
            self.denies = True

    def may_publish(self, subject: str) -> bool:
        """Return whether the client may publish to `subject` now. A reply counts as sent."""
        permissions = self.permissions
        if permissions is None:
            return True
        allowed = self._publish.get(subject)
        if allowed is None:
            allowed = permissions.may_publish(subject)
            if len(self._publish) >= _MOST_DECISIONS:
                self._publish.clear()
            self._publish[subject] = allowed
        return allowed or (self.expects_replies and self._replies.take(subject, self._clock.now()))

    def may_receive(self, subject: str, queue: str) -> bool:
        """Return whether a message on `subject` may be delivered to a subscription with this queue."""
        allowed = self._may_receive_cache.get((subject, queue))
        if allowed is None:
            allowed = self.permissions is None or self.permissions.may_receive(subject, queue)
            if len(self._may_receive_cache) >= _MOST_DECISIONS:
                self._may_receive_cache.clear()
            self._may_receive_cache[subject, queue] = allowed
        return allowed

    def expect_reply(self, reply: str) -> None:
        """Let the client publish to `reply`, because it has received a message with this reply."""
        if self.permissions is None or self.permissions.may_publish(reply):
            return
        self._replies.expect(reply, self._clock.now())
