"""The checks of servers, clusters, leaf nodes, the meta group and accounts.

Source: jsm.go's audit package: server_checks.go, cluster_checks.go, leafnode_checks.go,
metacluster_checks.go, account_checks.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...cli.words import size, span
from ...protocol.timestamp import parse_rfc3339
from ..server.archive import ACCOUNT_INFO, ServerArchive
from .check import AuditFinding, Check, NothingToExamineError, Threshold, Thresholds, answers

Info = dict[str, Any]
Found = Iterator[AuditFinding]
DAY = 86_400_000_000_000
ZERO_TIME = "0001-01-01T00:00:00Z"
# The parts of varz that have certificates of their own.
LISTENERS = {name: name for name in ("cluster", "gateway", "mqtt", "websocket")} | {"leaf": "leafnode"}


def _has_blank(text: object) -> bool:
    return any(each.isspace() for each in str(text))


def _accounts(archive: ServerArchive, thresholds: Thresholds) -> Found:
    limits = (
        ("client connections", "client_connections", "conn", "connections"),
        ("leaf connections", "leafnode_connections", "leaf", "connections"),
        ("subscriptions", "subscriptions", "subs", "subscriptions"),
    )
    for artifact in archive.of_type(ACCOUNT_INFO):
        account = archive.load(artifact.path).get("data") or {}
        claim = ((account.get("decoded_jwt") or {}).get("nats") or {}).get("limits") or {}
        for title, field, limit_field, key in limits:
            value, limit = int(account.get(field, 0)), int(claim.get(limit_field, -1))
            if limit <= 0 or value <= limit * thresholds[key] / 100:
                continue
            share = f"{value * 100 / limit:.1f}%"
            who = f"account {account.get('account_name')} (on {artifact.tags['server']})"
            if value > limit:
                yield AuditFinding(f"{who} exceeded {title} limit ({share}, {value}/{limit})", failed=True)
            else:
                yield AuditFinding(f"{who} using {share} of {title} limit ({value}/{limit})")


def _memory(archive: ServerArchive, thresholds: Thresholds) -> Found:
    clusters: dict[str, dict[str, int]] = {}
    for where, data in answers(archive, "VARZ"):
        clusters.setdefault(where.cluster, {})[where.server] = int(data.get("mem", 0))
    for cluster, used in clusters.items():
        mean = sum(used.values()) / len(used)
        for server, memory in used.items():
            if memory > mean * thresholds["memory"]:
                yield AuditFinding(
                    f"Cluster {cluster} avg: {size(int(mean))}, server {server}: {size(memory)}"
                )


def _gateways(archive: ServerArchive, _: Thresholds) -> Found:
    known: dict[tuple[str, str], tuple[str, list[str]]] = {}
    for where, data in answers(archive, "GATEWAYZ"):
        outbound = data.get("outbound_gateways") or {}
        inbound = data.get("inbound_gateways") or {}
        configured = {
            "outbound": sorted(name for name, each in outbound.items() if each.get("configured")),
            "inbound": sorted(
                name for name, every in inbound.items() if any(each.get("configured") for each in every)
            ),
        }
        for kind, names in configured.items():
            other, theirs = known.setdefault((where.cluster, kind), (where.server, names))
            if theirs != names:
                yield AuditFinding(
                    f"Cluster {where.cluster}, {kind} gateways server {where.server}: {names} "
                    f"!= server {other}: {theirs}",
                    failed=True,
                )


def _ha_streams(archive: ServerArchive, thresholds: Thresholds) -> Found:
    for where, data in answers(archive, "JSZ"):
        count = int(data.get("ha_assets", 0))
        if count > thresholds["assets"]:
            yield AuditFinding(f"{where.server}: {count} HA assets")


def _cluster_names(archive: ServerArchive, _: Thresholds) -> Found:
    names = {artifact.tags["cluster"] for artifact in archive.artifacts if "cluster" in artifact.tags}
    for name in sorted(names):
        if _has_blank(name):
            yield AuditFinding(f"Cluster: {name}", failed=True)


def _leaf_names(archive: ServerArchive, _: Thresholds) -> Found:
    for where, data in answers(archive, "LEAFZ"):
        names = {str(each.get("name", "")) for each in data.get("leafs") or ()}
        blank = sorted(name for name in names if _has_blank(name))
        if blank:
            yield AuditFinding(f"{where}: {', '.join(blank)}", failed=True)


def _meta_groups(archive: ServerArchive) -> Iterator[tuple[str, str, Info]]:
    for where, data in answers(archive, "JSZ"):
        if data.get("meta_cluster") and not data.get("disabled"):
            yield where.cluster, where.server, data["meta_cluster"]


def _meta_peers(archive: ServerArchive, _: Thresholds) -> Found:
    for cluster, server, group in _meta_groups(archive):
        for peer in group.get("replicas") or ():
            if peer.get("offline"):
                yield AuditFinding(
                    f"{cluster} - {server} reports peer {peer.get('name')} as offline", failed=True
                )


def _meta_leader(archive: ServerArchive, _: Thresholds) -> Found:
    followers: dict[str, dict[str, list[str]]] = {}
    for cluster, server, group in _meta_groups(archive):
        leader = str(group.get("leader") or "")
        followers.setdefault(cluster, {}).setdefault(leader, []).append(server)
    for cluster, leaders in followers.items():
        if "" in leaders:
            without = ", ".join(leaders[""])
            yield AuditFinding(f"Members of {cluster} have no meta leader: {without}", failed=True)
        elif len(leaders) > 1:
            reported = "; ".join(f"{leader}: {', '.join(servers)}" for leader, servers in leaders.items())
            yield AuditFinding(f"Members of {cluster} disagree on meta leader ({reported})", failed=True)


def _health(archive: ServerArchive, _: Thresholds) -> Found:
    for where, data in answers(archive, "HEALTHZ"):
        if data.get("status", "ok") not in ("ok", ""):
            yield AuditFinding(f"{where.server}: {data.get('status_code', 0)} - {data['status']}")


def _versions(archive: ServerArchive, _: Thresholds) -> Found:
    seen: dict[str, str] = {}
    for where, data in answers(archive, "VARZ"):
        seen.setdefault(str(data.get("version", "?")), where.server)
    for version, server in seen.items() if len(seen) > 1 else ():
        yield AuditFinding(f"{server} - {version}", failed=True)


def _cpu(archive: ServerArchive, thresholds: Thresholds) -> Found:
    for where, data in answers(archive, "VARZ"):
        cores = int(data.get("cores", 0))
        if cores and data.get("cpu", 0) / cores > thresholds["cpu"]:
            yield AuditFinding(f"{where.cluster} - {where.server}: {data['cpu'] / cores:.1f}%", failed=True)


def _slow_consumers(archive: ServerArchive, _: Thresholds) -> Found:
    for where, data in answers(archive, "VARZ"):
        if data.get("slow_consumers"):
            yield AuditFinding(f"{where}: {data['slow_consumers']} slow consumers")


def _resources(archive: ServerArchive, thresholds: Thresholds) -> Found:
    for where, data in answers(archive, "JSZ"):
        for title, key, field, limit in (
            ("memory", "memory", "memory", "max_memory"),
            ("store", "store", "storage", "max_storage"),
        ):
            most = int((data.get("config") or {}).get(limit, 0))
            used = int(data.get(field, 0))
            if most > 0 and used > most * thresholds[key] / 100:
                yield AuditFinding(f"{where.server} {title} usage: {size(used)} of {size(most)}")


def _domains(archive: ServerArchive, _: Thresholds) -> Found:
    for where, data in answers(archive, "JSZ"):
        domain = (data.get("config") or {}).get("domain", "")
        if _has_blank(domain):
            yield AuditFinding(f"Cluster {where.cluster} Server {where.server} Domain {domain}")


def _authentication(archive: ServerArchive, _: Thresholds) -> Found:
    for where, data in answers(archive, "VARZ"):
        if not data.get("auth_required"):
            yield AuditFinding(f"{where.server}: authentication not required")


def _certificates(archive: ServerArchive, thresholds: Thresholds) -> Found:
    checked = 0
    for where, data in answers(archive, "VARZ"):
        ends = {"server": data.get("tls_cert_not_after")}
        ends |= {name: (data.get(key) or {}).get("tls_cert_not_after") for key, name in LISTENERS.items()}
        for listener, end in ends.items():
            if not end or end == ZERO_TIME:
                continue
            checked += 1
            left = parse_rfc3339(end) - parse_rfc3339(data["now"])
            text = f"{where} {listener} TLS certificate"
            if left <= 0:
                yield AuditFinding(f"{text} expired ({end})", failed=True)
            elif left <= thresholds["tls_expire_warning"] * DAY:
                failed = left <= thresholds["tls_expire_critical"] * DAY
                yield AuditFinding(f"{text} expires in {span(left)} ({end})", failed=failed)
    if not checked:
        raise NothingToExamineError("no server has a certificate")


CHECKS = (
    Check("ACCOUNTS_001", "Account Limits", "Account usage is below the configured limits", _accounts, (
        Threshold("connections", "Share of the configured limit of connections", 90, "%"),
        Threshold("subscriptions", "Share of the configured limit of subscriptions", 90, "%"),
    )),
    Check("CLUSTER_001", "Cluster Memory Usage Outliers",
          "Memory usage is uniform across nodes in a cluster", _memory,
          (Threshold("memory", "Memory usage as a multiple of the average", 1.5),)),
    Check("CLUSTER_002", "Cluster Uniform Gateways",
          "All nodes in a cluster share the same gateways configuration", _gateways),
    Check("CLUSTER_003", "Cluster High HA Assets", "Number of HA assets is below a given threshold",
          _ha_streams, (Threshold("assets", "Number of HA assets of a server", 1000, "uint"),)),
    Check("CLUSTER_004", "Whitespace in cluster name", "No cluster name contains whitespace", _cluster_names),
    Check("LEAF_001", "Whitespace in leafnode server names",
          "No Leafnode contains whitespace in its name", _leaf_names),
    Check("META_001", "Meta cluster offline replicas", "All nodes part of the meta group are online",
          _meta_peers),
    Check("META_002", "Meta cluster leader",
          "All nodes part of the meta group agree on the meta cluster leader", _meta_leader),
    Check("SERVER_001", "Server Health", "All known nodes are healthy", _health),
    Check("SERVER_002", "Server Version", "All known nodes are running the same software version", _versions),
    Check("SERVER_003", "Server CPU Usage", "CPU usage for all known nodes is below a given threshold", _cpu,
          (Threshold("cpu", "Percent of a core, on average", 90, "%"),)),
    Check("SERVER_004", "Server Slow Consumers", "No node is reporting slow consumers", _slow_consumers),
    Check("SERVER_005", "Server Resources Limits",
          "Resources are below a given threshold compared to the configured limit", _resources, (
              Threshold("memory", "Share of the memory that JetStream may use", 90, "%"),
              Threshold("store", "Share of the storage that JetStream may use", 90, "%"),
          )),
    Check("SERVER_006", "Whitespace in JetStream domains",
          "No JetStream server is configured with whitespace in its domain", _domains),
    Check("SERVER_007", "Authentication required", "Each server requires authentication", _authentication),
    Check("SERVER_008", "TLS Certificate Expiry", "TLS certificates are valid and not expiring soon",
          _certificates, (
              Threshold("tls_expire_warning", "Days before the end of a certificate: a warning", 30, "uint"),
              Threshold("tls_expire_critical", "Days before the end of a certificate: critical", 7, "uint"),
          )),
)  # fmt: skip
