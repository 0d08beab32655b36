"""`nsc list keys`."""

from __future__ import annotations

import base64
import json
from typing import Any

import click

from ....keys import IdentityError, KeyRole, Workspace, WorkspaceError
from ....keys.workspace import keyring
from ..command import NscCommand, open_workspace, run, switch
from ..keys.key_filter import wanted
from ..table import TextTable
from .flags import JSON

_INDENT = {KeyRole.ACCOUNT: " ", KeyRole.CURVE: " ", KeyRole.USER: "  "}
_CALLOUT = "[ T ] auth callout encryption target"


@click.command(cls=NscCommand)
@JSON
@switch("-S", "--show-seeds", "seeds", text="Show the secret seeds.")
@wanted
@switch("-x", "--curve", "curves", text="Curve keys.")
def keys(chosen: keyring.KeyFilter, curves: bool, seeds: bool, as_json: bool) -> None:
    """List the keys of the current operator and account, and whether their seeds are stored."""
    if chosen.unreferenced and seeds:
        raise WorkspaceError("specify one of --show-seeds or --not-referenced")
    workspace = open_workspace()
    if curves:
        chosen = keyring.with_role(chosen, KeyRole.CURVE)
    found = keyring.collect(workspace, chosen)
    if as_json or run().json:
        documents = [_document(workspace, key, seeds) for key in found]
        click.echo(json.dumps(documents, indent=1, ensure_ascii=False))
    elif not found:
        click.echo("no keys matched query")
    else:
        click.echo(_seeds(workspace, found) if seeds else _table(found))


def _table(found: list[keyring.StoredKey]) -> str:
    table = TextTable("Keys", ("Entity", "Key", "Signing Key", "Stored"))
    for key in found:
        stored = "BAD" if key.damaged else "*" if key.path else ""
        table.row(_entity(key), key.public_key, _signing(key), stored)
    unknown = "[ ? ] unreferenced key - may belong to a different operator context\n"
    return (
        table.render()
        + (unknown if any(key.name == keyring.UNKNOWN for key in found) else "")
        + _CALLOUT
        + "\n"
    )


def _seeds(workspace: Workspace, found: list[keyring.StoredKey]) -> str:
    table = TextTable("Seeds Keys", ("Entity", "Private Key", "Signing Key"))
    for key in found:
        if key.damaged or key.path is None:
            shown = f"{key.public_key} [!]"
        else:
            try:
                shown = keyring.seed(workspace, key)
            except IdentityError:
                shown = f"{key.public_key} [ERR]"
        table.row(_entity(key), shown, _signing(key))
    return f"{table.render()}[ ! ] seed is not stored\n[ERR] error reading seed\n{_CALLOUT}\n"


def _document(workspace: Workspace, key: keyring.StoredKey, seeds: bool) -> dict[str, Any]:
    """Return a key as nsc's JSON has it; the token is encoded in base 64 once more."""
    token = {"jwt": base64.b64encode(key.token.encode()).decode()} if key.token else {}
    secret = {"seed": keyring.seed(workspace, key)} if seeds and key.path and not key.damaged else {}
    return {
        "name": key.name,
        "pub": key.public_key,
        **({"parent": key.parent} if key.parent else {}),
        "signing": key.signing,
        "curve": key.curve,
        "key_path": str(key.path or ""),
        "invalid": key.damaged,
        **token,
        "expected_kind": key.role.word,
        **secret,
    }


def _entity(key: keyring.StoredKey) -> str:
    return key.name if key.name == keyring.UNKNOWN else _INDENT.get(key.role, "") + key.name


def _signing(key: keyring.StoredKey) -> str:
    return "T" if key.curve else "*" if key.signing else ""
