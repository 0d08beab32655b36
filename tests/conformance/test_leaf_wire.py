"""The leaf protocol by hand: a raw spoke on the leaf port. test_leaf_remote.py is the other side."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lib.eventually import eventually
from lib.leaf_wire import LeafWire
from lib.process import ServerProcess
from lib.wire import Msg

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>", domain: hub, max_mem: 10MB, max_file: 10MB }
accounts {
  SYS { users: [{ user: sys, password: p }] }
  A {
    users: [
      { user: a, password: p }
      { user: narrow, password: p, permissions: { publish: "in.>", subscribe: "out.>" } }
    ]
    jetstream: enabled
    mappings: { "old.name": "new.name", "in.mapped": "secret.mapped", "out.mapped": "in.fine" }
  }
}
system_account: SYS
leafnodes { listen: 127.0.0.1:<leaf> }
"""


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(CONFIG)


@pytest.fixture
def dial(server: ServerProcess) -> Iterator[Callable[[], LeafWire]]:
    """A fresh connection to the leaf port; nothing read or sent yet."""
    opened: list[LeafWire] = []

    def connect() -> LeafWire:
        opened.append(LeafWire(socket.create_connection(("127.0.0.1", server.ports["leaf"]))))
        return opened[-1]

    yield connect
    for wire in opened:
        wire.close()


def connect_line(name: str, **options: Any) -> str:
    fields = {
        "version": "2.15.1",
        "user": "a",
        "pass": "p",
        "server_id": f"N{name}",
        "name": name,
        "cluster": name,
        "headers": True,
        "protocol": 3,
        "remote_account": "LOCAL",
    }
    return "CONNECT " + json.dumps(fields | options) + "\r\n"


def join(wire: LeafWire, name: str, **options: Any) -> tuple[dict[str, Any], list[str]]:
    """Log in as a spoke: (second INFO, the LS+ lines that follow)."""
    wire.until("INFO ")
    wire.send(connect_line(name, **options))
    second = json.loads(wire.until("INFO ")[5:])
    return second, wire.lines_until_pong()


def test_the_first_info(dial: Callable[[], LeafWire], server: ServerProcess) -> None:
    info = json.loads(dial().until("INFO ")[5:])
    assert info["server_name"] == "S"
    assert info["auth_required"] is True
    assert info["headers"] is True
    assert info["client_id"] > 0
    assert len(info["nonce"]) == 15
    assert info["domain"] == "hub"
    assert info["jetstream"] is True
    assert info["info_on_connect"] is True
    assert "leafnode_urls" in info
    assert info["port"] == server.ports["leaf"]


def test_the_second_info_names_the_account_and_interest_follows(
    dial: Callable[[], LeafWire], unique: str
) -> None:
    second, lines = join(dial(), unique)
    assert second["connect_info"] is True
    assert second["remote_account"] == "A"
    interest = {line.removeprefix("LS+ ") for line in lines}
    assert any(subject.startswith("$LDS.") for subject in interest)
    assert "old.name" in interest
    assert "$JS.hub.API.INFO" in interest
    assert "$JS.hub.API.STREAM.>" in interest
    assert "$JS.hub.API.CONSUMER.>" in interest
    assert all(line.startswith("LS+ ") for line in lines)


@pytest.mark.parametrize("options", [{"pass": "wrong"}, {"user": "nobody"}, {"user": "", "pass": ""}])
def test_wrong_credentials_are_refused(
    dial: Callable[[], LeafWire], unique: str, options: dict[str, str]
) -> None:
    wire = dial()
    wire.until("INFO ")
    wire.send(connect_line(unique, **options))
    assert wire.ends() == ["-ERR 'Authorization Violation'"]


def test_interest_before_connect_is_refused(dial: Callable[[], LeafWire]) -> None:
    wire = dial()
    wire.until("INFO ")
    wire.send("LS+ foo\r\n")
    assert wire.ends() == ["-ERR 'Authorization Violation'"]


