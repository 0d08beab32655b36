"""Revocations of users and of activations: as of now or a time, of one or of all, listed and removed."""

from __future__ import annotations

from pathlib import Path

import pytest
from lib.nsc_folders import NOW, NscFolders, key_of
from pyjs.keys import Export, IdentityError, KeyRole
from pyjs.keys.claims.export import Kind
from pyjs.keys.workspace.exports import add_export
from pyjs.keys.workspace.revocations import (
    Revocation,
    revoke_activation,
    revoke_user,
    revoked_activations,
    revoked_users,
    unrevoke_activation,
    unrevoke_user,
)

SECONDS = NOW // 10**9


@pytest.fixture
def folders(tmp_path: Path) -> NscFolders:
    made = NscFolders(tmp_path / "nsc", "TEST", "OTHER")
    made.add_user("TEST", "ann")
    for export in (Export(subject="s.>", name="S"), Export(subject="q", type="service")):
        add_export(made.workspace(), export, account="TEST")
    return made


@pytest.mark.parametrize("named", ["", "ann", "key"])
def test_a_user_is_revoked_as_of_now(folders: NscFolders, named: str) -> None:
    key = key_of(KeyRole.USER, "ann").public_key
    done = revoke_user(folders.workspace(), key if named == "key" else named, account="TEST")
    assert done.report.render() == f'[ OK ] revoked user "{key}"'
    assert folders.claims("TEST").nats.revocations == {key: SECONDS}
    assert revoked_users(folders.workspace(), account="TEST") == ("TEST", [Revocation(key, SECONDS)])


def test_a_later_revocation_stays(folders: NscFolders) -> None:
    for at in (1000, 500, 2000):
        done = revoke_user(folders.workspace(), "*", at=at, account="TEST")
    assert done.report.render() == "[ OK ] revoked all users issued before 1970-01-01 00:33:20 +0000 UTC"
    assert folders.claims("TEST").nats.revocations == {"*": 2000}


def test_a_user_of_nowhere_is_revoked_by_its_key(folders: NscFolders) -> None:
    key = key_of(KeyRole.USER, "gone").public_key
    assert revoke_user(folders.workspace(), key, account="TEST").key == key


@pytest.mark.parametrize(
    ("user", "error"),
    [
        ("bob", 'user bob does not exist in account "TEST"'),
        (key_of(KeyRole.ACCOUNT, "TEST").public_key, "is the public key of an account, not of a user"),
        (key_of(KeyRole.USER, "ann").seed, "a public key is expected"),
    ],
)
def test_who_is_no_user(folders: NscFolders, user: str, error: str) -> None:
    revoke_user(folders.workspace(), "ann", account="TEST")
    before = folders.content()
    for operation in (revoke_user, unrevoke_user):
        with pytest.raises(IdentityError, match=error) as raised:
            operation(folders.workspace(), user, account="TEST")
        assert key_of(KeyRole.USER, "ann").seed not in str(raised.value)
    assert folders.content() == before


def test_without_a_name_there_must_be_one_user(folders: NscFolders) -> None:
    folders.add_user("TEST", "bob")
    for account in ("TEST", "OTHER"):
        with pytest.raises(IdentityError, match="a user is required"):
            revoke_user(folders.workspace(), account=account)


def test_a_users_revocation_is_dropped_once(folders: NscFolders) -> None:
    with pytest.raises(IdentityError, match="no user revocations set in account TEST"):
        unrevoke_user(folders.workspace(), account="TEST")
    key = revoke_user(folders.workspace(), account="TEST").key
    with pytest.raises(IdentityError, match=r"public key \* is not revoked"):
        unrevoke_user(folders.workspace(), "*", account="TEST")
    done = unrevoke_user(folders.workspace(), account="TEST")
    assert done.report.render() == f'[ OK ] deleted user revocation for "{key}"'
    revoke_user(folders.workspace(), "*", account="TEST")
    assert unrevoke_user(folders.workspace(), "*", account="TEST").report.render() == (
        "[ OK ] deleted all user revocation"
    )
    assert revoked_users(folders.workspace(), account="TEST")[1] == []


def test_an_activation_is_revoked_where_the_subject_lies(folders: NscFolders) -> None:
    other = folders.key("OTHER")
    done = revoke_activation(folders.workspace(), "OTHER", subject="s.x", account="TEST")
    assert done.report.render() == f'[ OK ] revoked activation "S" for account {other}'
    done = revoke_activation(folders.workspace(), "*", kind="service", at=86400, account="TEST")
    assert done.report.render() == (
        '[ OK ] revoked all activations for "q" issued before 1970-01-02 00:00:00 +0000 UTC'
    )
    service, stream = folders.claims("TEST").nats.exports
    assert (stream.revocations, service.revocations) == ({other: SECONDS}, {"*": 86400})
    export, found = revoked_activations(folders.workspace(), account="TEST")
    assert (export.subject, found) == ("s.>", [Revocation(other, SECONDS)])


def test_an_activations_revocation_is_dropped_once(folders: NscFolders) -> None:
    revoke_activation(folders.workspace(), "*", account="TEST")
    with pytest.raises(IdentityError, match="stream export S has no revocation of account"):
        unrevoke_activation(folders.workspace(), "OTHER", account="TEST")
    done = unrevoke_activation(folders.workspace(), "*", account="TEST")
    assert done.report.render() == "[ OK ] deleted stream S revocation for all accounts"
    assert "revocations" not in folders.claims("TEST").nats.exports[1].document()


@pytest.mark.parametrize(
    ("account", "target", "subject", "kind", "error"),
    [
        ("OTHER", "TEST", "", "stream", "doesn't have exports"),
        ("TEST", "OTHER", "x", "stream", "unable to locate export"),
        ("TEST", "OTHER", "s.x", "service", "unable to locate export"),
        ("TEST", "NOBODY", "", "stream", "account NOBODY does not exist"),
        ("TEST", key_of(KeyRole.USER, "ann").public_key, "", "stream", "of a user, not of an account"),
        ("TEST", key_of(KeyRole.ACCOUNT, "OTHER").seed, "", "stream", "a public key is expected"),
    ],
)
def test_what_activation_cannot_be_revoked(
    folders: NscFolders, account: str, target: str, subject: str, kind: Kind, error: str
) -> None:
    before = folders.content()
    for operation in (revoke_activation, unrevoke_activation):
        with pytest.raises(IdentityError, match=error):
            operation(folders.workspace(), target, subject=subject, kind=kind, account=account)
    assert folders.content() == before


def test_of_several_exports_one_must_be_named(folders: NscFolders) -> None:
    add_export(folders.workspace(), Export(subject="t"), account="TEST")
    with pytest.raises(IdentityError, match=r"a subject is required: one of s\.>, t"):
        revoke_activation(folders.workspace(), "*", account="TEST")
    with pytest.raises(IdentityError, match="doesn't have service exports"):
        add_export(folders.workspace(), Export(subject="t"), account="OTHER")
        revoke_activation(folders.workspace(), "*", kind="service", account="OTHER")
