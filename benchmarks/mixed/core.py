"""Core messages: to wildcards and queues, across servers, to many connections, and requests."""

from __future__ import annotations

import re
import selectors
import socket
import threading
import time
from collections.abc import Sequence

from .. import traffic
from ..load import Wire
from .meter import Measured, Meter
from .windows import INBOX, in_window, subscribed

_MESSAGE = re.compile(rb"MSG bench\.\S+ 1 (\S+) (\d+)\r\n")
_PING = b"PING\r\n"
_PIECE = 4096  # bytes that one of many connections sends at once


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
        inbox=INBOX,
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
    made = traffic.frames(names, count, inbox=INBOX)
    asked = [frame.bytes for frame in made]
    bodies = [frame.body for frame in traffic.frames(names, count, seed=3)]
    responder, requester = Wire(port), subscribed(port)
    responder.send(b"SUB bench.service.* 1\r\n")
    responder.ping()

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
    measured = in_window(requester, asked, window, b"MSG " + INBOX.encode(), pids)
    thread.join()
    return measured


def spread(
    port: int, count: int, pids: list[int], *, connections: int = 1, subscriptions: int = 1
) -> Measured:
    """Core publishes of many connections, each message to one of their subscriptions: deliveries per second.

    connections: each subscribes and publishes.
    subscriptions: how many each of them has. All are wildcards, and none is like another.
    """
    total = connections * subscriptions
    names = [f"bench.{n % total}.c{n:05d}" for n in range(max(1000, total))]
    made = traffic.frames(names, count, inbox=INBOX)
    wires = [Wire(port) for _ in range(connections)]
    for first, wire in enumerate(wires):
        mine = range(first, total, connections)
        wire.send(b"".join(b"SUB bench.%d.> %d\r\n" % (n, n) for n in mine))
        wire.ping()
    wanted = sum(frame.delivered(frame.subject.split(b".")[1]) for frame in made)
    pieces = traffic.chunks(made, min(_PIECE, 400 * count // connections))

    def send() -> None:
        for number, piece in enumerate(pieces):
            wires[number % connections].send(piece)

    thread = threading.Thread(target=send)
    meter = Meter(pids)
    thread.start()
    receive(wires, wanted)
    measured = meter.read(count)
    thread.join()
    return measured
