"""Imports, open or with activations; circles, mistaken activations and wrong subjects are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lib.nsc_folders import NscFolders, key_of
from pyjs.keys import Export, IdentityError, Import, KeyRole
from pyjs.keys.claims.export import Kind
from pyjs.keys.workspace.activations import generate_activation
from pyjs.keys.workspace.exports import add_export
from pyjs.keys.workspace.imports import (
    ImportChanges,
    add_activated_import,
    add_import,
    add_imports,
    delete_import,
    edit_import,
    find_local,
)
from pyjs.keys.workspace.revocations import revoke_activation

DAY = 86400


@pytest.fixture
def folders(tmp_path: Path) -> NscFolders:
    made = NscFolders(tmp_path / "nsc", "A", "B", "C")
    for export in (
        Export(subject="open.>"),
        Export(subject="svc.*.*", type="service"),
        Export(subject="secret", token_req=True),
        Export(subject="closed.*", type="service", token_req=True),
        Export(subject="mine.*.in", account_token_position=2),
    ):
        add_export(made.workspace(), export, account="A")
    return made


def _add(folders: NscFolders, **fields: Any) -> str:
    item = Import(**{"account": "A", "subject": "open.x", **fields})
    return str(add_import(folders.workspace(), item, account="B").report.render())


def _token(folders: NscFolders, importer: str = "B", subject: str = "secret", **more: Any) -> str:
    return generate_activation(folders.workspace(), importer, subject=subject, account="A", **more).token


def test_an_import_is_a_stream_unless_told_otherwise(folders: NscFolders) -> None:
    assert _add(folders) == '[ OK ] added stream import "open.x"'
    assert _add(folders, subject="svc.a.b", type="service", local_subject="here", share=True) == (
        '[ OK ] added service import "svc.a.b"'
    )
    stream, service = folders.claims("B").nats.imports
    assert stream.document() == {
        "name": "open.x",
        "subject": "open.x",
        "account": folders.key("A"),
        "type": "stream",
    }
    assert (service.local_subject, service.share) == ("here", True)


def test_the_exporter_may_be_named_by_its_key_and_be_unknown_here(folders: NscFolders) -> None:
    stranger = key_of(KeyRole.ACCOUNT, "elsewhere").public_key
    done = add_import(folders.workspace(), Import(subject="x", account=stranger), account="B")
    assert done.report.render() == '[ OK ] added stream import "x"'
    assert (
        "added"
        in add_import(
            folders.workspace(), Import(subject="open.y", account=folders.key("A")), account=folders.key("B")
        ).report.render()
    )


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"subject": "nothing"}, "account A exports no stream nothing"),
        ({"subject": "open.x", "type": "service"}, "exports no service"),
        ({"subject": "secret"}, "is private and the import has no activation"),
        ({"subject": "mine.*.in"}, "must be the importing account's key"),
    ],
)
def test_what_servers_would_not_serve_yet_is_reported(
    folders: NscFolders, fields: dict[str, Any], reason: str
) -> None:
    text = _add(folders, **fields)
    assert "[WARN] servers will not serve it yet: " in text
    assert reason in text


def test_an_account_at_its_place_is_served(folders: NscFolders) -> None:
    assert "WARN" not in _add(folders, subject=f"mine.{folders.key('B')}.in", local_subject="mine.in")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"subject": ""}, "a remote subject is required"),
        ({"account": ""}, "an account to import from is required"),
        ({"account": "B"}, "export issuer is this account"),
        ({"account": "NOBODY"}, "account NOBODY does not exist in the current operator"),
        ({"account": key_of(KeyRole.USER, "u").public_key}, "is the public key of a user, not of an account"),
        ({"subject": "held"}, "account already imports stream"),
        ({"subject": "a b"}, "cannot have spaces"),
        ({"subject": "open.*.*", "local_subject": "y"}, "there are 2, it uses 0"),
        ({"subject": "open.*", "local_subject": "y.*.*"}, "there are 1, it uses 2"),
        ({"subject": "open.*.*", "local_subject": "y.$1"}, "there are 2, it uses 1"),
        ({"subject": "open.*", "local_subject": "y.$2"}, "Reference $2"),
        ({"subject": "open.>", "local_subject": "y"}, "need to end or not end in >"),
        ({"share": True}, "only services can set the share property"),
        ({"type": "service", "allow_trace": True}, "only streams can allow traces on import"),
        ({"subject": "svc.a.*", "type": "service"}, "overlapping subject namespace"),
        ({"subject": "svc.x.y", "type": "service", "local_subject": "svc.a.b"}, "overlapping"),
    ],
)
def test_what_is_no_import_changes_nothing(folders: NscFolders, fields: dict[str, Any], error: str) -> None:
    _add(folders, subject="held")
    _add(folders, subject="svc.a.b", type="service")
    before = folders.content()
    with pytest.raises(IdentityError) as raised:
        _add(folders, **fields)
    assert error in str(raised.value)
    assert folders.content() == before


def test_a_seed_where_a_public_key_belongs_is_refused_unsaid(folders: NscFolders) -> None:
    before, seed = folders.content(), key_of(KeyRole.ACCOUNT, "A").seed
    with pytest.raises(IdentityError, match="a public key is expected") as raised:
        add_import(folders.workspace(), Import(subject="x", account=seed), account="B")
    assert seed not in str(raised.value)
    assert folders.content() == before


def _circle(folders: NscFolders, kind: Kind) -> None:
    """A exports to B, B to C; C's import into A would close it."""
    for account in "ABC":
        add_export(folders.workspace(), Export(subject="round.>", type=kind), account=account)
    for importer, exporter in (("B", "A"), ("C", "B")):
        item = Import(subject="round.>", account=exporter, type=kind)
        add_import(folders.workspace(), item, account=importer)


