"""Advisories about leaders: published in the system account and, for streams and consumers, in their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...cluster.announce import node_of
from .. import advisories

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ..host import JetStreamHost
    from .local_info import LocalStreamView


def leader_elected(local: LocalStreamView) -> None:
    """Publish that this server leads a stream, and with it the stream's consumers."""
    fields = {"leader": local.account.host.server_name, "replicas": _replicas(local)}
    _publish(local, "leader_elected", fields)
    for consumer in local.consumers():
        consumer_leader_elected(local, consumer.name)


def consumer_leader_elected(local: LocalStreamView, name: str) -> None:
    """Publish that this server leads a consumer."""
    fields = {"leader": local.account.host.server_name, "replicas": _replicas(local)}
    _publish(local, "leader_elected", fields, name)


def quorum_lost(local: LocalStreamView) -> None:
    """Publish that this server led a stream, and has lost contact with a majority of its group."""
    replicas = _replicas(local)
    _publish(local, "quorum_lost", {"replicas": replicas})
    for consumer in local.consumers():
        _publish(local, "quorum_lost", {"replicas": replicas}, consumer.name)


def meta_leader_elected(system: Account, host: JetStreamHost, node: str, others: list[Any]) -> None:
    """Publish that this server leads the meta group.

    node: this server's.
    others: the other members, as jsz shows them.
    """
    here = {"name": host.server_name, "current": True, "active": 0, "peer": node}
    fields = {"leader": node, "replicas": [here, *others], "cluster": host.cluster_name}
    advisories.publish(system, host, "DOMAIN.LEADER_ELECTED", "domain_leader_elected", fields)


def server_removed(system: Account, host: JetStreamHost) -> None:
    """Publish that this server was removed from the cluster."""
    fields = {"server": host.server_name, "server_id": host.server_id, "cluster": host.cluster_name}
    advisories.publish(system, host, "SERVER.REMOVED", "server_removed", fields)


def meta_rescued(system: Account, host: JetStreamHost, before: int, after: int) -> None:
    """Publish that this server has lowered the quorum of the meta group, for a while."""
    fields: dict[str, Any] = {"server": host.server_name, "server_id": host.server_id}
    fields |= {"prev_quorum": before, "new_quorum": after, "cluster": host.cluster_name}
    advisories.publish(system, host, "SERVER.META_RESCUE", "meta_rescue", fields)


def _replicas(local: LocalStreamView) -> list[dict[str, Any]]:
    """Return all members of the stream's group, including this one, sorted by name."""
    host, node = local.account.host, node_of(local.me)
    here = {"name": host.server_name, "current": True, "active": 0, "peer": node}
    others = [peer.to_json() for peer in local.cluster().replicas if peer.peer != node]
    return sorted([here, *others], key=lambda peer: str(peer["name"]))


def _publish(local: LocalStreamView, what: str, fields: dict[str, Any], consumer: str = "") -> None:
    account, host, stream = local.account.account, local.account.host, local.name
    family = "CONSUMER" if consumer else "STREAM"
    subject = f"{family}.{what.upper()}.{stream}" + (f".{consumer}" if consumer else "")
    kind = f"{family.lower()}_{what}"
    named = {"stream": stream, **({"consumer": consumer} if consumer else {}), **fields}
    advisories.publish(account, host, subject, kind, named)
    system = local.context.system
    advisories.publish(system, host, subject, kind, {"account": local.account.name, **named})
