"""The load with mixed traffic: what `traffic` makes, and the processor time that the servers take for it.

Each scenario builds its bytes before the clock starts, drives the server through raw sockets, and returns a
`Measured`. It runs in a process of its own: `python -m benchmarks.mixed SCENARIO PORT JSON` prints one JSON
line. The option `pids` names the server's processes.
"""

from __future__ import annotations

import json
import os
import random
import re
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import traffic
from .load import Wire, answered

_INBOX = "_INBOX.mIxEdTrAfFiCbEnChMaRk1"
_MESSAGE = re.compile(rb"MSG bench\.\S+ 1 (\S+) (\d+)\r\n")
_ACK_SUBJECT = re.compile(rb"\$JS\.ACK\.\S+")
_PULL_REPLY = b"_P.mIxEd"
_PING = b"PING\r\n"


@dataclass(frozen=True)
class Measured:
    """What one run of a scenario gave.

    rate: messages per second.
    cpu: the servers' processor time, in µs per message.
    p50, p99: latencies in µs; 0 where the scenario has none.
    """

    rate: float
    cpu: float
    p50: float = 0.0
    p99: float = 0.0


class Meter:
    """Measures wall clock and the processor time of the servers, from when it is made."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        self._cpu = self._processor_seconds()
        self._began = time.perf_counter()

    def read(self, count: int, latencies: Sequence[float] = ()) -> Measured:
        """Return the figures of `count` messages. latencies: of some or all of them, in s."""
        seconds = time.perf_counter() - self._began
        cpu = self._processor_seconds() - self._cpu
        times = sorted(latencies) or [0.0]
        p50, p99 = times[len(times) // 2] * 1e6, times[len(times) * 99 // 100] * 1e6
        return Measured(count / seconds, cpu / count * 1e6, p50, p99)

    def _processor_seconds(self) -> float:
        return sum(processor_seconds(pid) for pid in self._pids)


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has taken, in user and kernel mode (Linux and macOS)."""
    stat = Path(f"/proc/{pid}/stat")
    if stat.exists():
        fields = stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    shown = subprocess.check_output(["ps", "-o", "time=", "-p", str(pid)], text=True).strip()
    minutes, _, seconds = shown.rpartition(":")
    return float(seconds) + 60 * float(minutes)


def receive(wires: Sequence[Wire], wanted: int) -> None:
    """Read from all of these connections until `wanted` bytes have come in all."""
    buffer = bytearray(1 << 20)
    left = wanted - sum(len(wire.rest) for wire in wires)
    if len(wires) == 1:
        while left > 0:
            left -= _read(wires[0].sock, buffer)
        return
    with selectors.DefaultSelector() as selector:
        for wire in wires:
            selector.register(wire.sock, selectors.EVENT_READ)
        while left > 0:
            for key, _ in selector.select():
                assert isinstance(key.fileobj, socket.socket)
                left -= _read(key.fileobj, buffer)


def _read(sock: socket.socket, buffer: bytearray) -> int:
    got = sock.recv_into(buffer)
    if not got:
        raise ConnectionError("a subscriber was cut")
    return got


