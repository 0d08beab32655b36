"""The page of an account."""

from __future__ import annotations

from typing import Any

from ....cli import output, render
from ....keys import AccountClaims, Workspace
from ....keys.claims import JetStreamLimits
from ....keys.workspace.operator_backup import account_document
from ..page import Pairs, Section, limit, listed, moment, optional, page, truth


def show(here: Workspace, name: str) -> None:
    """Show an account of the current operator."""
    store = here.store()
    claims, users = store.account(name), store.users(name)
    system = store.operator().nats.system_account == claims.sub
    about: Pairs = [("Operator", store.name), ("System Account", truth(system))]
    document: dict[str, Any] = {
        "name": name,
        "operator": store.name,
        "system": system,
        "users": users,
        "claims": claims.document(),
    }
    text = page_of(claims, name, about, len(users))
    output.show_page(document, text, name=name, legacy=account_document(here, name))


def page_of(claims: AccountClaims, name: str, about: Pairs, users: int | None) -> str:
    """Return the page; `about` says what the token itself does not, `users` is None if it is not known."""
    body = claims.nats
    limits = body.limits
    head: Pairs = [
        ("Name", name),
        ("Issuer", claims.iss),
        *about,
        *listed("Tags", body.tags),
        *optional("Description", body.description),
        ("JetStream", truth(limits.jetstream_enabled)),
        *optional("Expiry", moment(claims.exp)),
        *([] if users is None else [("Users", users)]),
        ("Revocations", len(body.revocations)),
        ("Service Exports", sum(each.type == "service" for each in body.exports)),
        ("Stream Exports", sum(each.type == "stream" for each in body.exports)),
        ("Service Imports", sum(each.type == "service" for each in body.imports)),
        ("Stream Imports", sum(each.type == "stream" for each in body.imports)),
    ]
    bounds: Pairs = [
        ("Bearer Tokens Allowed", truth(not limits.disallow_bearer)),
        ("Subscriptions", limit(limits.subs)),
        ("Connections", limit(limits.conn)),
        ("Maximum Payload", _size(limits.payload)),
        *([("Data", render.number(limits.data))] if limits.data > 0 else []),
        ("Leafnodes", limit(limits.leaf)),
        ("Imports", limit(limits.imports)),
        ("Exports", limit(limits.exports)),
    ]
    sections: list[Section] = [("Configuration", head), ("Limits", bounds)]
    if limits.jetstream_enabled:
        sections.append(("  JetStream Settings", [("Cluster Traffic", body.cluster_traffic or "system")]))
        for title, tier in _tiers(claims):
            sections.append((f"    {title}", _storage(tier)))
    return page(f"Account {name} ({claims.sub})", sections)


def _tiers(claims: AccountClaims) -> list[tuple[str, JetStreamLimits]]:
    limits = claims.nats.limits
    if not limits.tiered_limits:
        return [("Account Default Limits", limits.jetstream)]
    return [(f"Tier {name.removeprefix('R')}", tier) for name, tier in sorted(limits.tiered_limits.items())]


def _storage(tier: JetStreamLimits) -> Pairs:
    """Return the rows of a tier; of max ack pending and of a stream's sizes 0 is no limit either."""
    pending = tier.max_ack_pending
    rows: Pairs = [
        ("Max Ack Pending", limit(pending) if pending > 0 else limit(-1)),
        ("Maximum Streams", limit(tier.streams)),
        ("Max Consumers Per Stream", limit(tier.consumer)),
        ("Max Stream Size Required", truth(tier.max_bytes_required)),
        ("Max File Storage", _storage_limit(tier.disk_storage)),
    ]
    if tier.disk_max_stream_bytes > 0:
        rows.append(("Max File Storage Stream Size", render.size(tier.disk_max_stream_bytes)))
    rows.append(("Max Memory Storage", _storage_limit(tier.mem_storage)))
    if tier.mem_max_stream_bytes > 0:
        rows.append(("Max Memory Storage Stream Size", render.size(tier.mem_max_stream_bytes)))
    return rows


def _storage_limit(value: int) -> str:
    """Return a limit of storage; 0 means that there is none of that kind."""
    return render.size(value) if value >= 0 else limit(-1)


def _size(value: int) -> str:
    return render.size(value) if value > 0 else limit(-1)
