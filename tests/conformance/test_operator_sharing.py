"""Operator mode: exports and imports that come and go by pushes, activations, and an account's mappings."""

from __future__ import annotations

from typing import Any

import pytest
from lib.eventually import eventually
from lib.operator_fixture import Deployment, OperatorAccount, bodies, soon
from lib.wire import Wire


def stream(exporter: OperatorAccount, subject: str, **more: Any) -> dict[str, Any]:
    return {"name": subject, "subject": subject, "account": exporter.id, "type": "stream"} | more


def service(exporter: OperatorAccount, subject: str, **more: Any) -> dict[str, Any]:
    return stream(exporter, subject, type="service") | more


def export(subject: str, kind: str = "stream", **more: Any) -> dict[str, Any]:
    return {"name": subject, "subject": subject, "type": kind} | more


def hears(speaker: Wire, subject: str, listener: Wire) -> bool:
    """Whether a message to `subject` reaches what the listener has subscribed to."""
    speaker.pub(subject, "x")
    speaker.sync()
    return bodies(listener.sync()) == [b"x"]


def answers(asker: Wire, subject: str, server: Wire) -> bool:
    """Whether a request reaches a server that subscribed with sid `svc`, and its answer comes back."""
    reply = asker.inbox()
    asker.pub(subject, "question", reply)
    asker.sync()
    asked = [frame for frame in server.sync() if not isinstance(frame, bytes)]
    for question in asked:
        server.pub(question.reply, "answer")
    server.sync()
    return bool(asked) and b"answer" in bodies(asker.sync())


@pytest.fixture
def pair(op: Deployment) -> tuple[OperatorAccount, OperatorAccount]:
    """An exporter and an importer, both pushed, that share nothing yet."""
    return op.account("EX"), op.account("IM")


Pair = tuple[OperatorAccount, OperatorAccount]


@pytest.mark.parametrize("first", ["exporter", "importer"])
def test_a_shared_stream_comes_and_goes_with_pushes(op: Deployment, pair: Pair, first: str) -> None:
    """In whichever order the two are pushed, without a reconnect."""
    exporter, importer = pair
    with exporter.user().connect(op.server) as ex, importer.user().connect(op.server) as im:
        im.sub("local.>")
        im.sync()
        assert not hears(ex, "out.a", im)
        exporter.set(exports=[export("out.>")])
        importer.set(imports=[stream(exporter, "out.>", local_subject="local.>")])
        order = (exporter, importer) if first == "exporter" else (importer, exporter)
        op.push(*order)
        eventually(lambda: hears(ex, "out.a", im))
        importer.set(imports=[])
        op.push(importer)
        assert not hears(ex, "out.a", im)
        importer.set(imports=[stream(exporter, "out.>", local_subject="local.>")])
        op.push(importer)
        assert hears(ex, "out.b", im)


def test_an_export_taken_away_ends_its_imports(op: Deployment, pair: Pair) -> None:
    exporter, importer = pair
    op.push(exporter.set(exports=[export("out.>"), export("svc", "service")]))
    op.push(importer.set(imports=[stream(exporter, "out.>"), service(exporter, "svc")]))
    with exporter.user().connect(op.server) as ex, importer.user().connect(op.server) as im:
        im.sub("out.>")
        im.sync()
        ex.sub("svc", "svc")
        ex.sync()
        assert hears(ex, "out.a", im)
        assert answers(im, "svc", ex)
        op.push(exporter.set(exports=[]))
        assert not hears(ex, "out.a", im)
        assert not answers(im, "svc", ex)
        op.push(exporter.set(exports=[export("out.>"), export("svc", "service")]))
        eventually(lambda: hears(ex, "out.a", im))
        eventually(lambda: answers(im, "svc", ex))


@pytest.mark.parametrize("first", ["exporter", "importer"])
def test_a_shared_service_comes_and_goes_with_pushes(op: Deployment, pair: Pair, first: str) -> None:
    exporter, importer = pair
    with exporter.user().connect(op.server) as ex, importer.user().connect(op.server) as im:
        ex.sub("svc.*", "svc")
        ex.sync()
        assert not answers(im, "remote.a", ex)
        exporter.set(exports=[export("svc.*", "service")])
        importer.set(imports=[service(exporter, "svc.*", local_subject="remote.*")])
        order = (exporter, importer) if first == "exporter" else (importer, exporter)
        op.push(*order)
        eventually(lambda: answers(im, "remote.a", ex))
        op.push(importer.set(imports=[]))
        assert not answers(im, "remote.a", ex)


