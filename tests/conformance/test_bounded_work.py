"""No request of one client delays the others: no callback of the server's loop takes more than 10 ms.

Each test sends ten times what is usual, or a hundred times, to a server whose callbacks are measured
(lib/callbacks.py). Processor time is counted, and how slow it passes, so the machine's load matters little.
The reference runs the same requests: what it takes must be taken.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from lib import callbacks as callbacks_module
from lib.callbacks import PIECE_SECONDS, Callbacks
from lib.eventually import eventually
from lib.jetstream import ALONE, SECOND, JetStream
from lib.process import ServerProcess
from lib.wire import Wire

HOLD = """
import asyncio, time
import callbacks

callbacks.measure({path!r})

def hold(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass

async def main():
    hold(0.002)
    await asyncio.sleep(0)
    hold(0.4)
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    loop.call_soon(hold, 0.2)
    loop.call_soon(over.set_result, None)
    await over

asyncio.run(main())
"""


def test_a_callback_that_holds_its_loop_is_found(tmp_path: Path) -> None:
    path = tmp_path / "slow"
    lib = Path(__file__).parents[1] / "lib"
    subprocess.run([sys.executable, "-c", HOLD.format(path=str(path))], check=True, cwd=lib)
    task, call = Callbacks(path).new()
    assert (task.name, call.name) == ("task main", "hold")
    # The pieces of work take a part of the time that was held, the more the slower the machine is.
    assert 0.1 <= task.raw < 0.402
    assert 0.05 <= call.raw < 0.202
    assert task.seconds <= task.raw
    assert any("hold" in stack[0] for stack in task.stacks)


def test_time_counts_less_while_the_machine_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slowness = 100.0, iter((1.0, 4.0, 0.5))

    def piece() -> int:
        nonlocal now
        now += next(slowness) * PIECE_SECONDS
        return 0

    monkeypatch.setattr(callbacks_module, "thread_time", lambda: now)
    monkeypatch.setattr(callbacks_module, "piece_of_work", piece)
    watch = callbacks_module.Stopwatch()
    watch.start()
    for _ in range(3):
        now += 0.004
        watch.weigh()
    now += 0.001
    watch.stop()
    assert watch.raw == pytest.approx(0.013)
    assert watch.seconds == pytest.approx(0.004 + 0.001 + 0.004 + 0.001)


@pytest.fixture
def server(callbacks: Callbacks, launch: Callable[[str], ServerProcess]) -> ServerProcess:
    """A measured server of the test's own."""
    return launch(ALONE)


def test_a_stream_with_its_consumers(server: ServerProcess, callbacks: Callbacks) -> None:
    with JetStream.of(server) as js, callbacks.bounded(server):
        js.call("STREAM.CREATE.S", {"name": "S", "subjects": ["s.>"]})
        for number in range(1000):
            js.wire.pub("s.a", str(number))
        eventually(lambda: js.call("STREAM.INFO.S")["state"]["messages"] == 1000)
        for name in ("A", "B"):
            js.call(f"CONSUMER.CREATE.S.{name}", {"stream_name": "S", "config": {"durable_name": name}})


FLOODS: dict[str, tuple[bytes, int]] = {
    "messages that nobody hears": (b"PUB nobody.%d 0\r\n\r\n", 60_000),
    "messages of a stream": (b"PUB s.%d 1\r\nx\r\n", 30_000),
    "subscriptions": (b"SUB a.%d.* %d\r\n", 20_000),
    "requests": (b"PUB $JS.API.STREAM.INFO.S.%d _INBOX.%d 0\r\n\r\n".replace(b".S.%d", b".S"), 2_000),
    "pings": (b"PING\r\n", 100_000),
}


@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood(server: ServerProcess, callbacks: Callbacks, kind: str) -> None:
    line, count = FLOODS[kind]
    holes = line.count(b"%d")
    flood = b"".join(line % ((number,) * holes) for number in range(count))
    with JetStream.of(server) as js, callbacks.bounded(server):
        js.call("STREAM.CREATE.S", {"name": "S", "subjects": ["s.*"]})
        reader = threading.Thread(target=_read_pongs, args=(js.wire, flood.count(b"PING") + 1))
        reader.start()
        js.wire.send(flood + b"PING\r\n")
        reader.join()


def _read_pongs(wire: Wire, count: int) -> None:
    while count:
        count -= wire.next() == b"PONG"


def test_a_large_queue_group(server: ServerProcess, callbacks: Callbacks) -> None:
    with server.connect() as wire:
        wire.send(b"".join(b"SUB a group %d\r\n" % number for number in range(4000)))
        wire.sync()
        with callbacks.bounded(server):
            wire.pub("a", b"x")
            assert wire.msg().body == b"x"


def test_many_queue_groups(server: ServerProcess, callbacks: Callbacks) -> None:
    with server.connect() as wire:
        wire.send(b"".join(b"SUB a group%d %d\r\n" % (number, number) for number in range(3000)))
        wire.sync()
        with callbacks.bounded(server):
            wire.pub("a", b"x")
            assert {message.sid for message in wire.msgs(3000)} == set(map(str, range(3000)))


def test_messages_of_which_each_is_looked_for_in_many_places(
    server: ServerProcess, callbacks: Callbacks
) -> None:
    patterns = (".".join(tokens) + ".end" for tokens in itertools.product("a*", repeat=11))
    with server.connect() as wire:
        wire.send("".join(f"SUB {pattern} {number}\r\n" for number, pattern in enumerate(patterns)).encode())
        wire.sync()
        with callbacks.bounded(server):
            wire.send(b"".join(b"PUB a.a.a.a.a.a.a.a.a.a.a.%d 0\r\n\r\n" % number for number in range(100)))
            wire.sync()


def test_a_client_with_many_subscriptions_leaves(server: ServerProcess, callbacks: Callbacks) -> None:
    wire = server.connect()
    wire.send(b"".join(b"SUB a.%d.* %d\r\n" % (number, number) for number in range(15_000)))
    wire.sync()
    with server.connect() as other, callbacks.bounded(server):
        wire.close()
        other.sub("a.>")
        other.pub("a.1.b", b"x")
        assert other.msg().body == b"x"


BODIES: dict[str, tuple[str, bytes]] = {
    "deep": ("STREAM.CREATE.S", b"[" * 500_000),
    "deep in an unknown field": ("STREAM.CREATE.S", b'{"name":"S","x":' + b'{"a":' * 400 + b"1" + b"}" * 401),
    "long list": ("STREAM.CREATE.S", b'{"name":"S","x":[' + b"1," * 400_000 + b"1]}"),
    "metadata": (
        "STREAM.CREATE.S",
        json.dumps({"name": "S", "metadata": dict.fromkeys(map(str, range(15_000)), "")}).encode(),
    ),
    "tags": (
        "STREAM.CREATE.S",
        json.dumps({"name": "S", "placement": {"tags": list(map(str, range(15_000)))}}).encode(),
    ),
    "a list where nothing was to be": ("CONSUMER.INFO.S.C", json.dumps(list(range(100_000))).encode()),
    "a pull": ("CONSUMER.MSG.NEXT.T.C", json.dumps({"batch": 1, "x": list(range(100_000))}).encode()),
    "filters of a direct get": (
        "DIRECT.GET.T",
        json.dumps({"multi_last": [f"t.{number}.*" for number in range(15_000)]}).encode(),
    ),
}


@pytest.mark.parametrize("kind", BODIES)
def test_a_large_body(server: ServerProcess, callbacks: Callbacks, kind: str) -> None:
    subject, body = BODIES[kind]
    with JetStream.of(server) as js:
        js.call("STREAM.CREATE.T", {"name": "T", "subjects": ["t.>"], "allow_direct": True})
        js.call("CONSUMER.CREATE.T.C", {"stream_name": "T", "config": {"durable_name": "C"}})
        with callbacks.bounded(server):
            if "NEXT" in subject:
                js.wire.pub(f"$JS.API.{subject}", body)
            else:
                answer = js.raw(subject, body)  # of a direct get: a status
                assert answer.status or answer.json()
            js.wire.sync()


# The reference compares all pairs: 10,000 take it seven seconds.
MANY = {"pyjs": 10_000, "reference": 1_000}


def test_a_stream_with_ten_thousand_subjects(server: ServerProcess, callbacks: Callbacks) -> None:
    subjects = [f"s.{number}.*" for number in range(MANY[server.name])]
    with JetStream.of(server) as js, callbacks.bounded(server):
        js.call("STREAM.CREATE.S", {"name": "S", "subjects": subjects})
        js.call("STREAM.CREATE.T", {"name": "T", "subjects": ["t.>"]})
        js.call("STREAM.UPDATE.S", {"name": "S", "subjects": [*subjects, "more"]})
        js.call("STREAM.DELETE.S")


def test_a_consumer_with_ten_thousand_filters(server: ServerProcess, callbacks: Callbacks) -> None:
    filters = [f"s.{number}.*" for number in range(MANY[server.name])]
    with JetStream.of(server) as js:
        js.call("STREAM.CREATE.S", {"name": "S", "subjects": ["s.>"]})
        config = {"durable_name": "C", "filter_subjects": filters}
        with callbacks.bounded(server):
            js.call("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config})
            js.call("CONSUMER.DELETE.S.C")


def test_a_stream_with_thousands_of_sources(server: ServerProcess, callbacks: Callbacks) -> None:
    count = MANY[server.name] // 2
    sources = [{"name": f"O{number}", "filter_subject": f"o.{number}"} for number in range(count)]
    renamed = [{"name": "O", "subject_transforms": [{"src": f"o.{n}", "dest": f"p.{n}"} for n in range(500)]}]
    with JetStream.of(server) as js, callbacks.bounded(server):
        js.create("S", sources=sources, storage="file")
        assert len(js.info("S")["config"]["sources"]) == count
        js.update("S", sources=[*sources[1:], *renamed])
        (stream,) = js.call("STREAM.LIST")["streams"]
        assert len(stream["config"]["sources"]) == count
        js.call("STREAM.DELETE.S")


def test_a_stream_with_many_consumers_is_deleted(server: ServerProcess, callbacks: Callbacks) -> None:
    with JetStream.of(server) as js:
        js.create("S", subjects=["s.>"], storage="file")
        config = {"inactive_threshold": 60 * SECOND, "mem_storage": True}
        body = json.dumps({"stream_name": "S", "config": config}).encode()
        js.wire.send(b"PUB $JS.API.CONSUMER.CREATE.S %d\r\n%b\r\n" % (len(body), body) * 1000)
        eventually(lambda: js.state("S")["consumer_count"] == 1000)
        with callbacks.bounded(server):
            assert len(js.call("CONSUMER.LIST.S")["consumers"]) == 256
            js.call("STREAM.DELETE.S")
            assert js.call("INFO")["consumers"] == 0
