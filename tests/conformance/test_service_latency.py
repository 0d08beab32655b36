"""The latency of a service is published in the account that exports it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from lib.process import ServerProcess
from lib.wire import Wire

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
accounts {
  SYS { users: [{ user: SYS, password: p }] }
  EX {
    users: [{ user: EX, password: p }]
    exports: [
      { service: "svc.all", latency: "results.all" }
      { service: "svc.headers", latency: { subject: "results.headers", sampling: headers } }
      { service: "svc.short", latency: "results.short", response_threshold: "50ms" }
      { service: "svc.quiet" }
    ]
  }
  IM {
    users: [{ user: IM, password: p }]
    imports: [
      { service: { account: EX, subject: "svc.all" } }
      { service: { account: EX, subject: "svc.headers" } }
      { service: { account: EX, subject: "svc.short" } }
      { service: { account: EX, subject: "svc.quiet" } }
    ]
  }
  SHARE {
    users: [{ user: SHARE, password: p }]
    imports: [{ service: { account: EX, subject: "svc.all" }, share: true }]
  }
}
system_account: SYS
"""

TRACES: dict[str, tuple[dict[str, str], dict[str, list[str]] | None]] = {
    "no header": ({}, None),
    "another header": ({"A": "b"}, None),
    "Jaeger": (
        {"Uber-Trace-Id": "479fefe9525eddb:5adb976bfc1f95c1:479fefe9525eddb:1", "uberctx-x": "y", "A": "b"},
        {"Uber-Trace-Id": ["479fefe9525eddb:5adb976bfc1f95c1:479fefe9525eddb:1"], "Uberctx-X": ["y"]},
    ),
    "Jaeger says no": ({"Uber-Trace-Id": "479fefe9525eddb:5adb976bfc1f95c1:479fefe9525eddb:0"}, None),
    "Jaeger cut": ({"Uber-Trace-Id": "479fefe9525eddb:1"}, None),
    "Zipkin": (
        {"X-B3-TraceId": "80f1", "X-B3-SpanId": "e457", "X-B3-Sampled": "1"},
        {"X-B3-Sampled": ["1"], "X-B3-Spanid": ["e457"], "X-B3-Traceid": ["80f1"]},
    ),
    "Zipkin leaves it to us": ({"X-B3-TraceId": "80f1"}, {"X-B3-Traceid": ["80f1"]}),
    "Zipkin says no": ({"X-B3-TraceId": "80f1", "X-B3-Sampled": "0"}, None),
    "Zipkin in one": ({"b3": "80f1-e457-1-05e3"}, {"B3": ["80f1-e457-1-05e3"]}),
    "Zipkin in one says no": ({"b3": "80f1-e457-0-05e3"}, None),
    "Zipkin in one says only no": ({"b3": "0"}, None),
    "W3C": (
        {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "tracestate": "a=b"},
        {
            "Traceparent": ["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"],
            "Tracestate": ["a=b"],
        },
    ),
    "W3C says no": (
        {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"},
        None,
    ),
}


Login = Callable[..., Wire]


@pytest.fixture
def login(serve: Callable[[str], ServerProcess]) -> Login:
    """Return what connects a user, who may have a name."""
    server = serve(CONFIG)
    return lambda user, **options: server.connect(**{"user": user, "pass": "p"}, **options)


def listen(service: Wire, *subjects: str) -> None:
    """Subscribe, and wait until the server knows."""
    for sid, subject in enumerate(subjects, 1):
        service.sub(subject, str(sid))
    service.sync()


def result(wire: Wire) -> dict[str, Any]:
    """Return the next latency document that `wire` hears."""
    (message,) = wire.msgs(1)
    found = json.loads(message.body)
    assert isinstance(found, dict)
    return found


def answer(service: Wire) -> None:
    """Answer the next request."""
    (request,) = service.msgs(1)
    service.pub(request.reply, "done")


def test_an_answered_request_is_measured(login: Login) -> None:
    with login("EX", name="service22") as service, login("IM", name="asks") as asker:
        listen(service, "svc.all", "results.>")
        asker.sub("inbox")
        asker.pub("svc.all", "q", reply="inbox")
        answer(service)
        assert asker.msgs(1)[0].body == b"done"
        found = result(service)
        assert found["type"] == "io.nats.server.metric.v1.service_latency"
        assert found["status"] == 200
        assert len(found["id"]) == 22
        assert set(found) == {
            *("type", "id", "timestamp", "status", "requestor", "responder", "start", "service", "system"),
            "total",
        }
        assert set(found["requestor"]) <= {"acc", "rtt"}
        assert found["requestor"]["acc"] == "IM"
        assert found["responder"]["acc"] == "EX"
        assert found["responder"]["name"] == "service22"
        assert found["responder"]["server"] == "S"
        assert 0 <= found["service"] <= found["total"]


def test_who_asks_is_told_if_the_import_shares_it(login: Login) -> None:
    with login("EX") as service, login("SHARE", name="asks") as asker:
        listen(service, "svc.all", "results.>")
        asker.sub("inbox")
        asker.pub("svc.all", "q", reply="inbox")
        answer(service)
        found = result(service)
        assert found["requestor"]["name"] == "asks"
        assert found["requestor"]["user"] == "SHARE"


@pytest.mark.parametrize("case", TRACES)
def test_headers_ask_for_a_measurement(login: Login, case: str) -> None:
    header, expected = TRACES[case]
    with login("EX") as service, login("IM") as asker:
        listen(service, "svc.>", "results.>")
        asker.sub("inbox")
        asker.pub("svc.headers", "q", reply="inbox", headers=header)
        answer(service)
        asker.msgs(1)
        asker.pub("svc.all", "q", reply="inbox")  # always measured: what comes first shows the other
        if expected is None:
            answer(service)
            assert "header" not in result(service)
            return
        found = result(service)
        assert found["header"] == expected
        assert found["status"] == 200


def test_failures_are_reported_too(login: Login) -> None:
    with login("EX") as service, login("IM") as asker:
        listen(service, "results.>")
        asker.pub("svc.all", "without a reply")
        found = result(service)
        assert (found["status"], found["description"]) == (400, "Bad Request")
        asker.sub("inbox")
        asker.pub("svc.all", "nobody there", reply="inbox")
        found = result(service)
        assert (found["status"], found["description"]) == (503, "Service Unavailable")
        assert found["total"] == 0
        assert "responder" not in found
        service.sub("svc.short", "9")
        service.sync()
        asker.pub("svc.short", "too slow", reply="inbox")
        (request,) = service.msgs(1)
        found = result(service)
        assert (found["status"], found["description"]) == (504, "Service Timeout")
        service.pub(request.reply, "late")
        asker.pub("svc.all", "without a reply")
        assert result(service)["status"] == 400  # and nothing for the late answer


def test_an_answer_that_nobody_waits_for_is_a_request_that_timed_out(login: Login) -> None:
    with login("EX") as service, login("IM") as asker:
        listen(service, "svc.all", "results.>")
        asker.sub("inbox")
        asker.pub("svc.all", "q", reply="inbox")
        (request,) = service.msgs(1)
        asker.send("UNSUB 1\r\n")
        asker.sync()
        service.pub(request.reply, "done")
        found = result(service)
        assert (found["status"], found["description"]) == (408, "Request Timeout")


def test_a_service_without_latency_publishes_nothing(login: Login) -> None:
    with login("EX") as service, login("IM") as asker:
        listen(service, "svc.>", "results.>")
        asker.sub("inbox")
        asker.pub("svc.quiet", "q", reply="inbox")
        answer(service)
        asker.msgs(1)
        asker.pub("svc.all", "q", reply="inbox")
        answer(service)
        assert result(service)["status"] == 200
