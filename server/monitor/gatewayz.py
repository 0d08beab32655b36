"""gatewayz: the connections to and from other clusters, and what is known of the accounts there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...protocol.duration import format_go
from ...protocol.lazy_dataclass import dataclass
from ...protocol.timestamp import format_rfc3339
from ..slices import Steps, map_in_steps
from .request import asked
from .subsz import detail
from .tls import tls_facts
from .view import Monitored, head, uptime

if TYPE_CHECKING:
    from ..gateway import InboundGateway, OutboundGateway
    from ..gateway.account_gateway import AccountGateway

_THRESHOLD = 1000  # of nats-server: unwanted subjects after which a cluster told all its interest


@dataclass(slots=True)
class GatewayzRequest:
    """name: show only gateways of this cluster. subs: "", "1" or "detail"."""

    name: str = asked("", "gw_name", "name")
    accounts: bool = asked(False, "accs", "accounts")
    account_name: str = asked("", "acc_name", "account_name")
    subs: str = asked("", "subs", "-")
    subscriptions: bool = asked(False, "-", "subscriptions")
    subscriptions_detail: bool = asked(False, "-", "subscriptions_detail")

    def shows(self, account: str) -> bool:
        """Return whether the document has this account."""
        return account == self.account_name if self.account_name else self.accounts


def gatewayz(server: Monitored, request: GatewayzRequest | None = None) -> Steps[dict[str, Any]]:
    """Return the gateways by the name of the cluster at the other end."""
    request = request or GatewayzRequest()
    gateways, document = server.gateways, head(server)
    if gateways is None:
        return document | {"outbound_gateways": {}, "inbound_gateways": {}}
    host, _, port = gateways.documents.url.rpartition(":")
    document |= {"name": gateways.name, "host": host.strip("[]"), "port": int(port)}
    now = server.clock.now()
    outbound: dict[str, Any] = {}
    for name, link in list(gateways.outbound.items()):
        if request.name in ("", name):
            outbound[name] = yield from _outbound(link, request, now)
    inbound: dict[str, list[Any]] = {}
    for connection in list(gateways.inbound.values()):
        if request.name in ("", connection.name):
            inbound.setdefault(connection.name, []).append(_inbound(connection, request, now))
            yield
    shown = outbound if outbound or not request.name else None
    return document | {"outbound_gateways": shown, "inbound_gateways": inbound}


def _outbound(link: OutboundGateway, request: GatewayzRequest, now: int) -> Steps[dict[str, Any]]:
    accounts = []
    count = 0
    for name, part in sorted(link.accounts.items()):
        subscriptions = part.subscriptions()
        count += len(subscriptions)
        if request.shows(text := name.decode("utf-8", "replace")):
            accounts.append((yield from _account(part, text, request, link.id)))
        yield
    document: dict[str, Any] = {
        "configured": link.remote.explicit,
        "connection": _connection(link, now, count),
    }
    return document | ({"accounts": accounts} if accounts else {})


def _account(part: AccountGateway, name: str, request: GatewayzRequest, cid: int) -> Steps[dict[str, Any]]:
    document: dict[str, Any] = {"name": name, "interest_mode": part.mode.value}
    if part.unwanted:
        document["no_interest_count"] = len(part.unwanted)
    document["interest_only_threshold"] = _THRESHOLD
    subscriptions = part.subscriptions()
    if subscriptions:
        document["num_subs"] = len(subscriptions)
    if groups := sum(1 for each in subscriptions if each.queue):
        document["num_queue_subs"] = groups
    if subscriptions and (request.subscriptions or request.subs in ("1", "true")):
        document["subscriptions_list"] = yield from map_in_steps(subscriptions, lambda one: one.subject)
    elif subscriptions and (request.subscriptions_detail or request.subs == "detail"):
        found = yield from map_in_steps(subscriptions, lambda one: detail(one, cid))
        document["subscriptions_list_detail"] = found
    return document


def _inbound(link: InboundGateway, request: GatewayzRequest, now: int) -> dict[str, Any]:
    accounts = [
        {
            "name": name,
            "interest_mode": "Interest-Only" if advertiser.complete else "Transitioning",
            "interest_only_threshold": _THRESHOLD,
        }
        for name, advertiser in sorted(link.advertisers.items())
        if request.shows(name)
    ]
    document: dict[str, Any] = {"configured": False, "connection": _connection(link, now, 0)}
    return document | ({"accounts": accounts} if accounts else {})


def _connection(link: InboundGateway | OutboundGateway, now: int, subscriptions: int) -> dict[str, Any]:
    document: dict[str, Any] = {
        "cid": link.id,
        "kind": "Gateway",
        "ip": link.peer[0],
        "port": link.peer[1],
        "start": format_rfc3339(link.start),
        "last_activity": format_rfc3339(link.last_activity),
        "rtt": format_go(link.ping_timer.rtt),
        "uptime": uptime(now - link.start),
        "idle": uptime(now - link.last_activity),
        "pending_bytes": link.pending,
    }
    for name in ("in_msgs", "out_msgs", "in_bytes", "out_bytes"):
        document[name] = getattr(link, name)
    document["subscriptions"] = subscriptions
    if link.info is not None:
        document["name"] = link.info.server_id
    if link.secure is not None:
        document |= tls_facts(link.secure, peers=False)
    return document