def test_a_client_on_the_leaf_port_gets_an_error(dial: Callable[[], LeafWire], unique: str) -> None:
    wire = dial()
    wire.until("INFO ")
    wire.send(connect_line(unique, lang="python"))
    assert wire.ends() == ["-ERR 'attempted to connect to leaf node port'"]


def test_a_leaf_on_the_client_port_gets_an_error(server: ServerProcess, unique: str) -> None:
    with server.raw() as wire:
        wire.send(connect_line(unique))
        assert wire.ends() == [b"-ERR 'invalid client protocol'"]


def test_junk_closes(dial: Callable[[], LeafWire], unique: str) -> None:
    wire = dial()
    join(wire, unique)
    wire.send("NONSENSE\r\n")
    assert wire.ends() == ["-ERR 'Unknown Protocol Operation'"]


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("LMSG {s} 2\r\nhi\r\n", ("", b"", b"hi")),
        ("LMSG {s} a.reply 2\r\nhi\r\n", ("a.reply", b"", b"hi")),
        ("HMSG {s} 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", ("", b"NATS/1.0\r\n\r\n", b"hi")),
        ("HMSG {s} a.reply 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", ("a.reply", b"NATS/1.0\r\n\r\n", b"hi")),
        ("LMSG {s} 0\r\n\r\n", ("", b"", b"")),
    ],
)
def test_what_a_leaf_sends_is_heard(
    dial: Callable[[], LeafWire],
    server: ServerProcess,
    unique: str,
    sent: str,
    shown: tuple[str, bytes, bytes],
) -> None:
    wire = dial()
    join(wire, unique)
    with server.connect(**{"user": "a", "pass": "p"}) as client:
        client.sub(unique)
        client.sync()
        wire.until(f"LS+ {unique}")
        wire.send(sent.replace("{s}", unique))
        message = client.msg()
    assert (message.reply, message.header, message.body) == shown


def test_queue_names_in_a_frame_choose_the_groups(
    dial: Callable[[], LeafWire], server: ServerProcess, unique: str
) -> None:
    wire = dial()
    join(wire, unique)
    with server.connect(**{"user": "a", "pass": "p"}) as client:
        client.sub(unique, "plain")
        client.sub(unique, "one", "q1")
        client.sub(unique, "two", "q2")
        client.sync()
        wire.until(f"LS+ {unique} q2")
        wire.send(f"LMSG {unique} | q1 2\r\nhi\r\n")
        wire.send(f"LMSG {unique} + back q2 2\r\nho\r\n")
        wire.lines_until_pong()
        got = {(m.sid, m.body, m.reply) for m in client.sync() if isinstance(m, Msg)}
    assert ("one", b"hi", "") in got
    assert ("two", b"ho", "back") in got
    assert ("two", b"hi", "") not in got
    assert ("one", b"ho", "back") not in got


def test_a_leafs_permissions_are_asked_about_the_subject_on_the_wire(
    dial: Callable[[], LeafWire], server: ServerProcess, unique: str
) -> None:
    """So that a domain's API can be allowed where the API itself is denied (docs/permissions.md)."""
    wire = dial()
    join(wire, unique, user="narrow")
    with server.connect(**{"user": "a", "pass": "p"}) as client:
        client.sub("secret.mapped")
        client.sub("in.fine", "2")
        client.sync()
        wire.send("LMSG in.mapped 2\r\nhi\r\n")
        assert client.msg().subject == "secret.mapped"
        wire.send("LMSG out.mapped 2\r\nhi\r\n")
        # The reference's error names what it would have been mapped to.
        assert wire.ends()[-1].startswith("-ERR 'Permissions Violation for Publish to ")
        assert client.sync() == []