def test_a_renamed_import_moves(op: Deployment, pair: Pair) -> None:
    exporter, importer = pair
    op.push(exporter.set(exports=[export("svc.*.*", "service"), export("out.*.*")]))
    op.push(
        importer.set(
            imports=[
                service(exporter, "svc.*.*", local_subject="old.*.*"),
                stream(exporter, "out.*.*", local_subject="old.$2.$1"),
            ]
        )
    )
    with exporter.user().connect(op.server) as ex, importer.user().connect(op.server) as im:
        ex.sub("svc.>", "svc")
        ex.sync()
        im.sub("old.>", "1")
        im.sub("new.>", "2")
        im.sync()
        assert answers(im, "old.a.b", ex)
        im.unread.clear()
        ex.pub("out.1.2", "x")
        ex.sync()
        assert im.msg().subject == "old.2.1"
        op.push(
            importer.set(
                imports=[
                    service(exporter, "svc.*.*", local_subject="new.$2.$1"),
                    stream(exporter, "out.*.*", local_subject="new.$1.$2"),
                ]
            )
        )
        im.sync()
        ex.pub("out.1.2", "x")
        ex.sync()
        assert im.msg().subject == "new.1.2"
        assert not answers(im, "old.a.b", ex)
        im.sync()
        im.pub("new.a.b", "q", "reply")
        im.sync()
        assert ex.msg().subject == "svc.b.a"


def test_a_service_that_answers_with_a_stream(op: Deployment, pair: Pair) -> None:
    exporter, importer = pair
    op.push(exporter.set(exports=[export("svc", "service", response_type="Stream")]))
    op.push(importer.set(imports=[service(exporter, "svc")]))
    with exporter.user().connect(op.server) as ex, importer.user().connect(op.server) as im:
        ex.sub("svc", "svc")
        ex.sync()
        reply = im.inbox()
        im.pub("svc", "q", reply)
        question = ex.msg()
        for number in range(3):
            ex.pub(question.reply, str(number))
        assert [m.body for m in im.msgs(3)] == [b"0", b"1", b"2"]


def private(
    op: Deployment, pair: Pair, *, exp: int = 0, token: str = "", kind: str = "stream"
) -> tuple[OperatorAccount, OperatorAccount]:
    exporter, importer = pair
    op.push(exporter.set(exports=[export("priv.>", kind, token_req=True)]))
    activation = token or exporter.activation(importer, "priv.>", kind, exp=exp)
    op.push(importer.set(imports=[stream(exporter, "priv.>", type=kind, token=activation)]))
    return pair


def test_a_private_export_wants_an_activation(op: Deployment, pair: Pair) -> None:
    exporter, importer = pair
    op.push(exporter.set(exports=[export("priv.>", token_req=True)]))
    op.push(importer.set(imports=[stream(exporter, "priv.>")]))
    with exporter.user().connect(op.server) as ex, importer.user().connect(op.server) as im:
        im.sub("priv.>")
        im.sync()
        assert not hears(ex, "priv.a", im)
        activation = exporter.activation(importer, "priv.>", "stream")
        op.push(importer.set(imports=[stream(exporter, "priv.>", token=activation)]))
        assert hears(ex, "priv.a", im)


def test_a_private_service_with_an_activation_of_a_signing_key(op: Deployment, pair: Pair) -> None:
    exporter, importer = pair
    signing = exporter.signing_key()
    activation = exporter.activation(importer, "priv.>", "service", by=signing)
    private(op, pair, kind="service", token=activation)
    with exporter.user().connect(op.server) as ex, importer.user().connect(op.server) as im:
        ex.sub("priv.>", "svc")
        ex.sync()
        assert answers(im, "priv.a", ex)


