"""LeafPermissions: what may pass over one leaf connection, in either direction.

They combine the permissions of the user that the leaf logged in as, the deny lists of the remote's
configuration (deny_imports, deny_exports) and those of JetStream domains. They decide about subjects only.
The caches of decisions are bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ...protocol.reserved import ACK, SERVICE_REPLY
from ...protocol.subject import has_wildcard, is_subset, matches
from ..accounts.allowed_replies import AllowedReplies

if TYPE_CHECKING:
    from ..accounts.permissions import Permissions

_MOST_DECISIONS = 4096


class AllowDeny:
    """The subjects that are allowed (None means all), and those that are denied."""

    __slots__ = ("allow", "deny")

    def __init__(self, allow: Iterable[str] | None = None, deny: Iterable[str] = ()) -> None:
        self.allow = None if allow is None else tuple(allow)
        self.deny = tuple(deny)

    @classmethod
    def from_info(cls, given: Any) -> AllowDeny:
        """Return the lists from `import` or `export` in INFO.

        given: an object with allow and deny, each a list or absent.
        """
        if not isinstance(given, dict):
            return cls()
        allow, deny = given.get("allow"), given.get("deny")
        return cls(
            [str(s) for s in allow] if isinstance(allow, list) else None,
            [str(s) for s in deny] if isinstance(deny, list) else (),
        )

    def to_info(self) -> dict[str, list[str]] | None:
        """Return the lists as INFO has them, None if nothing is restricted."""
        document: dict[str, list[str]] = {}
        if self.allow is not None:
            document["allow"] = list(self.allow)
        if self.deny:
            document["deny"] = list(self.deny)
        return document or None

    def denying(self, subjects: Iterable[str]) -> AllowDeny:
        """Return lists that deny `subjects` too."""
        more = tuple(s for s in subjects if s not in self.deny)
        return AllowDeny(self.allow, (*self.deny, *more))

    @property
    def open(self) -> bool:
        """Whether everything passes."""
        return self.allow is None and not self.deny

    def allows(self, subject: str) -> bool:
        """Return whether a message on the literal `subject` passes."""
        if self.allow is not None and not any(matches(s, subject) for s in self.allow):
            return False
        return not any(matches(s, subject) for s in self.deny)

    def allows_subscription(self, subject: str) -> bool:
        """Return whether interest in `subject` passes.

        A pattern passes if a part of it is allowed. Of the messages that then come, only the allowed ones
        pass.
        """
        allow = self.allow
        if allow is not None and not any(is_subset(subject, s) for s in allow):
            wide = has_wildcard(subject) and any(is_subset(s, subject) for s in allow)
            if not wide:
                return False
        return not any(matches(s, subject) for s in self.deny)


def user_lists(permissions: Permissions | None) -> tuple[AllowDeny, AllowDeny]:
    """Return a user's permissions as (what it may publish, what it may receive).

    Entries for queues are left out.
    """
    if permissions is None:
        return AllowDeny(), AllowDeny()

    def plain(entries: Iterable[tuple[str, str]] | None) -> list[str] | None:
        return None if entries is None else [subject for subject, queue in entries if not queue]

    return (
        AllowDeny(plain(permissions.publish_allow), plain(permissions.publish_deny) or ()),
        AllowDeny(plain(permissions.subscribe_allow), plain(permissions.subscribe_deny) or ()),
    )


class LeafPermissions:
    """What may pass over one leaf connection.

    send: what goes to the peer.
    subscribe: what this server may subscribe to at the peer.
    accept: what is accepted from the peer.
    replies: the replies that are accepted even if `accept` does not allow them.
    """

    __slots__ = ("_may_send", "_may_subscribe", "accept", "replies", "send", "subscribe")

    def __init__(self) -> None:
        self.send = AllowDeny()
        self.subscribe = AllowDeny()
        self.accept = AllowDeny()
        self.replies = AllowedReplies()
        self._may_send: dict[str, bool] = {}
        self._may_subscribe: dict[str, bool] = {}

    def set(self, *, send: AllowDeny, subscribe: AllowDeny, accept: AllowDeny) -> None:
        """Replace the rules."""
        self.send, self.subscribe, self.accept = send, subscribe, accept
        self._may_send.clear()
        self._may_subscribe.clear()

    def deny(self, *, send: Iterable[str] = (), subscribe: Iterable[str] = ()) -> None:
        """Deny more subjects."""
        self.set(
            send=self.send.denying(send), subscribe=self.subscribe.denying(subscribe), accept=self.accept
        )

    def may_send(self, subject: str) -> bool:
        """Return whether a message on `subject` may go to the peer."""
        if self.send.open:
            return True
        return _remembered(self._may_send, subject, self.send.allows)

    def may_subscribe(self, subject: str) -> bool:
        """Return whether the peer may get interest in `subject` (wildcards allowed)."""
        if self.subscribe.open:
            return True
        return _remembered(self._may_subscribe, subject, self.subscribe.allows_subscription)

    def may_accept(self, subject: str, now: int) -> bool:
        """Return whether a message that came on `subject` is accepted. A reply counts as sent."""
        if subject.startswith((SERVICE_REPLY, ACK)) or self.accept.allows(subject):
            return True
        return self.replies.take(subject, now)

    def expect_reply(self, reply: str, now: int) -> None:
        """Let the peer answer a message that was sent with `reply`."""
        if not self.accept.allows(reply):
            self.replies.expect(reply, now)


def _remembered(cache: dict[str, bool], subject: str, decide: Callable[[str], bool]) -> bool:
    decision = cache.get(subject)
    if decision is None:
        if len(cache) >= _MOST_DECISIONS:
            cache.clear()
        decision = cache[subject] = decide(subject)
    return decision
