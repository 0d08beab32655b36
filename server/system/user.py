"""The answer to `$SYS.REQ.USER.INFO`: who a user is, for the user itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..clock import SECOND

if TYPE_CHECKING:
    from ..client.peer import ClientPeer
    from ..config.options import SubjectPermission

_LONGEST = 2**63 - 1  # ns, the maximum that those who ask can represent


def user_info(connection: ClientPeer) -> dict[str, Any]:
    """Return the user, the account and the permissions of a client's connection."""
    account, user = connection.account, connection.user
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
        left = max(0, session.expires - connection.clock.now())
        found["expires"] = min(left, _LONGEST) // SECOND * SECOND
    return found


def _side(side: SubjectPermission | None) -> dict[str, list[str]]:
    """Return one side of the permissions. A side without lists is shown too.

    Source: nats-server's server/client.go: publicPermissions.
    """
    return {name: list(entries) for name in ("allow", "deny") if (entries := getattr(side, name))}
