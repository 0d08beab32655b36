"""Publishes to streams."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from .. import traffic
from ..load import Wire, answered
from .meter import Measured
from .windows import INBOX, STORED, in_window, one_by_one, subscribed

WINDOW = 1000  # publishes without an answer, while a stream is filled
IN_FLIGHT = 16 << 20  # bytes of bodies without an answer


def stored(
    port: int,
    count: int,
    pids: list[int],
    *,
    storage: str = "file",
    window: int = WINDOW,
    headed: float = 0.5,
    subjects: int = 1000,
    filled: bool = False,
    clients: int = 1,
    smallest: int = traffic.SMALLEST,
    largest: int = traffic.LARGEST,
    ports: Sequence[int] = (),
) -> Measured:
    """JetStream publishes with a reply of its own each: acknowledged messages per second.

    window: how many may be without an answer, of one client.
    headed: the part of them that have a message id.
    filled: whether the stream has a message of each subject before.
    clients: if more than one, or with a window of 1: each awaits every answer, and the latencies count.
    ports: those of three servers called "s0", "s1", "s2": then the stream has three replicas.
    """
    config = {"name": "BENCH", "subjects": ["bench.>"], "storage": storage}
    port = _made(port, config, ports)
    names = traffic.subjects(subjects, "bench")
    before = fill(port, names) if filled else 0
    wires, shares = [], []
    for client in range(clients):
        inbox = f"{INBOX}{client}"
        made = traffic.frames(
            names,
            count // clients,
            inbox=inbox,
            headed=headed,
            smallest=smallest,
            largest=largest,
            seed=client + 2,
        )
        shares.append([frame.bytes for frame in made])
        wires.append(subscribed(port, inbox))
    if clients > 1 or window == 1:
        measured = one_by_one(wires, shares, pids)
    else:
        room = max(1, min(window, IN_FLIGHT // largest))
        measured = in_window(wires[0], shares[0], room, STORED, pids)
    state = wires[0].request("$JS.API.STREAM.INFO.BENCH", {})["state"]
    wanted = before + sum(map(len, shares))
    if state["messages"] != wanted:
        raise RuntimeError(f"{wanted} acknowledged, {state['messages']} stored")
    return measured


def _made(port: int, config: dict[str, Any], ports: Sequence[int]) -> int:
    """Make the stream BENCH; return the port of its leader."""
    if not ports:
        Wire(port).request("$JS.API.STREAM.CREATE.BENCH", config)
        return port
    answered(port, "$JS.API.STREAM.CREATE.BENCH", {**config, "num_replicas": 3})
    leader = answered(port, "$JS.API.STREAM.INFO.BENCH", {})["cluster"]["leader"]
    return ports[int(leader[1:])]


def fill(port: int, names: Sequence[str], largest: int = 200) -> int:
    """Publish a message to each of these subjects, unmeasured; return how many they are."""
    sizes = traffic.bodies(random.Random(2), largest=largest)
    puts = [
        b"PUB %b %b.%X %d\r\n%b\r\n" % (name.encode(), INBOX.encode(), at, len(body), body)
        for at, (name, body) in enumerate(zip(names, sizes, strict=False))
    ]
    in_window(subscribed(port), puts, WINDOW, STORED, ())
    return len(puts)
