"""leafz and routez: the connections to other servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...protocol.duration import format_go
from ...protocol.lazy_dataclass import dataclass
from ...protocol.timestamp import format_rfc3339
from ..slices import Steps, map_in_steps
from .request import asked
from .subsz import detail
from .view import Monitored, head, uptime

if TYPE_CHECKING:
    from ..accounts import Subscription
    from ..config.options import SubjectPermission
    from ..leaf.connection import LeafConnection
    from ..route import RouteConnection


@dataclass(slots=True)
class LeafzRequest:
    """account: the account whose leaf connections to show, "" for all."""

    subs: bool = asked(False, "subs", "subscriptions")
    account: str = asked("", "acc", "account")


def leafz(server: Monitored, request: LeafzRequest | None = None) -> Steps[dict[str, Any]]:
    """Return the leaf connections, by id."""
    request = request or LeafzRequest()
    links = [
        cast("LeafConnection", link)
        for account in server.registry.accounts.values()
        if request.account in ("", account.name)
        for link in account.leafs
    ]
    links.sort(key=lambda link: link.id)
    shown = []
    for link in links:
        shown.append((yield from _link(link, subs=request.subs)))
        yield
    return head(server) | {"leafnodes": len(links), "leafs": shown}


def _link(link: LeafConnection, *, subs: bool) -> Steps[dict[str, Any]]:
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
    if link.proxy_key:
        document["proxy"] = {"key": link.proxy_key}
    if link.ping_timer.rtt:
        document["rtt"] = format_go(link.ping_timer.rtt)
    for name in ("in_msgs", "out_msgs", "in_bytes", "out_bytes"):
        document[name] = getattr(link, name)
    document["subscriptions"] = len(subscriptions)
    if subs and subscriptions:
        document["subscriptions_list"] = yield from map_in_steps(subscriptions, _subject)
    if link.compression:
        document["compression"] = link.compression
    return document


@dataclass(slots=True)
class RoutezRequest:
    """subs: "", "1" or "detail"."""

    subs: str = asked("", "subs", "-")
    subscriptions: bool = asked(False, "-", "subscriptions")
    subscriptions_detail: bool = asked(False, "-", "subscriptions_detail")


def routez(server: Monitored, request: RoutezRequest | None = None) -> Steps[dict[str, Any]]:
    """Return the routes, server by server: those of the pool, then those of pinned accounts."""
    request = request or RoutezRequest()
    begin = head(server)
    document = {"server_id": begin["server_id"], "server_name": server.identity.name, "now": begin["now"]}
    cluster = server.options.cluster
    if cluster is not None and cluster.permissions is not None:
        # Import is what may be published to peers, export is what they may subscribe to.
        sides = (("import", cluster.permissions.publish), ("export", cluster.permissions.subscribe))
        document |= {name: _lists(side) for name, side in sides if side is not None}
    links = server.routes.pools.connections if server.routes is not None else []
    now = server.clock.now()
    shown = []
    for link in links:
        shown.append((yield from _route(link, request, now)))
        yield
    return document | {"num_routes": len(links), "routes": shown}


def _subject(subscription: Subscription) -> str:
    return subscription.subject


def _route(link: RouteConnection, request: RoutezRequest, now: int) -> Steps[dict[str, Any]]:
    info = link.info
    document: dict[str, Any] = {
        "rid": link.id,
        "remote_id": info.server_id if info is not None else "",
        "remote_name": info.server_name if info is not None else "",
        "did_solicit": link.remote is not None,
        "is_configured": link.remote is not None and link.remote.explicit,
        "ip": link.peer[0],
        "port": link.peer[1],
        "start": format_rfc3339(link.start),
        "last_activity": format_rfc3339(link.last_activity),
    }
    if link.ping_timer.rtt:
        document["rtt"] = format_go(link.ping_timer.rtt)
    document |= {"uptime": uptime(now - link.start), "idle": uptime(now - link.last_activity)}
    if info is not None:
        document |= {name: info.given[name] for name in ("import", "export") if info.given.get(name)}
    document["pending_size"] = link.pending
    for name in ("in_msgs", "out_msgs", "in_bytes", "out_bytes"):
        document[name] = getattr(link, name)
    subscriptions = [
        one for account_route in link.account_routes.values() for one in account_route.subscriptions()
    ]
    document["subscriptions"] = len(subscriptions)
    if subscriptions and (request.subscriptions_detail or request.subs == "detail"):
        found = yield from map_in_steps(subscriptions, lambda one: detail(one, link.id))
        document["subscriptions_list_detail"] = found
    elif subscriptions and (request.subscriptions or request.subs in ("1", "true")):
        document["subscriptions_list"] = yield from map_in_steps(subscriptions, _subject)
    if link.pinned:
        document["account"] = link.pinned
    return document | {"compression": link.compression}


def _lists(side: SubjectPermission) -> dict[str, list[str]]:
    return {name: list(entries) for name in ("allow", "deny") if (entries := getattr(side, name))}
