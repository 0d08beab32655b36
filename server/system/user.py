"""Who a user is: for the user itself (`$SYS.REQ.USER.INFO`), and for the system account.

Never told: passwords, tokens and keys other than public ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...protocol.lazy_dataclass import dataclass
from ..clock import SECOND
from ..monitor.request import asked
from ..slices import Steps

if TYPE_CHECKING:
    from ..accounts import Account
    from ..accounts.users import User
    from ..client.peer import ClientPeer
    from ..config.options import SubjectPermission
    from ..monitor import Monitored

MOST_USERS = 16  # of one name: tokens may have the same

_LONGEST = 2**63 - 1  # ns, the maximum that those who ask can represent


@dataclass(slots=True)
class UserRequest:
    """user: a name or public key, or the name in a token."""

    user: str = asked("", "user")


def user_info(connection: ClientPeer) -> dict[str, Any]:
    """Return the user, the account and the permissions of a client's connection."""
    return _described(connection.user, connection.account, connection.clock.now())


def users_named(server: Monitored, account: Account, request: UserRequest) -> Steps[dict[str, Any]]:
    """Return the users of an account that are called so, each once: as `user_info` tells them themselves.

    They are those of the configuration, and those of clients that are connected to this server: tokens and
    callout services are the only ones to know the others.
    """
    now = server.clock.now()
    configured = server.clients.authenticator.find(request.user)
    users = [configured] if configured is not None and configured.account is account else []
    found = [_described(each, account, now) for each in users]
    for connection in list(account.connections) if not found else ():
        user = cast("ClientPeer", connection).user
        if user is not None and request.user in _names(user):
            described = _described(user, account, now)
            if described not in found and len(found) < MOST_USERS:
                found.append(described)
        yield
    return {"account": account.name, "users": found}


def _names(user: User) -> set[str]:
    names = {user.name, user.nkey}
    if user.session is not None:
        names.add(user.session.describe()["name_tag"])
    return names - {""}


def _described(user: User | None, account: Account | None, now: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "user": user.label if user is not None else "",
        "account": account.name if account is not None else "",
    }
    if account is not None:
        found["account_name"] = account.display
    session = user.session if user is not None else None
    if session is not None and (name := session.describe()["name_tag"]):
        found["user_name"] = name
    options = user.permissions.options if user is not None and user.permissions is not None else None
    if options is not None:
        permissions: dict[str, Any] = {}
        for name, side in (("publish", options.publish), ("subscribe", options.subscribe)):
            permissions[name] = {} if side is None else _side(side)
        if options.allow_responses is not None:
            permissions["responses"] = {
                "max": options.allow_responses.max_msgs,
                "ttl": options.allow_responses.expires,
            }
        found["permissions"] = permissions
    if session is not None and session.expires:
        left = max(0, session.expires - now)
        found["expires"] = min(left, _LONGEST) // SECOND * SECOND
    return found


def _side(side: SubjectPermission | None) -> dict[str, list[str]]:
    """Return one side of the permissions. A side without lists is shown too.

    Source: nats-server's server/client.go: publicPermissions.
    """
    return {name: list(entries) for name in ("allow", "deny") if (entries := getattr(side, name))}