def core(
    port: int,
    count: int,
    pids: list[int],
    *,
    other: int = 0,
    headed: float = 0.0,
    wildcards: int = 1,
    members: int = 0,
    publishers: int = 1,
    subjects: int = 1000,
    smallest: int = traffic.SMALLEST,
    largest: int = traffic.LARGEST,
) -> Measured:
    """Core publishes to wildcard subscribers: deliveries per second.

    other: the port at which the subscribers are, if it is another server's.
    wildcards: how many subscribers have a wildcard on everything.
    members: how many more are in one queue group.
    """
    made = traffic.frames(
        traffic.subjects(subjects, "bench"),
        count,
        inbox=_INBOX,
        headed=headed,
        smallest=smallest,
        largest=largest,
    )
    wires = [Wire(other or port) for _ in range(wildcards + members)]
    for number, wire in enumerate(wires):
        wire.send(b"SUB bench.> %b1\r\n" % (b"" if number < wildcards else b"workers "))
        wire.ping()
    copies = wildcards + bool(members)
    wanted = copies * sum(frame.delivered(b"1") for frame in made)
    parts = [traffic.chunks(made[first::publishers]) for first in range(publishers)]
    senders = [Wire(port) for _ in parts]
    if other:
        _await_interest(senders[0], wires[0])
        wires[0].rest = b""

    def send(wire: Wire, pieces: list[bytes]) -> None:
        for piece in pieces:
            wire.send(piece)

    threads = [threading.Thread(target=send, args=each) for each in zip(senders, parts, strict=True)]
    meter = Meter(pids)
    for thread in threads:
        thread.start()
    receive(wires, wanted)
    measured = meter.read(count * copies)
    for thread in threads:
        thread.join()
    return measured


def _await_interest(sender: Wire, subscriber: Wire) -> None:
    """Wait until what `sender` publishes reaches the subscriber, which is at another server."""
    subscriber.sock.settimeout(0.05)
    while True:
        sender.send(b"PUB bench.probe 0\r\n\r\n")
        try:
            subscriber.until(b"\r\n\r\n")
            break
        except TimeoutError:
            continue
    time.sleep(0.2)  # more than one may have been sent
    subscriber.sock.settimeout(0.2)
    try:
        while subscriber.sock.recv(1 << 16):
            pass
    except TimeoutError:
        subscriber.sock.settimeout(60)


def requests(port: int, count: int, pids: list[int], *, window: int = 32, services: int = 20) -> Measured:
    """Requests, each with an inbox of its own, at most `window` without an answer: requests per second.

    services: how many subjects are asked; one connection answers all.
    """
    names = [f"bench.service.{number:02d}" for number in range(services)]
    made = traffic.frames(names, count, inbox=_INBOX)
    asked = [frame.bytes for frame in made]
    bodies = [frame.body for frame in traffic.frames(names, count, seed=3)]
    responder, requester = Wire(port), Wire(port)
    responder.send(b"SUB bench.service.* 1\r\n")
    responder.ping()
    requester.send(b"SUB %b.* 1\r\n" % _INBOX.encode())
    requester.ping()

    def respond() -> None:
        done, rest = 0, b""
        while done < count:
            data = rest + responder.sock.recv(1 << 20)
            answers, at = [], 0
            while True:
                if data.startswith(_PING, at):  # the server's first one comes after two seconds
                    at += len(_PING)
                if (found := _MESSAGE.match(data, at)) is None:
                    break
                end = found.end() + int(found[2]) + 2
                if end > len(data):
                    break
                body = bodies[done]
                answers.append(b"PUB %b %d\r\n%b\r\n" % (found[1], len(body), body))
                at, done = end, done + 1
            rest = data[at:]
            if answers:
                responder.send(b"".join(answers))

    thread = threading.Thread(target=respond)
    thread.start()
    measured = _window(requester, asked, window, b"MSG " + _INBOX.encode(), pids)
    thread.join()
    return measured


def _window(wire: Wire, asked: Sequence[bytes], window: int, mark: bytes, pids: Sequence[int]) -> Measured:
    """Send messages so that at most `window` are unanswered; each answer holds `mark` once."""
    count, sent = len(asked), min(window, len(asked))

    def answered(new: int, _: bytes) -> None:
        nonlocal sent
        more = min(new, count - sent)
        if more:
            wire.send(b"".join(asked[sent : sent + more]))
            sent += more

    meter = Meter(pids)
    wire.send(b"".join(asked[:sent]))
    wire.count(mark, count, answered)
    return meter.read(count)


