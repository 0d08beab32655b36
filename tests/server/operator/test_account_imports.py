"""What accounts from tokens import from each other: exporters that come later, cycles, activations."""

from __future__ import annotations

from typing import Any

import pytest
from lib.operator_accounts import SECOND, AccountsEnv, answer, ask, faults, hear, rigged
from lib.operator_fixture import OperatorAccount

STREAM: dict[str, Any] = {"subject": "s.>", "type": "stream"}
SERVICE: dict[str, Any] = {"subject": "q.*", "type": "service"}


def taken(exporter: OperatorAccount, subject: str, kind: str = "stream", **more: Any) -> dict[str, Any]:
    return {"account": exporter.id, "subject": subject, "type": kind, **more}


# --- imports


@rigged
async def test_streams_and_services_cross_accounts(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[STREAM, SERVICE])
    b = fixture.env.account("B", imports=[taken(a, "s.x", local_subject="mine"), taken(a, "q.1", "service")])
    fixture.publish(a, b)
    importer = await fixture.fetch(b)  # the exporter is looked up, too
    exporter = fixture.accounts.account(a.id)
    assert exporter is not None
    heard = hear(importer, "mine")
    exporter.publish("s.x", b"1")
    assert heard == [("mine", b"1")]
    answer(exporter, "q.1")
    assert ask(importer, "q.1") == b"yes"
    assert importer.account_token is not None
    assert importer.account_token.complete


@pytest.mark.parametrize(
    ("kind", "fields", "local"),
    [
        ("stream", {}, "s.1.2"),
        ("stream", {"to": "my.pre"}, "my.pre.s.1.2"),
        ("stream", {"local_subject": "x.$2.$1"}, "x.2.1"),
        ("service", {}, "s.1.2"),
        ("service", {"local_subject": "x.$2.$1"}, "x.2.1"),
    ],
)
@rigged
async def test_an_import_has_its_local_subject(
    fixture: AccountsEnv, kind: str, fields: dict[str, Any], local: str
) -> None:
    a = fixture.env.account("A", exports=[{"subject": "s.>", "type": kind}])
    b = fixture.env.account("B", imports=[taken(a, "s.*.*", kind, **fields)])
    exporter, importer = await fixture.open(a, b)
    if kind == "stream":
        heard = hear(importer, ">")
        exporter.publish("s.1.2", b"1")
        assert heard == [(local, b"1")]
    else:
        answer(exporter, "s.1.2")
        assert ask(importer, local) == b"yes"


@rigged
async def test_the_older_to_of_a_service_names_the_exporters_subject(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[SERVICE])
    b = fixture.env.account("B", imports=[taken(a, "my.q", "service", to="q.7")])
    exporter, importer = await fixture.open(a, b)
    answer(exporter, "q.7")
    assert ask(importer, "my.q") == b"yes"


@rigged
async def test_an_import_waits_for_an_exporter_that_comes_later(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[STREAM])
    b = fixture.env.account("B", imports=[taken(a, "s.x")])
    (importer,) = await fixture.open(b)
    heard = hear(importer, "s.x")
    assert list(faults(importer).values()) == ["its account is not known here"]
    assert any("is not served" in text for _, text in fixture.log.lines)
    fixture.deploy(a)  # nobody of A is connected: B's waiting brings it here
    exporter = fixture.accounts.account(a.id)
    assert exporter is not None
    exporter.publish("s.x", b"1")
    assert heard == [("s.x", b"1")]
    assert faults(importer) == {}


@rigged
async def test_an_update_looks_up_new_exporters(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[STREAM])
    b = fixture.env.account("B")
    (importer,) = await fixture.open(b)
    fixture.publish(a)
    fixture.deploy(b.set(imports=[taken(a, "s.x")]))
    assert faults(importer)
    await fixture.fetch(b)  # waits for the lookup under way
    assert faults(importer) == {}
    assert fixture.table.asked == [b.id, a.id]


@rigged
async def test_exports_and_imports_change_without_a_new_subscription(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[STREAM])
    b = fixture.env.account("B", imports=[taken(a, "s.x")])
    exporter, importer = await fixture.open(a, b)
    heard = hear(importer, "s.x")

    def comes() -> bool:
        del heard[:]
        exporter.publish("s.x", b"1")
        return bool(heard)

    assert comes()
    fixture.deploy(a.set(exports=[]))
    assert not comes()
    assert "exports no stream" in "".join(faults(importer).values())
    fixture.deploy(a.set(exports=[{"subject": "s.x", "type": "stream"}]))
    assert comes()
    fixture.deploy(b.set(imports=[]))
    assert not comes()
    fixture.deploy(b.set(imports=[taken(a, "s.x")]))
    assert comes()
    fixture.accounts.expire(a.id)
    assert not comes()
    fixture.deploy(a)
    assert comes()


