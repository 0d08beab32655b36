"""accountz: the accounts, or one in detail. accstatz: the traffic of each account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...protocol.lazy_dataclass import dataclass
from ...protocol.timestamp import format_rfc3339
from ..accounts.exports import Export, ResponseType, ServiceExport
from ..accounts.imports import ServiceImport
from ..clock import SECOND
from ..slices import Steps
from .request import RequestError, asked
from .subsz import statistics
from .view import Monitored, head

if TYPE_CHECKING:
    from ..accounts import Account


@dataclass(slots=True)
class AccountzRequest:
    """account: the name of one account; "" for the list of names."""

    account: str = asked("", "acc", "account")


def accountz(server: Monitored, request: AccountzRequest | None = None) -> Steps[dict[str, Any]]:
    """Return the names of the accounts, or one account. Raises RequestError if it does not exist."""
    request = request or AccountzRequest()
    document = head(server)
    if server.registry.system is not None:
        document["system_account"] = server.registry.system.name
    if not request.account:
        return document | {"accounts": list(server.registry.accounts)}
    account = server.registry.get(request.account)
    if account is None:
        raise RequestError(f"account {request.account} does not exist")
    return document | {"account_detail": (yield from _detail(server, account))}


_RESPONSES = {
    ResponseType.SINGLETON: "Singleton",
    ResponseType.STREAM: "Streamed",
    ResponseType.CHUNKED: "Chunked",
}


def _detail(server: Monitored, account: Account) -> Steps[dict[str, Any]]:
    account_token = account.account_token
    updated = server.identity.start if account_token is None else account_token.updated
    detail: dict[str, Any] = {"account_name": account.name, "update_time": format_rfc3339(updated)}
    if account is server.registry.system:
        detail["is_system"] = True
    detail |= {
        "expired": account_token is not None and account_token.expired,
        "complete": account_token is None or account_token.complete,
        "jetstream_enabled": account.serves_jetstream,
        "leafnode_connections": len(account.leafs),
        "client_connections": len(account.connections),
        "subscriptions": len(account.sublist),
    }
    mappings = {
        mapping.source: [{"subject": subject, "weight": weight} for subject, weight in mapping.weights]
        for mapping in sorted(account.mappings, key=lambda each: each.source)
    }
    for key, value in (
        ("mappings", mappings),
        ("exports", _exports(account)),
        ("imports", [*_imports(account), *_from_system(server, account)]),
    ):
        if value:
            detail[key] = value
    yield
    detail |= _token_details(account, server.clock.now())
    return detail | {"sublist_stats": (yield from statistics([account]))}


def _token_details(account: Account, now: int) -> dict[str, Any]:
    """Return the details that come from the account's token."""
    if account.account_token is None:
        return {"name_tag": account.display}
    from ...keys import Level

    claims = account.account_token.claims
    found: dict[str, Any] = {
        "jwt": account.account_token.token,
        "issuer_key": claims.iss,
        "name_tag": account.display,
    }
    if claims.tags:
        found["tags"] = claims.tags
    found["decoded_jwt"] = claims.document()
    issues = [
        {"description": i.text, "blocking": i.level is Level.ERROR, "time_check": i.level is Level.TIME}
        for i in claims.issues(now)
    ]
    if issues:
        found["validation_result_jwt"] = issues
    revoked = _times(claims.nats.revocations)
    if revoked:
        found["revoked_user"] = revoked
    return found


def _times(revocations: dict[str, int]) -> dict[str, str]:
    return {key: format_rfc3339(at * SECOND) for key, at in sorted(revocations.items())}


def _revoked(account: Account, kind: str, export: Export) -> dict[str, str]:
    """Return whose activations of an export are revoked, and up to which time."""
    given = account.account_token.claims.nats.exports if account.account_token is not None else []
    for each in given:
        if each.type == kind and each.subject == export.subject:
            return _times(each.revocations)
    return {}


def _exports(account: Account) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for export in (*account.exports_streams, *account.exports_services):
        entry: dict[str, Any] = {"subject": export.subject}
        if isinstance(export, ServiceExport):
            entry |= {"type": "service", "response_type": _RESPONSES[export.response_type]}
        else:
            entry["type"] = "stream"
        if export.private:
            entry["token_req"] = True
        if export.accounts is not None:
            entry["approved_accounts"] = sorted(export.accounts)
        revoked = _revoked(account, entry["type"], export)
        if revoked:
            entry["revoked_activations"] = revoked
        found.append(entry)
    return found


def _imports(account: Account) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for kind, imports in (("stream", account.imports_streams), ("service", account.imports_services)):
        for each in imports:
            entry: dict[str, Any] = {
                "subject": each.subject,
                "account": each.exporter.name,
                **({"to": each.local} if kind == "service" else {}),
                "local_subject": each.local,
                "type": kind,
                "invalid": False,
                "share": isinstance(each, ServiceImport) and each.share,
                "tracking": False,
            }
            found.append(entry)
    return found


def _from_system(server: Monitored, account: Account) -> list[dict[str, Any]]:
    """Return what an account may ask the system account about itself, as imports, like nats-server."""
    system = server.registry.system
    if system is None or account is system:
        return []
    own = f"$SYS.REQ.ACCOUNT.{account.name}"
    services = [
        (f"{own}.CONNZ", "$SYS.REQ.ACCOUNT.PING.CONNZ", False),
        (f"{own}.CONNZ", "$SYS.REQ.SERVER.PING.CONNZ", False),
        (f"{own}.STATZ", "$SYS.REQ.ACCOUNT.PING.STATZ", False),
        (f"$SYS.REQ.USER.{account.name}.INFO", "$SYS.REQ.USER.INFO", True),
    ]
    if server.jetstream is not None:
        services.append(("$JS.API.>", "$JS.API.>", True))
    return [
        {
            "subject": subject,
            "account": system.name,
            "to": local,
            "local_subject": local,
            "type": "service",
            "invalid": False,
            "share": share,
            "tracking": False,
        }
        for subject, local, share in services
    ]


def accstatz(
    server: Monitored, names: list[str] | None = None, *, unused: bool = False
) -> Steps[dict[str, Any]]:
    """Return counts per account. Unless `unused` is set, only those that are named or have connections."""
    named = None if not names else frozenset(names)
    found = []
    for account in list(server.registry.accounts.values()):
        if account.name in named if named else unused or account.connections or account.leafs:
            found.append(account_statistics(account))
        yield
    return head(server) | {"account_statz": found}


def account_statistics(account: Account) -> dict[str, Any]:
    """Return the numbers of connections, subscriptions and messages of one account."""
    zero = {name: {"msgs": 0, "bytes": 0} for name in ("gateways", "routes", "leafs")}
    return {
        "acc": account.name,
        "name": account.display,
        "conns": len(account.connections),
        "leafnodes": len(account.leafs),
        "total_conns": len(account.connections) + len(account.leafs),
        "num_subscriptions": len(account.sublist),
        "sent": {"msgs": account.out_msgs, "bytes": account.out_bytes, **zero},
        "received": {"msgs": account.in_msgs, "bytes": account.in_bytes, **zero},
        "slow_consumers": 0,
    }
