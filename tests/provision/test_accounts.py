"""Accounts and users as documents: random ones, written to folders of nsc, and read again."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.examples import one_in
from lib.nsc_folders import NscFolders
from pyjs.keys import KeyPair, KeyRole, UserScope, Workspace
from pyjs.keys.errors import WorkspaceError
from pyjs.provision import ConflictError, DomainDocument
from pyjs.provision.identity import planner
from pyjs.provision.identity.planner import IdentityPlan

NAMES = ("A", "B", "C")
Json = dict[str, Any]
SUBJECTS = st.sampled_from(["a", "b.*", "c.>"])
PERMISSIONS = st.fixed_dictionaries(
    {},
    optional={
        "pub": st.fixed_dictionaries({}, optional={"allow": st.just(["x.>"]), "deny": st.just(["y"])}),
        "sub": st.fixed_dictionaries({}, optional={"allow": st.just(["z"]), "deny": st.just(["q.*"])}),
        "resp": st.fixed_dictionaries({}, optional={"max": st.sampled_from([1, -1]), "ttl": st.just("1m")}),
    },
)
USER = st.builds(
    lambda one, other: one | other,
    PERMISSIONS,
    st.fixed_dictionaries(
        {},
        optional={
            "src": st.just(["10.0.0.0/8"]),
            "subs": st.sampled_from([-1, 0, 5]),
            "data": st.just("1MiB"),
            "payload": st.sampled_from([0, 100]),
            "bearer_token": st.booleans(),
            "allowed_connection_types": st.just(["STANDARD"]),
        },
    ),
)
ACCOUNT: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {},
    optional={
        "description": st.sampled_from(["first", "second"]),
        "limits": st.fixed_dictionaries(
            {},
            optional={
                "conn": st.sampled_from([-1, 0, 5]),
                "wildcards": st.booleans(),
                "disk_storage": st.sampled_from([-1, "1GiB"]),
                "streams": st.just(3),
                "imports": st.just(7),
            },
        ),
        "default_permissions": PERMISSIONS,
        "users": st.dictionaries(st.sampled_from(["u", "v"]), USER, max_size=2),
    },
)


@st.composite
def accounts(draw: st.DrawFn) -> dict[str, Json]:
    """Accounts; the first may export what the others import."""
    found: dict[str, Json] = draw(st.dictionaries(st.sampled_from(NAMES), ACCOUNT, min_size=1, max_size=3))
    exporter, *others = found
    if draw(st.booleans()):
        kind = draw(st.sampled_from(["stream", "service"]))
        found[exporter] = {**found[exporter], "exports": [{"subject": "shared", "type": kind}]}
        found[exporter].pop("limits", None)
        for each in others:
            imported = {
                "subject": "shared",
                "type": kind,
                "account": exporter,
                "local_subject": f"from.{exporter}",
            }
            found[each] = {**found[each], "imports": [imported]}
    return found


def sections(found: dict[str, Json]) -> dict[str, Any]:
    return planner.sections_of([DomainDocument.model_validate({"accounts": found})])[1]


def planned(found: dict[str, Json], workspace: Workspace) -> IdentityPlan:
    return planner.make(sections(found), workspace)


def steps(plan: IdentityPlan) -> list[str]:
    return [f"{each.verb} {each.title}" for each in plan.pending]


class CutError(Exception):
    """A run that was interrupted."""


@one_in(4)
@given(accounts(), accounts(), st.integers(0, 6))
def test_after_apply_the_plan_is_empty_also_after_an_interruption(
    first: dict[str, Json], second: dict[str, Json], left: int
) -> None:
    with tempfile.TemporaryDirectory() as home:
        folders = NscFolders(Path(home) / "nsc")
        workspace = folders.workspace()
        planner.apply(planned(first, workspace), workspace)
        assert planned(first, workspace).pending == ()

        def cut(_: object) -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                raise CutError

        try:
            planner.apply(planned(second, workspace), workspace, cut)
        except CutError:
            planner.apply(planned(second, workspace), workspace)
        assert planned(second, workspace).pending == ()
        exported = dict(planner.export(workspace, list(second)))
        assert planned(exported, workspace).pending == ()
        assert set(workspace.store().accounts()) == set(first) | set(second)  # nothing is deleted
        json.dumps(exported)


SHOP: dict[str, Json] = {
    "SHOP": {
        "limits": {"conn": 10, "disk_storage": "1GiB"},
        "exports": [{"subject": "orders.>", "type": "stream"}],
        "users": {"alice": {"pub": {"allow": ["orders.*"]}, "sub": {"deny": [">"]}}},
    },
    "BOOKS": {"imports": [{"subject": "orders.>", "type": "stream", "account": "SHOP"}]},
}


@pytest.fixture
def folders(tmp_path: Path) -> NscFolders:
    return NscFolders(tmp_path / "nsc")


def test_tokens_and_credentials_are_what_is_declared(folders: NscFolders) -> None:
    workspace = folders.workspace()
    done = planner.apply(planned(SHOP, workspace), workspace)
    assert [each.title for each in done] == ["SHOP", "BOOKS", "SHOP > alice"]
    store = workspace.store()
    shop, books, alice = store.account("SHOP"), store.account("BOOKS"), store.user("SHOP", "alice")
    assert (shop.nats.limits.conn, shop.nats.limits.disk_storage, shop.iss) == (
        10,
        1 << 30,
        folders.operator.public_key,
    )
    assert [each.account for each in books.nats.imports] == [shop.sub]
    assert (alice.nats.pub.allow, alice.nats.sub.deny, alice.iss) == (["orders.*"], [">"], shop.sub)
    assert list((folders.home / "creds").rglob("alice.creds"))
    drifted = shop.model_copy(deep=True)
    drifted.nats.limits.conn = -1
    drifted.nats.tags = ["kept"]
    folders.change(drifted)
    (change,) = planned(SHOP, workspace).pending
    assert [each.text() for each in change.changes] == ["limits.conn: unlimited -> 10"]
    planner.apply(planned(SHOP, workspace), workspace)
    assert store.account("SHOP").nats.tags == ["kept"]
    assert store.account("SHOP").sub == shop.sub


def test_no_token_ever_allows_more_than_its_document(
    folders: NscFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = folders.workspace()
    stored: list[object] = []
    put = Workspace.put_user

    def watched(self: Workspace, account: str, claims: Any, *more: Any) -> Any:
        stored.append(claims.nats.pub.allow)
        return put(self, account, claims, *more)

    monkeypatch.setattr(Workspace, "put_user", watched)
    planner.apply(planned(SHOP, workspace), workspace)
    assert stored == [["orders.*"]]


def test_what_cannot_be_is_refused_before_anything_is_written(folders: NscFolders) -> None:
    workspace = folders.workspace()
    with pytest.raises(ConflictError, match="imports from NOBODY"):
        planned({"A": {"imports": [{"subject": "x", "type": "stream", "account": "NOBODY"}]}}, workspace)
    with pytest.raises(ConflictError, match="declared twice"):
        planner.sections_of([DomainDocument.model_validate({"accounts": {"A": {}}})] * 2)
    with pytest.raises(ConflictError, match="several operators"):
        planner.sections_of(
            [DomainDocument.model_validate({"operator": each, "accounts": {each: {}}}) for each in ("X", "Y")]
        )
    bad = {"A": {"users": {"u": {"src": ["no network"]}}}}
    with pytest.raises(WorkspaceError, match="invalid cidr"):
        planner.apply(planned(bad, workspace), workspace)
    assert workspace.store().users("A") == []


def test_users_of_scoped_signing_keys_are_left_alone(folders: NscFolders) -> None:
    folders.add_account("A")
    scoped = KeyPair.create(KeyRole.ACCOUNT)
    claims = folders.claims("A")
    claims.nats.signing_keys[scoped.public_key] = UserScope(key=scoped.public_key, role="r")
    folders.change(claims)
    folders.add_user("A", "u", scoped)
    workspace = folders.workspace()
    assert dict(planner.export(workspace)) == {"A": {}}
    with pytest.raises(ConflictError, match="A > u has the permissions of a scoped signing key"):
        planned({"A": {"users": {"u": {}}}}, workspace)
    assert planned({"A": {}}, workspace).pending == ()
