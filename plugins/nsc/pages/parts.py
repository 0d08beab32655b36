"""Rows that several pages have: issuer and dates, permissions, limits."""

from __future__ import annotations

import math
from collections.abc import Callable

from ....keys import ActivationClaims, Claims, OperatorClaims, UserClaims
from ....keys.claims import Permissions, UserPermissionLimits
from ....keys.workspace.flag_values import date
from ....protocol.duration import format_go
from ..table import TextTable

Names = Callable[[str], str]  # what is shown for an account's public key
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def standard(table: TextTable, claims: Claims) -> None:
    """Draw name, ids, dates and tags."""
    label, account = "Account ID", ""
    if isinstance(claims, OperatorClaims):
        label = "Operator ID"
    if isinstance(claims, UserClaims):
        label, account = "User ID", claims.nats.issuer_account
    if isinstance(claims, ActivationClaims):
        account = claims.nats.issuer_account
    if claims.name:
        table.row("Name", claims.name)
    table.row(label, claims.sub)
    table.row("Issuer ID", claims.iss)
    if account:
        table.row("Issuer Account", account)
    table.row("Issued", date(claims.iat))
    table.row("Expires", date(claims.exp))
    table.rows("Tags", claims.tags)


def permissions(table: TextTable, allowed: Permissions) -> None:
    """Draw the subjects that may be used, in a section, and the response permission."""
    if any((allowed.pub.allow, allowed.pub.deny, allowed.sub.allow, allowed.sub.deny)):
        table.separator()
        table.rows("Pub Allow", allowed.pub.allow)
        table.rows("Pub Deny", allowed.pub.deny)
        table.rows("Sub Allow", allowed.sub.allow)
        table.rows("Sub Deny", allowed.sub.deny)
    if allowed.resp is None:
        table.row("Response Permissions", "Not Set")
    else:
        table.row("Max Responses", allowed.resp.max)
        table.row("Response Permission TTL", format_go(allowed.resp.ttl))


def limits(table: TextTable, limited: UserPermissionLimits) -> None:
    """Draw sizes, networks and hours."""
    for label, value in (("Max Msg Payload", limited.payload), ("Max Data", limited.data)):
        table.row(label, f"{value} bytes (≈{size(value)})" if value > 0 else "Unlimited")
    table.row("Max Subs", limited.subs if limited.subs > 0 else "Unlimited")
    table.row("Network Src", f"[{' '.join(limited.src)}]" if limited.src else "Any")
    table.rows("Time", [f"{span.start}-{span.end}" for span in limited.times] or ["Any"])


def size(value: int) -> str:
    """Return a number of bytes in units of 1000: `64 kB`, `1.5 MB`."""
    if value < 10:
        return f"{value} B"
    power = 0
    while power < len(_UNITS) - 1 and value >= 1000 ** (power + 1):
        power += 1
    shown = math.floor(value / 1000**power * 10 + 0.5) / 10
    return f"{shown:.1f} {_UNITS[power]}" if shown < 10 else f"{shown:.0f} {_UNITS[power]}"


def yes(value: bool) -> str:
    """Return the word for a bool: Yes or No."""
    return "Yes" if value else "No"


def one_line(text: str) -> str:
    """Return a description on one line."""
    return text.replace("\n", " ")