def _each_awaits(wires: Sequence[Wire], shares: Sequence[Sequence[bytes]], pids: Sequence[int]) -> Measured:
    """Let each connection send its share one by one, each when the one before is answered."""
    latencies: list[float] = []
    waiting: dict[socket.socket, tuple[Wire, float]] = {}
    rest = {wire.sock: iter(share) for wire, share in zip(wires, shares, strict=True)}
    count = sum(map(len, shares))
    with selectors.DefaultSelector() as selector:
        meter = Meter(pids)
        for wire in wires:
            selector.register(wire.sock, selectors.EVENT_READ)
            waiting[wire.sock] = wire, time.perf_counter()
            wire.send(next(rest[wire.sock]))
        while len(latencies) < count:
            for key, _ in selector.select():
                assert isinstance(key.fileobj, socket.socket)
                wire, began = waiting[key.fileobj]
                data = wire.sock.recv(1 << 16)
                if not data:
                    raise ConnectionError("a publisher was cut")
                wire.rest += data
                if b"}\r\n" not in wire.rest:  # a PING may follow it, or come alone
                    continue
                now = time.perf_counter()
                latencies.append(now - began)
                wire.rest = b""
                following = next(rest[wire.sock], None)
                if following is not None:
                    waiting[wire.sock] = wire, now
                    wire.send(following)
        return meter.read(count, latencies)


