"""What a server costs that has nothing to do: how soon it is ready, and its memory."""

from __future__ import annotations

import statistics

from . import servers
from .pages import number
from .rows import SYNCED
from .turns import NAMES


def section(rounds: int) -> list[str]:
    """Measure the time from start to the first answered PING (ms) and the idle resident memory (MiB)."""
    ready: dict[str, list[float]] = {name: [] for name in NAMES}
    memory: dict[str, list[float]] = {name: [] for name in NAMES}
    for _ in range(max(rounds, 3)):
        for name in NAMES:
            with servers.start(name, SYNCED) as server:
                ready[name].append(server.ready_seconds * 1e3)
                memory[name].append(server.resident_bytes() / 2**20)
    lines = [
        "",
        "## Start and rest",
        "",
        "A server with JetStream and without streams; medians. A ratio above 1 is in favour of pyjs.",
        "",
        "| what | pyjs | reference | ratio |",
        "|---|---:|---:|---:|",
    ]
    for title, taken in (("ready after start, ms", ready), ("idle resident memory, MiB", memory)):
        ours, theirs = (statistics.median(taken[name]) for name in NAMES)
        lines.append(f"| {title} | {number(ours)} | {number(theirs)} | {theirs / ours:.2f} |")
    print("\n".join(lines), flush=True)
    return lines
