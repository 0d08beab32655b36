"""Pull consumers: of a stored stream, of one with many subjects, and many of them beside publishes."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import Any

from .. import traffic
from ..load import Wire
from .meter import Measured, Meter
from .publishing import WINDOW, fill
from .windows import INBOX, STORED, in_window, subscribed

_ACK_SUBJECT = re.compile(rb"\$JS\.ACK\.\S+")
_PULL_REPLY = b"_P.mIxEd"
_AT_ONCE = 100_000  # more than a scenario has pending
_NEXT = b"PUB $JS.API.CONSUMER.MSG.NEXT.BENCH.%b %b.%06d %d\r\n%b\r\n"


class Reader:
    """A connection that pulls, and acknowledges each message by itself."""

    def __init__(self, port: int) -> None:
        self.wire = Wire(port)
        self.wire.send(b"SUB %b.* 2\r\n" % _PULL_REPLY)
        self.wire.ping()
        self._rest = self.wire.rest
        self._asked = 0

    def pull(self, consumer: str, batch: int) -> bytes:
        """Return a request for so many messages, with a reply subject of its own."""
        self._asked += 1
        body = b'{"batch":%d,"expires":60000000000}' % batch
        return _NEXT % (consumer.encode(), _PULL_REPLY, self._asked, len(body), body)

    def receive(self) -> list[bytes]:
        """Wait for messages; return their acks. Raises TimeoutError after the socket's time."""
        received = self.wire.sock.recv(1 << 20)
        if not received:
            raise ConnectionError("the consumer's client was cut")
        data = self._rest + received
        complete = data.rfind(b"\r\n") + 2
        self._rest = data[complete:]
        return [b"PUB %b 4\r\n+ACK\r\n" % subject for subject in _ACK_SUBJECT.findall(data, 0, complete)]

    def batches(self, count: int, batch: int, ahead: int, meter: Meter, seconds: float) -> tuple[int, bool]:
        """Read `count` messages in batches, of which `ahead` are asked for at once.

        Returns how many came, and whether that was all there was time for.
        """
        seen, number = 0, min(ahead, count // batch)
        self.wire.send(b"".join(self.pull("C", batch) for _ in range(number)))
        while seen < count:
            if meter.seconds > seconds:
                return seen, True
            out = self.receive()
            seen += len(out)
            while number * batch < count and number * batch < seen + ahead * batch:
                out.append(self.pull("C", batch))
                number += 1
            if out:
                self.wire.send(b"".join(out))
        return seen, False


def pulled(
    port: int, count: int, pids: list[int], *, batch: int = 200, ahead: int = 2, subjects: int = 1000
) -> Measured:
    """Pull a stored stream in batches, and acknowledge each message by itself: messages per second.

    ahead: how many batches are asked for at once.
    """
    wire = _stream(port)
    made = traffic.frames(traffic.subjects(subjects, "bench"), count, inbox=INBOX, headed=0.5)
    in_window(subscribed(port), [frame.bytes for frame in made], WINDOW, STORED, ())
    _consumer(wire, "C", max_ack_pending=10 * batch)
    reader = Reader(port)
    meter = Meter(pids)
    seen, _ = reader.batches(count // batch * batch, batch, ahead, meter, 600)
    return meter.read(seen)


def filtered(
    port: int,
    count: int,
    pids: list[int],
    *,
    subjects: int = 1_000_000,
    filters: Sequence[str] = ("bench.*.*.paid",),
    batch: int = 200,
    seconds: float = 20.0,
) -> Measured:
    """Make a consumer with filters on a stream of many subjects, and read `count` messages with it.

    The clock starts before the consumer is made, and the scenario ends after `seconds`, whatever has come.
    filters: one that matches an eighth of the messages.
    """
    wire = _stream(port)
    fill(port, traffic.subjects(subjects, "bench"))
    wire.sock.settimeout(seconds)
    reader = Reader(port)
    reader.wire.sock.settimeout(seconds)
    meter = Meter(pids)
    try:
        _consumer(wire, "C", max_ack_pending=10 * batch, filter_subjects=list(filters))
        seen, cut = reader.batches(count // batch * batch, batch, 2, meter, seconds)
    except TimeoutError:
        seen, cut = 0, True
    return meter.read(seen, cut=cut)


def consumed(port: int, count: int, pids: list[int], *, consumers: int = 1) -> Measured:
    """Publish while consumers wait, each for its part of the subjects: messages per second.

    A message counts when it is stored, delivered and acknowledged.
    """
    wire = _stream(port)
    reader = Reader(port)
    out = []
    for number in range(consumers):
        _consumer(wire, f"C{number}", filter_subject=f"bench.{number}.>", max_ack_pending=_AT_ONCE)
        out.append(reader.pull(f"C{number}", count))
    reader.wire.send(b"".join(out))
    reader.wire.ping()
    names = [f"bench.{n % consumers}.c{n:05d}" for n in range(max(1000, consumers))]
    asked = [frame.bytes for frame in traffic.frames(names, count, inbox=INBOX, headed=0.5)]
    publisher = subscribed(port)
    thread = threading.Thread(target=in_window, args=(publisher, asked, WINDOW, STORED, ()))
    meter, seen = Meter(pids), 0
    thread.start()
    while seen < count:
        acks = reader.receive()
        seen += len(acks)
        reader.wire.send(b"".join(acks))
    reader.wire.ping()
    thread.join()
    return meter.read(count)


def _stream(port: int) -> Wire:
    wire = Wire(port)
    wire.request("$JS.API.STREAM.CREATE.BENCH", {"name": "BENCH", "subjects": ["bench.>"]})
    return wire


def _consumer(wire: Wire, name: str, **more: Any) -> None:
    config = {"durable_name": name, "ack_policy": "explicit", **more}
    wire.request(f"$JS.API.CONSUMER.DURABLE.CREATE.BENCH.{name}", {"stream_name": "BENCH", "config": config})