@pytest.mark.parametrize("queue", ["", "q"])
def test_what_a_leaf_sends_to_be_traced_only_is_not_heard(
    dial: Callable[[], LeafWire], server: ServerProcess, unique: str, queue: str
) -> None:
    wire = dial()
    join(wire, unique)
    block = "NATS/1.0\r\nNats-Trace-Dest: t.x\r\nNats-Trace-Only: true\r\n\r\n"
    lead = f"HMSG {unique} | {queue}" if queue else f"HMSG {unique}"
    with server.connect(**{"user": "a", "pass": "p"}) as client:
        client.sub(unique, "1", queue)
        client.sync()
        wire.send(f"{lead} {len(block)} {len(block)}\r\n{block}\r\n")
        wire.lines_until_pong()
        assert client.sync() == []


@pytest.mark.parametrize(("protocol", "only"), [(3, "true"), (3, "false"), (2, "true"), (2, "false")])
def test_what_goes_to_a_leaf_is_traced(
    dial: Callable[[], LeafWire], server: ServerProcess, unique: str, protocol: int, only: str
) -> None:
    """A peer that traces messages gets those that are only to be traced, with a hop. No other peer does."""
    wire = dial()
    join(wire, unique, protocol=protocol)
    wire.send(f"LS+ {unique}.x\r\n")
    wire.lines_until_pong()
    headers = {"Nats-Trace-Dest": f"t.{unique}", "Nats-Trace-Only": only}
    with server.connect(**{"user": "a", "pass": "p"}) as client:
        client.sub(f"t.{unique}")
        client.pub(f"{unique}.x", "body", headers=headers)
        client.pub(f"{unique}.x", "end")
        event = client.msg().json()
    egress = event["events"][1]
    assert (egress["kind"], egress["name"], egress["hop"], event["hops"]) == (4, unique, "1", 1)
    errors = {
        "true": "Not delivered because remote does not",
        "false": "Message delivered but remote does not",
    }
    assert egress.get("error", "").startswith(errors[only] if protocol < 3 else "")
    assert ("error" in egress) == (protocol < 3)
    lines = wire.lines_until_pong()
    assert ("Nats-Trace-Hop: 1" in lines) == (protocol == 3 or only == "false")
    assert f"LMSG {unique}.x 3" in lines


@pytest.mark.parametrize("only", ["true", "false"])
def test_a_leaf_may_not_have_traces_sent_anywhere(
    dial: Callable[[], LeafWire], server: ServerProcess, unique: str, only: str
) -> None:
    """The message is dropped; the leaf stays connected, and is told of it by the reference."""
    wire = dial()
    join(wire, unique, user="narrow")
    with server.connect(**{"user": "a", "pass": "p"}) as client:
        client.sub("in.>")
        client.sub("secret.>", "2")
        client.sync()
        for dest in ("secret.trace", "$NRG.x", "_GR_.x"):
            block = f"NATS/1.0\r\nNats-Trace-Dest: {dest}\r\nNats-Trace-Only: {only}\r\n\r\n"
            wire.send(f"HMSG in.x {len(block)} {len(block)}\r\n{block}\r\n")
            wire.lines_until_pong()
        assert client.sync() == []
        wire.send("LMSG in.x 2\r\nhi\r\n")
        assert client.msg().body == b"hi"


def test_interest_of_the_leaf_gets_messages(
    dial: Callable[[], LeafWire], server: ServerProcess, unique: str
) -> None:
    wire = dial()
    join(wire, unique)
    wire.send(f"LS+ {unique}.*\r\n")
    wire.lines_until_pong()
    with server.connect(**{"user": "a", "pass": "p"}) as client:
        client.pub(f"{unique}.a", "hi")
        assert wire.line() == f"LMSG {unique}.a 2"
        assert wire.line() == "hi"
        client.pub(f"{unique}.a", "hi", "r.r", {"A": "b"})
        assert wire.line() == f"HMSG {unique}.a r.r 18 20"
        wire.send(f"LS- {unique}.*\r\n")
        wire.lines_until_pong()
        client.pub(f"{unique}.a", "gone")
        client.sync()
        assert not [line for line in wire.lines_until_pong() if line.startswith("LMSG")]


