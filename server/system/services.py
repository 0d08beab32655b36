"""The services of the system account: a table from a service's name to the document that answers it.

Every request may have a filter (server_name, host, cluster, domain, tags, exact_match). A server that does
not match it keeps silent. A request that cannot be understood is answered with an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...protocol import gojson
from ..identity import cluster_name
from ..monitor import (
    AccountzRequest,
    ConnzRequest,
    HealthzRequest,
    IpqueueszRequest,
    JszRequest,
    LeafzRequest,
    Monitored,
    ProfilezRequest,
    RaftzRequest,
    RoutezRequest,
    SubszRequest,
    account_jsz,
    accountz,
    accstatz,
    connz,
    expvarz,
    gatewayz,
    healthz,
    ipqueuesz,
    jsz,
    leafz,
    profilez,
    raftz,
    routez,
    subsz,
    varz,
)
from ..monitor.request import MalformedRequestError, from_json
from ..slices import Steps

Body = Mapping[str, Any]
Document = dict[str, Any] | Steps[dict[str, Any]]
Service = Callable[[Monitored, Body], Document]


def _health(server: Monitored, request: HealthzRequest) -> Steps[dict[str, Any]]:
    # This answer has no HTTP status, so the document contains it (`nats server report health` reads it).
    code, document = yield from healthz(server, request)
    return {"status": document.pop("status"), "status_code": code, **document}


def _account_info(server: Monitored, name: str) -> Steps[dict[str, Any]]:
    document = yield from accountz(server, AccountzRequest(name))
    found: dict[str, Any] = document["account_detail"]
    return found


SERVER: dict[str, Service] = {
    "VARZ": lambda server, _: varz(server),
    "SUBSZ": lambda server, body: subsz(server, from_json(SubszRequest, body)),
    "CONNZ": lambda server, body: connz(server, from_json(ConnzRequest, body)),
    "ROUTEZ": lambda server, body: routez(server, from_json(RoutezRequest, body)),
    "GATEWAYZ": lambda server, _: gatewayz(server),
    "LEAFZ": lambda server, body: leafz(server, from_json(LeafzRequest, body)),
    "ACCOUNTZ": lambda server, body: accountz(server, from_json(AccountzRequest, body)),
    "JSZ": lambda server, body: jsz(server, from_json(JszRequest, body)),
    "HEALTHZ": lambda server, body: _health(server, from_json(HealthzRequest, body)),
    "EXPVARZ": lambda _server, _body: expvarz(),
    "IPQUEUESZ": lambda server, body: ipqueuesz(server, from_json(IpqueueszRequest, body)),
    "PROFILEZ": lambda _server, body: profilez(from_json(ProfilezRequest, body)),
    "RAFTZ": lambda server, body: raftz(server, from_json(RaftzRequest, body)),
}

ACCOUNT: dict[str, Callable[[Monitored, str, Body], Steps[dict[str, Any]]]] = {
    "SUBSZ": lambda server, name, body: subsz(
        server, from_json(SubszRequest, {**body, "account": name, "subscriptions": True})
    ),
    "CONNZ": lambda server, name, body: connz(
        server, from_json(ConnzRequest, {"auth": True, **body, "acc": name})
    ),
    "LEAFZ": lambda server, name, body: leafz(server, from_json(LeafzRequest, {**body, "account": name})),
    "JSZ": lambda server, name, body: account_jsz(server, from_json(JszRequest, {**body, "account": name})),
    "INFO": lambda server, name, _: _account_info(server, name),
    "STATZ": lambda server, name, _: accstatz(server, [name]),
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
