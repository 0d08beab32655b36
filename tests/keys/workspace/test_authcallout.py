"""The authorization callout of an account: users, accounts, curve key, its removal, and contradictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lib.nsc_folders import NscFolders, key_of
from pyjs.keys import IdentityError, KeyRole
from pyjs.keys.workspace.authcallout import CalloutChanges, edit_callout

ANN = key_of(KeyRole.USER, "ann").public_key
OTHER = key_of(KeyRole.ACCOUNT, "OTHER").public_key
CURVE = key_of(KeyRole.CURVE, "curve")


@pytest.fixture
def folders(tmp_path: Path) -> NscFolders:
    made = NscFolders(tmp_path / "nsc", "TEST", "OTHER")
    made.add_user("TEST", "ann")
    return made


def _edit(folders: NscFolders, **changes: Any) -> list[str]:
    done = edit_callout(folders.workspace("TEST"), CalloutChanges(**changes))
    assert folders.claims("TEST").nats.authorization == done.authorization
    return [child.text for child in done.report.children]


@pytest.mark.parametrize(("user", "account"), [("ann", "OTHER"), (ANN, OTHER)])
def test_users_and_accounts_by_name_or_key(folders: NscFolders, user: str, account: str) -> None:
    assert _edit(folders, users=(user,), accounts=(account,)) == [
        f'added user "{ANN}"',
        f'added account "{OTHER}"',
    ]
    assert _edit(folders, users=(user,), accounts=(account,)) == [
        f'skipped adding user "{ANN}" - as it\'s already set',
        f'skipped adding account "{OTHER}" - as it\'s already set',
    ]
    assert _edit(folders, rm_accounts=(account,), rm_users=(user,)) == [
        f'deleted user "{ANN}"',
        f'deleted account "{OTHER}"',
    ]
    assert _edit(folders, rm_accounts=("*",)) == ['skipping account "*" - as it\'s not currently set']


def test_any_account(folders: NscFolders) -> None:
    assert _edit(folders, users=("ann",), accounts=("*",))[1] == 'added account "*"'


def test_a_curve_key_is_set_made_and_removed(folders: NscFolders) -> None:
    assert _edit(folders, users=("ann",), curve=CURVE.public_key)[1] == f"set curve key {CURVE.public_key}"
    assert not folders.keystore.has(CURVE.public_key)
    assert _edit(folders, curve=CURVE.seed) == [f"set curve key {CURVE.public_key}"]
    assert folders.keystore.has(CURVE.public_key)
    made = _edit(folders, curve="generate")[0].removeprefix("set curve key ")
    assert folders.keystore.has(made)
    assert _edit(folders, rm_curve=True) == [f"removed {made} curve key"]
    assert "was not set" in _edit(folders, rm_curve=True)[0]


def test_disabling_takes_everything(folders: NscFolders) -> None:
    _edit(folders, users=("ann",), accounts=("*",), curve=CURVE.public_key)
    assert _edit(folders, disable=True) == ["removed external authorization configuration"]
    callout = folders.claims("TEST").nats.authorization
    assert callout is not None
    assert callout.document() == {}


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({}, "please specify some options"),
        ({"disable": True, "users": ("ann",)}, "--disable is exclusive of all other options"),
        ({"curve": "generate", "rm_curve": True}, "set or removed, not both"),
        ({"users": ("bob",)}, 'user bob does not exist in account "TEST"'),
        ({"users": (OTHER,)}, "is the public key of an account, not of a user"),
        ({"users": (key_of(KeyRole.USER, "ann").seed,)}, "a public key is expected"),
        ({"users": ("ann",), "accounts": ("NOBODY",)}, "account NOBODY does not exist"),
        ({"users": ("ann",), "accounts": (ANN,)}, "is the public key of a user, not of an account"),
        ({"accounts": ("*",)}, "cannot have accounts without users"),
        ({"users": ("ann",), "accounts": ("*", OTHER)}, "can only be a list of accounts or"),
        ({"users": ("ann",), "curve": OTHER}, "of an account, not of a curve"),
        ({"accounts": (OTHER,), "curve": "generate"}, "cannot have accounts without users"),
    ],
)
def test_nonsense_changes_nothing(folders: NscFolders, changes: dict[str, Any], error: str) -> None:
    before = folders.content()
    with pytest.raises(IdentityError, match=error) as raised:
        _edit(folders, **changes)
    assert key_of(KeyRole.USER, "ann").seed not in str(raised.value)
    assert folders.content() == before
