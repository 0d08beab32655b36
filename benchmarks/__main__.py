"""`python -m benchmarks`: pyjs and the reference in turn, in one run; the ratios, also in results.md.

Only ratios count: the machine's noise affects both alike, because the two take turns round by round and the
medians of the rounds are compared. `--quick` does one round with a tenth of the load; `--only NAME` one case.
`--only applications` (traffic as applications make it), `--only spark` (the Spark data source), `--only
fairness` and `--only memory` measure that alone and replace its section of results.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import applications, fairness, memory, servers, spark

RESULTS = Path(__file__).with_name("results.md")
SIZES = (16, 128, 4096)
SECTIONS = {
    "applications": applications.section,
    "fairness": fairness.section,
    "memory": memory.section,
    "spark": spark.section,
}
MEMORY = "max_mem: 2G"
ALWAYS = "max_mem: 2G, sync_interval: always"


@dataclass(frozen=True)
class Case:
    """One row: a scenario of the load with its options, and the inside of each server's jetstream block.

    pair: run two servers of a cluster
    trio: run three, with JetStream
    """

    title: str
    scenario: str
    options: dict[str, Any]
    pyjs: str = ""
    reference: str = ""
    latency: bool = False
    pair: bool = False
    trio: bool = False

    @property
    def size(self) -> int:
        return int(self.options["size"])


def cases() -> Iterator[Case]:
    """Yield every row of repeated traffic, in its order."""
    for size in SIZES:
        scale = 1 if size < 1024 else 8
        yield Case("core publish", "publish", {"size": size, "count": 2_000_000 // scale})
        yield Case("core publish → 1 subscriber", "fan_out", {"size": size, "count": 800_000 // scale})
        fan = {"size": size, "count": 80_000 // scale, "subscribers": 10}
        yield Case("core publish → 10 subscribers", "fan_out", fan)
        over = {"size": size, "count": 400_000 // scale}
        yield Case("core publish → a subscriber of another server", "across", over, pair=True)
        yield Case("request/reply", "request_reply", {"size": size, "count": 5_000}, latency=True)
        js = {"size": size, "count": 150_000 // scale}
        slow = {"size": size, "count": 12_000}
        memory = {**js, "storage": "memory"}
        yield Case("JetStream publish, file (each at its default)", "js_publish", js, MEMORY, MEMORY)
        yield Case("JetStream publish, file, ack after sync", "js_publish", slow, MEMORY, ALWAYS)
        yield Case("JetStream publish, memory", "js_publish", memory, MEMORY, MEMORY)
        three = {"size": size, "count": 60_000 // scale}
        yield Case(
            "JetStream publish, R3 (each at its default)", "r3_publish", three, MEMORY, MEMORY, trio=True
        )
        title = "JetStream publish, R3, ack after a quorum synced"
        yield Case(title, "r3_publish", three, MEMORY, ALWAYS, trio=True)
        yield Case(
            "pull-consume, batches of 100", "pull", {"size": size, "count": 50_000 // scale}, MEMORY, MEMORY
        )


def run(scenario: str, port: int, options: dict[str, Any]) -> Any:
    """Return what the load prints, run in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.load", scenario, str(port), json.dumps(options)]
    return json.loads(subprocess.check_output(command, cwd=RESULTS.parent.parent))