@pytest.mark.parametrize("fault", ["expired", "other-account", "other-subject", "other-issuer"])
def test_an_activation_that_does_not_hold(op: Deployment, pair: Pair, fault: str) -> None:
    exporter, importer = pair
    third = op.account("THIRD")
    tokens = {
        "expired": lambda: exporter.activation(importer, "priv.>", "stream", exp=soon(-3600)),
        "other-account": lambda: exporter.activation(third, "priv.>", "stream"),
        "other-subject": lambda: exporter.activation(importer, "other.>", "stream"),
        "other-issuer": lambda: third.activation(importer, "priv.>", "stream"),
    }
    op.push(exporter.set(exports=[export("priv.>", token_req=True)]))
    token = importer.set(imports=[stream(exporter, "priv.>", token=tokens[fault]())]).token()
    answer = op.ask("$SYS.REQ.CLAIMS.UPDATE", token)
    assert ("data" in answer) is (fault == "expired"), answer
    with exporter.user().connect(op.server) as ex, importer.user().connect(op.server) as im:
        im.sub("priv.>")
        im.sync()
        assert not hears(ex, "priv.a", im)


def test_an_activation_ends_during_a_session(op: Deployment, pair: Pair) -> None:
    exporter, importer = private(op, pair, exp=soon(2))
    with exporter.user().connect(op.server) as ex, importer.user().connect(op.server) as im:
        im.sub("priv.>")
        im.sync()
        assert hears(ex, "priv.a", im)
        eventually(lambda: not hears(ex, "priv.a", im))


@pytest.mark.parametrize("who", ["importer", "*"])
def test_an_activation_is_revoked_by_a_push(op: Deployment, pair: Pair, who: str) -> None:
    exporter, importer = private(op, pair)
    with exporter.user().connect(op.server) as ex, importer.user().connect(op.server) as im:
        im.sub("priv.>")
        im.sync()
        assert hears(ex, "priv.a", im)
        revoked = {importer.id if who == "importer" else "*": op.env.clock}
        op.push(exporter.set(exports=[export("priv.>", token_req=True, revocations=revoked)]))
        assert not hears(ex, "priv.a", im)
        activation = exporter.activation(importer, "priv.>", "stream")
        op.push(importer.set(imports=[stream(exporter, "priv.>", token=activation)]))
        # The reference gives the subscriptions that stood before nothing any more.
        with importer.user().connect(op.server) as again:
            again.sub("priv.>")
            again.sync()
            assert hears(ex, "priv.a", again)


def test_an_export_by_account_position(op: Deployment, pair: Pair) -> None:
    exporter, importer = pair
    op.push(exporter.set(exports=[export("own.*.>", account_token_position=2)]))
    third = op.account("THIRD")
    op.push(importer.set(imports=[stream(exporter, f"own.{importer.id}.>")]))
    op.push(third.set(imports=[stream(exporter, f"own.{importer.id}.>")]))
    with (
        exporter.user().connect(op.server) as ex,
        importer.user().connect(op.server) as im,
        third.user().connect(op.server) as other,
    ):
        for wire in (im, other):
            wire.sub("own.>")
            wire.sync()
        assert hears(ex, f"own.{importer.id}.x", im)
        assert other.sync() == []


def test_imports_of_an_exporter_pushed_later(op: Deployment) -> None:
    exporter = op.env.account("EX", exports=[export("out.>")])
    importer = op.account("IM", imports=[stream(exporter, "out.>")])
    with importer.user().connect(op.server) as im:
        im.sub("out.>")
        im.sync()
        op.push(exporter)
        with exporter.user().connect(op.server) as ex:
            op.push(importer)
            eventually(lambda: hears(ex, "out.a", im))


def test_mappings_are_pushed_live(op: Deployment) -> None:
    account = op.account("A")
    with account.user().connect(op.server) as wire:
        wire.sub("old.x", "1")
        wire.sub("new.x", "2")
        wire.sync()
        wire.pub("old.x")
        assert wire.msg().subject == "old.x"
        op.push(account.set(mappings={"old.*": [{"subject": "new.$1"}]}))
        wire.pub("old.x")
        assert [m.sid for m in [wire.msg()]] == ["2"]
        op.push(account.set(mappings={}))
        wire.pub("old.x")
        assert wire.msg().sid == "1"


def test_weighted_mappings(op: Deployment) -> None:
    account = op.account(
        "A",
        mappings={"in": [{"subject": "a", "weight": 50}, {"subject": "b", "weight": 50}]},
    )
    with account.user().connect(op.server) as wire:
        wire.sub("a", "a")
        wire.sub("b", "b")
        for _ in range(200):
            wire.pub("in")
        sids = [m.sid for m in wire.sync() if not isinstance(m, bytes)]
    assert len(sids) == 200
    assert 50 < sids.count("a") < 150
