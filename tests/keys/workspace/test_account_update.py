"""Rules for every change of an account: which keys sign, and stores that are damaged or read-only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lib.nsc_folders import NOW, NscFolders, key_of
from pyjs.keys import (
    Export,
    FolderError,
    IdentityError,
    Import,
    KeyRole,
    OperatorClaims,
    Workspace,
    encode,
    files,
)
from pyjs.keys.claims import WeightedMapping
from pyjs.keys.workspace.authcallout import CalloutChanges, edit_callout
from pyjs.keys.workspace.exports import ExportChanges, add_export, delete_export, edit_export
from pyjs.keys.workspace.imports import add_import, delete_import
from pyjs.keys.workspace.mappings import add_mapping, delete_mapping
from pyjs.keys.workspace.revocations import (
    revoke_activation,
    revoke_user,
    unrevoke_activation,
    unrevoke_user,
)
from pyjs.keys.workspace.scopes import edit_signing_key

SIGNING = key_of(KeyRole.OPERATOR, "signing")
USER = key_of(KeyRole.USER, "ann").public_key
OPERATIONS: dict[str, Callable[[Workspace], Any]] = {
    "add export": lambda w: add_export(w, Export(subject="new")),
    "edit export": lambda w: edit_export(w, ExportChanges(name="other")),
    "delete export": lambda w: delete_export(w),
    "add import": lambda w: add_import(w, Import(subject="more", account="B")),
    "delete import": lambda w: delete_import(w),
    "add mapping": lambda w: add_mapping(w, "c", WeightedMapping(subject="d")),
    "delete mapping": lambda w: delete_mapping(w, "a"),
    "edit signing-key": lambda w: edit_signing_key(w, "generate"),
    "edit authcallout": lambda w: edit_callout(w, CalloutChanges(users=(USER,), curve="generate")),
    "add-user": lambda w: revoke_user(w, USER),
    "delete-user": lambda w: unrevoke_user(w, "*"),
    "add_activation": lambda w: revoke_activation(w, "B"),
    "delete_activation": lambda w: unrevoke_activation(w, "*"),
}


def _filled(home: Path, **more: Any) -> NscFolders:
    """An account A on which each operation works."""
    made = NscFolders(home, "A", "B", **more)
    claims = made.claims("A")
    claims.nats.exports = [Export(name="e", subject="e", type="stream", revocations={"*": 1})]
    claims.nats.imports = [Import(name="i", subject="i", type="stream", account=made.key("B"))]
    claims.nats.mappings = {"a": [WeightedMapping(subject="b")]}
    claims.nats.revocations = {"*": 1}
    signer = key_of(KeyRole.ACCOUNT, "A") if made.store.managed else made.operator
    made.store.write_account(encode(claims, signer, now=NOW))
    return made


@pytest.fixture
def folders(tmp_path: Path) -> NscFolders:
    return _filled(tmp_path / "nsc")


@pytest.fixture(params=OPERATIONS)
def operation(request: pytest.FixtureRequest) -> Callable[[Workspace], Any]:
    return OPERATIONS[request.param]


def test_each_works_and_changes_one_file(folders: NscFolders, operation: Callable[[Workspace], Any]) -> None:
    before = folders.content()
    done = operation(folders.workspace("A"))
    assert done.account == "A"
    assert not done.report.failed
    after = folders.content()
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    assert {name for name in changed if name.endswith(".jwt")} == {"OP/accounts/A/A.jwt"}
    assert all(name.startswith("keys/") for name in changed if not name.endswith(".jwt"))
    assert folders.claims("A").nats == done.claims.ready().nats


@pytest.mark.parametrize(
    ("named", "error"),
    [
        (key_of(KeyRole.ACCOUNT, "A").seed, "is the seed of an account, not of an operator"),
        (key_of(KeyRole.ACCOUNT, "A").public_key, "of an account, not of an operator"),
        (USER, "of a user, not of an operator"),
        (key_of(KeyRole.OPERATOR, "foreign").seed, "may not sign here"),
        (key_of(KeyRole.OPERATOR, "foreign").public_key, "cannot sign"),
        ("no-such-file", "nor a file"),
    ],
)
def test_a_key_that_may_not_sign_changes_nothing(
    folders: NscFolders, operation: Callable[[Workspace], Any], named: str, error: str
) -> None:
    before = folders.content()
    with pytest.raises(IdentityError, match=error) as raised:
        operation(folders.workspace("A", private_key=named))
    assert not named.startswith("S") or named not in str(raised.value)
    assert folders.content() == before


def test_without_a_stored_key_nothing_changes(
    folders: NscFolders, operation: Callable[[Workspace], Any]
) -> None:
    folders.keystore.remove(folders.operator.public_key)
    before = folders.content()
    with pytest.raises(IdentityError, match="unable to resolve any of the following signing keys"):
        operation(folders.workspace("A"))
    assert folders.content() == before


def test_a_strict_operators_identity_signs_nothing(
    folders: NscFolders, operation: Callable[[Workspace], Any]
) -> None:
    claims = folders.store.operator()
    claims.nats.strict_signing_key_usage, claims.nats.signing_keys = True, [SIGNING.public_key]
    folders.store.write_operator(encode(claims, folders.operator, now=NOW))
    folders.store.account_path("A").write_text(encode(folders.claims("A"), SIGNING, now=NOW))
    before = folders.content()
    with pytest.raises(IdentityError, match=SIGNING.public_key):
        operation(folders.workspace("A"))
    assert folders.content() == before
    folders.keystore.add(SIGNING)
    assert operation(folders.workspace("A")).account == "A"
    assert folders.claims("A").iss == SIGNING.public_key


@pytest.mark.parametrize("text", ["", "eyJhbGciOiJ", "not a token", "\x00\x01"])
def test_a_damaged_account_is_named_and_left(
    folders: NscFolders, operation: Callable[[Workspace], Any], text: str
) -> None:
    workspace = folders.workspace("A")
    folders.store.account_path("A").write_text(text)
    before = folders.content()
    with pytest.raises(FolderError, match=r"A\.jwt"):
        operation(workspace)
    assert folders.content() == before


def test_a_damaged_operator_is_named(folders: NscFolders, operation: Callable[[Workspace], Any]) -> None:
    workspace = folders.workspace("A")
    folders.store.operator_path.write_text("eyJ")
    before = folders.content()
    with pytest.raises(FolderError, match=r"OP\.jwt"):
        operation(workspace)
    assert folders.content() == before


def test_a_store_that_cannot_be_written_is_left(
    folders: NscFolders, operation: Callable[[Workspace], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys made for the change are gone again too."""
    workspace, write = folders.workspace("A"), files.write

    def refuse(path: Path, text: str, mode: int = 0o600) -> None:
        if path.suffix == ".jwt":
            raise FolderError(f"cannot write {path}: Read-only file system")
        write(path, text, mode)

    monkeypatch.setattr(files, "write", refuse)
    before = folders.content()
    with pytest.raises(FolderError, match="Read-only file system"):
        operation(workspace)
    assert folders.content() == before


def test_an_unknown_operator_is_reported(tmp_path: Path, operation: Callable[[Workspace], Any]) -> None:
    folders = _filled(tmp_path / "nsc")
    workspace = folders.workspace("A")
    folders.store.operator_path.with_name(".nsc").unlink()
    before = folders.content()
    with pytest.raises(IdentityError, match="OP"):
        operation(workspace)
    assert folders.content() == before


def test_in_a_managed_store_the_account_signs_itself(
    tmp_path: Path, operation: Callable[[Workspace], Any]
) -> None:
    folders = _filled(tmp_path / "nsc", managed=True)
    done = operation(folders.workspace("A"))
    assert folders.claims("A").self_signed
    (stored,) = [child for child in done.report.children if child.children]
    assert stored.text == "stored self signed account jwt"


def test_the_operators_claims_are_not_touched(folders: NscFolders) -> None:
    before = folders.store.operator_token()
    add_export(folders.workspace("A"), Export(subject="x"))
    assert folders.store.operator_token() == before
    assert isinstance(folders.store.operator(), OperatorClaims)
