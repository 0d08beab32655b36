"""Reports of runs as a table, and the page that contains the table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lib.damage.pages import page as damage_tables

from .findings import Findings
from .plans import PLANS
from .scenario import Report

HEAD = [
    "servers",
    "faults",
    "rounds",
    "published",
    "acknowledged",
    "refused",
    "no answer",
    "delivered",
    "back",
]


def cells(report: Report) -> list[str]:
    figures = [report.sent, report.acked, report.refused, report.unknown, report.delivered]
    return [
        str(report.size),
        report.plan,
        str(report.rounds),
        *[f"{figure:,}".replace(",", " ") for figure in figures],
        f"{report.slowest:.1f} s",
        *[str(count) for count in report.findings.counts.values()],
        str(report.seed),
    ]


def row(report: Report) -> str:
    """Return one line of the table."""
    return "| " + " | ".join(cells(report)) + " |"


def table(reports: Sequence[Report]) -> str:
    """Return the table of all reports."""
    head = [*HEAD, *Findings().counts, "seed"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *map(row, reports)])


PAGE = Path(__file__).with_name("page.md")


def page(reports: Sequence[Report], rounds: int | None = None) -> str:
    """Return the page `docs/trust.md`; `rounds` replaces the plans' own."""
    plans = "\n".join(f"| {plan.name} | {plan.about} |" for plan in PLANS)
    minutes = round(sum(report.seconds for report in reports) / 60)
    text = PAGE.read_text(encoding="utf-8")
    command = f"make trust ROUNDS={rounds}" if rounds else "make trust"
    return text.format(
        command=command, minutes=minutes, table=table(reports), plans=plans, damage=damage_tables()
    )
