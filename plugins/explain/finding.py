"""What an explanation consists of: findings, each with its evidence and the command that repairs it.

Promises: the worst comes first. A run that found an error or a warning ends with the exit code 1, or 6 if a
leader is missing; notes alone end it with 0. The name of a check does not change once it is there.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...cli import output
from ...cli.errors import ExitCode
from ...cli.output import LIST, NAME, TEXT, WORD, Column, Table
from ...cli.output.cells import clean
from ...cli.output.columns import END, Kind

ERROR, WARNING, NOTE = "error", "warning", "note"
SEVERITIES = (ERROR, WARNING, NOTE)
WIDTH = 100  # of a text, where no terminal is narrower


def _pairs(evidence: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in evidence.items())


FINDINGS = Table(
    "findings",
    "Findings",
    (
        Column("check", "Check", NAME),
        Column("severity", "Severity", WORD),
        Column("about", "About", NAME),
        Column("text", "Text", TEXT),
        Column("evidence", "Evidence", Kind({"type": "object"}, _pairs, END)),
        Column("commands", "Commands", LIST),
    ),
    key="check",
)


@dataclass(frozen=True)
class Finding:
    """One reason, or a fact worth knowing.

    check: what was examined, as a word for programs.
    severity: ERROR: nothing arrives because of it. WARNING: it may be the cause. NOTE: nothing is wrong.
    text: the reason in whole sentences, with the numbers.
    evidence: the values that show it, by their names in the documents of the servers.
    commands: command lines that repair it, or show more; none where no command can.
    about: the stream or consumer, such as `ORDERS > NEW`.
    code: how the run ends if this is the worst finding.
    """

    check: str
    severity: str
    text: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    about: str = ""
    code: ExitCode = ExitCode.FAILED

    def record(self) -> dict[str, Any]:
        """Return it as a record of `FINDINGS`."""
        return {column.field: getattr(self, column.field) for column in FINDINGS.columns} | {
            "evidence": dict(self.evidence),
            "commands": list(self.commands),
        }

    def lines(self, limit: int) -> list[str]:
        """Return it as people read it."""
        head = f"{self.severity.upper()} {self.check}" + (f" ({self.about})" if self.about else "")
        body = [*_wrapped(self.text, limit), *_wrapped(_pairs(self.evidence), limit)]
        return [clean(each) for each in (head, *body, *(f"  $ {line}" for line in self.commands))]


def show(subject: str, found: Iterable[Finding], silent: str) -> ExitCode:
    """Show findings, the worst first, and return the exit code of the run.

    subject: what was examined, such as `Consumer ORDERS > NEW`.
    silent: what is said if nothing is wrong.
    """
    ordered = sorted(found, key=lambda each: SEVERITIES.index(each.severity))
    bad = [each for each in ordered if each.severity != NOTE]
    counts = [_counted(name, sum(each.severity == name for each in ordered)) for name in SEVERITIES]
    lines = [f"{subject}: {', '.join(filter(None, counts))}" if bad else f"{subject}: {silent}"]
    for each in ordered:
        lines += ["", *each.lines(width())]
    output.show(FINDINGS.of(each.record() for each in ordered), text="\n".join(lines))
    return bad[0].code if bad else ExitCode.OK


def _wrapped(text: str, limit: int) -> list[str]:
    return textwrap.wrap(
        text,
        limit,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _counted(name: str, count: int) -> str:
    return f"{count} {name}{'s' if count > 1 else ''}" if count else ""


def width() -> int:
    """Return how wide texts may be."""
    from ...cli.output import terminal

    return max(40, min(WIDTH, terminal.width() or WIDTH))
