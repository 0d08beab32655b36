"""The sections that compare the two servers row by row: mixed traffic, and repeated traffic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import pages
from .mixed.meter import Measured
from .pages import number
from .turns import Case, Row, compare

MIXED_TITLE = "## Mixed traffic"
_MIXED = """
There are 1,000 subjects in random order, bodies of 40 to 1,500 bytes, a reply subject of its own for each
message, and a message id on half of what is stored. All bytes are made before the clock starts, from a
seed, and another process sends them. The two servers take turns, and the medians of the rounds are
compared. Rates are messages (for subscribers: deliveries) per second. A ratio above 1 is in favour of pyjs.
CPU is the processor time of the servers, of all that run, in µs per message; latencies are in µs. "synced"
acknowledges after `fdatasync` (the default of pyjs), "lazy" before it (the default of the reference), and
"always" is the reference with `sync_interval: always`.
""".strip()
_REPEATED = """
The same message over and over: one subject, one size, one reply. No application sends this; it shows the
shortest path. pyjs acknowledges a file publish after `fdatasync`; the reference, at its default, does so
before.
""".strip()
_MIXED_HEAD = (
    "| work | pyjs | reference | ratio | CPU: pyjs | reference | p50/p99: pyjs | reference |",
    "|---|---:|---:|---:|---:|---:|---:|---:|",
)
_REPEATED_HEAD = (
    "| what | bytes | pyjs | reference | ratio | p50/p99, µs: pyjs | reference |",
    "|---|---:|---:|---:|---:|---:|---:|",
)
_README = """
Messages per second under [mixed traffic](docs/performance.md) beside nats-server, both in one run on the
same machine: many subjects in random order, bodies of many sizes, a reply of its own for each message. pyjs
acknowledges a file publish after it is on disk; "lazy" is nats-server at its default, which syncs later.
""".strip()


def rows(cases: Sequence[Case], rounds: int, scale: float, line: Callable[[Row], str]) -> list[Row]:
    """Measure these cases, and print the line of each as it is known."""
    found = []
    for case in cases:
        found.append(compare(case.scaled(scale), rounds))
        print(line(found[-1]), flush=True)
    return found


def mixed(cases: Sequence[Case], rounds: int, scale: float) -> list[Row]:
    """Measure rows of mixed traffic."""
    print("\n".join(_MIXED_HEAD))
    return rows(cases, rounds, scale, mixed_line)


def repeated(cases: Sequence[Case], rounds: int, scale: float) -> list[Row]:
    """Measure rows of repeated traffic."""
    print("\n".join(_REPEATED_HEAD))
    return rows(cases, rounds, scale, repeated_line)


def mixed_section(found: list[Row], rounds: int) -> list[str]:
    """Return the section of results.md and of docs/performance.md."""
    notes = [row.case.note for row in found if row.case.note]
    text = [_MIXED, *notes, f"{rounds} round(s). {pages.quiet(found)}"]
    table = [*_MIXED_HEAD, *map(mixed_line, found)]
    return ["", MIXED_TITLE, "", pages.measured(), "", "\n".join(text), "", *table]


def repeated_section(found: list[Row], rounds: int) -> list[str]:
    """Return the section of results.md."""
    text = [_REPEATED, f"Medians of {rounds} round(s). {pages.quiet(found)}"]
    table = [*_REPEATED_HEAD, *map(repeated_line, found)]
    return ["", "## Repeated traffic", "", pages.measured(), "", "\n".join(text), "", *table]


def readme_section(found: list[Row]) -> list[str]:
    """Return the section of README.md: the rows that say most."""
    table = ["| work | pyjs | nats-server | ratio |", "|---|---:|---:|---:|"]
    table += [f"| {' | '.join(_rates(row))} |" for row in found if row.case.lead]
    return ["", "## Speed", "", f"{_README}\n{pages.quiet(found)}", "", *table]


def mixed_line(row: Row) -> str:
    """Return a row of the table of mixed traffic."""
    cpu = (f"{one.cpu:.2f}" for one in (row.pyjs, row.reference))
    return f"| {' | '.join([*_rates(row), *cpu, *_latencies(row)])} |"


def repeated_line(row: Row) -> str:
    """Return a row of the table of repeated traffic."""
    what, *rates = _rates(row)
    return f"| {' | '.join([what, str(row.case.options['size']), *rates, *_latencies(row)])} |"


def _rates(row: Row) -> list[str]:
    return [pages.title(row), number(row.pyjs.rate), number(row.reference.rate), f"{row.ratio:.2f}"]


def _latencies(row: Row) -> list[str]:
    def cell(one: Measured) -> str:
        return f"{number(one.p50)} / {number(one.p99)}" if one.p99 else ""

    return [cell(row.pyjs), cell(row.reference)]
