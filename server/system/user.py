"""Who a user is, as `$SYS.REQ.USER.INFO` tells it to the user itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from ..accounts.source import Source
    from ..client.connection import ClientConnection
    from ..config.options import SubjectPermission


def user_info(source: Source) -> dict[str, Any]:
    """The user, the account and the permissions of a client's connection."""
    connection = cast("ClientConnection", source)
    account, user = connection.account, connection.handshake.user
    found: dict[str, Any] = {
        "user": user.label if user is not None else "",
        "account": account.name if account is not None else "",
    }
    if account is not None:
        found["account_name"] = account.name
    options = user.permissions.options if user is not None and user.permissions is not None else None
    if options is not None:
        permissions: dict[str, Any] = {}
        for name, side in (("publish", options.publish), ("subscribe", options.subscribe)):
            if side is not None:
                permissions[name] = _side(side)
        if options.allow_responses is not None:
            permissions["responses"] = {
                "max": options.allow_responses.max_msgs,
                "ttl": options.allow_responses.expires,
            }
        if permissions:
            found["permissions"] = permissions
    return found


def _side(side: SubjectPermission) -> dict[str, list[str]]:
    return {name: list(entries) for name in ("allow", "deny") if (entries := getattr(side, name))}
