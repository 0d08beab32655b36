"""The section of results.md that comes first: both servers under traffic as applications make it.

`python -m benchmarks --only applications` measures it alone and replaces it. The two servers take turns, and
the medians of the rounds are compared; the processor time of the servers stands beside the rates, because it
suffers less from what else the machine does.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import servers
from .mixed import Measured

_FILES = "max_mem: 2G"
_LAZY = 'max_mem: 2G, sync_interval: "2m"'
_ALWAYS = "max_mem: 2G, sync_interval: always"
_ROUNDS = 3
_BUSY = 0.1  # the part of the machine's time that others may take
TITLE = "## Traffic as applications make it"


@dataclass(frozen=True)
class Case:
    """One row: a scenario of `mixed` with its options, and the inside of each server's jetstream block.

    servers: how many servers run: 1, or 2 or 3 of a cluster.
    awaited: whether its latencies are shown, too.
    """

    title: str
    scenario: str
    options: dict[str, Any]
    pyjs: str = ""
    reference: str = ""
    servers: int = 1
    awaited: bool = field(default=False, kw_only=True)


def cases() -> Iterator[Case]:
    """Yield every row, in its order."""
    yield Case("core, one wildcard subscriber", "core", {"count": 300_000})
    fan = {"count": 150_000, "headed": 0.5, "wildcards": 2, "members": 4}
    yield Case("core, headers on half, two wildcards and a queue of 4", "core", fan)
    yield Case("core, to a subscriber of another server", "core", {"count": 150_000}, servers=2)
    yield Case("requests with inboxes, 32 in flight", "requests", {"count": 60_000})
    file = {"count": 100_000}
    yield Case("publish to a file, synced / lazy", "stored", file, _FILES, _LAZY)
    yield Case("publish to a file, lazy / lazy", "stored", file, _LAZY, _LAZY)
    yield Case("publish to memory", "stored", {"count": 100_000, "storage": "memory"}, _FILES, _FILES)
    for clients in (1, 8, 64):
        one = {"count": 6_000, "window": 1, "clients": clients}
        title = f"publish and await, {clients} client{'s' if clients > 1 else ''}"
        yield Case(f"{title}, lazy / lazy", "stored", one, _LAZY, _LAZY, awaited=True)
        yield Case(f"{title}, synced / always", "stored", one, _FILES, _ALWAYS, awaited=True)
    yield Case("pull in batches of 200, an ack each", "pulled", {"count": 100_000}, _FILES, _FILES)
    for title, by in (
        ("get a key", "subject"),
        ("direct get of the last of a subject", "last"),
        ("direct get by sequence", "sequence"),
    ):
        yield Case(f"{title}, 32 in flight", "got", {"count": 40_000, "by": by}, _FILES, _FILES)
    three = {"count": 40_000}
    yield Case("publish, R3, quorum synced / lazy", "stored", three, _FILES, _LAZY, servers=3)
    yield Case("publish, R3, quorum synced / always", "stored", three, _FILES, _ALWAYS, servers=3)


@contextmanager
def _running(case: Case, name: str) -> Iterator[list[servers.Running]]:
    jetstream = case.pyjs if name == "pyjs" else case.reference
    if case.servers == 3:
        with servers.trio(name, jetstream) as three:
            yield three
    elif case.servers == 2:
        with servers.pair(name) as (server, other):
            yield [server, other]
    else:
        with servers.start(name, jetstream) as server:
            yield [server]


def measure(case: Case, name: str) -> Measured:
    """Measure one round of one server."""
    with _running(case, name) as running:
        options = {**case.options, "pids": [server.process.pid for server in running]}
        if case.servers == 3:
            options["ports"] = [server.port for server in running]
        elif case.servers == 2:
            options["other"] = running[1].port
        command = [sys.executable, "-m", "benchmarks.mixed", case.scenario, str(running[0].port)]
        root = Path(__file__).parent.parent
        return Measured(**json.loads(subprocess.check_output([*command, json.dumps(options)], cwd=root)))


def compare(case: Case, rounds: int) -> tuple[Measured, Measured]:
    """Return the medians of pyjs and of the reference."""
    taken: dict[str, list[Measured]] = {"pyjs": [], "reference": []}
    for turn in range(rounds):
        for name in ("pyjs", "reference") if turn % 2 == 0 else ("reference", "pyjs"):
            taken[name].append(measure(case, name))
    return _median(taken["pyjs"]), _median(taken["reference"])


def _median(rounds: list[Measured]) -> Measured:
    return Measured(
        *(statistics.median([getattr(one, name) for one in rounds]) for name in ("rate", "cpu", "p50", "p99"))
    )


def busy() -> float:
    """Return the part of the processors' time, from 0 to 1, that others take now; see it for a second."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return min(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))

    def read() -> tuple[int, int]:
        spent = [int(field) for field in stat.read_text().split("\n", 1)[0].split()[1:9]]
        return sum(spent), spent[3] + spent[4]  # idle, and waiting for a disk

    whole, idle = read()
    time.sleep(1)
    whole_after, idle_after = read()
    return 1 - (idle_after - idle) / max(1, whole_after - whole)


def section(scale: float, number: Callable[[float], str], only: str = "") -> list[str]:
    """Measure, print each row as it is known, and return the lines of Markdown.

    only: measure the rows whose title contains it.
    """
    rounds = _ROUNDS if scale >= 1 else 1
    lines = [
        "",
        TITLE,
        "",
        f"`python -m benchmarks --only applications`: {rounds} round(s) in turn, medians. There are 1,000",
        "subjects in random order, bodies of 40 to 1,500 bytes, a reply subject of its own for each message,",
        "and a message id on half of what is stored. Rates are messages (for subscribers: deliveries) per",
        "second. A ratio above 1 is in favour of pyjs. CPU is the server's processor time in µs per message;",
        'latencies are in µs. "synced" acknowledges after `fdatasync` (the default of pyjs), "lazy" before',
        'it (the default of the reference), and "always" is the reference with `sync_interval: always`.',
        "",
        "| work | pyjs | reference | ratio | CPU: pyjs | reference | p50/p99: pyjs | reference |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    others = busy()
    if others > _BUSY:
        lines[-3:-3] = [
            f"**The machine was not quiet: others took {others:.0%} of its processors' time.**",
            "",
        ]
    print("\n".join(lines), flush=True)
    for case in cases():
        if only not in case.title:
            continue
        count = int(case.options["count"] * scale)
        ours, theirs = compare(replace(case, options={**case.options, "count": count}), rounds)
        awaited = (
            [f"{number(one.p50)} / {number(one.p99)}" for one in (ours, theirs)] if case.awaited else ["", ""]
        )
        cells = [case.title, number(ours.rate), number(theirs.rate), f"{ours.rate / theirs.rate:.2f}"]
        cells += [f"{ours.cpu:.2f}", f"{theirs.cpu:.2f}", *awaited]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines
