"""Renaming, reissuing, exporting and upgrading when a write fails or a file is incomplete."""

from __future__ import annotations

import base64
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from lib.nsc_folders import NscFolders, key_of
from pyjs.keys import (
    FolderError,
    IdentityError,
    KeyPair,
    KeyRole,
    NotFoundError,
    NscDirectories,
    Stores,
    Workspace,
    WorkspaceError,
)
from pyjs.keys.workspace.export_keys import export_keys
from pyjs.keys.workspace.fix import fix
from pyjs.keys.workspace.import_entities import import_account, import_keys, import_user
from pyjs.keys.workspace.keyring import KeyFilter, collect
from pyjs.keys.workspace.layout import migrate_keystore
from pyjs.keys.workspace.loading import SetupSource
from pyjs.keys.workspace.reissue import reissue_operator
from pyjs.keys.workspace.rename import rename_account
from pyjs.keys.workspace.upgrade import backup, needs_upgrade, upgrade
from pyjs.keys.workspace.validation import validate


@pytest.fixture
def folders(tmp_path: Path) -> NscFolders:
    made = NscFolders(tmp_path / "nsc", "A", "B")
    made.keystore.add(made.add_user("A", "ann"))
    made.workspace()
    return made


def failing_after(monkeypatch: pytest.MonkeyPatch, writes: int) -> None:
    """Let the first `writes` files be written, and one more fail as on a read-only disk; then all is well."""
    left, real = [writes], tempfile.mkstemp

    def mkstemp(**words: Any) -> tuple[int, str]:
        left[0] -= 1
        if left[0] == -1:
            raise PermissionError(13, "Permission denied")
        return real(**words)

    monkeypatch.setattr(tempfile, "mkstemp", mkstemp)


def tokens(folders: NscFolders) -> dict[str, bytes]:
    return {name: text for name, text in folders.content().items() if not name.startswith("keys/")}


