"""Monitoring delays nobody: pages over hundreds of connections and streams are made in slices.

As in test_bounded_work.py the server's callbacks are measured, and the reference runs the same requests.
"""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lib.callbacks import Callbacks
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.process import ServerProcess
from lib.wire import Wire

CONNECTIONS = 250
SUBSCRIPTIONS = 24  # of each
STREAMS = 270
CONFIG = """
listen: 127.0.0.1:<client>
http: 127.0.0.1:<http>
server_name: S
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB }
accounts {
  SYS { users: [{ user: sys, password: p }] }
  A { users: [{ user: a, password: p }], jetstream: enabled }
ACCOUNTS
}
system_account: SYS
"""


@pytest.fixture
def server(callbacks: Callbacks, launch: Callable[[str], ServerProcess]) -> ServerProcess:
    """A measured server of the test's own, with 1,000 accounts."""
    accounts = "\n".join(f"  B{number} {{}}" for number in range(1000))
    return launch(CONFIG.replace("ACCOUNTS", accounts))


def fetch(server: ServerProcess, path: str) -> dict[str, Any]:
    link = http.client.HTTPConnection("127.0.0.1", server.ports["http"], timeout=60)
    with contextlib.closing(link):
        link.request("GET", path)
        found: dict[str, Any] = json.loads(link.getresponse().read())
        return found


@contextlib.contextmanager
def crowd(server: ServerProcess) -> Iterator[list[Wire]]:
    """Connections with subscriptions."""
    with contextlib.ExitStack() as opened:
        wires = [opened.enter_context(server.raw()) for _ in range(CONNECTIONS)]
        for number, wire in enumerate(wires):
            wire.login(user="a", **{"pass": "p"})
            wire.send("".join(f"SUB s.{number}.{each} {each}\r\n" for each in range(SUBSCRIPTIONS)))
        for wire in wires:
            wire.sync()
        yield wires


def test_many_connections(server: ServerProcess, callbacks: Callbacks) -> None:
    with crowd(server) as wires, callbacks.bounded(server):
        pages(server)
        services(server, wires)


def pages(server: ServerProcess) -> None:
    whole = fetch(server, "/connz?subs=1&limit=5000&auth=1&acc=A")
    assert len(whole["connections"]) == CONNECTIONS
    listed = sum(len(each["subscriptions_list"]) for each in whole["connections"])
    assert listed == CONNECTIONS * SUBSCRIPTIONS
    detailed = fetch(server, "/connz?subs=detail&limit=5000&sort=subs&acc=A")
    assert len(detailed["connections"]) == CONNECTIONS
    few = fetch(server, "/connz?limit=3&offset=200&sort=idle&acc=A")
    assert (few["num_connections"], few["total"]) == (3, CONNECTIONS)
    subscriptions = fetch(server, "/subsz?subs=1&limit=100000")
    assert len(subscriptions["subscriptions_list"]) >= CONNECTIONS * SUBSCRIPTIONS
    assert len(fetch(server, "/accountz")["accounts"]) > 1000
    assert len(fetch(server, "/accstatz?unused=1")["account_statz"]) > 1000
    assert fetch(server, "/varz")["connections"] >= CONNECTIONS


def services(server: ServerProcess, crowd: list[Wire]) -> None:
    asked = {"subscriptions": True, "limit": 5000}
    with server.connect(user="sys", **{"pass": "p"}) as wire:
        received = wire.request("$SYS.REQ.ACCOUNT.A.CONNZ", asked).json()["data"]
        assert len(received["connections"]) == CONNECTIONS
        found = wire.request("$SYS.REQ.ACCOUNT.A.CONNZ", asked | {"filter_subject": "s.249.7"}).json()["data"]
        assert [each["cid"] for each in found["connections"]] == [crowd[-1].info["client_id"]]
        received = wire.request("$SYS.REQ.SERVER.PING.SUBSZ", {"subscriptions": True, "limit": 5000}).json()
        assert len(received["data"]["subscriptions_list"]) == 5000
        received = wire.request("$SYS.REQ.ACCOUNT.PING.STATZ", {"include_unused": True}).json()
        assert len(received["data"]["account_statz"]) > 1000
        assert wire.request("$SYS.REQ.SERVER.PING").json()["statsz"]["connections"] > CONNECTIONS
        # many at once, of an account about itself
        (client, *_) = crowd
        for _ in range(50):
            client.pub("$SYS.REQ.ACCOUNT.PING.CONNZ", reply=client.inbox())
        inbox = client.inbox()
        client.pub("$SYS.REQ.ACCOUNT.PING.CONNZ", json.dumps({"limit": 1}), reply=inbox)
        assert client.answer(inbox).json()["data"]["total"] == CONNECTIONS


def ask(js: JetStream, call: str, **request: Any) -> None:
    """Make something, and do not wait for the answer."""
    js.wire.pub(
        f"$JS.API.{call}", json.dumps({"storage": "memory", **request} if "name" in request else request)
    )


def test_streams(server: ServerProcess, callbacks: Callbacks) -> None:
    with JetStream.of(server, user="a", **{"pass": "p"}) as js:
        ask(js, "STREAM.CREATE.MANY", name="MANY")
        for number in range(STREAMS):
            name = f"S{number:03}"
            ask(js, f"STREAM.CREATE.{name}", name=name, subjects=[f"s.{number}"])
        eventually(lambda: js.call("INFO")["streams"] == STREAMS + 1)
        for number in range(STREAMS):
            name, config = f"S{number:03}", {"durable_name": "C", "ack_policy": "explicit"}
            ask(js, f"CONSUMER.CREATE.{name}.C", stream_name=name, config=config)
            config = {"durable_name": f"C{number:03}", "ack_policy": "explicit"}
            ask(js, f"CONSUMER.CREATE.MANY.C{number:03}", stream_name="MANY", config=config)
        eventually(lambda: js.call("INFO")["consumers"] == 2 * STREAMS)
        with callbacks.bounded(server):
            found = fetch(server, "/jsz?accounts=1&streams=1&consumers=1&config=1")
            (account,) = [each for each in found["account_details"] if each["name"] == "A"]
            assert len(account["stream_detail"]) == STREAMS + 1
            assert sum(len(each["consumer_detail"]) for each in account["stream_detail"]) == 2 * STREAMS
            assert (found["streams"], found["consumers"]) == (STREAMS + 1, 2 * STREAMS)
            assert len(js.call("STREAM.LIST")["streams"]) == 256
            assert len(js.call("STREAM.LIST", {"offset": 256})["streams"]) == STREAMS + 1 - 256
            assert len(js.call("STREAM.NAMES")["streams"]) == STREAMS + 1
            assert js.call("STREAM.NAMES", {"subject": "s.7"})["streams"] == ["S007"]
            assert len(js.call("CONSUMER.LIST.MANY")["consumers"]) == 256
            assert js.call("INFO")["streams"] == STREAMS + 1
            assert fetch(server, "/healthz")["status"] == "ok"
            with server.connect(user="sys", **{"pass": "p"}) as wire:
                asked = {"streams": True, "consumer": True, "config": True}
                received = wire.request("$SYS.REQ.ACCOUNT.A.JSZ", asked).json()["data"]
                assert len(received["stream_detail"]) == STREAMS + 1