def test_a_message_to_a_group_on_the_leaf_names_it(
    dial: Callable[[], LeafWire], server: ServerProcess, unique: str
) -> None:
    wire = dial()
    join(wire, unique)
    wire.send(f"LS+ {unique} q1 2\r\n")
    wire.lines_until_pong()
    with server.connect(**{"user": "a", "pass": "p"}) as client:
        client.pub(unique, "hi")
        assert wire.line() == f"LMSG {unique} | q1 2"
        assert wire.line() == "hi"
        client.pub(unique, "hi", "back")
        assert wire.line() == f"LMSG {unique} + back q1 2"


def test_a_message_does_not_go_back_where_it_came_from(dial: Callable[[], LeafWire], unique: str) -> None:
    wire = dial()
    join(wire, unique)
    wire.send(f"LS+ {unique}\r\nLMSG {unique} 2\r\nhi\r\n")
    assert not [line for line in wire.lines_until_pong() if line.startswith("LMSG")]


def test_local_interest_is_reported_as_it_comes_and_goes(
    dial: Callable[[], LeafWire], server: ServerProcess, unique: str
) -> None:
    wire = dial()
    join(wire, unique)
    with server.connect(**{"user": "a", "pass": "p"}) as client:
        client.sub(f"{unique}.a", "1")
        assert wire.line() == f"LS+ {unique}.a"
        client.sub(f"{unique}.a", "2")
        client.send("UNSUB 1\r\n")
        client.sync()
        assert wire.lines_until_pong() == []
        client.send("UNSUB 2\r\n")
        assert wire.line() == f"LS- {unique}.a"
        client.sub(f"{unique}.q", "3", "g")
        assert wire.line() == f"LS+ {unique}.q g 1"
        client.sub(f"{unique}.q", "4", "g")
        assert wire.line() == f"LS+ {unique}.q g 2"
        client.send("UNSUB 3\r\n")
        assert wire.line() == f"LS+ {unique}.q g 1"
        client.send("UNSUB 4\r\n")
        assert wire.line() == f"LS- {unique}.q g"


def test_other_accounts_stay_apart(dial: Callable[[], LeafWire], server: ServerProcess, unique: str) -> None:
    wire = dial()
    join(wire, unique)
    wire.send("LS+ >\r\n")
    wire.lines_until_pong()
    with server.connect(**{"user": "sys", "pass": "p"}) as client:
        client.sub(unique)
        client.pub(unique, "x")
        client.sync()
    assert not [line for line in wire.lines_until_pong() if unique in line]


def test_one_leaf_hears_another(dial: Callable[[], LeafWire], unique: str) -> None:
    one, two = dial(), dial()
    join(one, f"{unique}a")
    join(two, f"{unique}b")
    two.send(f"LS+ {unique}\r\n")
    assert one.until(f"LS+ {unique}") == f"LS+ {unique}"
    one.send(f"LMSG {unique} 2\r\nhi\r\n")
    assert two.until("LMSG") == f"LMSG {unique} 2"


def test_a_loop_is_reported_and_closed(dial: Callable[[], LeafWire], unique: str) -> None:
    wire = dial()
    _, lines = join(wire, unique)
    (own,) = [line for line in lines if line.startswith("LS+ $LDS.")]
    wire.send(f"{own}\r\n")
    received = wire.ends()[-1]
    assert received.startswith('-ERR \'Loop detected for leafnode account="A".')


def test_the_same_leaf_again_replaces_the_first(dial: Callable[[], LeafWire], unique: str) -> None:
    first, second = dial(), dial()
    join(first, unique)
    join(second, unique)
    assert first.ends()[-1] == "-ERR 'Duplicate Remote LeafNode Connection'"
    assert second.lines_until_pong() == []