def measure(case: Case, name: str) -> list[float]:
    """Measure one round of one server and return [rate], or [p50, p99] in µs."""
    if case.pair:
        with servers.pair(name) as (server, other):
            out = run(case.scenario, server.port, {**case.options, "other": other.port})
    elif case.trio:
        with servers.trio(name, case.pyjs if name == "pyjs" else case.reference) as three:
            ports = [server.port for server in three]
            out = run(case.scenario, ports[0], {**case.options, "ports": ports})
    else:
        with servers.start(name, case.pyjs if name == "pyjs" else case.reference) as server:
            out = run(case.scenario, server.port, case.options)
    if not case.latency:
        return [float(out)]
    times = sorted(out)
    return [times[len(times) // 2] * 1e6, times[len(times) * 99 // 100] * 1e6]


def compare(case: Case, rounds: int) -> list[tuple[str, float, float, float]]:
    """Return rows (title, pyjs, reference, ratio) of one case; for latencies it is reference / pyjs."""
    taken: dict[str, list[list[float]]] = {"pyjs": [], "reference": []}
    for turn in range(rounds):
        for name in ("pyjs", "reference") if turn % 2 == 0 else ("reference", "pyjs"):
            taken[name].append(measure(case, name))
    ours, theirs = (
        [statistics.median(column) for column in zip(*n, strict=True)] for _, n in sorted(taken.items())
    )
    if case.latency:
        pairs = zip(("p50, µs", "p99, µs"), ours, theirs, strict=True)
        return [(f"{case.title}, {what}", a, b, b / a) for what, a, b in pairs]
    return [(case.title, ours[0], theirs[0], ours[0] / theirs[0])]


def standing(rounds: int) -> list[tuple[str, float, float, float]]:
    """Measure the time from start to the first answered PING (ms) and the idle resident memory (MiB).

    JetStream is on. Returns rows as `compare` does.
    """
    ready: dict[str, list[float]] = {"pyjs": [], "reference": []}
    memory: dict[str, list[float]] = {"pyjs": [], "reference": []}
    for _ in range(max(rounds, 3)):
        for name, times in ready.items():
            with servers.start(name, MEMORY) as server:
                times.append(server.ready_seconds * 1e3)
                memory[name].append(server.resident_bytes() / 2**20)
    rows = []
    for title, taken in (("ready after start, ms", ready), ("idle resident memory, MiB", memory)):
        a, b = statistics.median(taken["pyjs"]), statistics.median(taken["reference"])
        rows.append((title, a, b, b / a))
    return rows


def store() -> list[str]:
    """Measure pyjs's stores by themselves; print the lines of Markdown and return them."""
    text = subprocess.check_output(
        [sys.executable, "-m", "benchmarks.store"], cwd=RESULTS.parent.parent, text=True
    )
    found = [
        "",
        "## The stores of pyjs alone",
        "",
        "`python -m benchmarks.store`, 128 B messages:",
        "",
        "```",
    ]
    found += [*text.rstrip().splitlines(), "```"]
    print("\n".join(found), flush=True)
    return found


def renew(section: list[str]) -> None:
    """Replace the section of results.md with the same title, or append this one."""
    text = RESULTS.read_text()
    title = next(line for line in section if line.startswith("## "))
    before, found, after = text.partition(f"\n{title}\n")
    rest = after.partition("\n## ") if found else ("", "", "")
    RESULTS.write_text(before.rstrip("\n") + "\n" + "\n".join(section) + "\n" + rest[1] + rest[2])


def version(command: list[str]) -> str:
    """Return the server's own version text."""
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    return (done.stdout or done.stderr).strip()


def number(value: float) -> str:
    """Return a number in as few digits as are meaningful: 1,234,567 · 12.3."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def main() -> None:
    """Run, print each row as it is known, and write results.md unless this was a partial run."""
    arguments = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--quick", action="store_true", help="one round, a tenth of the messages")
    arguments.add_argument("--only", default="", help="only titles that contain this")
    arguments.add_argument("--size", type=int, default=0, help="only this message size")
    chosen = arguments.parse_args()
    rounds = 1 if chosen.quick else chosen.rounds
    scale = 0.1 if chosen.quick else 1.0
    if chosen.only in SECTIONS:
        found = SECTIONS[chosen.only](scale, number)
        if not chosen.quick:
            renew(found)
        return
    python = platform.python_version()
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {python}"
    lines = [
        "# pyjs beside the reference server",
        "",
        f"`make bench`: both servers in turn, medians of {rounds} round(s). {machine}.",
        f"pyjs: `{version(servers.pyjs_command())}`; reference: `{version(servers.reference_command())}`.",
    ]
    print("\n".join(lines), flush=True)
    whole = not (chosen.only or chosen.size or chosen.quick)
    if whole:
        lines.extend(applications.section(scale, number))
    repeated = [
        "",
        "## Repeated traffic",
        "",
        "The same message over and over: one subject, one size, one reply.",
        "A ratio above 1 is in favour of pyjs. Rates are messages (for subscribers: deliveries) per second.",
        "pyjs acknowledges a file publish after `fdatasync`; the reference, at its default, does so before.",
        "",
        "| what | bytes | pyjs | reference | ratio |",
        "|---|---:|---:|---:|---:|",
    ]
    lines.extend(repeated)
    print("\n".join(repeated), flush=True)

    def show(rows: list[tuple[str, float, float, float]], size: str) -> None:
        for title, ours, theirs, ratio in rows:
            lines.append(f"| {title} | {size} | {number(ours)} | {number(theirs)} | {ratio:.2f} |")
            print(lines[-1], flush=True)

    for case in cases():
        if chosen.only in case.title and chosen.size in (0, case.size):
            if chosen.quick:
                case.options["count"] = max(1000, case.options["count"] // 10)
            show(compare(case, rounds), str(case.size))
    if chosen.only in "start and memory":
        show(standing(rounds), "")
    if whole:
        lines.extend(store())
        for name, section in SECTIONS.items():
            if name != "applications":
                lines.extend(section(scale, number))
        RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
