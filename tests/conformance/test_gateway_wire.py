"""What a server says over gateways, and what it makes of what another cluster says."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lib.eventually import eventually
from lib.gateway_peer import GatewayPeer, Listener, command, connect, dial, hash_of, info, raw
from lib.process import ServerProcess
from lib.wire import Msg, Wire

CONFIG = """
listen: 127.0.0.1:<client>
server_name: {name}
cluster {{ name: S }}
gateway {{
    name: S
    listen: 127.0.0.1:<gateway>
    authorization {{ user: gate, password: secret, timeout: 1 }}
    {more}
    gateways: [{gateways}]
}}
accounts {{
    SYS: {{ users: [{{user: admin, password: admin}}] }}
    ACC: {{ users: [{{user: acc, password: acc}}] }}
    OTHER: {{ users: [{{user: other, password: other}}] }}
}}
system_account: SYS
"""
Serve = Callable[[str], ServerProcess]


@pytest.fixture(scope="module")
def listeners() -> Iterator[dict[str, Listener]]:
    found = {name: Listener("L") for name in ("reference", "pyjs")}
    yield found
    for each in found.values():
        each.close()


@pytest.fixture
def listener(listeners: dict[str, Listener], implementation: str) -> Listener:
    """Where the server dials the cluster L."""
    return listeners[implementation]


@pytest.fixture
def server(serve: Serve, listener: Listener) -> ServerProcess:
    gateways = f"{{name: L, url: 'nats://gate:secret@127.0.0.1:{listener.port}'}}"
    return serve(CONFIG.format(name="s", gateways=gateways, more=""))


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Wire]:
    with server.connect(user="acc", **{"pass": "acc"}) as wire:
        yield wire


@pytest.fixture(scope="module")
def accepted() -> Iterator[dict[str, GatewayPeer]]:
    """The connections to L that are open, by implementation."""
    found: dict[str, GatewayPeer] = {}
    yield found
    for each in found.values():
        each.close()


@pytest.fixture
def outbound(
    server: ServerProcess, listener: Listener, implementation: str, accepted: dict[str, GatewayPeer]
) -> GatewayPeer:
    """The connection by which the server sends to L. It knows that L has no interest in anything."""
    if implementation not in accepted:
        accepted[implementation] = listener.accept()
        for account in ("ACC", "OTHER", "SYS"):
            accepted[implementation].send(command(2, account, "L") + command(3, account, "L"))
    accepted[implementation].sync()
    return accepted[implementation]


@pytest.fixture
def inbound(server: ServerProcess) -> Iterator[GatewayPeer]:
    """The connection by which a cluster X sends to the server. What the server told of interest is read."""
    with dial(server, "X") as peer:
        all_interest(peer, "ACC")
        yield peer


def all_interest(peer: GatewayPeer, account: str) -> list[bytes]:
    """Return the lines in which a server tells of all interest in an account, and of others before that."""
    import base64
    import json

    payload = base64.b64encode(account.encode()).decode()
    found: list[bytes] = []
    while True:
        line = peer.line()
        if line.startswith(b"INFO "):
            told = json.loads(line[5:])
            if told.get("gateway_cmd") == 3 and told.get("gateway_cmd_payload") == payload:
                return found
        found.append(line)


# --- the handshake


def test_the_server_introduces_itself(server: ServerProcess) -> None:
    with raw(server) as peer:
        told = peer.info()
    url = f"127.0.0.1:{server.ports['gateway']}"
    expected = {
        "gateway": "S",
        "gateway_url": url,
        "gateway_urls": [url],
        "gateway_nrp": True,
        "gateway_iom": True,
        "auth_required": True,
        "headers": True,
        "server_name": "s",
        "host": "127.0.0.1",
        "port": server.ports["gateway"],
    }
    assert {name: told.get(name) for name in expected} == expected


def test_the_server_introduces_itself_where_it_dials(
    server: ServerProcess, listener: Listener, outbound: GatewayPeer
) -> None:
    assert (listener.given["gateway"], listener.given["user"], listener.given["pass"]) == (
        "S",
        "gate",
        "secret",
    )
    assert (listener.info["gateway"], listener.info["server_id"]) == ("S", listener.given["name"])


@pytest.mark.parametrize(
    "words", [b"P", b"INFO {}\r\n", b"RS+ ACC a\r\n", b"RMSG ACC a 12000000\r\n", b"\x16\x03\x01"]
)
def test_anything_but_connect_is_refused_at_its_first_bytes(server: ServerProcess, words: bytes) -> None:
    with raw(server) as peer:
        peer.info()
        peer.send(words)
        assert peer.ends() == [b"-ERR 'Authorization Violation'"]


def test_a_wrong_password_is_refused(server: ServerProcess) -> None:
    with raw(server) as peer:
        peer.info()
        peer.send(connect("X", password="wrong"))
        assert peer.ends() == [b"-ERR 'Authorization Violation'"]


def test_a_client_is_refused(server: ServerProcess) -> None:
    with raw(server) as peer:
        peer.info()
        peer.send(b'CONNECT {"user":"gate","pass":"secret","lang":"go"}\r\n')
        assert peer.ends() == [b"-ERR 'attempted to connect to gateway port'"]


def test_who_says_nothing_is_closed_in_time(server: ServerProcess) -> None:
    with raw(server) as peer:
        peer.info()
        assert peer.ends() == [b"-ERR 'Authentication Timeout'"]


def test_an_unknown_cluster_is_refused_if_the_configuration_says_so(serve: Serve, listener: Listener) -> None:
    gateways = "{name: K, url: 'nats://127.0.0.1:1'}"
    strict = serve(
        CONFIG.format(name="strict", gateways=gateways, more="reject_unknown_cluster: true").replace(
            'jetstream { store_dir: "<store>" }', ""
        )
    )
    with raw(strict) as peer:
        peer.info()
        peer.send(connect("X"))
        assert peer.ends() == [b"-ERR 'Connection to gateway \"S\" rejected'"]
    with dial(strict, "K") as peer:
        all_interest(peer, "ACC")


def test_a_peer_of_another_name_is_left(
    server: ServerProcess, listener: Listener, implementation: str, accepted: dict[str, GatewayPeer]
) -> None:
    if implementation in accepted:
        accepted.pop(implementation).close()
    said = listener.refuse(info("M"))
    assert said == [b'-ERR \'Connection from "S" rejected, wanted to connect to "L", this is "M"\'']


# --- interest, as it is told to others


def test_all_interest_is_told_and_then_every_change(client: Wire, server: ServerProcess, unique: str) -> None:
    client.sub(f"{unique}.a", "1")
    client.sub(f"{unique}.>", "2", queue="q")
    client.sync()
    with dial(server, "X") as peer:
        told = all_interest(peer, "ACC")
        assert f"RS+ ACC {unique}.a".encode() in told
        assert f"RS+ ACC {unique}.> q 1".encode() in told
        peer.sync()
        client.sub(f"{unique}.b", "3")
        client.sub(f"{unique}.b", "4")
        client.sub(f"{unique}.>", "5", queue="q")
        client.send("UNSUB 1\r\nUNSUB 3\r\nUNSUB 2\r\n")
        client.sync()
        mine = [line for line in peer.sync() if unique.encode() in line]
        assert mine == [f"RS+ ACC {unique}.b".encode(), f"RS- ACC {unique}.a".encode()]
        client.send("UNSUB 4\r\nUNSUB 5\r\n")
        client.sync()
        mine = [line for line in peer.sync() if unique.encode() in line]
        assert mine == [f"RS- ACC {unique}.b".encode(), f"RS- ACC {unique}.> q".encode()]


def test_interest_on_an_inbound_gateway_is_a_violation(inbound: GatewayPeer) -> None:
    inbound.send(b"RS+ ACC a\r\n")
    inbound.ends()


# --- messages from others


def test_messages_of_others_are_delivered(client: Wire, inbound: GatewayPeer, unique: str) -> None:
    client.sub(f"{unique}.*", "1")
    client.sub(f"{unique}.*", "2", queue="q")
    client.sub(f"{unique}.*", "3", queue="r")
    client.sync()
    subject = f"{unique}.a".encode()
    inbound.send(b"RMSG ACC %b 1\r\nx\r\n" % subject)
    inbound.send(b"RMSG ACC %b back 1\r\ny\r\n" % subject)
    inbound.send(b"RMSG ACC %b + back q 1\r\nz\r\n" % subject)
    inbound.send(b"HMSG ACC %b | q r 18 19\r\nNATS/1.0\r\nA: 1\r\n\r\nu\r\n" % subject)
    inbound.sync()
    got = [(f.sid, f.reply, f.body, f.headers) for f in client.sync() if isinstance(f, Msg)]
    assert sorted(got, key=lambda each: (each[2], each[0])) == [
        ("1", "", b"u", {"A": "1"}),
        ("2", "", b"u", {"A": "1"}),
        ("3", "", b"u", {"A": "1"}),
        ("1", "", b"x", {}),
        ("1", "back", b"y", {}),
        ("1", "back", b"z", {}),
        ("2", "back", b"z", {}),
    ]


def test_an_account_that_does_not_exist_is_told(inbound: GatewayPeer) -> None:
    inbound.send(b"RMSG NONE a 1\r\nx\r\n")
    assert b"A- NONE" in inbound.sync()


def test_messages_of_others_go_to_no_other_cluster(
    client: Wire, inbound: GatewayPeer, outbound: GatewayPeer, unique: str
) -> None:
    outbound.send(f"RS+ ACC {unique}\r\n".encode())
    outbound.sync()
    inbound.send(b"RMSG ACC %b 1\r\nx\r\n" % unique.encode())
    inbound.sync()
    client.pub(unique, "last")
    client.sync()
    assert outbound.until(b"RMSG") == [b"RMSG ACC %b 4" % unique.encode()]


# --- messages to others


def sent(peer: GatewayPeer, count: int) -> list[tuple[bytes, bytes]]:
    """Return the next messages: the line, and the payload if it has no line break."""
    found: list[tuple[bytes, bytes]] = []
    while len(found) < count:
        line = peer.line()
        if line.startswith((b"RMSG", b"HMSG")):
            found.append((line, peer.line()))
    return found


def test_others_get_what_they_are_interested_in(client: Wire, outbound: GatewayPeer, unique: str) -> None:
    outbound.send(f"RS+ ACC {unique}.a\r\nRS+ ACC {unique}.* q 1\r\nRS+ ACC {unique}.> r 1\r\n".encode())
    outbound.sync()
    for last in ("a", "b", "b.c"):
        client.pub(f"{unique}.{last}", last)
        client.pub(f"{unique}.{last}", last, reply="back")
    client.pub(f"{unique}", "nobody")
    client.sync()
    lines = [(line.split(), body) for line, body in sent(outbound, 6)]
    name = unique.encode()
    for (line, body), marks in zip(lines[:2], ([b"|"], [b"+", b"back"]), strict=True):
        assert (line[:-3], body) == ([b"RMSG", b"ACC", name + b".a", *marks], b"a")
        assert {*line[-3:-1]} == {b"q", b"r"}
    assert [line for line, _ in lines[4:]] == [
        [b"RMSG", b"ACC", name + b".b.c", b"|", b"r", b"3"],
        [b"RMSG", b"ACC", name + b".b.c", b"+", b"back", b"r", b"3"],
    ]
    outbound.send(f"RS- ACC {unique}.a\r\nRS- ACC {unique}.* q\r\nRS- ACC {unique}.> r\r\n".encode())
    outbound.sync()
    client.pub(f"{unique}.a", "nobody", reply=client.inbox())
    assert any(isinstance(frame, Msg) and frame.status == "503" for frame in client.sync())


def test_a_queue_group_here_comes_first(client: Wire, outbound: GatewayPeer, unique: str) -> None:
    outbound.send(f"RS+ ACC {unique} q 1\r\nRS+ ACC {unique} r 1\r\n".encode())
    outbound.sync()
    client.sub(unique, "1", queue="q")
    client.pub(unique, "x")
    client.sync()
    assert [line for line, _ in sent(outbound, 1)] == [b"RMSG ACC %b | r 1" % unique.encode()]


def test_other_accounts_do_not_hear(
    client: Wire, server: ServerProcess, outbound: GatewayPeer, unique: str
) -> None:
    outbound.send(f"RS+ ACC {unique}\r\n".encode())
    outbound.sync()
    with server.connect(user="other", **{"pass": "other"}) as other:
        other.pub(unique, "other")
        other.sync()
    client.pub(unique, "acc")
    client.sync()
    assert sent(outbound, 1) == [(b"RMSG ACC %b 3" % unique.encode(), b"acc")]


# --- replies


def way(server_id: str, cluster: str = "S") -> str:
    return f"_GR_.{hash_of(cluster)}.{hash_of(server_id)}."


def test_a_reply_that_is_new_names_its_way_back(
    client: Wire, server: ServerProcess, listener: Listener, outbound: GatewayPeer, unique: str
) -> None:
    outbound.send(f"RS+ ACC {unique}\r\nRS+ ACC {unique} q 1\r\n".encode())
    outbound.sync()
    client.sub(f"inbox.{unique}.*", "1")
    client.pub(unique, "x", reply=f"inbox.{unique}.1")
    client.pub(unique, "x", reply=f"elsewhere.{unique}.1")
    client.sync()
    back = way(listener.given["name"])
    assert [line.decode() for line, _ in sent(outbound, 2)] == [
        f"RMSG ACC {unique} + {back}inbox.{unique}.1 q 1",
        f"RMSG ACC {unique} + elsewhere.{unique}.1 q 1",
    ]


def test_a_reply_that_comes_back_is_delivered(
    client: Wire, listener: Listener, outbound: GatewayPeer, inbound: GatewayPeer, unique: str
) -> None:
    client.sub(unique, "1")
    client.sub(unique, "2", queue="q")
    client.sync()
    outbound.send(f"RS+ ACC {unique}\r\n".encode())
    outbound.sync()
    for subject in (way(listener.given["name"]), way(listener.given["name"], cluster="other"), way("gone")):
        inbound.send(f"RMSG ACC {subject}{unique} 1\r\nx\r\n".encode())
    inbound.sync()
    got = sorted((f.sid, f.subject, f.body) for f in client.sync() if isinstance(f, Msg))
    assert got == [("1", unique, b"x"), ("1", unique, b"x"), ("2", unique, b"x"), ("2", unique, b"x")]
    assert [line for line, _ in sent(outbound, 2)] == [b"RMSG ACC %b 1" % unique.encode()] * 2


def test_an_answer_takes_the_way_that_its_request_named(
    client: Wire, outbound: GatewayPeer, inbound: GatewayPeer, unique: str
) -> None:
    client.sub(unique, "1")
    client.sub(f"inbox.{unique}.>", "2")
    client.sync()
    back = way("server", cluster="L")
    inbound.send(f"RMSG ACC {unique} {back}inbox.{unique}.1 1\r\nx\r\n".encode())
    inbound.sync()
    assert client.msg().reply == f"inbox.{unique}.1"
    client.pub(f"inbox.{unique}.1", "answer", reply="more", headers={"A": "1"})
    client.pub(f"inbox.{unique}.1", "answer")
    client.pub(f"inbox.{unique}.2", "not asked for")
    lines = [line.decode() for line, _ in sent(outbound, 2)]
    assert lines == [
        f"HMSG ACC {back}inbox.{unique}.1 more 18 24",
        f"RMSG ACC {back}inbox.{unique}.1 6",
    ]
    assert [f.subject for f in client.sync() if isinstance(f, Msg)] == [f"inbox.{unique}.2"]


def test_ways_are_forgotten(client: Wire, outbound: GatewayPeer, inbound: GatewayPeer, unique: str) -> None:
    outbound.send(f"RS+ ACC {unique}.out\r\n".encode())
    outbound.sync()
    client.sub(f"{unique}.in", "1")
    client.sub(f"inbox.{unique}.>", "2")
    client.sync()
    back = way("server", cluster="L")
    inbound.send(f"RMSG ACC {unique}.in {back}inbox.{unique}.1 1\r\nx\r\n".encode())
    inbound.sync()

    def no_longer_named() -> bool:
        client.pub(f"{unique}.out", "x", reply=f"inbox.{unique}.2")
        client.sync()
        line = ""
        while f"{unique}.out" not in line:
            line = sent(outbound, 1)[0][0].decode()
        return f" inbox.{unique}.2 " in line

    def no_longer_taken() -> bool:
        client.pub(f"inbox.{unique}.1", "late")
        return any(isinstance(f, Msg) and f.body == b"late" for f in client.sync())

    assert not no_longer_named()
    assert not no_longer_taken()
    eventually(no_longer_taken)
    eventually(no_longer_named)


# --- other clusters


def test_a_cluster_that_is_announced_is_dialled(outbound: GatewayPeer) -> None:
    third = Listener("T")
    try:
        outbound.send(info("T", gateway_cmd=1, gateway_urls=[f"127.0.0.1:{third.port}"]))
        with third.accept():
            assert third.given["gateway"] == "S"
    finally:
        third.close()


def test_a_cluster_that_cannot_be_reached_is_forgotten(outbound: GatewayPeer) -> None:
    """It is dialled once, as `connect_retries` is 0; only another announcement brings other addresses."""
    gone = Listener("F")
    gone.close()
    third = Listener("F")
    try:
        outbound.send(info("F", gateway_cmd=1, gateway_urls=[f"127.0.0.1:{gone.port}"]))

        def dialled() -> bool:
            outbound.send(info("F", gateway_cmd=1, gateway_urls=[f"127.0.0.1:{third.port}"]))
            return third.waits()

        eventually(dialled)
        third.accept().close()
    finally:
        third.close()


def test_a_cluster_that_dials_is_dialled_and_announced(server: ServerProcess) -> None:
    third = Listener("D")
    try:
        with dial(server, "D", gateway_urls=[f"127.0.0.1:{third.port}"]) as peer, third.accept():
            peer.sync()
            with dial(server, "E") as other:
                told = all_interest(other, "ACC")
                assert any(b'"gateway":"D"' in line and str(third.port).encode() in line for line in told)
    finally:
        third.close()


# --- clusters before nats-server 2.9, which do not tell of all interest (optimistic mode)


def test_an_old_cluster_gets_what_it_has_not_refused(
    client: Wire, listener: Listener, implementation: str, accepted: dict[str, GatewayPeer], unique: str
) -> None:
    if implementation in accepted:
        accepted.pop(implementation).close()
    with listener.accept(gateway_iom=False) as peer:

        def subjects(*last: str) -> list[str]:
            """Publish to some subjects and return those that arrive; the last one always does."""
            for each in (*last, "end"):
                client.pub(f"{unique}.{each}", "x")
            client.sync()
            found: list[str] = []
            while f"{unique}.end" not in found:
                found.append(sent(peer, 1)[0][0].split()[2].decode())
            return [each.rpartition(".")[2] for each in found[:-1] if each.startswith(unique)]

        peer.sync()
        assert subjects("a", "b") == ["a", "b"]
        peer.send(f"RS- ACC {unique}.a\r\n".encode())
        peer.sync()
        assert subjects("a", "b") == ["b"]
        peer.send(f"RS- ACC {unique}.b\r\nRS+ ACC {unique}.*\r\n".encode())
        peer.sync()
        assert subjects("a", "b") == ["a", "b"]
        peer.send(f"RS- ACC {unique}.a\r\nRS+ ACC {unique}.a q 1\r\n".encode())
        peer.sync()
        assert subjects("a", "b") == ["a", "b"]
        peer.send(b"A- ACC\r\n" + f"RS- ACC {unique}.a q\r\n".encode())
        peer.sync()
        client.pub(f"{unique}.a", "x", reply=client.inbox())
        peer.send(b"A- ACC\r\n")
        peer.sync()
        client.pub(f"{unique}.a", "x", reply=client.inbox())
        assert any(isinstance(frame, Msg) and frame.status == "503" for frame in client.sync())
        peer.send(b"A+ ACC\r\n")
        peer.sync()
        assert subjects("b")[-1:] == ["b"]
        peer.send(command(2, "ACC", "L") + f"RS+ ACC {unique}.end\r\n".encode() + command(3, "ACC", "L"))
        peer.sync()
        assert subjects("a", "b") == []
