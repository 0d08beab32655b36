"""The tables of docs/trust.md, from the outcomes of all cases."""

from __future__ import annotations

from collections.abc import Iterable

from lib.damage.harm import outcome, table
from lib.damage.replica import Play
from lib.damage.server import Case, Findings, play


def server_table(played: Iterable[tuple[Case, Findings]]) -> str:
    """Return the table of a single server."""
    return table(
        (case.kind, case.harm, outcome(reported=bool(findings.lines), lost=bool(findings.lost)))
        for case, findings in played
        if case.path
    )


def replica_table(played: Iterable[tuple[str, str, list[str], list[str]]]) -> str:
    """Return the table of one of three replicas."""
    return table((kind, harm, outcome(reported=bool(lines))) for kind, harm, _, lines in played)


def page() -> str:
    """Return both tables."""
    return f"{server_table(play())}\n\n{replica_table(Play.all_cases())}"
