"""Scoped signing keys: made, promoted, found by role, edited; what servers would refuse is reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lib.nsc_folders import NscFolders, key_of
from pyjs.keys import IdentityError, KeyRole, UserScope
from pyjs.keys.workspace.permissions import PermissionEdits, UserEdits
from pyjs.keys.workspace.scopes import edit_signing_key

PLAIN = key_of(KeyRole.ACCOUNT, "plain")


@pytest.fixture
def folders(tmp_path: Path) -> NscFolders:
    made = NscFolders(tmp_path / "nsc", "TEST", "OTHER")
    claims = made.claims("TEST")
    claims.nats.signing_keys = {PLAIN.public_key: None}
    made.change(claims)
    return made


def _scope(folders: NscFolders, key: str) -> UserScope:
    scope = folders.claims("TEST").scope(key)
    assert scope is not None
    return scope


def test_a_plain_key_gets_a_scope_without_limits(folders: NscFolders) -> None:
    done = edit_signing_key(folders.workspace("TEST"), PLAIN.public_key, role="r", description="d")
    assert done.report.render() == f'[ OK ] edited signing key "{PLAIN.public_key}"'
    scope = _scope(folders, PLAIN.public_key)
    assert (scope.key, scope.role, scope.description) == (PLAIN.public_key, "r", "d")
    assert (scope.template.subs, scope.template.data, scope.template.payload) == (-1, -1, -1)


def test_users_that_servers_will_refuse_are_reported(folders: NscFolders) -> None:
    folders.add_user("TEST", "ann", PLAIN)
    folders.add_user("TEST", "bob")
    done = edit_signing_key(folders.workspace("TEST"), PLAIN.public_key)
    (warning,) = [child.text for child in done.report.children if child.text.startswith("user")]
    assert warning.startswith('user "ann" is issued by this key')
    again = edit_signing_key(folders.workspace("TEST"), PLAIN.public_key, role="r")
    assert len(again.report.children) == 1


def test_a_generated_key_is_stored(folders: NscFolders) -> None:
    done = edit_signing_key(folders.workspace("TEST"), "generate", role="new")
    assert folders.keystore.has(done.scope.key)
    assert _scope(folders, done.scope.key).role == "new"


@pytest.mark.parametrize("how", ["role", "key", "named", "seed", "file"])
def test_a_key_is_found_by_all_its_names(folders: NscFolders, how: str, tmp_path: Path) -> None:
    edit_signing_key(folders.workspace("TEST"), PLAIN.public_key, role="r")
    (tmp_path / "seed.nk").write_text(PLAIN.seed)
    key = {"key": PLAIN.public_key, "named": "r", "seed": PLAIN.seed, "file": str(tmp_path / "seed.nk")}
    done = edit_signing_key(
        folders.workspace("TEST"),
        key.get(how, ""),
        role="r" if how == "role" else None,
        edits=UserEdits(subs=3),
    )
    assert done.scope.key == PLAIN.public_key
    assert _scope(folders, PLAIN.public_key).template.subs == 3


def test_edits_of_a_template_keep_the_rest(folders: NscFolders) -> None:
    workspace = folders.workspace("TEST")
    edits = UserEdits(permissions=PermissionEdits(allow_pub=("a.{{name()}}",)), data=5, src=("10.0.0.0/8",))
    done = edit_signing_key(workspace, PLAIN.public_key, role="r", edits=edits)
    assert [child.text for child in done.report.children] == [
        "changed max data to 5",
        "added src network 10.0.0.0/8",
        'added pub "a.{{name()}}"',
        f'edited signing key "{PLAIN.public_key}"',
    ]
    edit_signing_key(workspace, "r", edits=UserEdits(bearer=True))
    template = _scope(folders, PLAIN.public_key).template
    assert (template.data, template.pub.allow, template.src) == (5, ["a.{{name()}}"], ["10.0.0.0/8"])
    assert template.bearer_token


@pytest.mark.parametrize(
    ("key", "options", "error"),
    [
        ("", {}, "signing key is required"),
        ("", {"role": "nope"}, 'no signing key has the role "nope" yet'),
        ("nope", {}, "neither an account key nor a file"),
        (key_of(KeyRole.USER, "u").public_key, {}, "of a user, not of an account"),
        (key_of(KeyRole.OPERATOR, "operator").seed, {}, "of an operator, not of an account"),
        (key_of(KeyRole.ACCOUNT, "TEST").public_key, {}, "identity key of an account is no signing key"),
        (PLAIN.public_key, {"edits": UserEdits(src=("nowhere",))}, "is no network"),
        (PLAIN.public_key, {"edits": UserEdits(locale="Nowhere/City")}, "unknown time zone"),
        (PLAIN.public_key, {"edits": UserEdits(conn_types=("PIGEON",))}, "unknown connection type"),
        (PLAIN.public_key, {"edits": UserEdits(subs=-2)}, "is no limit of subs"),
        (
            PLAIN.public_key,
            {"edits": UserEdits(permissions=PermissionEdits(allow_pub=("a..b",)))},
            "consecutive",
        ),
        ("generate", {"edits": UserEdits(permissions=PermissionEdits(allow_pub=("a..b",)))}, "consecutive"),
    ],
)
def test_what_is_refused_changes_nothing(
    folders: NscFolders, key: str, options: dict[str, Any], error: str
) -> None:
    before = folders.content()
    with pytest.raises(IdentityError, match=error) as raised:
        edit_signing_key(folders.workspace("TEST"), key, **options)
    assert key_of(KeyRole.OPERATOR, "operator").seed not in str(raised.value)
    assert folders.content() == before


def test_of_two_keys_with_one_role_the_key_must_be_named(folders: NscFolders) -> None:
    for key in ("generate", PLAIN.public_key):
        edit_signing_key(folders.workspace("TEST"), key, role="both")
    with pytest.raises(IdentityError, match='several signing keys have the role "both"'):
        edit_signing_key(folders.workspace("TEST"), "both")
    edit_signing_key(folders.workspace("TEST"), PLAIN.public_key, role="one")
    assert edit_signing_key(folders.workspace("TEST"), "one").scope.key == PLAIN.public_key
