"""accountz: the accounts, or one in detail; accstatz: what each does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...protocol.timestamp import format_rfc3339
from ..accounts.exports import ServiceExport
from .request import RequestError, asked
from .subsz import statistics
from .view import Monitored, head

if TYPE_CHECKING:
    from ..accounts import Account


@dataclass(slots=True)
class AccountzRequest:
    """account "": the list of names."""

    account: str = asked("", "acc", "account")


def accountz(server: Monitored, request: AccountzRequest | None = None) -> dict[str, Any]:
    """The names of the accounts, or one account. Raises RequestError when it does not exist."""
    request = request or AccountzRequest()
    document = head(server)
    if server.registry.system is not None:
        document["system_account"] = server.registry.system.name
    if not request.account:
        return document | {"accounts": list(server.registry.accounts)}
    account = server.registry.get(request.account)
    if account is None:
        raise RequestError(f"account {request.account} does not exist")
    return document | {"account_detail": _detail(server, account)}


def _detail(server: Monitored, account: Account) -> dict[str, Any]:
    detail: dict[str, Any] = {
        "account_name": account.name,
        "update_time": format_rfc3339(server.identity.start),
    }
    if account is server.registry.system:
        detail["is_system"] = True
    detail |= {
        "expired": False,
        "complete": True,
        "jetstream_enabled": account.jetstream is not None,
        "leafnode_connections": len(account.leafs),
        "client_connections": len(account.connections),
        "subscriptions": len(account.interest),
    }
    mappings = {
        mapping.source: [{"subject": subject, "weight": weight} for subject, weight in mapping.weights]
        for mapping in sorted(account.mappings, key=lambda each: each.source)
    }
    for key, value in (
        ("mappings", mappings),
        ("exports", _exports(account)),
        ("imports", _imports(account)),
    ):
        if value:
            detail[key] = value
    return detail | {"name_tag": account.name, "sublist_stats": statistics([account])}


def _exports(account: Account) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for export in (*account.exports_streams, *account.exports_services):
        entry: dict[str, Any] = {"subject": export.subject}
        if isinstance(export, ServiceExport):
            entry |= {"type": "service", "response_type": export.response_type.value.capitalize()}
        else:
            entry["type"] = "stream"
        if export.accounts is not None:
            entry["approved_accounts"] = sorted(export.accounts)
        found.append(entry)
    return found


def _imports(account: Account) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for kind, imports in (("stream", account.imports_streams), ("service", account.imports_services)):
        for each in imports:
            entry: dict[str, Any] = {
                "subject": each.subject,
                "account": each.exporter.name,
                "local_subject": each.local,
                "type": kind,
                "invalid": False,
                "share": bool(getattr(each, "share", False)),
                "tracking": False,
            }
            found.append(entry)
    return found


def accstatz(server: Monitored, names: list[str] | None = None, *, unused: bool = False) -> dict[str, Any]:
    """Counts per account; those without connections only if `unused` or named."""
    found = [
        account_statistics(account)
        for account in server.registry.accounts.values()
        if (account.name in names if names else unused or account.connections or account.leafs)
    ]
    return head(server) | {"account_statz": found}


def account_statistics(account: Account) -> dict[str, Any]:
    """Connections, subscriptions and messages of one account."""
    zero = {name: {"msgs": 0, "bytes": 0} for name in ("gateways", "routes", "leafs")}
    return {
        "acc": account.name,
        "name": account.name,
        "conns": len(account.connections),
        "leafnodes": len(account.leafs),
        "total_conns": len(account.connections) + len(account.leafs),
        "num_subscriptions": len(account.interest),
        "sent": {"msgs": account.out_msgs, "bytes": account.out_bytes, **zero},
        "received": {"msgs": account.in_msgs, "bytes": account.in_bytes, **zero},
        "slow_consumers": 0,
    }