@rigged
async def test_a_response_still_comes_when_something_else_changes(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[SERVICE])
    b = fixture.env.account("B", imports=[taken(a, "q.1", "service")])
    exporter, importer = await fixture.open(a, b)
    replies: list[str] = []
    exporter.subscribe("q.1", lambda message: replies.append(message.reply))
    inbox = hear(importer, "_INBOX.1")
    importer.publish("q.1", b"?", reply="_INBOX.1")
    fixture.deploy(a.set(exports=[SERVICE, STREAM]), b.set(imports=[*b.claims.nats.document()["imports"]]))
    exporter.publish(replies[0], b"late")
    assert inbox == [("_INBOX.1", b"late")]


@rigged
async def test_an_export_that_answers_otherwise_is_taken_over_by_importers(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[SERVICE])
    b = fixture.env.account("B", imports=[taken(a, "q.1", "service")])
    _, importer = await fixture.open(a, b)
    fixture.deploy(a.set(exports=[{**SERVICE, "response_type": "Stream", "response_threshold": 5 * SECOND}]))
    export = importer.imports_services[0].export
    assert export.response_type.value == "stream"
    assert export.threshold == 5 * SECOND


@rigged
async def test_the_importers_key_may_have_to_be_in_the_subject(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[{"subject": "s.*", "type": "stream", "account_token_position": 2}])
    b, c = fixture.env.account("B"), fixture.env.account("C")
    b.set(imports=[taken(a, f"s.{b.id}", local_subject="mine")])
    c.set(imports=[taken(a, f"s.{b.id}", local_subject="mine")])
    _, ours, theirs = await fixture.open(a, b, c)
    assert faults(ours) == {}
    assert "must be the importing account" in "".join(faults(theirs).values())


@rigged
async def test_overlapping_exports_each_grant_their_own(fixture: AccountsEnv) -> None:
    a = fixture.env.account(
        "A",
        exports=[
            {"subject": "s.x", "type": "stream", "token_req": True},
            {"subject": "s.*", "type": "service"},
            {"subject": "t.>", "type": "stream"},
        ],
    )
    b = fixture.env.account("B", imports=[taken(a, "s.x"), taken(a, "t.x.*"), taken(a, "s.x", "service")])
    _, importer = await fixture.open(a, b)
    assert [each.subject for each in importer.imports_streams] == ["t.x.*"]
    assert [each.subject for each in importer.imports_services] == ["s.x"]


@rigged
async def test_the_same_import_twice_is_served_once(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[STREAM])
    b = fixture.env.account("B", imports=[taken(a, "s.x"), taken(a, "s.x", local_subject="y")])
    exporter, importer = await fixture.open(a, b)
    heard = hear(importer, ">")
    exporter.publish("s.x", b"1")
    assert heard == [("s.x", b"1")]
    assert list(faults(importer).values()) == ["it is there twice"]


# --- cycles


@rigged
async def test_the_import_that_would_close_a_cycle_waits(fixture: AccountsEnv) -> None:
    a, b, c = (fixture.env.account(name, exports=[STREAM]) for name in "ABC")
    for importer, exporter in ((a, b), (b, c), (c, a)):
        importer.set(imports=[taken(exporter, "s.x")])
    made = await fixture.open(a, b, c)
    assert [len(each.imports_streams) for each in made].count(1) == 2
    (waiting,) = (each for each in made if not each.imports_streams)
    assert list(faults(waiting).values()) == ["it forms a cycle"]
    other = next(s for s in (a, b, c) if s.id != waiting.name)
    fixture.deploy(other.set(imports=[]))
    assert faults(waiting) == {}
    assert len(waiting.imports_streams) == 1


@rigged
async def test_the_import_that_was_first_stays(fixture: AccountsEnv) -> None:
    a, b = (fixture.env.account(name, exports=[SERVICE]) for name in "AB")
    first, second = await fixture.open(a.set(imports=[taken(b, "q.1", "service")]), b)
    fixture.deploy(b.set(imports=[taken(a, "q.1", "service")]))
    fixture.deploy(a)
    assert len(first.imports_services) == 1
    assert second.imports_services == []