@pytest.mark.parametrize("kind", ["stream", "service"])
def test_a_circle_of_imports_is_reported_with_its_way(folders: NscFolders, kind: Kind) -> None:
    _circle(folders, kind)
    before = folders.content()
    with pytest.raises(IdentityError, match="would close a circle") as raised:
        add_import(folders.workspace(), Import(subject="round.a", account="C", type=kind), account="A")
    assert "A imports from C imports from B imports from A" in str(raised.value)
    assert folders.content() == before


def test_importing_from_each_other_is_no_circle_while_subjects_differ(folders: NscFolders) -> None:
    _circle(folders, "stream")
    item = Import(subject="round.>", account="C", local_subject="away.>")
    assert "added" in add_import(folders.workspace(), item, account="A").report.render()


def test_a_damaged_neighbour_stops_no_import(folders: NscFolders) -> None:
    folders.store.account_path("C").write_text("eyJ")
    assert "added" in _add(folders)


def test_an_activation_brings_its_import(folders: NscFolders) -> None:
    done = add_activated_import(folders.workspace(), _token(folders), account="B")
    assert done.report.render() == '[ OK ] added stream import "secret"'
    assert (done.item.account, done.item.name, done.item.local_subject) == (folders.key("A"), "secret", "")
    service = add_activated_import(
        folders.workspace(), _token(folders, subject="closed.one"), name="mine", account="B"
    )
    assert (service.item.type, service.item.name, service.item.local_subject) == (
        "service",
        "mine",
        "closed.one",
    )


def test_an_activation_for_another_account_is_refused(folders: NscFolders) -> None:
    token, before = _token(folders, importer="C"), folders.content()
    with pytest.raises(IdentityError, match="not intended for this account") as raised:
        add_activated_import(folders.workspace(), token, account="B")
    assert "(C)" in str(raised.value)
    assert token not in str(raised.value)
    assert folders.content() == before


