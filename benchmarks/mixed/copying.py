"""How a mirror, or a stream with a source, catches up with a stream that is there before it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from .. import traffic
from ..load import Wire, answered
from .meter import Measured, Meter
from .publishing import WINDOW
from .windows import INBOX, STORED, in_window, subscribed

SECONDS = 60.0
EVERY = 0.01  # s between two looks at the copy


def copied(
    port: int,
    count: int,
    pids: list[int],
    *,
    kind: str = "mirror",
    subjects: int = 1000,
    other: int = 0,
    ports: Sequence[int] = (),
) -> Measured:
    """Make a copy of a stream of `count` messages: messages per second, from its creation to its last one.

    kind: "mirror" or "source".
    other: the port of the hub, if the copy is made on a leaf node: the origin is in its domain then.
    ports: those of three servers called "s0", "s1", "s2": the origin is then on the second, the copy on the
        first.
    """
    origin: dict[str, Any] = {"name": "BENCH"}
    stream = {"name": "BENCH", "subjects": ["bench.>"], **_placed(ports, 1)}
    if ports:
        answered(port, "$JS.API.STREAM.CREATE.BENCH", stream)
    elif other:
        origin["external"] = {"api": "$JS.hub.API"}
        _await_hub(port)
        Wire(other).request("$JS.API.STREAM.CREATE.BENCH", stream)
    else:
        Wire(port).request("$JS.API.STREAM.CREATE.BENCH", stream)
    made = traffic.frames(traffic.subjects(subjects, "bench"), count, inbox=INBOX, headed=0.5)
    at = ports[1] if ports else other or port
    in_window(subscribed(at), [frame.bytes for frame in made], WINDOW, STORED, ())
    wire = Wire(port)
    copy = {
        "name": "COPY",
        **_placed(ports, 0),
        **({"mirror": origin} if kind == "mirror" else {"sources": [origin]}),
    }
    meter = Meter(pids)
    wire.request("$JS.API.STREAM.CREATE.COPY", copy)
    while (there := _messages(wire)) < count and meter.seconds < SECONDS:
        time.sleep(EVERY)
    return meter.read(there, cut=there < count)


def _await_hub(port: int) -> None:
    """Wait until the JetStream of the hub answers on a leaf node."""
    wire = Wire(port)
    deadline = time.monotonic() + SECONDS
    while b"memory" not in wire.ask("$JS.hub.API.INFO", b""):
        if time.monotonic() > deadline:
            raise RuntimeError("the hub does not answer")
        time.sleep(EVERY)


def _placed(ports: Sequence[int], number: int) -> dict[str, Any]:
    """Return what places a stream on the server with this number, if there are several."""
    return {"placement": {"tags": [f"s{number}"]}} if ports else {}


def _messages(wire: Wire) -> int:
    return int(wire.request("$JS.API.STREAM.INFO.COPY", {})["state"]["messages"])
