"""Which account imports what from which other one, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lib.nsc_folders import NOW, NscFolders, key_of
from pyjs.keys import Export, Import, KeyRole
from pyjs.keys.chain import Reason
from pyjs.keys.workspace.activations import generate_activation
from pyjs.keys.workspace.relations import Relations

STRANGER = key_of(KeyRole.ACCOUNT, "stranger").public_key


@pytest.fixture
def folders(tmp_path: Path) -> NscFolders:
    made = NscFolders(tmp_path / "nsc", "A", "B")
    claims = made.claims("A")
    claims.nats.exports = [
        Export(name="open", subject="open.>", type="stream"),
        Export(name="closed", subject="closed", type="service", token_req=True),
    ]
    made.change(claims)
    return made


def _importing(folders: NscFolders, **fields: Any) -> Relations:
    claims = folders.claims("B")
    claims.nats.imports = [Import(**{"name": "i", "account": folders.key("A"), "type": "stream", **fields})]
    folders.change(claims)
    return Relations.read(folders.store, NOW)


def test_an_import_knows_both_ends(folders: NscFolders) -> None:
    found = _importing(folders, subject="open.x")
    (relation,) = found.imports
    assert relation.exporter is not None
    assert relation.export is not None
    assert (relation.importer.name, relation.exporter.name, relation.export.name) == ("B", "A", "open")
    assert (relation.issues, relation.refusal, relation.from_account) == ((), None, "A")
    assert found.of(folders.key("B")) == [relation]
    assert found.using(folders.key("A"), relation.export) == [relation]
    assert found.of(folders.key("A")) == []
    assert found.names([folders.key("A"), STRANGER]) == ["A", STRANGER]


@pytest.mark.parametrize(
    ("fields", "issue", "reason"),
    [
        (
            {"subject": "closed", "type": "service"},
            "Export is private but no activation token",
            Reason.NO_ACTIVATION,
        ),
        ({"subject": "nothing"}, None, Reason.NO_EXPORT),
        ({"subject": "x", "account": STRANGER}, f"Exporting account not present: {STRANGER}", None),
        ({"subject": "open.*", "local_subject": "x"}, "does not contain enough", None),
    ],
)
def test_what_is_wrong_is_reported(
    folders: NscFolders, fields: dict[str, Any], issue: str | None, reason: Reason | None
) -> None:
    (relation,) = _importing(folders, **fields).imports
    assert (relation.refusal.reason if relation.refusal else None) == reason
    assert len(relation.issues) == (issue is not None)
    assert all(issue is not None and issue in text for text in relation.issues)


def test_a_token_for_an_open_export_is_reported(folders: NscFolders) -> None:
    token = generate_activation(folders.workspace(), "B", subject="closed", account="A").token
    claims = folders.claims("A")
    claims.nats.exports[0].token_req = False
    folders.change(claims)
    (relation,) = _importing(folders, subject="closed", type="service", token=token).imports
    assert relation.issues == ("Export is public but import has activation token",)


def test_the_older_field_is_no_issue(folders: NscFolders) -> None:
    (relation,) = _importing(folders, subject="open.x", to="y").imports
    assert relation.issues == ()


def test_circles_are_found(folders: NscFolders) -> None:
    for account, exporter in (("A", "B"), ("B", "A")):
        claims = folders.claims(account)
        claims.nats.exports.append(Export(subject="round", type="stream"))
        claims.nats.imports = [Import(subject="round", account=folders.key(exporter), type="stream")]
        folders.change(claims)
    (circle,) = Relations.read(folders.store, NOW).cycles
    assert set(circle) == {folders.key("A"), folders.key("B")}
