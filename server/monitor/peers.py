"""leafz, routez and gatewayz: the links to other servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ...protocol.duration import format_go
from .request import asked
from .view import Monitored, head

if TYPE_CHECKING:
    from ..leaf.connection import LeafConnection


@dataclass(slots=True)
class LeafzRequest:
    """account "": all."""

    subs: bool = asked(False, "subs", "subscriptions")
    account: str = asked("", "acc", "account")


def leafz(server: Monitored, request: LeafzRequest | None = None) -> dict[str, Any]:
    """The leaf connections, by id."""
    request = request or LeafzRequest()
    links = [
        cast("LeafConnection", link)
        for account in server.registry.accounts.values()
        if request.account in ("", account.name)
        for link in account.leafs
    ]
    links.sort(key=lambda link: link.id)
    return head(server) | {
        "leafnodes": len(links),
        "leafs": [_link(link, subs=request.subs) for link in links],
    }


def _link(link: LeafConnection, *, subs: bool) -> dict[str, Any]:
    subscriptions = link.subscriptions.all()
    document: dict[str, Any] = {
        "id": link.id,
        "name": link.name,
        "is_spoke": link.is_spoke,
        "account": link.account.name if link.account is not None else "",
        "ip": link.peer[0],
        "port": link.peer[1],
    }
    if link.isolated:
        document["is_isolated"] = True
    if link.heartbeat.rtt:
        document["rtt"] = format_go(link.heartbeat.rtt)
    for name in ("in_msgs", "out_msgs", "in_bytes", "out_bytes"):
        document[name] = getattr(link, name)
    document["subscriptions"] = len(subscriptions)
    if subs and subscriptions:
        document["subscriptions_list"] = [subscription.subject for subscription in subscriptions]
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
