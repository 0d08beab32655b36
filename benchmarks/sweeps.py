"""How the cost of a message grows: one number goes from small to large, and everything else stays.

`python -m benchmarks --only sweeps` measures them, draws a picture of each into docs/performance/, and
replaces the section of docs/performance.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import pages, plot
from .pages import number
from .rows import LAZY, SYNCED
from .turns import ROOT, Case, Row, compare

FOLDER = ROOT / "docs" / "performance"
TITLE = "## Sweeps"
_BYTES = (16, 128, 1024, 8192, 65_536, 1_048_576)
_HEAD = "| {} | pyjs | reference | ratio | CPU: pyjs | reference |"
_TEXT = """
One number goes from small to large, and everything else stays: the traffic is the mixed one. Both servers
take turns. Each picture shows the messages per second (higher is better) and the processor time of the
server in µs per message (lower is better), on logarithmic axes.
""".strip()


@dataclass(frozen=True)
class Sweep:
    """One picture.

    key: the name of its file. axis: what grows. text: what is done, in a sentence.
    options: the scenario's, for one value.
    """

    key: str
    title: str
    axis: str
    text: str
    scenario: str
    values: Sequence[int]
    options: Callable[[int], dict[str, Any]]
    pyjs: str = ""
    reference: str = ""

    def case(self, value: int) -> Case:
        """Return the case of one value."""
        words = f"{self.title}, {value:,} {self.axis}"
        return Case(words, self.scenario, self.options(value), self.pyjs, self.reference)


def _of_size(size: int, most: int, volume: int) -> dict[str, Any]:
    """Return options for bodies of about this size, of so many bytes in all."""
    count = max(200, min(most, volume // size))
    return {"count": count, "smallest": max(1, size * 7 // 8), "largest": size}


SWEEPS: tuple[Sweep, ...] = (
    Sweep(
        "connections",
        "Core, many connections",
        "connections",
        "Every connection subscribes to its part of the subjects, and publishes to all.",
        "spread",
        (1, 10, 100, 1000),
        lambda n: {"count": 100_000, "connections": n},
    ),
    Sweep(
        "subscriptions",
        "Core, many subscriptions",
        "subscriptions",
        "One connection has so many wildcards, each of which gets its part of the messages.",
        "spread",
        (1, 10, 100, 1000, 10_000, 100_000),
        lambda n: {"count": 100_000, "subscriptions": n},
    ),
    Sweep(
        "payloads",
        "Core, payloads",
        "bytes",
        "One wildcard subscriber; bodies are at most so large, and up to an eighth smaller.",
        "core",
        _BYTES,
        lambda n: _of_size(n, 150_000, 256 << 20),
    ),
    Sweep(
        "stored-payloads",
        "Publish to a file, payloads",
        "bytes",
        "At most 1,000 publishes and 16 MiB are without an answer; pyjs syncs, the reference does so later.",
        "stored",
        _BYTES,
        lambda n: _of_size(n, 60_000, 192 << 20),
        SYNCED,
        LAZY,
    ),
    Sweep(
        "subjects",
        "Publish to a file, subjects of the stream",
        "subjects",
        "The stream has a message of each subject before; pyjs syncs, the reference does so later.",
        "stored",
        (1, 10, 100, 1000, 10_000, 100_000, 1_000_000),
        lambda n: {"count": 60_000, "subjects": n, "filled": True},
        SYNCED,
        LAZY,
    ),
    Sweep(
        "consumers",
        "Publish and consume, consumers of the stream",
        "consumers",
        "Each consumer has its part of the subjects; a message is stored, delivered and acknowledged.",
        "consumed",
        (1, 10, 100, 1000),
        lambda n: {"count": 30_000, "consumers": n},
        SYNCED,
        LAZY,
    ),
)


def measure(sweeps: Sequence[Sweep], rounds: int, scale: float) -> dict[str, list[Row]]:
    """Measure all values of these sweeps, and print each as it is known."""
    found: dict[str, list[Row]] = {}
    for sweep in sweeps:
        print(f"\n{sweep.title}\n{_HEAD.format(sweep.axis)}")
        for value in sweep.values:
            row = compare(sweep.case(value).scaled(scale), rounds)
            found.setdefault(sweep.key, []).append(row)
            print(_line(value, row), flush=True)
    return found


def section(found: dict[str, list[Row]], rounds: int) -> list[str]:
    """Return the section of docs/performance.md."""
    every = [row for rows in found.values() for row in rows]
    text = f"{_TEXT}\n{rounds} round(s). {pages.quiet(every)}"
    lines = ["", TITLE, "", pages.measured(), "", text]
    for sweep in SWEEPS:
        lines += ["", f"### {sweep.title}", "", sweep.text, ""]
        lines += [f"![{sweep.title}: rate and processor time](performance/{sweep.key}.svg)", ""]
        lines += [_HEAD.format(sweep.axis), "|---:|---:|---:|---:|---:|---:|"]
        lines += [_line(value, row) for value, row in zip(sweep.values, found[sweep.key], strict=True)]
    return lines


def draw(found: dict[str, list[Row]]) -> None:
    """Write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    for sweep in SWEEPS:
        (FOLDER / f"{sweep.key}.svg").write_text(picture(sweep, found[sweep.key]), "utf-8")


def picture(sweep: Sweep, rows: Sequence[Row]) -> str:
    """Return the picture of a sweep: rates, and processor times."""

    def panel(title: str, figure: str) -> plot.Panel:
        sides = {"pyjs": [row.pyjs for row in rows], "nats-server": [row.reference for row in rows]}
        lines = {name: [max(0.01, getattr(one, figure)) for one in side] for name, side in sides.items()}
        return plot.Panel(title, sweep.values, lines)

    unit = _binary if sweep.axis == "bytes" else plot.short
    return plot.picture(
        [panel("messages per second", "rate"), panel("processor time, µs per message", "cpu")],
        sweep.axis,
        unit,
    )


def _binary(value: float) -> str:
    for size, letter in ((1 << 20, " MiB"), (1 << 10, " KiB")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _line(value: int, row: Row) -> str:
    what = f"{value:,}{pages.title(row).removeprefix(row.case.title)}"
    rates = [number(row.pyjs.rate), number(row.reference.rate), f"{row.ratio:.2f}"]
    return f"| {' | '.join([what, *rates, f'{row.pyjs.cpu:.2f}', f'{row.reference.cpu:.2f}'])} |"
