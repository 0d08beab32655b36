"""`python -m benchmarks`: pyjs and the reference in turn, in one run; the figures, also in results.md.

Only ratios count: the machine's noise affects both alike, because the two take turns round by round and the
medians of the rounds are compared. Each section of results.md is written as soon as it is measured; `--only
NAME` measures one of them. Any other NAME measures the rows whose title contains it, and writes nothing.
`--quick` does one round with a tenth of the load, and writes nothing either.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from . import comparison, fairness, memory, pages, spark, standing, sweeps
from .pages import PERFORMANCE, README, RESULTS, number, renew, stamped
from .rows import MIXED, REPEATED
from .turns import ROOT


@dataclass(frozen=True)
class Run:
    """What was asked for."""

    rounds: int
    scale: float
    write: bool

    def keep(self, section: list[str]) -> None:
        """Write a section of results.md, unless this is a quick run."""
        if self.write:
            renew(RESULTS, section)


def mixed(run: Run) -> None:
    found = comparison.mixed(MIXED, run.rounds, run.scale)
    section = comparison.mixed_section(found, run.rounds)
    run.keep(section)
    if run.write:
        renew(PERFORMANCE, section)
        renew(README, comparison.readme_section(found))


def repeated(run: Run) -> None:
    found = comparison.repeated(REPEATED, run.rounds, run.scale)
    run.keep(comparison.repeated_section(found, run.rounds))


def swept(run: Run) -> None:
    found = sweeps.measure(sweeps.SWEEPS, run.rounds, run.scale)
    section = sweeps.section(found, run.rounds)
    if run.write:
        sweeps.draw(found)
        renew(PERFORMANCE, section)


def store(run: Run) -> None:
    """Measure pyjs's stores by themselves."""
    command = [sys.executable, "-m", "benchmarks.store", *([] if run.write else ["--quick"])]
    text = subprocess.check_output(command, cwd=ROOT, text=True)
    print(text, flush=True)
    head = ["", "## The stores of pyjs alone", "", "`python -m benchmarks.store`, 128 B messages:", "", "```"]
    run.keep(stamped([*head, *text.rstrip().splitlines(), "```"]))


def _own(section: Callable[[float, Callable[[float], str]], list[str]]) -> Callable[[Run], None]:
    return lambda run: run.keep(stamped(section(run.scale, number)))


SECTIONS: dict[str, Callable[[Run], None]] = {
    "mixed": mixed,
    "repeated": repeated,
    "standing": lambda run: run.keep(stamped(standing.section(run.rounds))),
    "store": store,
    "fairness": _own(fairness.section),
    "memory": _own(memory.section),
    "spark": _own(spark.section),
}
APART = {"sweeps": swept}  # `make sweeps`


def _some(words: str, run: Run) -> None:
    """Measure the rows whose title contains these words."""
    for cases, measure in ((MIXED, comparison.mixed), (REPEATED, comparison.repeated)):
        if chosen := [case for case in cases if words in case.title]:
            measure(chosen, run.rounds, run.scale)
    if chosen_sweeps := [sweep for sweep in sweeps.SWEEPS if words == sweep.key]:
        sweeps.measure(chosen_sweeps, run.rounds, run.scale)


def main() -> None:
    """Run, print each row as it is known, and write the section of results.md."""
    arguments = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = ", ".join([*SECTIONS, *APART])
    arguments.add_argument("--rounds", type=int, default=3, help="rounds of each row")
    arguments.add_argument("--quick", action="store_true", help="one round, a tenth of the messages, no page")
    arguments.add_argument("--only", default="", help=f"one of {names}; or a part of the titles of rows")
    chosen = arguments.parse_args()
    quick = chosen.quick
    run = Run(1 if quick else chosen.rounds, 0.1 if quick else 1.0, write=not quick)
    print(pages.measured(), flush=True)
    sections = {**SECTIONS, **APART}
    if chosen.only in sections:
        sections[chosen.only](run)
    elif chosen.only:
        _some(chosen.only, run)
    else:
        for section in SECTIONS.values():
            section(run)


if __name__ == "__main__":
    main()
