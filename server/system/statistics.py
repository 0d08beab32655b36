"""statsz: what a server has done and has in use, short enough to be sent every few seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..gateway import Gateways, OutboundGateway
    from ..monitor import Monitored
    from ..route import RouteConnection


def statsz(server: Monitored, others: int = 0) -> dict[str, Any]:
    """Return the `statsz` member of `$SYS.SERVER.<id>.STATSZ` and of the answer to a ping.

    others: how many other servers are known.
    """
    from ..monitor.varz import varz  # where nobody listens to statistics there are none

    facts = varz(server)
    sent = {"msgs": facts["out_msgs"], "bytes": facts["out_bytes"]}
    received = {"msgs": facts["in_msgs"], "bytes": facts["in_bytes"]}
    found: dict[str, Any] = {key: facts[key] for key in ("start", "mem", "cores", "cpu")}
    found |= {key: facts[key] for key in ("connections", "total_connections")}
    found |= {
        "active_accounts": _active_accounts(server),
        "subscriptions": facts["subscriptions"],
        "sent": sent,
        "sent_to_clients": {"msgs": facts["out_client_msgs"], "bytes": facts["out_client_bytes"]},
        "received": received,
        "received_from_clients": {"msgs": facts["in_client_msgs"], "bytes": facts["in_client_bytes"]},
        "slow_consumers": facts["slow_consumers"],
    }
    found |= {key: facts[key] for key in ("stale_connections", "stalled_clients") if facts[key]}
    if server.routes is not None and server.routes.peers:
        found["routes"] = [_route(route) for route in server.routes.pools.connections]
    if server.gateways is not None and server.gateways.outbound:
        found["gateways"] = [_gateway(each, server.gateways) for each in server.gateways.outbound.values()]
    found["active_servers"] = 1 + others
    if any(facts["slow_consumer_stats"].values()):
        found["slow_consumer_stats"] = facts["slow_consumer_stats"]
    if any(facts["stale_connection_stats"].values()):
        found["stale_connection_stats"] = facts["stale_connection_stats"]
    if facts["jetstream"]:
        found["jetstream"] = _jetstream(server, facts["jetstream"])
    return found | {"gomaxprocs": facts["gomaxprocs"]}


def _jetstream(server: Monitored, facts: dict[str, Any]) -> dict[str, Any]:
    """Return JetStream's part. Only the leader of the meta group lists the group's members."""
    facts |= {"config": {key: value for key, value in facts["config"].items() if key != "store_dir"}}
    cluster = server.jetstream.cluster if server.jetstream is not None else None
    if cluster is None or cluster.view.is_leader:
        return facts
    short = {key: value for key, value in facts["meta"].items() if key != "replicas"}
    return facts | {"meta": short | {"name": "_meta_"}}


def _route(route: RouteConnection) -> dict[str, Any]:
    return {
        "rid": route.id,
        "name": route.info.server_name if route.info is not None else "",
        "sent": {"msgs": route.out_msgs, "bytes": route.out_bytes},
        "received": {"msgs": route.in_msgs, "bytes": route.in_bytes},
        "pending": route.pending,
    }


def _gateway(link: OutboundGateway, gateways: Gateways) -> dict[str, Any]:
    inbound = [each for each in gateways.inbound.values() if each.name == link.name]
    received = {
        "msgs": sum(each.in_msgs for each in inbound),
        "bytes": sum(each.in_bytes for each in inbound),
    }
    return {
        "gwid": link.id,
        "name": link.name,
        "sent": {"msgs": link.out_msgs, "bytes": link.out_bytes},
        "received": received,
        "inbound_connections": len(inbound),
    }


def _active_accounts(server: Monitored) -> int:
    # a stream alone makes an account active, as in nats-server
    jetstream = server.jetstream.accounts if server.jetstream is not None else {}
    storing = {name for name, account in jetstream.items() if account.streams}
    return sum(
        1
        for account in server.registry.accounts.values()
        if account.connections or account.leafs or account.name in storing
    )
