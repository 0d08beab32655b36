"""The page of an operator."""

from __future__ import annotations

from typing import Any

from ....cli import output
from ....keys import IdentityError, Workspace
from ....keys.workspace.operator_backup import operator_document
from ..page import Pairs, listed, optional, page


def show(here: Workspace) -> None:
    """Show the current operator."""
    store = here.store()
    claims = store.operator()
    body, accounts = claims.nats, store.accounts()
    rows: Pairs = [
        ("Name", store.name),
        ("Subject", claims.sub),
        *listed("Tags", body.tags),
        *optional("Service URL(s)", ", ".join(body.operator_service_urls)),
        *optional("Account Server", body.account_server_url),
        ("Accounts", len(accounts)),
        ("System Account", system_account(here) or "not set"),
        *listed("Signing Keys", sorted(body.signing_keys)),
    ]
    document: dict[str, Any] = {"name": store.name, "accounts": accounts, "claims": claims.document()}
    text = page(f"Operator {store.name} ({claims.sub})", [("Configuration", rows)])
    output.show_page(document, text, name=store.name, legacy=operator_document(here))


def system_account(here: Workspace) -> str:
    """Return the system account as name and key, as its key if it is not stored, or "" if there is none."""
    store = here.store()
    key = store.operator().nats.system_account
    if not key:
        return ""
    try:
        return f"{store.account_named(key)} ({key})"
    except IdentityError:
        return key
