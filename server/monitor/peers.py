"""leafz, routez and gatewayz: the links to other servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...protocol.duration import format_go
from .request import asked
from .view import Monitored, head


@dataclass(slots=True)
class LeafzRequest:
    """account "": all."""

    subs: bool = asked(False, "subs", "subscriptions")
    account: str = asked("", "acc", "account")


def leafz(server: Monitored, request: LeafzRequest | None = None) -> dict[str, Any]:
    """The leaf connections, by id."""
    request = request or LeafzRequest()
    links = [
        (account, link)
        for account in server.registry.accounts.values()
        if request.account in ("", account.name)
        for link in account.leafs
    ]
    links.sort(key=lambda pair: int(getattr(pair[1], "id", 0)))
    shown = [_link(account.name, link, subs=request.subs) for account, link in links]
    return head(server) | {"leafnodes": len(shown), "leafs": shown}


def _link(account: str, link: Any, *, subs: bool) -> dict[str, Any]:
    """A link as the leaf room offers it: id, name, is_spoke, peer, rtt (ns), counters, subscriptions."""
    ip, port = getattr(link, "peer", ("", 0))
    subscriptions = list(getattr(link, "subjects", ()))
    document: dict[str, Any] = {
        "id": link.id,
        "name": getattr(link, "name", ""),
        "is_spoke": bool(getattr(link, "is_spoke", False)),
        "account": account,
        "ip": ip,
        "port": port,
    }
    if getattr(link, "rtt", 0):
        document["rtt"] = format_go(link.rtt)
    for name in ("in_msgs", "out_msgs", "in_bytes", "out_bytes"):
        document[name] = getattr(link, name, 0)
    document["subscriptions"] = len(subscriptions)
    if subs and subscriptions:
        document["subscriptions_list"] = subscriptions
    return document


def routez(server: Monitored) -> dict[str, Any]:
    """The routes: none, this server stands alone."""
    begin = head(server)
    return {
        "server_id": begin["server_id"],
        "server_name": server.identity.name,
        "now": begin["now"],
        "num_routes": 0,
        "routes": [],
    }


def gatewayz(server: Monitored) -> dict[str, Any]:
    """The gateways: none, this server is in no super cluster."""
    return head(server) | {"outbound_gateways": {}, "inbound_gateways": {}}
