"""Operators as one document: what is saved comes back whole; what does not belong together is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lib.nsc_folders import NscFolders, key_of
from pyjs.keys import IdentityError, KeyPair, KeyRole, Workspace, read_credentials
from pyjs.keys.folders.locations import NscDirectories
from pyjs.keys.workspace.accounts import AccountEdits, edit_account
from pyjs.keys.workspace.edits import SigningKeys
from pyjs.keys.workspace.operator_backup import (
    account_document,
    backup_operator,
    import_operator_with_keys,
    operator_document,
    restore_operator,
    user_document,
)
from pyjs.keys.workspace.operators import OperatorEdits, add_operator, edit_operator


@pytest.fixture
def folders(tmp_path: Path) -> NscFolders:
    made = NscFolders(tmp_path / "nsc", "A", "B")
    edit_account(made.workspace(), "A", AccountEdits(signing_keys=SigningKeys(add=("generate",))))
    made.keystore.add(made.add_user("A", "ann"))
    made.add_user("A", "bob")  # its seed is elsewhere
    return made


@pytest.fixture
def elsewhere(tmp_path: Path) -> Workspace:
    home = tmp_path / "elsewhere"
    directories = NscDirectories.locate({"HOME": str(home)}, tmp_path, all_dirs=str(home))
    return Workspace.open(directories)


def _files(workspace: Workspace) -> dict[str, bytes]:
    root = workspace.keystore.root
    found = {path.relative_to(root): path for path in root.rglob("*") if path.is_file()}
    return {str(name): path.read_bytes() for name, path in found.items() if name.name != "nsc.json"}


def _saved(folders: NscFolders, **changed: Any) -> bytes:
    return json.dumps({**backup_operator(folders.workspace()).document, **changed}).encode()


def test_what_is_saved_comes_back(folders: NscFolders, elsewhere: Workspace) -> None:
    saved = backup_operator(folders.workspace())
    assert saved.missing == [key_of(KeyRole.USER, "bob").public_key]
    result = restore_operator(elsewhere, "OP", json.dumps(saved.document).encode())
    assert result.workspace.context.operator == "OP"
    restored, kept = _files(elsewhere), folders.content()
    creds = "creds/OP/A/ann.creds"
    ann = key_of(KeyRole.USER, "ann").public_key
    assert read_credentials(elsewhere.keystore.root / creds).key.public_key == ann
    assert {name: text for name, text in restored.items() if name != creds} == kept
    assert backup_operator(result.workspace).document == saved.document


def test_the_store_gets_the_name_that_is_given(folders: NscFolders, elsewhere: Workspace) -> None:
    result = restore_operator(elsewhere, "OTHER", _saved(folders))
    assert (result.workspace.store().name, result.claims.name) == ("OTHER", "OP")
    assert result.workspace.store().users("A") == ["ann", "bob"]


def test_without_seeds_a_document_has_public_keys(folders: NscFolders) -> None:
    here = folders.workspace()
    whole = operator_document(here)
    assert whole["key"] == {"key": folders.operator.public_key}
    assert whole["accounts"] == [account_document(here, name) for name in ("A", "B")]
    assert whole["accounts"][0]["users"][0] == user_document(here, "A", "ann")
    for pair in (folders.operator, key_of(KeyRole.ACCOUNT, "A"), key_of(KeyRole.USER, "ann")):
        assert pair.seed not in json.dumps(whole)


@pytest.mark.parametrize(
    "changed",
    [
        {"accounts": 7},
        {"token": "x"},
        {"key": {"key": key_of(KeyRole.ACCOUNT, "A").seed}},
        {"key": {"key": KeyPair.create(KeyRole.OPERATOR).seed}},
        {"signingKeys": [{"key": KeyPair.create(KeyRole.OPERATOR).seed}]},
    ],
)
def test_a_backup_with_something_else_in_it_changes_nothing(
    folders: NscFolders, elsewhere: Workspace, changed: dict[str, Any]
) -> None:
    before = _files(elsewhere)
    with pytest.raises(IdentityError):
        restore_operator(elsewhere, "OP", _saved(folders, **changed))
    assert _files(elsewhere) == before


def test_users_and_accounts_of_others_are_refused(
    folders: NscFolders, elsewhere: Workspace, tmp_path: Path
) -> None:
    strange = add_operator(elsewhere, "STRANGE", plain_system="SYSTEM").workspace
    before = _files(elsewhere)
    mine, theirs = json.loads(_saved(folders)), operator_document(strange)
    first = {**mine, "accounts": theirs["accounts"]}
    second = {**mine, "accounts": [{**mine["accounts"][1], "users": mine["accounts"][0]["users"]}]}
    for wrong in (first, second):
        with pytest.raises(IdentityError):
            restore_operator(elsewhere, "OP", json.dumps(wrong).encode())
        assert {name for name in _files(elsewhere) if not name.startswith("keys/")} == {
            name for name in before if not name.startswith("keys/")
        }
        assert not elsewhere.keystore.has(folders.operator.public_key)


def test_an_operator_that_is_there_is_not_overwritten(folders: NscFolders) -> None:
    before = folders.content()
    for name, text in (("OP", "exists already"), ("COPY", 'is stored already, as "OP"')):
        with pytest.raises(IdentityError, match=text):
            restore_operator(folders.workspace(), name, _saved(folders))
    assert folders.content() == before


def test_an_operator_is_imported_with_all_its_keys(elsewhere: Workspace, tmp_path: Path) -> None:
    here = add_operator(elsewhere, "OP", signing_key=True, plain_system="SYSTEM").workspace
    token, claims = here.store().operator_token(), here.operator()
    pairs = [here.keystore.get(key) for key in (claims.sub, *claims.nats.signing_keys)]
    home = tmp_path / "third"
    third = Workspace.open(NscDirectories.locate({"HOME": str(home)}, tmp_path, all_dirs=str(home)))
    for some, text in (
        (pairs[:1], "not all keys"),
        ([*pairs, KeyPair.create(KeyRole.OPERATOR)], "not a key of operator"),
    ):
        with pytest.raises(IdentityError, match=text):
            import_operator_with_keys(third, token, some)
    assert third.stores.names() == []
    workspace = import_operator_with_keys(third, token, pairs).workspace
    assert workspace.store().operator_token() == token and not workspace.store().managed
    assert {pair.public_key for pair in pairs} == {*workspace.keystore.keys()}


def test_a_new_operator_has_what_it_was_given_or_is_not_made(elsewhere: Workspace) -> None:
    edits = OperatorEdits(service_urls=("nats://localhost",), account_server_url="nats://localhost")
    with pytest.raises(IdentityError, match="protocol not supported"):
        add_operator(elsewhere, "OP", edits=OperatorEdits(service_urls=("ftp://x",)))
    assert elsewhere.stores.names() == []
    made = add_operator(elsewhere, "OP", plain_system="SYSTEM", edits=edits)
    assert made.claims.nats.operator_service_urls == ["nats://localhost"]
    assert made.claims.nats.account_server_url == "nats://localhost"
    system = made.workspace.account("SYSTEM")
    assert (system.sub, system.nats.exports, made.workspace.store().users("SYSTEM")) == (
        made.claims.nats.system_account,
        [],
        [],
    )


def test_a_removed_signing_key_is_forgotten_only_if_asked(elsewhere: Workspace) -> None:
    made = add_operator(elsewhere, "OP", signing_key=True)
    (key,) = made.claims.nats.signing_keys
    here, keystore = made.workspace, made.workspace.keystore
    edit_operator(here, OperatorEdits(signing_keys=SigningKeys(remove=(key,))))
    assert keystore.has(key)
    edit_operator(here, OperatorEdits(signing_keys=SigningKeys(add=(key,))))
    edit_operator(here, OperatorEdits(signing_keys=SigningKeys(remove=(key,), forget=True)))
    assert not keystore.has(key) and here.operator().nats.signing_keys == []
