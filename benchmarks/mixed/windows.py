"""Two ways to publish with answers: many without an answer at a time, or one by one on many connections."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Sequence

from ..load import Wire
from .meter import Measured, Meter

INBOX = "_INBOX.mIxEdTrAfFiCbEnChMaRk1"
STORED = b'"seq":'  # once in each answer to a publish


def in_window(wire: Wire, asked: Sequence[bytes], window: int, mark: bytes, pids: Sequence[int]) -> Measured:
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


def one_by_one(wires: Sequence[Wire], shares: Sequence[Sequence[bytes]], pids: Sequence[int]) -> Measured:
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


def subscribed(port: int, inbox: str = INBOX) -> Wire:
    """Return a connection that receives the answers to an inbox."""
    wire = Wire(port)
    wire.send(b"SUB %b.* 1\r\n" % inbox.encode())
    wire.ping()
    return wire
