"""Advisories: what JetStream publishes about itself under `$JS.EVENT.>`.

Promises:
- An advisory is only made when someone in the account subscribes.
- Each advisory has a type, an id and a time, and the domain if one is configured.
- An advisory never fails the operation that it is about.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...protocol.timestamp import format_rfc3339

if TYPE_CHECKING:
    from ..accounts.account import Account
    from ..accounts.subscription import Message
    from .host import JetStreamHost

PREFIX = "$JS.EVENT.ADVISORY."
TYPE_PREFIX = "io.nats.jetstream.advisory.v1."


def publish(account: Account, host: JetStreamHost, subject: str, kind: str, fields: dict[str, Any]) -> bool:
    """Publish the advisory `kind` on `PREFIX + subject`, if anyone subscribes; return whether that is so."""
    target = PREFIX + subject
    if not account.has_interest(target):
        return False
    event = {
        "type": TYPE_PREFIX + kind,
        "id": host.new_id(),
        "timestamp": format_rfc3339(host.clock.now()),
        **fields,
    }
    if host.domain:
        event["domain"] = host.domain
    account.publish(target, json.dumps(event, separators=(",", ":")).encode())
    return True


def stream_action(account: Account, host: JetStreamHost, stream: str, action: str) -> bool:
    """Publish that a stream was created ("create"), changed ("modify") or deleted ("delete")."""
    word = {"create": "CREATED", "modify": "UPDATED", "delete": "DELETED"}[action]
    return publish(
        account, host, f"STREAM.{word}.{stream}", "stream_action", {"stream": stream, "action": action}
    )


def request_refused(host: JetStreamHost) -> bool:
    """Note that a request was refused because too many wait; publish how many were, from time to time."""
    dropped = host.queues.refused(host.clock.now())
    if not dropped or host.system is None:
        return False
    fields = {"server": host.server_name, "dropped": dropped}
    return publish(host.system, host, "API.LIMIT_REACHED", "api_limit_reached", fields)


def audit(account: Account, host: JetStreamHost, message: Message, response: str) -> bool:
    """Publish an API request and its response, if anyone subscribes; return whether that is so."""
    if not account.has_interest(f"{PREFIX}API"):
        return False  # the request may be long, and is not decoded needlessly
    return publish(
        account,
        host,
        "API",
        "api_audit",
        {
            "server": host.server_name,
            "client": message.source.client_info() if message.source is not None else {},
            "subject": message.subject,
            "request": message.body.decode("utf-8", "replace"),
            "response": response,
        },
    )
