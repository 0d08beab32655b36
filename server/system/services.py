"""The services of the system account: a table from a service's name to the document that answers it.

Every request may have a filter (server_name, host, cluster, domain, tags, exact_match). A server that does
not match it keeps silent. A request that cannot be understood is answered with an error. The module of a
document is imported with its first request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...protocol import gojson
from ..identity import cluster_name
from ..monitor.request import MalformedRequestError, RequestError, from_json
from ..slices import Steps

if TYPE_CHECKING:
    from ..accounts import Account
    from ..client.peer import ClientPeer
    from ..monitor import Monitored

MOST_REQUEST_BYTES = 1024  # of what a user asks about its account

Body = Mapping[str, Any]
Document = dict[str, Any] | Steps[dict[str, Any]]
Service = Callable[["Monitored", Body], Document]


def _varz(server: Monitored, _: Body) -> Document:
    from ..monitor.varz import varz

    return varz(server)


def _subsz(server: Monitored, body: Body) -> Steps[dict[str, Any]]:
    from ..monitor.subsz import SubszRequest, subsz

    return subsz(server, from_json(SubszRequest, body))


def _connz(server: Monitored, body: Body) -> Steps[dict[str, Any]]:
    from ..monitor.connz import ConnzRequest, connz

    return connz(server, from_json(ConnzRequest, body))


def _routez(server: Monitored, body: Body) -> Document:
    from ..monitor.peers import RoutezRequest, routez

    return routez(server, from_json(RoutezRequest, body))


def _gatewayz(server: Monitored, body: Body) -> Document:
    from ..monitor.gatewayz import GatewayzRequest, gatewayz

    return gatewayz(server, from_json(GatewayzRequest, body))


def _leafz(server: Monitored, body: Body) -> Steps[dict[str, Any]]:
    from ..monitor.peers import LeafzRequest, leafz

    return leafz(server, from_json(LeafzRequest, body))


def _accountz(server: Monitored, body: Body) -> Document:
    from ..monitor.accountz import AccountzRequest, accountz

    return accountz(server, from_json(AccountzRequest, body))


def _jsz(server: Monitored, body: Body) -> Document:
    from ..monitor.jsz import JszRequest, jsz

    return jsz(server, from_json(JszRequest, body))


def _healthz(server: Monitored, body: Body) -> Steps[dict[str, Any]]:
    # This answer has no HTTP status, so the document contains it (`nats server report health` reads it).
    from ..monitor.healthz import HealthzRequest, healthz

    code, document = yield from healthz(server, from_json(HealthzRequest, body))
    return {"status": document.pop("status"), "status_code": code, **document}


def _expvarz(_server: Monitored, _: Body) -> Document:
    from ..monitor.runtime import expvarz

    return expvarz()


def _ipqueuesz(server: Monitored, body: Body) -> Document:
    from ..monitor.runtime import IpqueueszRequest, ipqueuesz

    return ipqueuesz(server, from_json(IpqueueszRequest, body))


def _profilez(_server: Monitored, body: Body) -> Document:
    from ..monitor.runtime import ProfilezRequest, profilez

    return profilez(from_json(ProfilezRequest, body))


def _raftz(server: Monitored, body: Body) -> Document:
    from ..monitor.raftz import RaftzRequest, raftz

    return raftz(server, from_json(RaftzRequest, body))


def all_statistics(server: Monitored, body: Body) -> Steps[dict[str, Any]]:
    """Return the traffic of the accounts that a request names, or of all."""
    from ..monitor.accountz import accstatz

    return accstatz(server, body.get("accounts") or None, unused=bool(body.get("include_unused")))


def _account_jsz(server: Monitored, name: str, body: Body) -> Steps[dict[str, Any]]:
    from ..monitor.jsz import JszRequest, account_jsz

    return account_jsz(server, from_json(JszRequest, {**body, "account": name}))


def _account_info(server: Monitored, name: str, _: Body) -> Steps[dict[str, Any]]:
    from ..monitor.accountz import AccountzRequest, accountz

    document = yield from accountz(server, AccountzRequest(name))
    found: dict[str, Any] = document["account_detail"]
    return found


def _users(server: Monitored, name: str, body: Body) -> Steps[dict[str, Any]]:
    from .user import UserRequest, users_named

    account = server.registry.get(name)
    assert account is not None  # `System` has looked
    return users_named(server, account, from_json(UserRequest, body))


SERVER: dict[str, Service] = {
    "VARZ": _varz,
    "SUBSZ": _subsz,
    "CONNZ": _connz,
    "ROUTEZ": _routez,
    "GATEWAYZ": _gatewayz,
    "LEAFZ": _leafz,
    "ACCOUNTZ": _accountz,
    "JSZ": _jsz,
    "HEALTHZ": _healthz,
    "EXPVARZ": _expvarz,
    "IPQUEUESZ": _ipqueuesz,
    "PROFILEZ": _profilez,
    "RAFTZ": _raftz,
}

ACCOUNT: dict[str, Callable[[Monitored, str, Body], Steps[dict[str, Any]]]] = {
    "SUBSZ": lambda server, name, body: _subsz(server, {**body, "account": name, "subscriptions": True}),
    "CONNZ": lambda server, name, body: _connz(server, {**body, "acc": name}),
    "LEAFZ": lambda server, name, body: _leafz(server, {**body, "account": name}),
    "JSZ": _account_jsz,
    "INFO": _account_info,
    "USER": _users,
    "STATZ": lambda server, name, _: all_statistics(server, {"accounts": [name]}),
}


def _user_info(_account: Account, asking: ClientPeer, _body: bytes) -> dict[str, Any]:
    from .user import user_info

    return user_info(asking)


def _own_account(account: Account, asking: ClientPeer, body: bytes) -> dict[str, Any]:
    from .account_page import AccountPageRequest, account_page

    if asking.account is not account:
        raise RequestError("an account is told about itself only")
    if len(body) > MOST_REQUEST_BYTES:
        raise MalformedRequestError(f"a request has at most {MOST_REQUEST_BYTES} bytes")
    return account_page(account, from_json(AccountPageRequest, read(body)))


# What users ask about themselves: the account that serves it, the client, and what it sends.
USER: dict[str, Callable[[Account, ClientPeer, bytes], dict[str, Any]]] = {
    "INFO": _user_info,
    "ACCOUNT": _own_account,
}


def read(body: bytes) -> Body:
    """Return a request's options, {} for none. Raises MalformedRequestError if it is not a JSON object."""
    if not body.strip():
        return {}
    try:
        document = gojson.decode(body)
    except ValueError as error:
        raise MalformedRequestError(f"invalid JSON: {error}") from None
    if not isinstance(document, dict):
        raise MalformedRequestError("invalid JSON: an object is wanted")
    return document


def fits(server: Monitored, body: Body) -> bool:
    """Whether this server matches the filter of a request."""
    options = server.options
    exact = bool(body.get("exact_match"))
    cluster = cluster_name(options, server.identity)
    for key, value in (("server_name", server.identity.name), ("host", options.host), ("cluster", cluster)):
        wanted = body.get(key)
        if wanted and not (wanted == value if exact else str(wanted) in value):
            return False
    if body.get("domain") and body["domain"] != options.jetstream.domain:
        return False
    return all(tag in options.server_tags for tag in body.get("tags") or ())