def test_an_expired_activation_is_refused(folders: NscFolders) -> None:
    token, before = _token(folders, expiry=folders.now // 10**9 + DAY), folders.content()
    folders.now += 2 * DAY * 10**9
    with pytest.raises(IdentityError, match="is expired"):
        add_activated_import(folders.workspace(), token, account="B")
    assert folders.content() == before


@pytest.mark.parametrize("importer", ["B", "*"])
def test_a_revoked_activation_is_refused(folders: NscFolders, importer: str) -> None:
    token = _token(folders)
    revoke_activation(folders.workspace(), importer, subject="secret", account="A")
    before = folders.content()
    with pytest.raises(IdentityError, match="is revoked"):
        add_activated_import(folders.workspace(), token, account="B")
    assert folders.content() == before
    folders.now += 10**9
    assert "added" in add_activated_import(folders.workspace(), _token(folders), account="B").report.render()


@pytest.mark.parametrize("token", ["", "eyJ", "a.b.c"])
def test_what_is_no_activation(folders: NscFolders, token: str) -> None:
    before = folders.content()
    with pytest.raises(IdentityError):
        add_activated_import(folders.workspace(), token, account="B")
    with pytest.raises(IdentityError):
        add_activated_import(folders.workspace(), folders.store.account_token("A"), account="B")
    assert folders.content() == before


def test_imports_are_deleted_by_their_subject(folders: NscFolders) -> None:
    _add(folders)
    done = delete_import(folders.workspace(), account="B")
    assert done.report.render() == '[ OK ] deleted stream import "open.x"'
    assert folders.claims("B").nats.imports == []


def test_the_exporter_or_the_kind_chooses_among_imports_of_one_subject(folders: NscFolders) -> None:
    _add(folders)
    add_import(folders.workspace(), Import(subject="open.x", account="C"), account="B")
    before = folders.content()
    with pytest.raises(IdentityError, match="--src-account with one of") as raised:
        delete_import(folders.workspace(), subject="open.x", account="B")
    assert folders.key("A") in str(raised.value)
    with pytest.raises(IdentityError, match='no import matching "nope" found'):
        delete_import(folders.workspace(), subject="nope", account="B")
    with pytest.raises(IdentityError, match="subject is required"):
        delete_import(folders.workspace(), account="B")
    with pytest.raises(IdentityError, match="doesn't have imports"):
        delete_import(folders.workspace(), account="C")
    assert folders.content() == before
    delete_import(folders.workspace(), subject="open.x", exporter="A", account="B")
    (left,) = folders.claims("B").nats.imports
    assert left.account == folders.key("C")
    add_import(folders.workspace(), Import(subject="open.x", account="C", type="service"), account="B")
    with pytest.raises(IdentityError, match="say which one is meant"):
        delete_import(folders.workspace(), subject="open.x", account="B")
    assert delete_import(folders.workspace(), subject="open.x", kind="service", account="B").item.type == (
        "service"
    )


def test_several_imports_are_added_together_or_not_at_all(folders: NscFolders) -> None:
    good, bad = Import(subject="open.x", account="A"), Import(subject="open.y", account="B")
    before = folders.content()
    with pytest.raises(IdentityError, match="cannot import from itself"):
        add_imports(folders.workspace(), [good, bad], account="B")
    assert folders.content() == before
    added = add_imports(folders.workspace(), [good, Import(subject="open.y", account="A")], account="B")
    assert [result.item.subject for result in added] == ["open.x", "open.y"]
    assert len(folders.claims("B").nats.imports) == 2


def test_an_import_is_edited_by_the_rules_of_adding_one(folders: NscFolders) -> None:
    _add(folders, subject="svc.*.*", type="service", local_subject="s.$1.$2")
    here = folders.workspace()
    item = find_local(folders.claims("B"), "s.*.*")
    assert item == find_local(folders.claims("B"), "s.$1.$2")
    for changes, text in (
        (ImportChanges(), "specify some options"),
        (ImportChanges(local_subject="s.$1"), "must use each wildcard"),
        (ImportChanges(allow_trace=True), "only streams can allow traces"),
    ):
        with pytest.raises(IdentityError, match=text):
            edit_import(here, changes, subject="svc.*.*", account="B")
    edit_import(here, ImportChanges(local_subject="t.$2.$1", share=True), subject="svc.*.*", account="B")
    (item,) = folders.claims("B").nats.imports
    assert (item.local_subject, item.share, item.subject) == ("t.$2.$1", True, "svc.*.*")
    with pytest.raises(IdentityError, match="imports nothing as"):
        find_local(folders.claims("B"), "s.*.*")


def test_two_imports_of_one_local_subject_need_a_kind(folders: NscFolders) -> None:
    _add(folders, subject="open.x", local_subject="mine")
    add_export(folders.workspace(), Export(subject="mine", type="service"), account="A")
    _add(folders, subject="mine", type="service")
    with pytest.raises(IdentityError, match="a stream and a service"):
        find_local(folders.claims("B"), "mine")
    assert find_local(folders.claims("B"), "mine", "stream").subject == "open.x"
