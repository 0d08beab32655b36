"""Rows that several pages of `pyjs auth` have: limits, permissions, lists, times."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ...cli import render
from ...cli.output.cells import clean

if TYPE_CHECKING:
    from ...keys.claims import UserPermissionLimits

Pairs = list[tuple[str, object]]
Section = tuple[str, Pairs]
LEGACY = "that of nats, with public keys where it has seeds"
UNLIMITED = "unlimited"


def page(title: str, sections: Iterable[Section]) -> str:
    """Return a page; texts of tokens, which others may have written, are shown without control characters."""
    safe = [(heading, [(label, clean(str(value))) for label, value in pairs]) for heading, pairs in sections]
    return render.page(clean(title), safe)


def truth(value: bool) -> str:
    """Return a boolean as the pages write it."""
    return "true" if value else "false"


def listed(label: str, values: Iterable[object]) -> Pairs:
    """Return a row for each value, of which the first has the label; none without values."""
    return [("" if at else label, value) for at, value in enumerate(values)]


def optional(label: str, value: object) -> Pairs:
    """Return a row, or none for an empty value."""
    return [(label, value)] if value else []


def limit(value: int) -> str:
    """Return a number, or `unlimited` for a negative one."""
    return render.number(value) if value >= 0 else UNLIMITED


def moment(seconds: int) -> str:
    """Return a time of a token (seconds) in local time; "" for none."""
    if not seconds:
        return ""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC).astimezone():%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):
        return f"{seconds} seconds"


def user_limits(rows: Pairs, limited: UserPermissionLimits, *, heading: str) -> list[Section]:
    """Return the sections about what a user may do; `rows` begin the first one, under `heading`."""
    head = [*rows, *optional("Locale", limited.times_location), ("Bearer Token", truth(limited.bearer_token))]
    limits: Pairs = [
        ("Max Payload", limit(limited.payload)),
        ("Max Data", limit(limited.data)),
        ("Max Subscriptions", limit(limited.subs)),
        *optional("Connection Types", ", ".join(limited.allowed_connection_types)),
        *optional("Connection Sources", ", ".join(limited.src)),
        *listed("Connection Times", (f"{span.start} to {span.end}" for span in limited.times)),
    ]
    if limited.resp is not None:
        limits.append(("Max Responses", limited.resp.max))
        limits.append(("Response TTL", render.go_span(limited.resp.ttl)))
    sections: list[Section] = [(heading, head), ("Limits", limits), ("Permissions", [])]
    for name, side in (("  Publish", limited.pub), ("  Subscribe", limited.sub)):
        rows = [*listed("Allow", side.allow), *listed("Deny", side.deny)]
        sections.append((name, rows or [("", "No permissions defined")]))
    return sections