@pytest.mark.parametrize("writes", [0, 1])
def test_a_renaming_that_fails_leaves_the_account(
    folders: NscFolders, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    before = folders.content()
    failing_after(monkeypatch, writes)
    with pytest.raises(FolderError, match="Permission denied"):
        rename_account(folders.workspace(), "A", "NEW")
    assert folders.content() == before and folders.store.accounts() == ["A", "B"]


def test_credentials_that_cannot_move_take_the_renaming_back(
    folders: NscFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = folders.keystore.get(folders.store.user("A", "ann").sub).seed
    folders.keystore.write_credentials("OP", "A", "ann", folders.store.user_token("A", "ann"), seed)
    before = folders.content()
    real = Path.rename

    def rename(path: Path, target: Path) -> Path:
        if path.is_dir():
            raise PermissionError(13, "Permission denied")
        return real(path, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(FolderError, match="cannot rename"):
        rename_account(folders.workspace(), "A", "NEW")
    assert folders.content() == before


@pytest.mark.parametrize("writes", [1, 2, 3])
def test_a_reissue_that_fails_takes_all_tokens_back(
    folders: NscFolders, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    before = tokens(folders)
    failing_after(monkeypatch, writes)
    with pytest.raises(FolderError, match="Permission denied"):
        reissue_operator(folders.workspace())
    assert tokens(folders) == before
    assert not validate(folders.workspace()).failed


def test_an_import_into_a_read_only_folder_changes_nothing(
    folders: NscFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = key_of(KeyRole.USER, "new")
    token = folders.store.user_token("A", "ann")
    path = tmp_path / "ann.jwt"
    path.write_text(token)
    folders.store.remove_user("A", "ann")
    (tmp_path / "k").mkdir()
    (tmp_path / "k" / "new.nk").write_text(pair.seed)
    before = folders.content()
    failing_after(monkeypatch, 0)
    with pytest.raises(FolderError, match="Permission denied"):
        import_user(folders.workspace(), path)
    failing_after(monkeypatch, 0)
    reported = import_keys(folders.workspace(), tmp_path / "k").report
    assert reported.failed and pair.seed not in reported.render()
    assert folders.content() == before


def test_an_import_of_a_folder_or_half_a_file_is_refused(folders: NscFolders, tmp_path: Path) -> None:
    (tmp_path / "x.jwt").mkdir()
    with pytest.raises(FolderError, match="is a directory"):
        import_account(folders.workspace(), tmp_path / "x.jwt")
    (tmp_path / "empty.jwt").touch()
    with pytest.raises(FolderError, match="not written completely"):
        import_account(folders.workspace(), tmp_path / "empty.jwt")


def test_an_export_that_fails_keeps_the_key(folders: NscFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    target = folders.home.parent / "out"
    failing_after(monkeypatch, 0)
    with pytest.raises(FolderError, match="Permission denied"):
        export_keys(folders.workspace(), KeyFilter(frozenset({KeyRole.USER})), target, remove=True)
    assert folders.keystore.has(folders.store.user("A", "ann").sub)


def test_a_seed_that_is_damaged_is_an_error_of_its_own(folders: NscFolders, tmp_path: Path) -> None:
    folders.keystore.path(folders.key("B")).write_text("half")
    done = export_keys(folders.workspace(), KeyFilter(), tmp_path / "out")
    assert done.report.failed and not (tmp_path / "out").exists()
    assert f"error reading seed for {folders.key('B')}" in done.report.render()


def test_keys_do_not_show_their_tokens_or_seeds(folders: NscFolders) -> None:
    shown = repr(collect(folders.workspace(), KeyFilter()))
    assert "eyJ" not in shown and KeyPair.create(KeyRole.USER).seed[:2] + "A" not in shown
    assert "SECRET" not in repr(SetupSource("http://x", "SECRET"))


def test_a_keystore_is_left_when_it_cannot_be_moved(
    folders: NscFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "one.nk").write_text(key_of(KeyRole.USER, "one").seed)
    environment = {"HOME": str(folders.home), "NKEYS_PATH": str(old)}
    directories = NscDirectories.locate(
        environment, tmp_path, config_dir=str(folders.home), data_dir=str(folders.home), keystore_dir=str(old)
    )
    workspace = Workspace.open(directories, now=lambda: folders.now, layout=False)
    failing_after(monkeypatch, 1)
    with pytest.raises(FolderError, match="Permission denied"):
        migrate_keystore(workspace)
    assert [path.name for path in old.iterdir()] == ["one.nk"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nsc", "old"]


def test_of_two_tokens_the_later_is_rebuilt(folders: NscFolders, tmp_path: Path) -> None:
    first = folders.store.account_token("A")
    claims = folders.claims("A")
    claims.nats.description = "later"
    folders.now += 10**9
    folders.change(claims)
    for number, token in enumerate((folders.store.account_token("A"), first, folders.store.operator_token())):
        (tmp_path / f"{number}.jwt").write_text(token)
    done = fix([tmp_path], tmp_path / "out")
    assert (done.operators, done.accounts, done.nkeys) == (1, 2, 4)
    reported = done.report.render()
    assert "ignoring older config" in reported
    assert Stores(tmp_path / "out/operators").open("OP").account("A").nats.description == "later"


def v1(document: dict[str, Any], signer: KeyPair) -> str:
    """A token as the tools of version 1 made it: the signature covers the payload alone."""

    def chunk(raw: bytes) -> str:
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    payload = chunk(json.dumps({**document, "iss": signer.public_key, "iat": 1_500_000_000}).encode())
    header = chunk(b'{"typ":"jwt","alg":"ed25519"}')
    return f"{header}.{payload}.{chunk(signer.sign(payload.encode()))}"


@pytest.fixture
def old(folders: NscFolders) -> NscFolders:
    """The same store as version 1 had it."""
    operator, account, user = folders.operator, key_of(KeyRole.ACCOUNT, "A"), key_of(KeyRole.USER, "ann")
    store = folders.store
    for path, document, signer in (
        (store.operator_path, {"sub": operator.public_key, "name": "OP", "type": "operator"}, operator),
        (store.account_path("A"), {"sub": account.public_key, "name": "A", "type": "account"}, operator),
        (store.user_path("A", "ann"), {"sub": user.public_key, "name": "ann", "type": "user"}, account),
    ):
        path.write_text(v1({**document, "nats": {}}, signer))
    return folders


def test_a_store_of_version_1_is_upgraded(old: NscFolders, tmp_path: Path) -> None:
    workspace = old.workspace()
    assert needs_upgrade(workspace)
    saved = backup(workspace, tmp_path / "saved.zip")
    with zipfile.ZipFile(saved) as archive:
        assert "OP/accounts/A/users/ann.jwt" in archive.namelist()
    with pytest.raises(FolderError, match="already exists"):
        backup(workspace, saved)
    done = upgrade(workspace)
    assert done.tokens == 3 and not done.report.failed
    assert not needs_upgrade(workspace) and not validate(workspace).failed
    assert old.store.user("A", "ann").nats.subs == -1
    assert upgrade(workspace).tokens == 0


def test_an_upgrade_needs_the_identity_key(old: NscFolders) -> None:
    old.keystore.remove(old.operator.public_key)
    before = old.content()
    with pytest.raises(NotFoundError, match="must sign the operator's new token"):
        upgrade(old.workspace())
    assert old.content() == before


def test_what_cannot_be_upgraded_is_reported(old: NscFolders) -> None:
    old.keystore.remove(old.key("A"))
    done = upgrade(old.workspace())
    assert done.tokens == 2 and "users/ann.jwt` as it is" in done.report.render()


def test_a_managed_store_is_upgraded_by_its_owner(tmp_path: Path) -> None:
    managed = NscFolders(tmp_path / "nsc", managed=True)
    managed.store.operator_path.write_text(
        v1(
            {"sub": managed.operator.public_key, "name": "OP", "type": "operator", "nats": {}},
            managed.operator,
        )
    )
    with pytest.raises(WorkspaceError, match="ask the operator's owner"):
        upgrade(managed.workspace())


def test_nothing_is_followed_out_of_the_folder(folders: NscFolders, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.nk").write_text(key_of(KeyRole.USER, "x").seed)
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(outside)
    with pytest.raises(IdentityError, match="no nkey"):
        import_keys(folders.workspace(), inside, recurse=True)
