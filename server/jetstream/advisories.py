"""Advisories: what JetStream publishes about itself under `$JS.EVENT.>`.

Promises:
- An advisory is only made when someone in the account subscribes.
- Each advisory has a type, an id and a time, and the domain if one is configured.
- An advisory never fails the operation that it is about.
"""

from __future__ import annotations

import json
from errno import EDQUOT, ENOSPC
from typing import TYPE_CHECKING, Any

from ...protocol.timestamp import format_rfc3339

if TYPE_CHECKING:
    from ..accounts.account import Account
    from ..accounts.subscription import Message
    from .host import JetStreamHost

PREFIX = "$JS.EVENT.ADVISORY."
_NO_ROOM = {ENOSPC, EDQUOT}
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


def storage_failed(host: JetStreamHost, stream: str, error: BaseException) -> bool:
    """Publish that the disk has no room for a stream's messages, if that is what the error says."""
    causes = (error, error.__cause__, error.__context__)
    full = any(isinstance(each, OSError) and each.errno in _NO_ROOM for each in causes)
    if not full or host.system is None:
        return False
    fields = {"server": host.server_name, "server_id": host.server_id, "stream": stream}
    fields["cluster"] = host.cluster_name
    return publish(host.system, host, "SERVER.OUT_OF_STORAGE", "server_out_of_space", fields)


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
