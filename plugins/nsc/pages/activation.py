"""The page of an activation."""

from __future__ import annotations

from ....keys import ActivationClaims
from ..table import TextTable
from . import parts


def page(claims: ActivationClaims) -> str:
    """Return the page of an activation."""
    table = TextTable("Activation")
    parts.standard(table, claims)
    table.separator()
    table.row("Hash ID", claims.hash_id)
    table.separator()
    table.row("Import Type", claims.nats.kind.title())
    table.row("Import Subject", claims.nats.subject)
    table.separator()
    return table.render()
