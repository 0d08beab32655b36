"""The keystore: seeds and credentials in their places, private, and checked when they are read."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from pyjs.keys.errors import DamagedError, FolderError, ForeignError, NkeyError, NotFoundError
from pyjs.keys.folders.keystore import Keystore
from pyjs.keys.nkey import KeyRole


@pytest.fixture
def keystore(tmp_path: Path) -> Keystore:
    return Keystore(tmp_path / "keys")


def test_a_seed_is_filed_by_its_public_key(party: Any, keystore: Keystore) -> None:
    public = party.user.public_key
    path = keystore.add(party.user)
    assert path == keystore.root / "keys" / "U" / public[1:3] / f"{public}.nk"
    assert path.read_text() == party.user.seed
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert keystore.get(public).seed == party.user.seed
    assert keystore.add(party.user) == path
    ignored = (keystore.root / ".gitignore").read_text().split()
    assert {"**/*.nk", "**/*.creds"} <= set(ignored)


def test_git_gets_no_ignore_file_where_that_is_wanted(party: Any, tmp_path: Path) -> None:
    Keystore(tmp_path / "keys", git_ignore=False).add(party.user)
    assert not (tmp_path / "keys" / ".gitignore").exists()


def test_keys_are_listed_by_role(party: Any, keystore: Keystore) -> None:
    for pair in (party.user, party.account, party.operator):
        keystore.add(pair)
    keystore.path(party.user.public_key).with_name("notes.nk").write_text("x")
    assert keystore.keys() == sorted(p.public_key for p in (party.user, party.account, party.operator))
    assert keystore.keys(KeyRole.USER) == [party.user.public_key]


def test_the_last_key_takes_its_folders_with_it(party: Any, keystore: Keystore) -> None:
    keystore.add(party.user)
    assert keystore.remove(party.user.public_key)
    assert not keystore.remove(party.user.public_key)
    assert list((keystore.root / "keys").iterdir()) == []


def test_what_is_missing_damaged_or_another_key_is_told_apart(party: Any, keystore: Keystore) -> None:
    public = party.user.public_key
    with pytest.raises(NotFoundError, match=public):
        keystore.get(public)
    path = keystore.add(party.user)
    for content in (party.user.seed[:-1], party.user.public_key, party.key(KeyRole.USER, "else").seed):
        path.write_text(content)
        with pytest.raises(DamagedError) as caught:
            keystore.get(public)
        assert content not in str(caught.value) or content == public
        with pytest.raises(DamagedError):
            keystore.add(party.user)
    with pytest.raises(NkeyError):
        keystore.get("../../etc/passwd")


def test_credentials_have_their_place(party: Any, keystore: Keystore) -> None:
    token = party.signed(party.user_claims(), party.account)
    path = keystore.write_credentials("OP", "ACC", "ann", token, party.user.seed)
    assert path == keystore.root / "creds" / "OP" / "ACC" / "ann.creds"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert keystore.credentials("OP", "ACC", "ann").jwt == token
    assert keystore.remove_credentials("OP", "ACC", "ann")
    with pytest.raises(NotFoundError):
        keystore.credentials("OP", "ACC", "ann")
    for names in (("..", "ACC", "ann"), ("OP", "a/b", "ann"), ("OP", "ACC", "")):
        with pytest.raises(FolderError):
            keystore.credentials_path(*names)


def test_the_older_layout_is_foreign(party: Any, keystore: Keystore) -> None:
    keystore.check_layout()
    keystore.add(party.user)
    keystore.write_credentials(
        "OP", "A", "u", party.signed(party.user_claims(), party.account), party.user.seed
    )
    keystore.check_layout()
    stray = keystore.root / "OP" / "accounts" / "A" / "users" / "u.creds"
    stray.parent.mkdir(parents=True)
    stray.write_text("x")
    with pytest.raises(ForeignError, match="older layout"):
        keystore.check_layout()