@rigged
async def test_two_accounts_may_import_different_subjects_from_each_other(fixture: AccountsEnv) -> None:
    a, b = (fixture.env.account(name, exports=[SERVICE]) for name in "AB")
    a.set(imports=[taken(b, "q.1", "service")])
    b.set(imports=[taken(a, "q.2", "service")])
    first, second = await fixture.open(a, b)
    assert faults(first) == faults(second) == {}


@rigged
async def test_an_account_may_import_from_itself(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[STREAM, SERVICE])
    a.set(imports=[taken(a, "s.x", local_subject="s.y"), taken(a, "q.1", "service", local_subject="q.2")])
    (account,) = await fixture.open(a)
    heard = hear(account, "s.>")
    account.publish("s.x", b"1")
    assert sorted(heard) == [("s.x", b"1"), ("s.y", b"1")]
    answer(account, "q.1")
    assert ask(account, "q.2") == b"yes"


# --- activations


PRIVATE: dict[str, Any] = {"subject": "p.>", "type": "stream", "token_req": True}


@rigged
async def test_a_private_export_needs_an_activation(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[PRIVATE])
    b, c = fixture.env.account("B"), fixture.env.account("C")
    token = a.activation(b, "p.x", "stream")
    _, ours = await fixture.open(a, b.set(imports=[taken(a, "p.x", token=token)]))
    (theirs,) = await fixture.open(c.set(imports=[taken(a, "p.x")]))
    assert len(ours.imports_streams) == 1
    assert "has no activation" in "".join(faults(theirs).values())


@rigged
async def test_a_revoked_activation_ends_the_import_at_once(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[PRIVATE])
    b = fixture.env.account("B")
    b.set(imports=[taken(a, "p.x", token=a.activation(b, "p.x", "stream"))])
    exporter, importer = await fixture.open(a, b)
    heard = hear(importer, "p.x")
    exporter.publish("p.x", b"1")
    for revoked in ({b.id: fixture.env.clock}, {"*": fixture.env.clock}):
        fixture.deploy(a.set(exports=[{**PRIVATE, "revocations": revoked}]))
        exporter.publish("p.x", b"2")
        assert heard == [("p.x", b"1")]
        assert "revoked" in "".join(faults(importer).values())
    fixture.deploy(b.set(imports=[taken(a, "p.x", token=a.activation(b, "p.x", "stream"))]))
    exporter.publish("p.x", b"3")
    assert heard[1:] == [("p.x", b"3")]


@rigged
async def test_an_activation_ends_in_time(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[PRIVATE])
    b = fixture.env.account("B")
    end = fixture.clock.now() // SECOND + 10
    b.set(imports=[taken(a, "p.x", token=a.activation(b, "p.x", "stream", exp=end))])
    exporter, importer = await fixture.open(a, b)
    heard = hear(importer, "p.x")
    fixture.clock.advance(9 * SECOND)
    exporter.publish("p.x", b"1")
    fixture.clock.advance(2 * SECOND)
    exporter.publish("p.x", b"2")
    assert heard == [("p.x", b"1")]
    assert "expired" in "".join(faults(importer).values())


@rigged
async def test_a_timer_that_is_early_ends_the_activation_all_the_same(
    fixture: AccountsEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Event loops run timers a little early, and time goes on while an import is authorized."""
    a = fixture.env.account("A", exports=[PRIVATE])
    b = fixture.env.account("B")
    end = (fixture.clock.now() // SECOND + 10) * SECOND
    b.set(imports=[taken(a, "p.x", token=a.activation(b, "p.x", "stream", exp=end // SECOND))])
    _, importer = await fixture.open(a, b)
    moments = iter([end - 1])
    real = fixture.clock.now
    monkeypatch.setattr(fixture.clock, "now", lambda: next(moments, None) or real())
    fixture.clock.advance(20 * SECOND)
    assert importer.imports_streams == []


@rigged
async def test_an_activation_by_a_signing_key_ends_with_that_key(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[PRIVATE])
    b = fixture.env.account("B")
    key = a.signing_key()
    b.set(imports=[taken(a, "p.x", token=a.activation(b, "p.x", "stream", by=key))])
    _, importer = await fixture.open(a, b)
    assert len(importer.imports_streams) == 1
    a.claims.nats.signing_keys.clear()
    fixture.deploy(a)
    assert importer.imports_streams == []
