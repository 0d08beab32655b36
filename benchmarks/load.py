"""The load: raw sockets and prebuilt protocol bytes, so that the server is measured and not a client.

Each function runs one scenario against 127.0.0.1:port and returns operations per second, or latencies in s.
It runs in a process of its own: `python -m benchmarks.load SCENARIO PORT JSON` prints them as one JSON line,
in the form of `Measured`. The option `pids`, which every scenario gets, is not used here.
"""

from __future__ import annotations

import json
import re
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from .mixed.meter import Measured, percentiles

CHUNK = 1 << 16
MARK = b"\x01\x02pyjs\x03\x04"
LEADER_SECONDS = 30
ACK_SUBJECT = re.compile(rb"\$JS\.ACK\.\S+")


CONNECT = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True}


class Wire:
    """One raw connection: its CONNECT is sent and answered when it is made.

    login: takes the server's INFO and returns the fields of CONNECT that say who connects
    """

    def __init__(self, port: int, login: Callable[[dict[str, Any]], dict[str, Any]] = lambda _: {}) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""
        self.until(b"INFO ")
        info = json.loads(self.until(b"\r\n"))
        self.send(b"CONNECT " + json.dumps({**CONNECT, **login(info)}).encode() + b"\r\n")
        self.ping()

    def send(self, data: bytes) -> None:
        """Send all of `data`."""
        self.sock.sendall(data)

    def ping(self) -> None:
        """Make a round trip, after which the server has read what was sent before."""
        self.send(b"PING\r\n")
        self.until(b"PONG\r\n")

    def until(self, mark: bytes) -> bytes:
        """Read until `mark` is seen; return everything before it, and keep what follows."""
        while mark not in self.rest:
            data = self.sock.recv(1 << 20)
            if not data:
                raise ConnectionError(f"closed: {self.rest[-200:]!r}")
            self.rest += data
        before, _, self.rest = self.rest.partition(mark)
        return before

    def count(self, mark: bytes, wanted: int, progress: Callable[[int, bytes], None] | None = None) -> None:
        """Read until `mark` was seen `wanted` times.

        progress: called with the number of new marks and the data of each read that has some
        """
        overlap = len(mark) - 1
        tail, seen = self.rest, 0
        self.rest = b""
        new = tail.count(mark)
        while True:
            if new:
                seen += new
                if progress is not None:
                    progress(new, tail)
            if seen >= wanted:
                return
            data = self.sock.recv(1 << 20)
            if not data:
                raise ConnectionError(f"closed after {seen} of {wanted}: {tail[-200:]!r}")
            keep = tail[-overlap:] if overlap else b""
            tail = keep + data
            new = tail.count(mark)

    def ask(self, subject: str, data: bytes) -> bytes:
        """Send one request; return the answer, whatever it says."""
        self.send(b"SUB _R 9\r\nUNSUB 9 1\r\nPUB %s _R %d\r\n%s\r\n" % (subject.encode(), len(data), data))
        self.until(b"MSG _R 9 ")
        size = int(self.until(b"\r\n"))
        while len(self.rest) < size + 2:
            self.rest += self.sock.recv(1 << 20)
        answer, self.rest = self.rest[:size], self.rest[size + 2 :]
        return answer

    def request(self, subject: str, body: dict[str, Any]) -> dict[str, Any]:
        """Make one JSON API call and return the answer. Raises RuntimeError if it is refused."""
        answer: dict[str, Any] = json.loads(self.ask(subject, json.dumps(body).encode()))
        if "error" in answer:
            raise RuntimeError(f"{subject}: {answer['error']}")
        return answer

    def close(self) -> None:
        """Close the socket."""
        self.sock.close()


def payload(size: int) -> bytes:
    """Return `size` bytes that hold MARK once, if there is room for it."""
    return (MARK + b"x" * size)[:size] if size >= len(MARK) else b"\x01" * size


