"""Who publishes, and what it may publish and hear, by what a server or a configuration says of a user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...cli.connection import NatsConnection
from ...cli.errors import NotFoundError, UsageError
from ...cli.user import user_info
from ...protocol.subject import collide, is_subset
from ..server.poll import poll
from .queries import allowed

if TYPE_CHECKING:
    from ...server.accounts.permissions import Permissions

Info = Mapping[str, Any]


class Publisher:
    """Who publishes.

    label: how a sentence calls it.
    permissions: None for no restriction.
    known: whether anything is known of its permissions.
    """

    def __init__(self, label: str, permissions: Permissions | None = None, *, known: bool = True) -> None:
        self.label = label
        self.permissions = permissions
        self.known = known

    def mute(self, what: str, refusal: Callable[[Permissions], str], *, answer: bool = True) -> str:
        """Return why it may not publish `what`, as a sentence; empty if it may.

        refusal: why its lists do not allow that.
        answer: whether that answers what it receives, which it may be allowed on its own.
        """
        if self.permissions is None or (answer and self.permissions.responses is not None):
            return ""
        why = refusal(self.permissions)
        return f"{self._beginning} may not publish {what}: {why}." if why else ""

    def deaf(self, subject: str, queue: str = "") -> str:
        """Return why it may not subscribe to a subject, in a queue group, as a sentence; empty if it may."""
        if self.permissions is None or self.permissions.may_subscribe(subject, queue):
            return ""
        denied = [each for each, _ in self.permissions.subscribe_deny if is_subset(subject, each)]
        why = f"{denied[0]} denies it" if denied else "none of its allowed subjects has it"
        return f"{self._beginning} may not subscribe to {subject}: {why}."

    @property
    def _beginning(self) -> str:
        return f"{self.label[:1].upper()}{self.label[1:]}"


def publisher_of(user: Info) -> Publisher:
    """Return who publishes, by what a server says of a user; by nothing, what it may do is not known."""
    if not user:
        return Publisher("this user", known=False)
    name = str(user.get("user") or "")
    return Publisher(f"user {name}" if name else "this client", _permissions(user.get("permissions")))


def names_of(user: Info) -> set[str]:
    """Return what a user is called, by what a server says of it: name or key, and the name in its token."""
    return {str(user.get(each) or "") for each in ("user", "user_name")} - {""}


async def another(system: NatsConnection, account: str, name: str, servers: int) -> Publisher:
    """Return another user as a publisher, by what servers tell a user of the system account.

    servers: how many there are. nats-server does not tell: then nothing is known of what the user may do.
    Raises NotFoundError if those that tell do not know the user, UsageError if several are called so.
    """
    subject = f"$SYS.REQ.ACCOUNT.{account}.USER"
    answers = await allowed(poll(system, subject, {"user": name}, expect=servers))
    if not answers:
        return Publisher(f"user {name}", known=False)
    found: list[Info] = []
    for answer in answers:
        for each in (answer.document.get("data") or {}).get("users") or []:
            if {**each, "expires": 0} not in found:
                found.append({**each, "expires": 0})
    if not found:
        raise NotFoundError(
            f"no server knows of user {name} in account {account}",
            "users that are not in a configuration are known while they are connected",
        )
    if len(found) > 1:
        keys = ", ".join(sorted(str(each.get("user")) for each in found))
        raise UsageError(f"{len(found)} users of account {account} are called {name}", f"there are {keys}")
    return publisher_of(found[0])


def _permissions(reported: Info | None) -> Permissions | None:
    """Return permissions as a server tells them, as its own class."""
    from ...server.accounts.permissions import Permissions
    from ...server.config.options.authorization import (
        PermissionsOptions,
        ResponsePermission,
        SubjectPermission,
    )

    if not reported:
        return None
    publish, subscribe = (
        SubjectPermission(side.get("allow") or None, side.get("deny") or None)
        for side in (reported.get(name) or {} for name in ("publish", "subscribe"))
    )
    replies = reported.get("responses")
    answers = ResponsePermission(replies.get("max", 1), replies.get("ttl", 0)) if replies else None
    return Permissions(PermissionsOptions(publish, subscribe, answers))


def refusal(permissions: Permissions, subject: str) -> str:
    """Return why the lists do not allow publishing to `subject`; empty if they do."""
    if permissions.may_publish(subject):
        return ""
    denied = [each for each, _ in permissions.publish_deny if is_subset(subject, each)]
    return f"{denied[0]} denies it" if denied else "none of its allowed subjects has it"


def refusal_of_all(permissions: Permissions, patterns: Iterable[str]) -> str:
    """Return why the lists allow no subject that these patterns match; empty if they may allow one."""
    why = ""
    for pattern in patterns:
        denied = [each for each, _ in permissions.publish_deny if is_subset(pattern, each)]
        allowed = permissions.publish_allow
        if not denied and (allowed is None or any(collide(pattern, each) for each, _ in allowed)):
            return ""
        why = why or (f"{denied[0]} denies it" if denied else "none of its allowed subjects has one of them")
    return why


async def asked(connection: NatsConnection, seconds: float) -> Publisher:
    """Return this user as a publisher; nothing is known of it if its server says nothing in time."""
    return publisher_of((await user_info(connection, seconds)).get("data") or {})
