"""Envelope: what every answer and event of a server contains: who sent it, in which order, and when.

Numbers are counted per server. Times are RFC 3339 with nanoseconds. Source: nats-server's ServerInfo.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...protocol import gojson
from ...protocol.identifier import new_id
from ...protocol.timestamp import format_rfc3339
from ..config.feature_flags import feature_flags
from ..identity import cluster_name

if TYPE_CHECKING:
    from ..monitor.view import Monitored

JETSTREAM, ACCOUNT_EVENTS, BINARY_SNAPSHOTS = 1, 2, 4


class Envelope:
    """Makes the outer parts of documents for one server. `random_bytes` is used for event ids."""

    def __init__(self, server: Monitored, random_bytes: Any) -> None:
        self._server = server
        self._random = random_bytes
        self._sequence = 0

    def sender(self) -> dict[str, Any]:
        """Return the `server` member of answers and events. Each call uses up a sequence number."""
        server = self._server
        self._sequence += 1
        jetstream = server.jetstream is not None
        found: dict[str, Any] = {
            "name": server.identity.name,
            "host": server.options.host,
            "id": server.identity.id,
        }
        cluster = cluster_name(server.options, server.identity)
        if cluster:
            found["cluster"] = cluster
        if server.options.jetstream.domain and jetstream:
            found["domain"] = server.options.jetstream.domain
        found["ver"] = server.identity.version
        if server.options.server_tags:
            found["tags"] = server.options.server_tags
        if server.options.server_metadata:
            found["metadata"] = server.options.server_metadata
        found["feature_flags"] = feature_flags(server.options)
        found["jetstream"] = jetstream
        found["flags"] = JETSTREAM | ACCOUNT_EVENTS | BINARY_SNAPSHOTS if jetstream else 0
        return found | {"seq": self._sequence, "time": format_rfc3339(server.clock.now())}

    def event(self, kind: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Return an event of type `io.nats.server.advisory.v1.<kind>`."""
        return {
            "type": f"io.nats.server.advisory.v1.{kind}",
            "id": new_id(self._random),
            "timestamp": format_rfc3339(self._server.clock.now()),
            "server": self.sender(),
            **fields,
        }

    def answer(self, data: Any) -> dict[str, Any]:
        """Return an answer that contains `data`."""
        return {"server": self.sender(), "data": data}

    def refusal(self, code: int, description: str) -> dict[str, Any]:
        """Return an answer that contains an error."""
        return {"server": self.sender(), "error": {"code": code, "description": description}}


def encode(document: Any) -> bytes:
    """Return a document as compact JSON."""
    return gojson.utf8(json.dumps(document, separators=(",", ":"), ensure_ascii=False))
