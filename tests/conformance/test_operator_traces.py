"""Operator mode: an account's token says where its traces go, and what may be traced beyond it."""

from __future__ import annotations

from typing import Any

from lib.eventually import eventually
from lib.operator_fixture import Deployment, OperatorAccount
from lib.wire import Msg, Wire

SAMPLED = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}


def entries(tracer: Wire, sender: Wire, subject: str, headers: dict[str, str]) -> list[dict[str, Any]]:
    """The entries of the event about a message that is sent now, [] if there is none."""
    tracer.sync()
    sender.pub(subject, "x", headers=headers)
    sender.pub(subject, "x", headers={"Nats-Trace-Dest": "t.end", "Nats-Trace-Only": "true"})
    found: list[list[dict[str, Any]]] = []

    def ended() -> bool:
        events = [frame for frame in tracer.sync() if isinstance(frame, Msg)]
        found.extend(frame.json()["events"] for frame in events if frame.subject != "t.end")
        return any(frame.subject == "t.end" for frame in events)

    eventually(ended)
    return found[0] if found else []


def imported(exporter: OperatorAccount, kind: str, subject: str, **more: Any) -> dict[str, Any]:
    return {"name": subject, "subject": subject, "account": exporter.id, "type": kind} | more


def exported(kind: str, subject: str, **more: Any) -> dict[str, Any]:
    return {"name": subject, "subject": subject, "type": kind} | more


def test_the_destination_comes_and_goes_with_the_token(op: Deployment) -> None:
    account = op.account("A")
    with account.user().connect(op.server) as tracer, account.user().connect(op.server) as sender:
        tracer.sub("t.>")
        assert entries(tracer, sender, "a", SAMPLED) == []
        op.push(account.set(trace={"dest": "t.account", "sampling": 100}))
        assert entries(tracer, sender, "a", SAMPLED)[0]["acc"] == account.id
        op.push(account.set(trace=None))
        assert entries(tracer, sender, "a", SAMPLED) == []


def test_services_and_streams_allow_traces_by_token(op: Deployment) -> None:
    exporter, importer = op.account("EX"), op.account("IM")
    with exporter.user().connect(op.server) as ex, importer.user().connect(op.server) as im:
        ex.sub("svc")
        im.sub("out")
        for wire in (ex, im):
            wire.sub("t.>", "t")
        for allowed in (False, True):
            service = exported("service", "svc", allow_trace=True) if allowed else exported("service", "svc")
            stream = imported(exporter, "stream", "out", **({"allow_trace": True} if allowed else {}))
            op.push(exporter.set(exports=[service, exported("stream", "out")]))
            op.push(importer.set(imports=[imported(exporter, "service", "svc"), stream]))
            wanted = {"Nats-Trace-Dest": "t.x", "Nats-Trace-Only": "true"}
            request, message = entries(im, im, "svc", wanted), entries(ex, ex, "out", wanted)
            delivered = ["eg"] if allowed else []
            assert [entry["type"] for entry in request] == ["in", "si", *delivered]
            assert [entry["type"] for entry in message] == ["in", "se", *delivered]
