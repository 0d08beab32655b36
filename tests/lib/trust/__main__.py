"""Play the trust suite: `python -m lib.trust`, all plans on 3 and 5 servers, a table at the end.

`--plan NAME`, `--size N`, `--seed N` and `--rounds N` choose; `--write FILE` writes the page; `--verbose`
reports what is done, `--keep FOLDER` keeps what servers leave behind when a run fails. `--implementation
reference` plays against nats-server; `--options` are written into the jetstream block, as "sync_interval:
always".
The exit code is 1 if a promise was broken; a run's seed plays the same faults again.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from pathlib import Path

from lib.trust.plans import PLANS
from lib.trust.scenario import Report, Scenario
from lib.trust.table import page, row, table


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="lib.trust", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--plan", action="append", choices=[plan.name for plan in PLANS])
    parser.add_argument("--size", action="append", type=int, choices=[3, 5])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1, help="so many seeds, from --seed on")
    parser.add_argument("--rounds", type=int, help="instead of the plan's own")
    parser.add_argument("--rate", type=float, default=25.0, help="values a second of each publisher")
    parser.add_argument("--implementation", choices=["pyjs", "reference"], default="pyjs")
    parser.add_argument("--options", default="", help="more of the jetstream block")
    parser.add_argument("--write", type=Path, help="the page to write")
    parser.add_argument("--keep", type=Path, help="where to put logs and stores of runs that fail")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    reports: list[Report] = []
    broken = 0
    for seed in range(given.seed, given.seed + given.runs):
        for size in given.size or [3, 5]:
            for plan in PLANS:
                if plan.name not in (given.plan or [p.name for p in PLANS]):
                    continue
                if given.implementation == "reference" and not plan.reference:
                    continue
                try:
                    scenario = Scenario(
                        plan,
                        implementation=given.implementation,
                        size=size,
                        seed=seed,
                        rate=given.rate,
                        options=given.options,
                        log=say if given.verbose else lambda _: None,
                        keep=given.keep,
                    )
                    report = scenario.play(given.rounds or plan.rounds)
                except Exception:
                    broken += 1
                    say(f"{plan.name}, {size} servers, seed {seed}: never came to its end")
                    say(traceback.format_exc())
                    continue
                reports.append(report)
                broken += not report.findings.good
                say(row(report))
                for text in report.findings.notes:
                    say(f"  seed {seed}: {text}")
    say("")
    say(table(reports))
    if given.write is not None and not broken:
        given.write.write_text(page(reports, given.rounds), encoding="utf-8")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
