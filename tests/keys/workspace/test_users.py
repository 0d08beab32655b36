"""Accounts and users made in one step, and users' credentials with a token of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from lib.nsc_folders import NOW, NscFolders, key_of
from pyjs.keys import IdentityError, KeyRole, UserClaims, decode, parse_credentials
from pyjs.keys.workspace.accounts import AccountEdits, add_account
from pyjs.keys.workspace.edits import Tags
from pyjs.keys.workspace.jetstream import JetStreamEdits
from pyjs.keys.workspace.signing import key_in_file
from pyjs.keys.workspace.users import user_credentials


@pytest.fixture
def folders(tmp_path: Path) -> NscFolders:
    made = NscFolders(tmp_path / "nsc", "A")
    made.keystore.add(made.add_user("A", "ann"))
    return made


def test_credentials_may_end_before_the_user_does(folders: NscFolders) -> None:
    before = folders.content()
    forever = parse_credentials(user_credentials(folders.workspace(), "A", "ann"))
    assert forever.jwt == folders.store.user_token("A", "ann")
    ends = NOW // 10**9 + 60
    short = parse_credentials(user_credentials(folders.workspace(), "A", "ann", expiry=ends))
    assert decode(short.jwt, UserClaims).exp == ends
    assert decode(short.jwt, UserClaims).sub == forever.key.public_key
    assert folders.content() == before


def test_credentials_need_the_seed_and_for_an_end_the_key_that_signed(folders: NscFolders) -> None:
    folders.add_user("A", "bob")
    with pytest.raises(IdentityError, match="is not in the keystore"):
        user_credentials(folders.workspace(), "A", "bob")
    folders.keystore.remove(folders.key("A"))
    assert user_credentials(folders.workspace(), "A", "ann")
    with pytest.raises(IdentityError, match="unable to resolve"):
        user_credentials(folders.workspace(), "A", "ann", expiry=NOW)


def test_a_new_account_has_what_it_was_given_or_is_not_made(folders: NscFolders) -> None:
    before = folders.content()
    both = {"limits": {"conn": 3, "disallow_bearer": True}, "tags": Tags(add=("eu",))}
    with pytest.raises(IdentityError, match="is no limit"):
        add_account(folders.workspace(), "B", edits=AccountEdits(limits={"conn": -2}))
    assert folders.content() == before
    storage = JetStreamEdits(limits={"disk_storage": 1, "mem_storage": 2})
    edits = AccountEdits(jetstream=storage, **both)  # type: ignore[arg-type]
    body = add_account(folders.workspace(), "B", edits=edits).claims.nats
    assert (body.limits.conn, body.limits.disallow_bearer, body.tags) == (3, True, ["eu"])
    assert (body.limits.disk_storage, body.limits.mem_storage, body.limits.streams) == (1, 2, -1)


def test_a_key_is_found_on_the_line_that_is_one(folders: NscFolders, tmp_path: Path) -> None:
    pair, path = key_of(KeyRole.USER, "ann"), tmp_path / "key"
    for text in (f"{pair.seed}\n{pair.public_key}\n", user_credentials(folders.workspace(), "A", "ann")):
        path.write_text(text)
        found = key_in_file(path)
        assert found.public_key == pair.public_key and found.pair is not None
    path.write_text(f"{pair.public_key}\n")
    assert key_in_file(path).pair is None
    path.write_text(pair.seed[:-1] + ("A" if pair.seed[-1] != "A" else "B"))
    with pytest.raises(IdentityError, match="checksum"):
        key_in_file(path)
    path.write_text("nothing\n")
    with pytest.raises(IdentityError, match="could not find a valid key"):
        key_in_file(path)
