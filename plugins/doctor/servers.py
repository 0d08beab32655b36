"""Asking servers about themselves, as a user of the system account: two questions to all of them at once."""

from __future__ import annotations

import asyncio
from typing import Any

from ...cli.connection import NatsConnection
from ...cli.errors import UnavailableError
from ..server.poll import TimedResponse, poll
from .facts import ServerFacts, TrustedOperator

Info = dict[str, Any]
PING = "$SYS.REQ.SERVER.PING"
SECOND = 1_000_000_000


async def servers_of(connection: NatsConnection) -> tuple[ServerFacts, ...]:
    """Return what each server tells. Raises CliError if nobody tells this user anything."""
    settings, jetstream = await asyncio.gather(
        poll(connection, f"{PING}.VARZ"), _allowed(connection, f"{PING}.JSZ")
    )
    groups = {_id(each.document): each.document.get("data") or {} for each in jetstream}
    found = [_facts(each.document, groups.get(_id(each.document), {})) for each in settings]
    return tuple(sorted(found, key=lambda each: (each.cluster, each.name)))


async def _allowed(connection: NatsConnection, subject: str) -> list[TimedResponse]:
    try:
        return await poll(connection, subject)
    except UnavailableError:  # permitted to ask for the one, and not for the other
        return []


def _id(document: Info) -> str:
    return str((document.get("server") or {}).get("id", ""))


def _facts(document: Info, jetstream: Info) -> ServerFacts:
    server, settings = document.get("server") or {}, document.get("data") or {}
    config = (settings.get("jetstream") or {}).get("config") or {}
    interval = None if not config else 0 if config.get("sync_always") else int(config.get("sync_interval", 0))
    kinds = settings.get("slow_consumer_stats") or {}
    slow = int(settings.get("slow_consumers") or 0)
    return ServerFacts(
        name=str(server.get("name", "")),
        cluster=str(server.get("cluster") or ""),
        domain=str(server.get("domain") or ""),
        version=str(server.get("ver", "")),
        started=str(settings.get("start", "")),
        slow_consumers=kinds if any(kinds.values()) else {"connections": slow},
        sync_interval=interval,
        operators=tuple(filter(None, map(_operator, settings.get("trusted_operators_jwt") or ()))),
        meta=jetstream.get("meta_cluster"),
    )


def _operator(token: object) -> TrustedOperator | None:
    from ...keys.errors import IdentityError
    from ...keys.token import payload_of

    try:
        payload = payload_of(str(token))
        end = int(payload.get("exp") or 0)
        issued = int(payload.get("iat") or 0) * SECOND
    except (IdentityError, TypeError, ValueError):
        return None
    return TrustedOperator(
        str(payload.get("sub", "")), str(payload.get("name", "")), issued, end * SECOND if end else None
    )