def stored(
    port: int,
    count: int,
    pids: list[int],
    *,
    storage: str = "file",
    window: int = 1000,
    headed: float = 0.5,
    subjects: int = 1000,
    clients: int = 1,
    ports: Sequence[int] = (),
) -> Measured:
    """JetStream publishes with a reply of its own each: acknowledged messages per second.

    window: how many may be without an answer, of one client.
    headed: the part of them that have a message id.
    clients: if more than one, or with a window of 1: each awaits every answer, and the latencies count.
    ports: those of three servers called "s0", "s1", "s2": then the stream has three replicas.
    """
    config: dict[str, Any] = {"name": "BENCH", "subjects": ["bench.>"], "storage": storage}
    if ports:
        answered(port, "$JS.API.STREAM.CREATE.BENCH", {**config, "num_replicas": 3})
        leader = answered(port, "$JS.API.STREAM.INFO.BENCH", {})["cluster"]["leader"]
        port = ports[int(leader[1:])]
    else:
        Wire(port).request("$JS.API.STREAM.CREATE.BENCH", config)
    names = traffic.subjects(subjects, "bench")
    wires, shares = [], []
    for client in range(clients):
        inbox = f"{_INBOX}{client}"
        made = traffic.frames(names, count // clients, inbox=inbox, headed=headed, seed=client + 2)
        shares.append([frame.bytes for frame in made])
        wires.append(Wire(port))
        wires[-1].send(b"SUB %b.* 1\r\n" % inbox.encode())
        wires[-1].ping()
    if clients > 1 or window == 1:
        measured = _each_awaits(wires, shares, pids)
    else:
        measured = _window(wires[0], shares[0], window, b'"seq":', pids)
    state = wires[0].request("$JS.API.STREAM.INFO.BENCH", {})["state"]
    if state["messages"] != sum(map(len, shares)):
        raise RuntimeError(f"{sum(map(len, shares))} acknowledged, {state['messages']} stored")
    return measured


def pulled(
    port: int,
    count: int,
    pids: list[int],
    *,
    batch: int = 200,
    ahead: int = 2,
    subjects: int = 1000,
    filters: Sequence[str] = (),
) -> Measured:
    """Pull a stored stream in batches, and acknowledge each message by itself: messages per second.

    ahead: how many batches are asked for at once.
    filters: the consumer's, () for the whole stream. Then `count` messages must match them.
    """
    wire = Wire(port)
    wire.request("$JS.API.STREAM.CREATE.BENCH", {"name": "BENCH", "subjects": ["bench.>"]})
    wire.send(b"SUB %b.* 1\r\n" % _INBOX.encode())
    wire.ping()
    made = traffic.frames(traffic.subjects(subjects, "bench"), count, inbox=_INBOX, headed=0.5)
    _window(wire, [frame.bytes for frame in made], 1000, b'"seq":', ())
    config: dict[str, Any] = {"durable_name": "C", "ack_policy": "explicit", "max_ack_pending": 10 * batch}
    if filters:
        config["filter_subjects"] = list(filters)
    wire.request("$JS.API.CONSUMER.DURABLE.CREATE.BENCH.C", {"stream_name": "BENCH", "config": config})
    reader = Wire(port)
    reader.send(b"SUB %b.* 2\r\n" % _PULL_REPLY)
    reader.ping()
    body = b'{"batch":%d,"expires":10000000000}' % batch
    number, seen, whole, rest = 0, 0, count // batch * batch, reader.rest

    def ask() -> bytes:
        nonlocal number
        number += 1
        reply = b"%b.%06d" % (_PULL_REPLY, number)
        return b"PUB $JS.API.CONSUMER.MSG.NEXT.BENCH.C %b %d\r\n%b\r\n" % (reply, len(body), body)

    meter = Meter(pids)
    reader.send(b"".join(ask() for _ in range(min(ahead, whole // batch))))
    while seen < whole:
        received = reader.sock.recv(1 << 20)
        if not received:
            raise ConnectionError("the consumer's client was cut")
        data = rest + received
        complete = data.rfind(b"\r\n") + 2
        found = _ACK_SUBJECT.findall(data, 0, complete)
        rest = data[complete:]
        seen += len(found)
        out = [b"PUB %b 4\r\n+ACK\r\n" % subject for subject in found]
        while number * batch < whole and number * batch < seen + ahead * batch:
            out.append(ask())
        if out:
            reader.send(b"".join(out))
    return meter.read(seen)


def got(
    port: int,
    count: int,
    pids: list[int],
    *,
    by: str = "subject",
    window: int = 32,
    keys: int = 20_000,
) -> Measured:
    """Direct gets of the keys of a bucket in random order, each with an inbox of its own: gets per second.

    by: how a message is named: "subject" is the last one of the request's subject, as clients read a key;
        "last" the last one of a subject in the body; "sequence" the one with a sequence.
    window: how many may be without an answer.
    """
    wire = Wire(port)
    config = {
        "name": "KV_BENCH",
        "subjects": ["$KV.BENCH.>"],
        "allow_direct": True,
        "max_msgs_per_subject": 1,
    }
    wire.request("$JS.API.STREAM.CREATE.KV_BENCH", config)
    wire.send(b"SUB %b.* 1\r\n" % _INBOX.encode())
    wire.ping()
    names = traffic.subjects(keys, "$KV.BENCH")
    sizes = traffic.bodies(random.Random(2))
    puts = [
        b"PUB %b %b.%X %d\r\n%b\r\n" % (name.encode(), _INBOX.encode(), at, len(body), body)
        for at, (name, body) in enumerate(zip(names, sizes, strict=False))
    ]
    _window(wire, puts, 1000, b'"seq":', ())
    draw = random.Random(3)
    asked = []
    for number in range(count):
        at = draw.randrange(keys)
        subject, body = "$JS.API.DIRECT.GET.KV_BENCH", b""
        if by == "subject":
            subject += f".{names[at]}"
        elif by == "last":
            body = b'{"last_by_subj":"%b"}' % names[at].encode()
        else:
            body = b'{"seq":%d}' % (at + 1)
        reply = f"{_INBOX}.{traffic.identifier(draw, 6)}{number:X}"
        asked.append(b"PUB %b %b %d\r\n%b\r\n" % (subject.encode(), reply.encode(), len(body), body))
    return _window(wire, asked, window, b"\r\nNats-Sequence: ", pids)


SCENARIOS: dict[str, Callable[..., Measured]] = {
    "core": core,
    "requests": requests,
    "stored": stored,
    "pulled": pulled,
    "got": got,
}


def main() -> None:
    """Run one scenario as a process."""
    name, port, options = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
    print(json.dumps(asdict(SCENARIOS[name](port, **options))))


if __name__ == "__main__":
    main()
