"""`trace`: the way of a message; a server that sends no traces is told of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lib.cli import Cli
from lib.wire import Wire
from pyjs.plugins.messaging.message_trace import MessageTrace, TraceError


def test_the_way_of_a_message_is_shown(cli: Cli, wire: Wire, unique: str) -> None:
    wire.sub(f"{unique}.*", queue="q")
    wire.sync()
    cli.ok("stream", "add", unique, "--subjects", f"{unique}.a", "--defaults")
    page = cli.ok("trace", f"{unique}.a", "body", "-H", "K:v")
    assert page.startswith(f"Tracing message route to subject {unique}.a\n\nClient ")
    assert 'server:"alone"' in page
    assert f'--J JetStream action:"stored" stream:"{unique}" subject:"{unique}.a"\n' in page
    assert f' subject:"{unique}.*" queue:"q"\n' in page
    assert "               Client: 1\n            JetStream: 1\n" in page
    assert wire.sync() == []
    found = json.loads(cli.ok("trace", f"{unique}.a", "-o", "json"))
    assert (found["delivered"], found["complete"], len(found["traces"])) == (False, True, 1)
    cli.ok("trace", f"{unique}.a", "body", "--deliver", "-H", "K:v")
    message = wire.msg()
    assert (message.body, message.headers["K"]) == (b"body", "v")
    assert "Messages: 1" in cli.ok("stream", "info", unique)
    assert "[0s] Client" in cli.ok("trace", f"{unique}.a", "-T")
    assert "--X No active interest\n" in cli.ok("trace", f"{unique}.nobody.here")
    cli.ok("stream", "rm", unique, "--force")


def test_a_server_without_traces_is_told_of(cli: Cli, unique: str) -> None:
    assert cli.run("trace", f"{unique}.*").code == 2
    # A header that only servers set keeps them from tracing the message.
    result = cli.run("trace", unique, "--timeout", "300ms", "-H", "Nats-Trace-Origin-Account:A")
    assert (result.code, result.out) == (6, "")
    assert "no server sent a trace within 0.3s" in result.err
    assert "the message was not delivered" in result.err


def event(hop: str, *entries: dict[str, Any], kind: int = 1, name: str = "s") -> bytes:
    header = {"Nats-Trace-Hop": [hop]} if hop else {}
    ingress = {"type": "in", "ts": "2026-11-23T12:00:00Z", "kind": kind, "cid": 7}
    server = {"name": name, "ver": "2.15.1", "cluster": "C"}
    return json.dumps(
        {"server": server, "request": {"header": header}, "events": [ingress, *entries]}
    ).encode()


def egress(hop: str, kind: int = 1, **more: Any) -> dict[str, Any]:
    return {"type": "eg", "ts": "2026-11-23T12:00:00.000005Z", "kind": kind, "hop": hop, **more}


def test_events_of_several_servers_are_put_together() -> None:
    trace = MessageTrace()
    trace.add(event("1.1", {"type": "js", "ts": "", "stream": "S", "subject": "x"}, kind=4, name="c"))
    trace.add(event("1", egress("1.1", 4, name="c"), egress("1.2", 2, name="d"), name="b"))
    assert not trace.complete
    assert trace.roots() == ["1"]
    trace.add(event("", {"type": "sm", "to": "y"}, egress("1", name="b"), egress("", 0, error="no"), kind=0))
    assert list(trace.missing()) == [("1.2", "d")]
    assert trace.text(stamped=False).splitlines()[:10] == [
        'Client cid:7 cluster:"C" server:"s" version:"2.15.1"',
        '    Mapping subject:"y"',
        '--> Router "b" cid:0'.replace("cid", "rid"),
        '    Router rid:7 server:"b" version:"2.15.1"',
        '    ~~> Leafnode "c" lid:0',
        '        Leafnode lid:7 server:"c" version:"2.15.1"',
        '        --J JetStream action:"stored" stream:"S" subject:"x"',
        '    ==> Gateway "d" gid:0',
        "        !!! no trace came from there",
        "--C Client cid:0",
    ]
    assert "[5µs] --> Router" in trace.text(stamped=True)
    assert "[?] " in trace.text(stamped=True)
    linked = trace.document("")["events"][2]["link"]["events"][1]["link"]
    assert linked["events"][1]["stream"] == "S"


def test_circles_and_nonsense_of_others_do_no_harm() -> None:
    trace = MessageTrace()
    trace.add(event("", egress("1"), egress(""), kind=0))
    trace.add(event("1", egress("1"), egress("1.1"), egress("2")))
    assert trace.text(stamped=True)
    assert trace.document("")
    nonsense = [
        b"",
        b"[" * 100_000,
        b"{}",
        b"[]",
        b'{"events":[]}',
        b'{"events":["in"],"server":{}}',
        event(".".join("1" * 99)),
    ]
    for data in [*nonsense, event("", {"kind": 1}, kind=0), event("", {"type": "eg", "hop": 1}, kind=0)]:
        with pytest.raises(TraceError):
            trace.add(data)
