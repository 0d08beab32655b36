"""The page of a user."""

from __future__ import annotations

from ....keys import UserClaims, UserScope
from ..table import TextTable
from . import account, parts


def page(claims: UserClaims, scope: UserScope | None = None) -> str:
    """Return the page of a user.

    scope: that of the signing key which issued it.
    """
    body = claims.nats
    table = TextTable("User")
    parts.standard(table, claims)
    if body.empty:
        table.row("Issuer Scoped", "Yes")
    else:
        table.row("Bearer Token", parts.yes(body.bearer_token))
        parts.permissions(table, body)
        table.separator()
        parts.limits(table, body)
        if body.allowed_connection_types:
            table.separator()
            table.rows("Allowed Connection Types", body.allowed_connection_types)
    return table.render() if scope is None else f"{table.render()}\n{account.scope(scope)}"
