"""How a mirror, or a stream with a source, catches up with a stream that is there before it."""

from __future__ import annotations

import time
from typing import Any

from .. import traffic
from ..load import Wire
from .meter import Measured, Meter
from .publishing import WINDOW
from .windows import INBOX, STORED, in_window, subscribed

SECONDS = 60.0
EVERY = 0.01  # s between two looks at the copy


def copied(port: int, count: int, pids: list[int], *, kind: str = "mirror", subjects: int = 1000) -> Measured:
    """Make a copy of a stream of `count` messages: messages per second, from its creation to its last one.

    kind: "mirror" or "source".
    """
    wire = Wire(port)
    wire.request("$JS.API.STREAM.CREATE.BENCH", {"name": "BENCH", "subjects": ["bench.>"]})
    made = traffic.frames(traffic.subjects(subjects, "bench"), count, inbox=INBOX, headed=0.5)
    in_window(subscribed(port), [frame.bytes for frame in made], WINDOW, STORED, ())
    origin: dict[str, Any] = {"name": "BENCH"}
    config = {"name": "COPY", "mirror": origin} if kind == "mirror" else {"name": "COPY", "sources": [origin]}
    meter = Meter(pids)
    wire.request("$JS.API.STREAM.CREATE.COPY", config)
    while (there := _messages(wire)) < count and meter.seconds < SECONDS:
        time.sleep(EVERY)
    return meter.read(there, cut=there < count)


def _messages(wire: Wire) -> int:
    return int(wire.request("$JS.API.STREAM.INFO.COPY", {})["state"]["messages"])
