"""The page of an account: limits, exports, imports, mappings and scoped signing keys."""

from __future__ import annotations

from ....keys import AccountClaims
from ....keys.claims import JetStreamLimits, UserScope, WeightedMapping
from ..table import TextTable
from . import parts, sharing
from .parts import Names


def page(claims: AccountClaims, names: Names = str) -> str:
    """Return the page of an account."""
    body = claims.nats
    pages = [_details(claims)]
    if body.exports:
        pages.append(sharing.exports(body.exports))
    if body.imports:
        pages.append(sharing.imports(body.imports, names))
    if body.mappings:
        pages.append(mappings(body.mappings))
    pages += [
        scope(user_scope) for _, user_scope in sorted(body.signing_keys.items()) if user_scope is not None
    ]
    return "\n".join(pages)


def scope(user_scope: UserScope) -> str:
    """Return the table of a scoped signing key."""
    table = TextTable("Scoped Signing Key - Details")
    table.row("Key", user_scope.key)
    table.row("Role", user_scope.role)
    table.row("Description", user_scope.description)
    parts.permissions(table, user_scope.template)
    parts.limits(table, user_scope.template)
    table.row("Bearer Token", parts.yes(user_scope.template.bearer_token))
    if user_scope.template.allowed_connection_types:
        table.separator()
        table.rows("Allowed Connection Types", user_scope.template.allowed_connection_types)
    return table.render()


def mappings(mapped: dict[str, list[WeightedMapping]]) -> str:
    """Return the tables of subject mappings, each with the sum of its weights."""
    table = TextTable("Mappings", ("From", "To", "Weight (%)"))
    for source in sorted(mapped):
        targets = mapped[source]
        for index, target in enumerate(targets):
            where = f" [{target.cluster}]" if target.cluster else ""
            table.row("" if index else source, target.subject + where, target.share)
        table.row("", "", f"sum={sum(target.share for target in targets)}")
    return table.render()


def _details(claims: AccountClaims) -> str:
    body = claims.nats
    table = TextTable("Account Details")
    parts.standard(table, claims)
    table.separator()
    if body.description or body.info_url:
        if body.description:
            table.row("Description", parts.one_line(body.description))
        if body.info_url:
            table.row("Info Url", body.info_url)
        table.separator()
    if body.signing_keys:
        table.rows("Signing Keys", sorted(body.signing_keys))
        table.separator()
    _callout(table, claims)
    _limits(table, claims)
    parts.permissions(table, body.default_permissions)
    table.separator()
    _jetstream(table, claims)
    table.separator()
    if not body.imports:
        table.row("Imports", "None")
    if not body.exports:
        table.row("Exports", "None")
    if body.revocations:
        table.separator()
        table.row("Revocations", len(body.revocations))
    table.separator()
    table.row("Tracing Context", "Enabled" if body.trace else "Disabled")
    if body.trace:
        table.row("Subject", body.trace.dest)
        table.row("Sampling", f"{body.trace.sampling or 100}%")
    return table.render()


def _callout(table: TextTable, claims: AccountClaims) -> None:
    callout = claims.nats.authorization
    if callout is None or not callout.auth_users:
        return
    table.rows("Auth Callout Users", callout.auth_users)
    table.rows("Allowed Accounts", callout.allowed_accounts)
    if callout.xkey:
        table.row("Encrypt For", callout.xkey)
    table.separator()


def _limits(table: TextTable, claims: AccountClaims) -> None:
    limits = claims.nats.limits
    leaf = "Not Allowed" if limits.leaf == 0 else _count(limits.leaf)
    table.row("Max Connections", _count(limits.conn))
    table.row("Max Leaf Node Connections", leaf)
    table.row("Max Data", _bytes(limits.data))
    table.row("Max Exports", _count(limits.exports))
    table.row("Max Imports", _count(limits.imports))
    table.row("Max Msg Payload", _bytes(limits.payload))
    table.row("Max Subscriptions", _count(limits.subs))
    table.row("Exports Allows Wildcards", str(limits.wildcards))
    table.row("Disallow Bearer Token", str(limits.disallow_bearer))


def _jetstream(table: TextTable, claims: AccountClaims) -> None:
    limits = claims.nats.limits
    if not limits.jetstream_enabled:
        table.row("Jetstream", "Disabled")
    elif not limits.tiered_limits:
        table.row("Jetstream", "Enabled")
        _tier(table, limits.jetstream)
    else:
        for index, (name, tier) in enumerate(sorted(limits.tiered_limits.items())):
            if index:
                table.separator()
            table.row("Jetstream Tier", name)
            _tier(table, tier)


def _tier(table: TextTable, tier: JetStreamLimits) -> None:
    for label, storage in (("Disk", tier.disk_storage), ("Mem", tier.mem_storage)):
        shown = parts.size(storage) if storage > 0 else "Disabled" if storage == 0 else "Unlimited"
        table.row(f"Max {label} Storage", shown)
    table.row("Max Streams", _count(tier.streams or -1))
    table.row("Max Consumers", _count(tier.consumer or -1))
    table.row("Max Ack Pending", tier.max_ack_pending if tier.max_ack_pending > 0 else "Consumer Setting")
    table.row("Max Bytes", f"{'required' if tier.max_bytes_required else 'optional'} (Stream setting)")
    table.row("Max Memory Stream", _bytes(tier.mem_max_stream_bytes or -1))
    table.row("Max Disk Stream", _bytes(tier.disk_max_stream_bytes or -1))


def _count(value: int) -> str:
    return str(value) if value > -1 else "Unlimited"


def _bytes(value: int) -> str:
    return f"{parts.size(value)} ({value} bytes)" if value > -1 else "Unlimited"
