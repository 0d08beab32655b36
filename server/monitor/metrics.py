"""The metrics of a server as text for Prometheus, with the names and labels of prometheus-nats-exporter.

What the exporter reads from the monitoring port of a server, this gives at once: `gnatsd_varz_*`,
`gnatsd_subsz_*`, `gnatsd_connz_*` (sums), `gnatsd_routez_*`, `gnatsd_leafz_*`, `gnatsd_accstatz_*`,
`gnatsd_healthz_status` and `jetstream_*`. Source: the collectors of prometheus-nats-exporter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...protocol.lazy_dataclass import dataclass
from ..clock import SECOND
from ..slices import Steps
from .accountz import accstatz
from .connz import ConnzRequest, connz
from .healthz import healthz
from .jsz import JszRequest, jsz
from .peers import leafz, routez
from .request import RequestError, asked
from .subsz import subsz
from .varz import varz

if TYPE_CHECKING:
    from .view import Monitored

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
CONNECTIONS = 1024  # whose numbers the sums of connz are made of, as many as the exporter reads
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
_TEXTS = ("server_id", "server_name", "version")  # the texts that are metrics with the value 1
_TRAFFIC = ("in_msgs", "out_msgs", "in_bytes", "out_bytes")
_JETSTREAM = ("off", "server", "streams", "consumers")
_CONSUMER = {
    "delivered_consumer_seq": ("delivered", "consumer_seq"),
    "delivered_stream_seq": ("delivered", "stream_seq"),
    "num_ack_pending": ("num_ack_pending",),
    "num_redelivered": ("num_redelivered",),
    "num_waiting": ("num_waiting",),
    "num_pending": ("num_pending",),
    "ack_floor_stream_seq": ("ack_floor", "stream_seq"),
    "ack_floor_consumer_seq": ("ack_floor", "consumer_seq"),
}
_STREAM = {
    "total_messages": "messages",
    "total_bytes": "bytes",
    "first_seq": "first_seq",
    "last_seq": "last_seq",
    "consumer_count": "consumer_count",
}

Document = dict[str, Any]
Labels = Mapping[str, object]


@dataclass(slots=True)
class MetricsRequest:
    """jsz: how much of JetStream: "off", "server", "streams" or "consumers"."""

    jsz: str = asked("consumers", "jsz")


class Metrics:
    """Samples by metric. Every metric is a gauge, as the exporter has it."""

    def __init__(self) -> None:
        self._samples: dict[str, list[str]] = {}

    def add(self, name: str, value: float | bool, labels: Labels) -> None:
        """Add one sample."""
        shown = ",".join(f'{key}="{str(text).translate(_ESCAPES)}"' for key, text in labels.items())
        number = int(value) if isinstance(value, bool) else value
        self._samples.setdefault(name, []).append(f"{name}{{{shown}}} {number}\n")

    def text(self) -> Steps[bytes]:
        """Return everything in the exposition format."""
        parts: list[bytes] = []
        for name, samples in self._samples.items():
            parts.append(f"# TYPE {name} gauge\n".encode())
            for start in range(0, len(samples), 1000):
                parts.append("".join(samples[start : start + 1000]).encode("utf-8", "replace"))
                yield
        return b"".join(parts)


def metrics(server: Monitored, request: MetricsRequest | None = None) -> Steps[bytes]:
    """Return the metrics as text. Raises RequestError for a request that is not understood."""
    request = request or MetricsRequest()
    if request.jsz not in _JETSTREAM:
        raise RequestError(f"jsz is one of {', '.join(_JETSTREAM)}")
    found = Metrics()
    own = {"server_id": server.identity.id}
    _numbers(found, "gnatsd_varz", varz(server), own)
    _numbers(found, "gnatsd_subsz", (yield from subsz(server)), own)
    yield from _connections(found, server, own)
    yield from _links(found, server, own)
    yield from _accounts(found, server, own)
    _, health = yield from healthz(server)
    found.add("gnatsd_healthz_status", health["status"] != "ok", own)
    found.add("gnatsd_healthz_status_value", 1, {**own, "value": health["status"]})
    if request.jsz != "off":
        yield from _jetstream(found, server, request.jsz, own)
    return (yield from found.text())


def _numbers(found: Metrics, prefix: str, document: Document, labels: Labels) -> None:
    """Add the numbers of a document, those of documents in it with both names."""
    for key, value in document.items():
        name = f"{prefix}_{key}".replace("/", "_").replace("-", "_")
        if isinstance(value, dict) and key != "http_req_stats":
            _numbers(found, name, value, labels)
        elif isinstance(value, int | float):
            found.add(name, value, labels)
        elif key in _TEXTS and isinstance(value, str):
            found.add(name, 1, {**labels, "value": value})


def _connections(found: Metrics, server: Monitored, own: Labels) -> Steps[None]:
    document = yield from connz(server, ConnzRequest(limit=CONNECTIONS))
    for name in ("num_connections", "total", "offset", "limit"):
        found.add(f"gnatsd_connz_{name}", document[name], own)
    for name in ("pending_bytes", "subscriptions", *_TRAFFIC):
        total = sum(row[name] for row in document["connections"])
        found.add(f"gnatsd_connz_{name}", total, own)
        yield


def _links(found: Metrics, server: Monitored, own: Labels) -> Steps[None]:
    routes = yield from routez(server)
    found.add("gnatsd_routez_num_routes", routes["num_routes"], own)
    peers = server.routes.pools.connections if server.routes is not None else []
    for row in routes["routes"]:
        labels = {**own, "rid": row["rid"]}
        names = ("remote_id", "remote_name", "account", "ip", "compression")
        found.add("gnatsd_routez_route_info", 1, labels | {name: row.get(name, "") for name in names})
        for name in ("subscriptions", *_TRAFFIC):
            found.add(f"gnatsd_routez_route_{name}", row.get(name, 0), labels)
        yield
    for link in peers:
        labels = {**own, "rid": link.id}
        found.add("gnatsd_routez_route_rtt_seconds", link.ping_timer.rtt / SECOND, labels)
        lasted = (server.clock.now() - link.start) // SECOND
        found.add("gnatsd_routez_route_uptime_seconds", lasted, labels)
    leafs = yield from leafz(server)
    found.add("gnatsd_leafz_conn_nodes_total", leafs["leafnodes"], own)
    rtts = {leaf.id: leaf for account in server.registry.accounts.values() for leaf in account.leafs}
    for row in leafs["leafs"]:
        account = row["account"]
        labels = {**own, "account": account, "account_id": account}
        labels |= {name: row[name] for name in ("ip", "port", "name")}
        found.add("gnatsd_leafz_info", 1, labels)
        timer = getattr(rtts.get(row["id"]), "ping_timer", None)
        found.add("gnatsd_leafz_conn_rtt", 0 if timer is None else timer.rtt / SECOND, labels)
        for name in _TRAFFIC:
            found.add(f"gnatsd_leafz_conn_{name}", row[name], labels)
        found.add("gnatsd_leafz_conn_subscriptions_total", row["subscriptions"], labels)
        yield


def _accounts(found: Metrics, server: Monitored, own: Labels) -> Steps[None]:
    document = yield from accstatz(server, unused=True)
    for row in document["account_statz"]:
        name = row["acc"]
        labels = {**own, "account": name, "account_id": name, "account_name": row["name"]}
        for metric, key in (
            ("current_connections", "conns"),
            ("total_connections", "total_conns"),
            ("subscriptions", "num_subscriptions"),
            ("leaf_nodes", "leafnodes"),
            ("slow_consumers", "slow_consumers"),
        ):
            found.add(f"gnatsd_accstatz_{metric}", row.get(key, 0), labels)
        for side in ("sent", "received"):
            found.add(f"gnatsd_accstatz_{side}_messages", row[side]["msgs"], labels)
            found.add(f"gnatsd_accstatz_{side}_bytes", row[side]["bytes"], labels)
        yield


def _jetstream(found: Metrics, server: Monitored, depth: str, own: Labels) -> Steps[None]:
    every = depth == "consumers"
    request = JszRequest(streams=depth == "streams", consumers=every, config=every)
    document = yield from jsz(server, request)
    meta = document.get("meta_cluster") or {}
    config, name = document.get("config") or {}, server.identity.name
    labels: dict[str, object] = {**own, "server_name": name, "cluster": meta.get("name", "")}
    labels |= {"domain": config.get("domain", ""), "meta_leader": meta.get("leader", "")}
    labels["is_meta_leader"] = _leads(meta, name)
    found.add("jetstream_server_jetstream_disabled", bool(document.get("disabled")), labels)
    for metric, value in (
        ("max_memory", config.get("max_memory", 0)),
        ("max_storage", config.get("max_storage", 0)),
        ("total_streams", document.get("streams", 0)),
        ("total_consumers", document.get("consumers", 0)),
        ("total_messages", document.get("messages", 0)),
        ("total_message_bytes", document.get("bytes", 0)),
    ):
        found.add(f"jetstream_server_{metric}", value, labels)
    for account in document.get("account_details", ()):
        for stream in account.get("stream_detail") or ():
            yield from _stream(
                found, stream, {**labels, "account": account["name"], "account_id": account["id"]}
            )


def _stream(found: Metrics, stream: Document, server: Labels) -> Steps[None]:
    cluster, name = stream.get("cluster") or {}, str(server["server_name"])
    labels: dict[str, object] = {**server, "stream_name": stream["name"]}
    labels |= {"stream_leader": cluster.get("leader", ""), "is_stream_leader": _leads(cluster, name)}
    for metric, key in _STREAM.items():
        found.add(f"jetstream_stream_{metric}", stream["state"][key], labels)
    yield
    for consumer in stream.get("consumer_detail") or ():
        own = consumer.get("cluster") or {}
        more = {
            "consumer_name": consumer["name"],
            "consumer_leader": own.get("leader", ""),
            "is_consumer_leader": _leads(own, name),
            "consumer_desc": (consumer.get("config") or {}).get("description", ""),
            "consumer_created": consumer.get("created", ""),
        }
        for metric, path in _CONSUMER.items():
            found.add(f"jetstream_consumer_{metric}", _at(consumer, path), labels | more)
        yield


def _at(document: Document, path: Iterable[str]) -> int:
    value: Any = document
    for key in path:
        value = value.get(key, 0)
    return int(value)


def _leads(cluster: Document, name: str) -> str:
    """Return whether this server leads a group; a server alone always does."""
    return "true" if not cluster or cluster.get("leader") == name else "false"
