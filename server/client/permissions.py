"""What a client may publish and receive, message by message: permissions with their caches, replies it may
send, limits.

One per connection. Promises that a cache never changes a decision and stays bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.wire import encode
from ..connection.part import Part

if TYPE_CHECKING:
    from ..accounts import RoutedMessage, Subscription
    from ..accounts.permissions import Permissions
    from .connection import ClientConnection

_MOST_DECISIONS = 512
_MOST_REPLIES = 4096


class ClientPermissions(Part["ClientConnection"]):
    """filters: deliveries must be looked at one by one. restricts_publish: so must publishes."""

    __slots__ = ("_denies", "_may_receive_cache", "_publish", "_replies", "permissions")

    def __init__(self, connection: ClientConnection) -> None:
        super().__init__(connection)
        self.permissions: Permissions | None = None
        self._publish: dict[str, bool] = {}
        self._may_receive_cache: dict[tuple[str, str], bool] = {}
        self._replies: dict[str, tuple[int, int]] = {}  # subject -> (replies sent, ns of the request)
        self._denies = False

    @property
    def filters(self) -> bool:
        """Whether a message must pass `deliver`."""
        return self._denies or (self.permissions is not None and self.permissions.responses is not None)

    @property
    def restricts_publish(self) -> bool:
        """Whether a publish must pass `may_publish`."""
        return self.permissions is not None

    def set_permissions(self, permissions: Permissions | None) -> None:
        """Other permissions hold from now on."""
        self.permissions = permissions
        self._publish.clear()
        self._may_receive_cache.clear()
        self._denies = False
        if permissions is None or permissions.responses is None:
            self._replies.clear()

    def watch_denied(self, subject: str, queue: str) -> None:
        """A new subscription: if it overlaps what is denied, filter from now on."""
        if (
            self.permissions is not None
            and not self._denies
            and self.permissions.needs_filter(subject, queue)
        ):
            self._denies = True

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
        if expires > 0 and self._connection.clock.now() - asked > expires:
            del self._replies[subject]
            return False
        if count + 1 == most:
            del self._replies[subject]  # that was the last
        else:
            self._replies[subject] = (count + 1, asked)
        return True

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        """Queue one message for the client; False when it may not or must not have it."""
        connection = self._connection
        if connection.closed_reason:
            return False
        holder = subscription.parent or subscription
        shown = msg.shown
        if not shown:
            shown = msg.subject
            if subscription.transform is not None:
                shown = subscription.shown(shown.decode("utf-8", "surrogateescape"))
        if self._denies and not self._may_receive(
            shown.decode("utf-8", "surrogateescape"), subscription.queue
        ):
            return False
        holder.delivered += 1
        if holder.max:
            if holder.delivered > holder.max:
                connection.subscriptions.drop(holder)
                return False
            if holder.delivered == holder.max:
                connection.subscriptions.drop(holder)
        size, tail = msg.size, msg.tail
        verb = b"MSG "
        if msg.header_size:
            if connection.headers:
                verb = b"HMSG "
            else:
                tail = encode.without_header(msg.reply, msg.header_size, size, tail)
                size -= msg.header_size
        lead = b"%b%b %b " % (verb, shown, subscription.sid)
        if connection.clients.options.trace:
            self._trace(lead, tail, size)
        connection.send_message(lead, tail, size)
        if msg.reply and self.permissions is not None and self.permissions.responses is not None:
            self._expect_reply(msg.reply.decode("utf-8", "surrogateescape"))
        return True

    def _trace(self, lead: bytes, tail: bytes, size: int) -> None:
        from .trace import outgoing

        clients = self._connection.clients
        for text in outgoing(lead, tail, size, clients.options.max_traced_msg_len):
            clients.log.trace(f"{self._connection} - {text}")

    def _may_receive(self, subject: str, queue: str) -> bool:
        allowed = self._may_receive_cache.get((subject, queue))
        if allowed is None:
            allowed = self.permissions is None or self.permissions.may_receive(subject, queue)
            if len(self._may_receive_cache) >= _MOST_DECISIONS:
                self._may_receive_cache.clear()
            self._may_receive_cache[subject, queue] = allowed
        return allowed

    def _expect_reply(self, reply: str) -> None:
        assert self.permissions is not None
        if self.permissions.may_publish(reply):
            return
        now = self._connection.clock.now()
        self._replies.pop(reply, None)  # asked again, it is the newest
        if len(self._replies) >= _MOST_REPLIES:
            del self._replies[next(iter(self._replies))]  # the oldest: the first to expire
        self._replies[reply] = (0, now)
