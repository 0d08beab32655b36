"""What one read brings holds the loop no longer than anything else, however many operations it has.

Each burst comes behind large messages: a server that has learnt to take a quarter of a megabyte at once then
gets thousands of operations in it. Processor time is counted (lib/callbacks.py).
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable

import pytest
from lib.callbacks import Callbacks
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.process import ServerProcess
from lib.wire import Msg, Wire

COUNT = 8000
CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB }
leafnodes { listen: 127.0.0.1:<leaf> }
accounts {
  A {
    jetstream: enabled
    users: [
      { user: all, password: p }
      { user: few, password: p, permissions: { publish: { deny: "no.>" }, subscribe: { deny: "no.>" } } }
    ]
  }
}
no_auth_user: all
"""
LARGE = (b"PUB large 200000\r\n" + bytes(200_000) + b"\r\n") * 6
HEADERS = b"NATS/1.0\r\nNats-Msg-Id: %06d\r\n\r\n"


def burst(line: bytes, count: int = COUNT) -> bytes:
    """`line` with each number in the place of its %d."""
    holes = line.count(b"%d")
    return b"".join(line % ((number,) * holes) for number in range(count))


@pytest.fixture
def server(callbacks: Callbacks, launch: Callable[[str], ServerProcess]) -> ServerProcess:
    """A measured server of the test's own."""
    return launch(CONFIG)


BURSTS = {
    "new subjects": b"PUB new.%d 0\r\n\r\n",
    "lines of unusual form": b"pub  new.%d  0\n\r\n",
    "messages between subscriptions": b"PUB new.%d 0\r\n\r\nSUB old.*.* %d\r\n",
    "subscriptions that come and go": b"SUB a.%d.* %d\r\nUNSUB %d\r\n",
    "nobody answers": b"PUB none.%d here.%d 0\r\n\r\n",
}


@pytest.mark.parametrize("kind", BURSTS)
def test_a_burst(server: ServerProcess, callbacks: Callbacks, kind: str) -> None:
    with server.connect() as wire, server.connect() as hearer, callbacks.bounded(server):
        hearer.sub("new.*")
        hearer.sync()
        wire.sub("here.*")
        received = said(wire, LARGE + burst(BURSTS[kind]))
        heard = [frame.subject for frame in hearer.sync() if isinstance(frame, Msg)]
    wanted = COUNT if b"new" in BURSTS[kind] else 0
    assert heard == [f"new.{number}" for number in range(wanted)]
    if kind == "nobody answers":
        answers = [(frame.subject, frame.status) for frame in received if isinstance(frame, Msg)]
        assert answers == [(f"here.{number}", "503") for number in range(COUNT)]


def said(wire: Wire, data: bytes) -> list[Msg | bytes]:
    """Send in one go, while what comes back is read; gives what came until all was served."""
    sender = threading.Thread(target=wire.send, args=(data + b"PING\r\n",))
    sender.start()
    seen: list[Msg | bytes] = []
    while (frame := wire.next()) != b"PONG":
        seen.append(frame)
    sender.join()
    return seen


@pytest.mark.parametrize("line", [b"PUB no.%d 0\r\n\r\n", b"SUB no.%d %d\r\n"])
def test_a_burst_of_errors(server: ServerProcess, callbacks: Callbacks, line: bytes) -> None:
    with server.connect(user="few", **{"pass": "p"}) as wire, callbacks.bounded(server):
        received = said(wire, LARGE + burst(line))
    assert len(received) == COUNT
    what = "Publish" if line.startswith(b"PUB") else "Subscription"
    for number in (0, COUNT // 2, COUNT - 1):
        assert received[number] == b"-ERR 'Permissions Violation for %b to \"no.%d\"'" % (
            what.encode(),
            number,
        )


def test_a_burst_into_a_stream(server: ServerProcess, callbacks: Callbacks) -> None:
    frames = []
    for number in range(COUNT):
        header = HEADERS % number
        frames.append(
            b"HPUB s.%d %d %d\r\n%b%d\r\n" % (number, len(header), len(header) + 5, header, 10_000 + number)
        )
    with JetStream.of(server) as js:
        js.call("STREAM.CREATE.S", {"name": "S", "subjects": ["s.*"], "allow_direct": True})
        with callbacks.bounded(server):
            said(js.wire, LARGE + b"".join(frames))
            eventually(lambda: js.call("STREAM.INFO.S")["state"]["messages"] == COUNT)
        for sequence in (1, COUNT // 2, COUNT):
            message = js.raw("DIRECT.GET.S", {"seq": sequence})
            assert message.headers["Nats-Subject"] == f"s.{sequence - 1}"


def test_a_burst_of_acks(server: ServerProcess, callbacks: Callbacks) -> None:
    with JetStream.of(server) as js:
        js.call("STREAM.CREATE.S", {"name": "S", "subjects": ["s.*"]})
        config = {"durable_name": "C", "ack_policy": "explicit", "max_ack_pending": COUNT}
        js.call("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config})
        said(js.wire, burst(b"PUB s.%d 0\r\n\r\n"))
        js.wire.sub("given")
        js.wire.pub("$JS.API.CONSUMER.MSG.NEXT.S.C", json.dumps({"batch": COUNT}), "given")
        replies = [message.reply.encode() for message in js.wire.msgs(COUNT)]
        with callbacks.bounded(server):
            said(js.wire, LARGE + b"".join(b"PUB %b 4\r\n+ACK\r\n" % reply for reply in replies))
            eventually(lambda: js.call("CONSUMER.INFO.S.C")["ack_floor"]["stream_seq"] == COUNT)


def test_a_burst_over_a_leaf(server: ServerProcess, callbacks: Callbacks) -> None:
    lines = b"LS+ a.%d.*\r\nLMSG new.%d 0\r\n\r\nLS- a.%d.*\r\n"
    with (
        server.connect() as hearer,
        socket.create_connection(("127.0.0.1", server.ports["leaf"]), timeout=20) as leaf,
        callbacks.bounded(server),
    ):
        hearer.sub("new.*")
        hearer.sync()
        leaf.sendall(b'CONNECT {"name":"L","server_id":"L","user":"all","pass":"p","headers":true}\r\n')
        leaf.sendall(LARGE.replace(b"PUB", b"LMSG") + burst(lines))
        heard = [message.subject for message in hearer.msgs(COUNT)]
    assert heard == [f"new.{number}" for number in range(COUNT)]


def test_others_are_served_during_a_burst(server: ServerProcess) -> None:
    with server.connect() as wire, server.connect() as other, server.connect() as hearer:
        hearer.sub("new.*")
        hearer.sync()
        burst_served = threading.Event()

        def send() -> None:
            said(wire, LARGE + burst(BURSTS["new subjects"]))
            burst_served.set()

        sender = threading.Thread(target=send)
        sender.start()
        pings = 0
        while not burst_served.is_set():
            other.sync()
            pings += 1
        sender.join()
        assert pings > 2


def test_who_leaves_in_the_middle_of_a_burst(server: ServerProcess, callbacks: Callbacks) -> None:
    wire = server.connect()
    with server.connect() as hearer, callbacks.bounded(server):
        hearer.sub("new.*")
        hearer.sync()
        wire.send(burst(b"PUB new.%d 0\r\n\r\nSUB left.%d %d\r\n"))
        wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        wire.close()  # with a reset
        with server.connect() as other:
            other.pub("new.end", b"x")
            heard = [hearer.msg().subject]
            while heard[-1] != "new.end":
                heard.append(hearer.msg().subject)
    came = [subject for subject in heard if subject != "new.end"]
    assert came == [f"new.{number}" for number in range(len(came))]
