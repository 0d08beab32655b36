"""connz: the connections of clients, open and closed, and of leaf nodes that have joined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from ...protocol.duration import format_go
from ...protocol.lazy_dataclass import dataclass
from ...protocol.subject import collide
from ...protocol.timestamp import format_rfc3339
from ..accounts.subscription import ConnectionKind
from ..slices import Steps, in_order, map_in_steps
from .request import DEFAULT_LIMIT, RequestError, asked, page
from .subsz import detail
from .tls import tls_facts
from .view import Monitored, head, uptime

if TYPE_CHECKING:
    from ..client.connection import ClientConnection
    from ..leaf.connection import LeafConnection


@dataclass(slots=True)
class ConnzRequest:
    """Which connections to show, and how.

    state: "open", "closed" or "any"; or 0, 1, 2 by `state_number`.
    subs: "", "1" or "detail".
    """

    sort: str = asked("cid", "sort")
    auth: bool = asked(False, "auth")
    subs: str = asked("", "subs", "-")
    subscriptions: bool = asked(False, "-", "subscriptions")
    subscriptions_detail: bool = asked(False, "-", "subscriptions_detail")
    offset: int = asked(0, "offset")
    limit: int = asked(0, "limit")
    cid: int = asked(0, "cid")
    state: str = asked("open", "state", "-")
    state_number: int = asked(0, "-", "state")
    user: str = asked("", "user")
    account: str = asked("", "acc", "acc")
    filter_subject: str = asked("", "filter_subject")
    mqtt_client: str = asked("", "mqtt_client")


@dataclass(slots=True)
class _Row:
    """A connection. `stop` (ns) and `reason` are set for a closed one."""

    connection: ClientConnection | LeafConnection
    now: int
    stop: int = 0
    reason: str = ""

    @property
    def last(self) -> int:
        return self.connection.last_activity

    @property
    def end(self) -> int:
        return self.stop or self.now


_SORTS: dict[str, tuple[Callable[[_Row], Any], bool]] = {
    "cid": (lambda r: r.connection.id, False),
    "start": (lambda r: (r.connection.start, r.connection.id), False),
    "subs": (lambda r: len(r.connection.subscriptions), True),
    "pending": (lambda r: r.connection.pending, True),
    "msgs_to": (lambda r: r.connection.out_msgs, True),
    "msgs_from": (lambda r: r.connection.in_msgs, True),
    "bytes_to": (lambda r: r.connection.out_bytes, True),
    "bytes_from": (lambda r: r.connection.in_bytes, True),
    "last": (lambda r: r.last, True),
    "idle": (lambda r: r.end - r.last, True),
    "uptime": (lambda r: r.end - r.connection.start, False),
    "stop": (lambda r: r.stop, True),
    "reason": (lambda r: r.reason, False),
    "rtt": (lambda r: r.connection.ping_timer.rtt, True),
}


def connz(server: Monitored, request: ConnzRequest | None = None) -> Steps[dict[str, Any]]:
    """Return the requested connections. Raises RequestError for an unknown sort or state."""
    request = request or ConnzRequest()
    sort = request.sort or "cid"
    if sort not in _SORTS:
        raise RequestError(f"invalid sorting option: {sort}")
    if sort in ("stop", "reason") and not _closed_only(request):
        raise RequestError(f"sort by {sort} only valid on closed connections")
    rows = []
    for row in _rows(server, request):
        if (yield from _wanted(row, request)):
            rows.append(row)
        yield
    key, downwards = _SORTS[sort]
    rows = yield from in_order(rows, key, downwards=downwards)
    shown = []
    for row in page(rows, request.offset, request.limit):
        shown.append((yield from _document(row, request)))
        yield
    return head(server) | {
        "num_connections": len(shown),
        "total": len(rows),
        "offset": max(0, request.offset),
        "limit": request.limit if request.limit > 0 else DEFAULT_LIMIT,
        "connections": shown,
    }


def _closed_only(request: ConnzRequest) -> bool:
    return request.state.lower() in ("closed", "1") or request.state_number == 1


def _rows(server: Monitored, request: ConnzRequest) -> Iterator[_Row]:
    now = server.clock.now()
    clients = server.clients
    state = {1: "closed", 2: "any"}.get(request.state_number, request.state.lower() or "open")
    state = {"0": "open", "1": "closed", "2": "any", "all": "any"}.get(state, state)
    if state not in ("open", "closed", "any"):
        raise RequestError(f"error decoding state for {request.state}")
    # Copies, because the lists may change between two steps.
    if state != "closed":
        yield from (_Row(connection, now) for connection in list(clients.connections.values()))
        leafs = server.leafs.connections if server.leafs is not None else {}
        yield from (_Row(connection, now) for connection in list(leafs.values()))
    if state != "open":
        yield from (_Row(connection, now, stop, reason) for connection, reason, stop in list(clients.closed))


def _wanted(row: _Row, request: ConnzRequest) -> Steps[bool]:
    connection = row.connection
    if request.cid and connection.id != request.cid:
        return False
    if request.user and _user(connection) != request.user:
        return False
    if request.account and (connection.account is None or connection.account.name != request.account):
        return False
    if request.mqtt_client and _mqtt_client(connection) != request.mqtt_client:
        return False
    wanted = request.filter_subject
    if not wanted:
        return True
    for subscription in connection.subscriptions.all():
        if collide(subscription.subject, wanted):
            return True
        yield
    return False


def _mqtt_client(connection: ClientConnection | LeafConnection) -> str:
    return "" if connection.kind is ConnectionKind.LEAF else cast("ClientConnection", connection).mqtt_client


def _refused_token(given: ClientConnection | LeafConnection) -> str:
    """Return the token that a client sent, and was not let in with."""
    if given.kind is ConnectionKind.LEAF:
        return ""
    connection = cast("ClientConnection", given)
    return connection.options.jwt if connection.user is None else ""


def _user(given: ClientConnection | LeafConnection) -> str:
    if given.kind is ConnectionKind.LEAF:
        return str(given.who().get("user", ""))
    connection = cast("ClientConnection", given)
    user = connection.user
    if user is not None and (user.nkey or user.name):
        return user.nkey or user.name
    return "[REDACTED]" if connection.options.auth_token else ""


def _document(row: _Row, request: ConnzRequest) -> Steps[dict[str, Any]]:
    connection = row.connection
    document: dict[str, Any] = {
        "cid": connection.id,
        **_kind(connection),
        "ip": connection.peer[0],
        "port": connection.peer[1],
        "start": format_rfc3339(connection.start),
        "last_activity": format_rfc3339(row.last),
    }
    if row.stop:
        document |= {"stop": format_rfc3339(row.stop), "reason": row.reason}
    if connection.proxy_key:
        document["proxy"] = {"key": connection.proxy_key}
    if connection.ping_timer.rtt:
        document["rtt"] = format_go(connection.ping_timer.rtt)
    document |= {
        "uptime": uptime(row.end - connection.start),
        "idle": uptime(row.end - row.last),
        "pending_bytes": 0 if row.stop else connection.pending,
        "in_msgs": connection.in_msgs,
        "out_msgs": connection.out_msgs,
        "in_bytes": connection.in_bytes,
        "out_bytes": connection.out_bytes,
    }
    if connection.stalls:
        document["stalls"] = connection.stalls
    document["subscriptions"] = len(connection.subscriptions)
    who = connection.who()
    for name, key in (("name", "name"), ("lang", "lang"), ("version", "ver")):
        if who.get(key):
            document[name] = who[key]
    if _mqtt_client(connection):
        document["mqtt_client"] = _mqtt_client(connection)
    if connection.secure is not None:
        document |= tls_facts(connection.secure, peers=request.auth)
    if request.auth:
        if _user(connection):
            document["authorized_user"] = _user(connection)
        if connection.account is not None:
            document["account"] = connection.account.name
            document["name_tag"] = connection.account.display
        if _refused_token(connection):
            document["jwt"] = _refused_token(connection)
        document |= {name: who[name] for name in ("jwt", "issuer_key", "tags") if who.get(name)}
    return document | (yield from _subscriptions(connection, request))


def _kind(connection: ClientConnection | LeafConnection) -> dict[str, str]:
    if connection.kind is ConnectionKind.LEAF:
        return {"kind": "Leafnode"}
    return {"kind": "Client", "type": cast("ClientConnection", connection).client_type}


def _subscriptions(
    connection: ClientConnection | LeafConnection, request: ConnzRequest
) -> Steps[dict[str, Any]]:
    subscriptions = connection.subscriptions.all()
    if not subscriptions:
        return {}
    if request.subscriptions_detail or request.subs == "detail":
        found = yield from map_in_steps(subscriptions, lambda one: detail(one, connection.id))
        return {"subscriptions_list_detail": found}
    if request.subscriptions or request.subs in ("1", "true"):
        return {"subscriptions_list": (yield from map_in_steps(subscriptions, lambda one: one.subject))}
    return {}