def frames(subject: str, size: int, count: int) -> tuple[bytes, int]:
    """Return a block of equal PUBs, of about CHUNK bytes, and how many it holds."""
    one = b"PUB %s %d\r\n%s\r\n" % (subject.encode(), size, payload(size))
    n = max(1, min(count, CHUNK // len(one)))
    return one * n, n


def publish(port: int, size: int, count: int) -> float:
    """Core publish without a subscriber: messages/s until the server has read the last."""
    wire = Wire(port)
    block, n = frames("bench.none", size, count)
    began = time.perf_counter()
    for _ in range(count // n):
        wire.send(block)
    wire.ping()
    return count // n * n / (time.perf_counter() - began)


def fan_out(port: int, size: int, count: int, subscribers: int = 1) -> float:
    """Core publish to `subscribers`: deliveries/s until the last subscriber has the last message."""
    subs = [Wire(port) for _ in range(subscribers)]
    for sub in subs:
        sub.send(b"SUB bench.sub 1\r\n")
        sub.ping()
    return _to_subscribers(Wire(port), subs, size, count)


def across(port: int, size: int, count: int, other: int) -> float:
    """Core publish to a subscriber of another server of the cluster: deliveries/s."""
    publisher, subscriber = Wire(port), Wire(other)
    subscriber.send(b"SUB bench.sub 1\r\n")
    subscriber.ping()
    time.sleep(1.0)  # the interest takes a moment to arrive
    return _to_subscribers(publisher, [subscriber], size, count)


def _to_subscribers(publisher: Wire, subs: list[Wire], size: int, count: int) -> float:
    block, n = frames("bench.sub", size, count)
    total = count // n * n
    frame = len(b"MSG bench.sub 1 %d\r\n\r\n" % size) + size

    def drain(sub: Wire) -> None:
        left = total * frame
        buffer = bytearray(1 << 20)
        while left > 0:
            got = sub.sock.recv_into(buffer)
            if not got:
                raise ConnectionError("subscriber was cut")
            left -= got

    threads = [threading.Thread(target=drain, args=(sub,)) for sub in subs]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for _ in range(count // n):
        publisher.send(block)
    for thread in threads:
        thread.join()
    return total * len(subs) / (time.perf_counter() - began)


def request_reply(port: int, size: int, count: int) -> list[float]:
    """Sequential requests to one responder: each round trip in seconds."""
    body = payload(size)
    responder, requester = Wire(port), Wire(port)
    responder.send(b"SUB bench.req 1\r\n")
    responder.ping()
    requester.send(b"SUB _I 1\r\n")
    requester.ping()
    answer = b"PUB _I %d\r\n%s\r\n" % (size, body)
    question = b"PUB bench.req _I %d\r\n%s\r\n" % (size, body)
    asked = len(b"MSG bench.req 1 _I %d\r\n\r\n" % size) + size
    heard = len(b"MSG _I 1 %d\r\n\r\n" % size) + size

    def exactly(wire: Wire, wanted: int) -> None:
        while wanted > 0:
            wanted -= len(wire.sock.recv(wanted))

    def respond() -> None:
        for _ in range(count):
            exactly(responder, asked)
            responder.send(answer)

    thread = threading.Thread(target=respond)
    thread.start()
    times = []
    for _ in range(count):
        began = time.perf_counter()
        requester.send(question)
        exactly(requester, heard)
        times.append(time.perf_counter() - began)
    thread.join()
    return times


def js_publish(port: int, size: int, count: int, storage: str = "file", window: int = 1000) -> float:
    """JetStream publish with at most `window` acks outstanding: acknowledged messages/s."""
    wire = Wire(port)
    wire.request(
        "$JS.API.STREAM.CREATE.BENCH", {"name": "BENCH", "subjects": ["bench.js"], "storage": storage}
    )
    return publish_acknowledged(wire, size, count, window)


def r3_publish(port: int, size: int, count: int, ports: list[int], window: int = 1000) -> float:
    """JetStream publish to a stream with three replicas, at its leader; `ports` of "s0", "s1", "s2"."""
    config = {"name": "BENCH", "subjects": ["bench.js"], "num_replicas": 3}
    answered(port, "$JS.API.STREAM.CREATE.BENCH", config)
    leader = answered(port, "$JS.API.STREAM.INFO.BENCH", {})["cluster"]["leader"]
    return publish_acknowledged(Wire(ports[int(leader[1:])]), size, count, window)


def answered(port: int, subject: str, body: dict[str, Any]) -> dict[str, Any]:
    """Repeat a request until the cluster has the leaders that it needs, and return the answer."""
    deadline = time.monotonic() + LEADER_SECONDS
    while True:
        wire = Wire(port)
        wire.sock.settimeout(2)
        try:
            answer = wire.request(subject, body)
            if answer.get("cluster", {}).get("leader"):
                return answer
        except (RuntimeError, TimeoutError, ValueError):  # not JSON: nobody listens yet
            if time.monotonic() > deadline:
                raise
        finally:
            wire.close()
        time.sleep(0.2)


def publish_acknowledged(
    wire: Wire, size: int, count: int, window: int, *, stream: str = "BENCH", subject: bytes = b"bench.js"
) -> float:
    wire.send(b"SUB _A 1\r\n")
    wire.ping()
    one = b"PUB %b _A %d\r\n%b\r\n" % (subject, size, payload(size))
    sent = min(window, count)

    def acknowledged(new: int, _: bytes) -> None:
        nonlocal sent
        more = min(new, count - sent)
        if more:
            sent += more
            wire.send(one * more)

    began = time.perf_counter()
    wire.send(one * sent)
    wire.count(b'"seq":', count, acknowledged)
    rate = count / (time.perf_counter() - began)
    state = wire.request(f"$JS.API.STREAM.INFO.{stream}", {})["state"]
    if state["messages"] != count:
        raise RuntimeError(f"{count} acknowledged, {state['messages']} stored")
    return rate


def pull(port: int, size: int, count: int, batch: int = 100, ack: str = "explicit") -> float:
    """Pull-consume a stored stream in batches, each message acknowledged: messages/s."""
    wire = Wire(port)
    wire.request(
        "$JS.API.STREAM.CREATE.PULL", {"name": "PULL", "subjects": ["bench.pull"], "storage": "file"}
    )
    one = b"PUB bench.pull _A %d\r\n%s\r\n" % (size, payload(size))
    wire.send(b"SUB _A 1\r\n")
    wire.ping()
    for stored in range(0, count, 1000):
        more = min(1000, count - stored)
        wire.send(one * more)
        wire.count(b'"seq":', more)
    config = {"durable_name": "C", "ack_policy": ack, "max_ack_pending": 10 * batch}
    wire.request("$JS.API.CONSUMER.DURABLE.CREATE.PULL.C", {"stream_name": "PULL", "config": config})
    wire.send(b"SUB _P 2\r\n")
    wire.ping()
    body = b'{"batch":%d,"expires":10000000000}' % batch
    ask = b"PUB $JS.API.CONSUMER.MSG.NEXT.PULL.C _P %d\r\n%s\r\n" % (len(body), body)

    seen, held = 0, wire.rest
    asked = min(2, count // batch)
    began = time.perf_counter()
    wire.send(ask * asked)
    while seen < count // batch * batch:
        held += wire.sock.recv(1 << 20)
        whole, mark, held = held.rpartition(MARK)
        if not mark:
            continue
        seen += whole.count(MARK) + 1
        if ack == "explicit":
            wire.send(b"".join(b"PUB %s 0\r\n\r\n" % subject for subject in ACK_SUBJECT.findall(whole)))
        while asked < count // batch and asked * batch < seen + 2 * batch:
            wire.send(ask)
            asked += 1
    return seen / (time.perf_counter() - began)


SCENARIOS: dict[str, Callable[..., float | list[float]]] = {
    "publish": publish,
    "fan_out": fan_out,
    "across": across,
    "request_reply": request_reply,
    "js_publish": js_publish,
    "r3_publish": r3_publish,
    "pull": pull,
}


def main() -> None:
    """Run one scenario as a process."""
    name, port, options = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
    options.pop("pids", None)
    found = SCENARIOS[name](port, **options)
    if isinstance(found, float):
        measured = Measured(found, 0)
    else:
        measured = Measured(len(found) / sum(found), 0, *percentiles(found))
    print(json.dumps(asdict(measured)))


if __name__ == "__main__":
    main()
