"""Both servers in turn: one case, its medians, and how much of the machine others took meanwhile."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import servers
from .mixed.meter import Measured

ROOT = Path(__file__).parent.parent
NAMES = ("pyjs", "reference")
BUSY = 0.1  # the part of the machine's time that others may take


@dataclass(frozen=True)
class Case:
    """One row: a scenario with its options, and the inside of each server's jetstream block.

    where: the servers that run: "one"; two of a cluster, joined by a "route"; a "leaf" node and its hub;
        "three" of a cluster, with JetStream.
    load: the module of the scenario, "mixed" or "load", which repeats one message.
    lead: whether the row is on the first page, too.
    rounds: at most so many; 0 for as many as the others.
    note: what the reader of the row has to know.
    """

    title: str
    scenario: str
    options: dict[str, Any]
    pyjs: str = ""
    reference: str = ""
    where: str = "one"
    load: str = "mixed"
    lead: bool = False
    rounds: int = 0
    note: str = ""

    def scaled(self, scale: float) -> Case:
        """Return the case with a part of its messages, but enough to measure."""
        count = max(min(1000, self.options["count"]), int(self.options["count"] * scale))
        return replace(self, options={**self.options, "count": count})


@dataclass(frozen=True)
class Row:
    """What a case gave.

    others: the part of the machine's time, from 0 to 1, that went to others.
    """

    case: Case
    pyjs: Measured
    reference: Measured
    others: float

    @property
    def ratio(self) -> float:
        """pyjs beside the reference; above 1 is in favour of pyjs."""
        return self.pyjs.rate / self.reference.rate if self.reference.rate else float("inf")


@contextmanager
def _running(case: Case, name: str) -> Iterator[list[servers.Running]]:
    jetstream = case.pyjs if name == "pyjs" else case.reference
    if case.where == "three":
        with servers.trio(name, jetstream) as three:
            yield three
    elif case.where == "one":
        with servers.start(name, jetstream) as server:
            yield [server]
    elif case.where == "route":
        with servers.pair(name) as (server, other):
            yield [server, other]
    else:
        with servers.leaf(name, jetstream) as (server, other):
            yield [server, other]


def measure(case: Case, name: str) -> Measured:
    """Measure one round of one server."""
    with _running(case, name) as running:
        options = {**case.options, "pids": [server.process.pid for server in running]}
        if case.where == "three":
            options["ports"] = [server.port for server in running]
        elif case.where != "one":
            options["other"] = running[1].port
        command = [sys.executable, "-m", f"benchmarks.{case.load}", case.scenario, str(running[0].port)]
        return Measured(**json.loads(subprocess.check_output([*command, json.dumps(options)], cwd=ROOT)))


def compare(case: Case, rounds: int) -> Row:
    """Measure a case in turn, and return the medians of both servers."""
    taken: dict[str, list[Measured]] = {name: [] for name in NAMES}
    clock = _Processors()
    for turn in range(min(rounds, case.rounds or rounds)):
        for name in NAMES if turn % 2 == 0 else reversed(NAMES):
            taken[name].append(measure(case, name))
    return Row(case, _median(taken["pyjs"]), _median(taken["reference"]), clock.others())


def _median(rounds: list[Measured]) -> Measured:
    figures = (
        statistics.median(getattr(one, name) for one in rounds) for name in ("rate", "cpu", "p50", "p99")
    )
    return Measured(*figures, cut=any(one.cut for one in rounds))


class _Processors:
    """Sees from when it is made what the machine's processors do beside this process and its children."""

    def __init__(self) -> None:
        self._began = self._read()

    def others(self) -> float:
        """Return the part of their time that others took; 0 where the system does not tell."""
        whole, busy, own = (now - then for now, then in zip(self._read(), self._began, strict=True))
        return max(0.0, (busy - own) / whole) if whole > 0 else 0.0

    @staticmethod
    def _read() -> tuple[float, float, float]:
        """Return seconds: of all processors, busy ones of programs, and ours, those of ended children too."""
        stat = Path("/proc/stat")
        if not stat.exists():
            return 0.0, 0.0, 0.0
        ticks = [int(field) for field in stat.read_text().split("\n", 1)[0].split()[1:9]]
        user, nice, system, *_, steal = ticks
        who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        own = sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, who))
        second = os.sysconf("SC_CLK_TCK")
        return sum(ticks) / second, (user + nice + system + steal) / second, own
