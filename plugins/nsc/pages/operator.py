"""The page of an operator."""

from __future__ import annotations

from ....keys import OperatorClaims
from ..table import TextTable
from . import parts
from .parts import Names


def page(claims: OperatorClaims, names: Names = str) -> str:
    """Return the page of an operator."""
    body = claims.nats
    table = TextTable("Operator Details")
    parts.standard(table, claims)
    if body.account_server_url:
        table.row("Account JWT Server", body.account_server_url)
    table.rows("Operator Service URLs", body.operator_service_urls)
    if body.system_account:
        name = names(body.system_account)
        known = f" / {name}" if name != body.system_account else ""
        table.row("System Account", body.system_account + known)
    table.row("Require Signing Keys", body.strict_signing_key_usage)
    if body.signing_keys:
        table.separator()
        table.rows("Signing Keys", body.signing_keys)
    return table.render()
