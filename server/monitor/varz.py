"""varz: the server as a whole."""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...protocol.timestamp import format_rfc3339
from ..config.feature_flags import feature_flags
from ..config.options import SECOND, RemoteOptions, TLSOptions
from ..identity import cluster_name
from ..task_executor import JobWaits
from .jsz import config, limits, stats
from .tls import listener_tls
from .view import Monitored, head, uptime

if TYPE_CHECKING:
    from ..config.options import ClusterOptions, GatewayOptions, LeafOptions, RemoteGateway
    from ..gateway import Gateways


def varz(server: Monitored, requests: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Return general facts, limits in force and totals. `requests` has the HTTP requests by path."""
    document = head(server)
    now = document.pop("now")
    document |= _configuration(server)
    document |= _blocks(server)
    start = server.identity.start
    document |= {
        "start": format_rfc3339(start),
        "now": now,
        "uptime": uptime(server.clock.now() - start),
        "mem": resident(),
        "cores": os.cpu_count() or 1,
        "gomaxprocs": 1,
        "cpu": _cpu(server.clock.now() - start),
    }
    document |= _totals(server)
    document["http_req_stats"] = dict(requests or {})
    options = server.options
    document["config_load_time"] = format_rfc3339(server.clients.configured)
    if options.config_digest:
        document["config_digest"] = options.config_digest
    for key, value in (("tags", options.server_tags), ("metadata", options.server_metadata)):
        if value:
            document[key] = value
    document["feature_flags"] = feature_flags(options)
    waits = JobWaits() if server.jetstream is None else server.jetstream.disk_waits
    document["disk_io_wait_stats"] = waits._asdict()
    operator = server.operator
    if operator is not None and operator.trusted.tokens:
        document["trusted_operators_jwt"] = list(operator.trusted.tokens)
        document["trusted_operators_claim"] = [each.document() for each in operator.trusted.operators]
    if server.registry.system is not None:
        document["system_account"] = server.registry.system.name
    if operator is not None and operator.authenticator.not_pinned:
        document["pinned_account_fails"] = operator.authenticator.not_pinned
    document |= _late(server)
    if options.proxies:
        document["proxies"] = {"trusted": [{"key": key} for key in options.proxies]}
    if options.tls is not None:
        document |= listener_tls(server.listener, options.tls)
    return document


def _late(server: Monitored) -> dict[str, Any]:
    """Return how often peers did not read, or answer pings, in time: in all, and by kind."""
    statistics = server.clients.statistics
    slow, stale = {"clients": statistics.slow_consumers}, {"clients": statistics.stale}
    for kind, part in (("routes", server.routes), ("gateways", server.gateways), ("leafs", server.leafs)):
        slow[kind] = part.slow_consumers if part is not None else 0
        stale[kind] = part.stale_connections if part is not None else 0
    return {
        "slow_consumers": sum(slow.values()),
        "stale_connections": sum(stale.values()),
        "slow_consumer_stats": slow,
        "stale_connection_stats": stale,
    }


def _write_limits(block: LeafOptions | ClusterOptions | GatewayOptions) -> dict[str, Any]:
    """Return a block's own limits of the time that a write may take."""
    found: dict[str, Any] = {"write_deadline": block.write_deadline} if block.write_deadline else {}
    return found if block.write_timeout == "default" else found | {"write_timeout": block.write_timeout}


def _configuration(server: Monitored) -> dict[str, Any]:
    options, identity = server.options, server.identity
    found: dict[str, Any] = {
        "server_name": identity.name,
        "version": identity.version,
        "proto": 1,
        "go": identity.runtime,
        "host": options.host,
        "port": server.port,
    }
    if server.clients.authenticator.required:  # INFO differs: with no_auth_user a client need not log in
        found["auth_required"] = True
    if options.tls is not None:
        found["tls_required"] = not options.allow_non_tls
        found["tls_verify"] = options.tls.verify
    if server.clients.info.connect_urls:
        found["connect_urls"] = server.clients.info.connect_urls
    if server.clients.info.websocket_urls:
        found["ws_connect_urls"] = server.clients.info.websocket_urls
    found["max_connections"] = options.max_connections
    if options.max_subscriptions:
        found["max_subscriptions"] = options.max_subscriptions
    return found | {
        "ping_interval": options.ping_interval,
        "ping_max": options.ping_max,
        "http_host": options.http_host or options.host,
        "http_port": options.http_port or 0,
        "http_base_path": options.http_base_path.rstrip("/"),
        "https_port": options.https_port or 0,
        "auth_timeout": _seconds(options.auth_timeout),
        "max_control_line": options.max_control_line,
        "max_payload": options.max_payload,
        "max_pending": options.max_pending,
    }


def _blocks(server: Monitored) -> dict[str, Any]:
    options = server.options
    leaf: dict[str, Any] = {}
    if options.leafnodes.port is not None:
        timeout = options.leafnodes.authorization.timeout if options.leafnodes.authorization else None
        leaf = {
            "host": options.leafnodes.host,
            "port": server.leafs.port if server.leafs is not None else options.leafnodes.port,
            "auth_timeout": _seconds(options.auth_timeout if timeout is None else timeout),
            "tls_timeout": _seconds((options.leafnodes.tls or TLSOptions()).timeout),
        }
        if options.leafnodes.tls is not None:
            leaf |= {"tls_required": True, "tls_verify": options.leafnodes.tls.verify}
            if server.leafs is not None:
                leaf |= listener_tls(server.leafs.listener, options.leafnodes.tls)
        leaf |= _write_limits(options.leafnodes)
    if options.leafnodes.remotes:
        leaf["remotes"] = [_leaf_remote(remote) for remote in options.leafnodes.remotes]
    return {
        "cluster": _cluster(server),
        "gateway": _gateway(server),
        "leaf": leaf,
        "mqtt": _mqtt(server),
        "websocket": _websocket(server),
        "jetstream": jetstream(server),
        "tls_timeout": _seconds((options.tls or TLSOptions()).timeout),
        "write_deadline": options.write_deadline,
        **({} if options.write_timeout == "default" else {"write_timeout": options.write_timeout}),
    }


def _websocket(server: Monitored) -> dict[str, Any]:
    """Return the `websocket` block: what the options set of its listener."""
    block, listener = server.options.websocket, server.websocket
    if block is None or listener is None:
        return {}
    timeout = None if block.authorization is None else block.authorization.timeout
    found = {
        "host": block.host,
        "port": listener.port,
        "advertise": block.advertise,
        "no_auth_user": block.no_auth_user,
        "jwt_cookie": block.jwt_cookie,
        "handshake_timeout": block.handshake_timeout,
        "auth_timeout": _seconds(timeout or 0),
        "no_tls": block.no_tls,
        "tls_pinned_certs": [] if block.tls is None else block.tls.pinned_certs,
        "same_origin": block.same_origin,
        "allowed_origins": block.allowed_origins,
        "compression": block.compression,
    }
    found = {key: value for key, value in found.items() if value}
    return found if block.tls is None else found | listener_tls(listener, block.tls)


def _mqtt(server: Monitored) -> dict[str, Any]:
    """Return the `mqtt` block: what the options set of its listener."""
    block, listener = server.options.mqtt, server.mqtt
    if block is None or listener is None:
        return {}
    timeout = None if block.authorization is None else block.authorization.timeout
    found = {
        "host": block.host,
        "port": listener.port,
        "no_auth_user": block.no_auth_user,
        "auth_timeout": _seconds(timeout or 0),
        "tls_timeout": _seconds((block.tls or TLSOptions()).timeout),
        "tls_pinned_certs": [] if block.tls is None else block.tls.pinned_certs,
        "js_domain": block.js_domain,
        "ack_wait": block.ack_wait if "mqtt.ack_wait" in server.options.positions else 0,
        "max_ack_pending": block.max_ack_pending if "mqtt.max_ack_pending" in server.options.positions else 0,
    }
    found = {key: value for key, value in found.items() if value}
    return found if block.tls is None else found | listener_tls(listener, block.tls)


def _cluster(server: Monitored) -> dict[str, Any]:
    """Return the `cluster` block. Without a listener for routes it has at most the name."""
    cluster, routes = server.options.cluster, server.routes
    if cluster is None or routes is None or not routes.port:
        name = cluster_name(server.options, server.identity)
        return {"name": name} if name else {}
    found: dict[str, Any] = {"name": routes.name, "addr": cluster.host, "cluster_port": routes.port}
    found["auth_timeout"] = _seconds(routes.auth_timeout)
    urls = [_place(url) for url in cluster.routes]
    if urls:
        found["urls"] = urls
    found["tls_timeout"] = _seconds((cluster.tls or TLSOptions()).timeout)
    if cluster.tls is not None:
        found |= {"tls_required": True, "tls_verify": True, **listener_tls(routes.listener, None)}
    found["pool_size"] = routes.pool_size if routes.pooled else -1
    return found | _write_limits(cluster)


def _gateway(server: Monitored) -> dict[str, Any]:
    """Return the `gateway` block, {} if this server has no gateways."""
    block, gateways = server.options.gateway, server.gateways
    if block is None or gateways is None:
        return {}
    optional = {
        "advertise": block.advertise,
        "connect_retries": block.connect_retries,
        "reject_unknown": block.reject_unknown_cluster,
    }
    found: dict[str, Any] = {"name": gateways.name, "host": block.host, "port": gateways.port}
    found["auth_timeout"] = _seconds(gateways.auth_timeout)
    found["tls_timeout"] = _seconds((block.tls or TLSOptions()).timeout)
    if block.tls is not None:
        found |= {"tls_required": True, "tls_verify": True, **listener_tls(gateways.listener, None)}
    found |= {name: value for name, value in optional.items() if value}
    if block.gateways:
        found["gateways"] = [_remote_gateway(each, gateways) for each in block.gateways]
    return found | _write_limits(block)


def _remote_gateway(given: RemoteGateway, gateways: Gateways) -> dict[str, Any]:
    remote = gateways.remotes.known.get(given.name)
    urls = [_place(url) for url in given.urls]
    timeout = {} if given.tls is None else {"tls_timeout": _seconds(given.tls.timeout)}
    return {"name": given.name, **timeout, "urls": urls if remote is None else remote.urls}


def jetstream(server: Monitored) -> dict[str, Any]:
    """Return the part about JetStream, {} if it is off."""
    engine = server.jetstream
    if engine is None or not engine.running:
        return {}
    found = {"config": config(engine), "stats": stats(engine)}
    found["limits"] = limits(engine)
    if engine.cluster is not None:
        from ..jetstream.cluster.monitoring import meta_cluster

        found["meta"] = meta_cluster(engine.cluster.view)
    return found


def _leaf_remote(remote: RemoteOptions) -> dict[str, Any]:
    denied = {"imports": remote.deny_imports, "exports": remote.deny_exports}
    deny = {name: list(subjects) for name, subjects in denied.items() if subjects}
    found: dict[str, Any] = {"local_account": remote.account}
    if remote.tls is not None:
        found["tls_timeout"] = _seconds(remote.tls.timeout)
    return found | {"urls": [_place(url) for url in remote.urls]} | ({"deny": deny} if deny else {})


def _place(url: str) -> str:
    """Return the host and port of a URL, without what is secret in it."""
    return url.rstrip("/").rpartition("/")[2].rpartition("@")[2]


def _totals(server: Monitored) -> dict[str, Any]:
    clients, accounts = server.clients, server.registry.accounts.values()
    totals = clients.totals()
    routes = server.routes
    links = routes.pools.connections if routes is not None else []
    gateways = server.gateways
    beyond = [] if gateways is None else [*gateways.outbound.values(), *gateways.inbound.values()]
    leafs = server.leafs.connections.values() if server.leafs is not None else ()
    found: dict[str, Any] = {
        "connections": len(clients.connections),
        "total_connections": clients.statistics.total,
        "routes": len(links),
        "remotes": len(routes.peers) if routes is not None else 0,
        "leafnodes": len(leafs),
    }
    for name in ("in_msgs", "in_bytes", "out_msgs", "out_bytes"):
        found[name] = totals[name] + sum(getattr(leaf, name, 0) for leaf in (*leafs, *links, *beyond))
        direction, _, unit = name.partition("_")
        found[f"{direction}_client_{unit}"] = totals[name]
    return found | {
        "stalled_clients": clients.statistics.stalls,
        "buffered": clients.buffer_budget.size,
        "max_buffered": clients.buffer_budget.limit,
        "memory_waits": clients.buffer_budget.waits,
        "subscriptions": sum(account.sublist.count for account in accounts),
    }


def resident() -> int:
    """Return the bytes of memory that this process has, 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * resource.getpagesize()


def _cpu(elapsed: int) -> float:
    """Return the used percentage of one core, on average since the start."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return round(100 * (used.ru_utime + used.ru_stime) * SECOND / max(elapsed, 1), 1)


def _seconds(nanoseconds: int) -> float | int:
    return nanoseconds // SECOND if nanoseconds % SECOND == 0 else nanoseconds / SECOND