def test_denied_imports_travel_with_connect(
    dial: Callable[[], LeafWire], server: ServerProcess, unique: str
) -> None:
    wire = dial()
    join(wire, unique, deny_pub=[f"{unique}.no"])
    wire.send(f"LS+ {unique}.>\r\n")
    wire.lines_until_pong()
    with server.connect(**{"user": "a", "pass": "p"}) as client:
        client.pub(f"{unique}.no", "x")
        client.pub(f"{unique}.yes", "x")
        assert wire.until("LMSG") == f"LMSG {unique}.yes 1"


def test_permissions_bind_a_leaf_and_are_reported(dial: Callable[[], LeafWire], unique: str) -> None:
    wire = dial()
    second, _ = join(wire, unique, user="narrow")
    assert second["export"] == {"allow": ["in.>"]}
    assert second["import"] == {"allow": ["out.>"]}
    wire.send("LMSG bad.subject 1\r\nx\r\n")
    assert "-ERR 'Permissions Violation for Publish to \"bad.subject\"'" in wire.ends()


def test_jetstream_of_the_hub_does_not_leak_into_the_leaf(
    dial: Callable[[], LeafWire], server: ServerProcess, unique: str
) -> None:
    """A leaf that listens to $JS.API.> is not offered the requests of the hub's own clients."""
    wire = dial()
    join(wire, unique, domain="leaf", jetstream=True)
    wire.send("LS+ $JS.API.>\r\nLS+ $JS.leaf.API.>\r\n")
    wire.lines_until_pong()
    with server.connect(**{"user": "a", "pass": "p"}) as client:
        assert client.request("$JS.API.INFO").json()["domain"] == "hub"
        client.pub("$JS.leaf.API.INFO", b"", client.inbox())
        assert wire.until("LMSG").startswith("LMSG $JS.leaf.API.INFO _INBOX.")


def test_a_delivery_over_the_link_carries_its_subject_in_the_reply(
    dial: Callable[[], LeafWire], server: ServerProcess, unique: str
) -> None:
    wire = dial()
    join(wire, unique)
    wire.send(f"LS+ to.{unique}\r\n")
    wire.lines_until_pong()
    with server.connect(**{"user": "a", "pass": "p"}) as client:
        client.request(f"$JS.API.STREAM.CREATE.{unique}", {"name": unique, "storage": "memory"})
        client.request(unique, "hi")
        config = {"durable_name": "C", "deliver_subject": f"to.{unique}", "ack_policy": "explicit"}
        request = {"stream_name": unique, "config": config}
        client.request(f"$JS.API.CONSUMER.DURABLE.CREATE.{unique}.C", request)
        verb, subject, reply, size = wire.until("LMSG").split(" ")
        assert (verb, subject, size) == ("LMSG", f"to.{unique}", "2")
        ack, _, shown = reply.partition("@")
        assert ack.startswith(f"$JS.ACK.{unique}.C.1.1.1.")
        assert shown == unique
        wire.line()
        wire.send(f"LMSG {ack} 0\r\n\r\n")
        eventually(
            lambda: client.request(f"$JS.API.CONSUMER.INFO.{unique}.C").json()["ack_floor"]["stream_seq"] == 1
        )


def test_weights_of_many_groups_multiply_to_more_than_a_float_holds(
    server: ServerProcess, dial: Callable[[], LeafWire], implementation: str
) -> None:
    if implementation == "reference":
        pytest.skip(
            "nats-server notes a remote queue group once for each unit of its weight "
            "(server/sublist.go, addNodeToResults): 40 groups of 999,999,999 never end"
        )
    leaf = dial()
    join(leaf, "HEAVY")
    leaf.send("".join(f"LS+ heavy q{number} 999999999\r\n" for number in range(40)) + "PING\r\n")
    leaf.until("PONG")
    with server.connect(**{"user": "a", "pass": "p"}) as client:
        client.sub("heavy")
        for body in ("x", "y"):
            client.pub("heavy", body)
            assert [message.body for message in client.msgs(1)] == [body.encode()]
