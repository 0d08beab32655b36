"""What becomes of a message, step by step: the waypoints that it comes to, and what happens at each.

A waypoint is a subject in an account. Promises: a run that found somebody who hears the message ends with the
exit code 0, one whose publisher is refused with 4, and one in which nobody is known to hear it with 1.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...cli import output
from ...cli.errors import ExitCode
from ...cli.output import NAME, TEXT, WORD, Column, Table
from ...cli.output.cells import clean
from .finding import width

REACHED, POSSIBLE, PASSES, ENDS, REFUSED, UNKNOWN = (
    "reached",
    "possible",
    "passes",
    "ends",
    "refused",
    "unknown",
)
INDENT = 18  # of the texts, below their kinds

STEPS = Table(
    "steps",
    "Steps",
    (
        Column("account", "Account", NAME),
        Column("subject", "Subject", NAME),
        Column("kind", "Kind", WORD),
        Column("outcome", "Outcome", WORD),
        Column("name", "Name", NAME),
        Column("text", "Text", TEXT),
    ),
)


@dataclass(frozen=True)
class PathStep:
    """Something that happens to the message at a waypoint.

    kind: such as `permission`, `mapping`, `service`, `stream` or `subscription`.
    outcome: REACHED: somebody has it. POSSIBLE: somebody has it who asks for it. PASSES: it goes on. ENDS: it
        goes no further on this path. REFUSED: its publisher is refused. UNKNOWN: nobody said.
    text: what happens, in a sentence.
    name: of the stream, consumer, connection or account that it concerns.
    """

    kind: str
    outcome: str
    text: str
    name: str = ""


@dataclass
class Waypoint:
    """A subject in an account that the message comes to.

    via: how it comes there; empty where it is published.
    lost: whether it goes nowhere from there, by the weights of a mapping.
    """

    account: str
    subject: str
    via: str = ""
    steps: list[PathStep] = field(default_factory=list)
    lost: bool = False

    def add(self, kind: str, outcome: str, text: str, name: str = "") -> None:
        """Add a step."""
        self.steps.append(PathStep(kind, outcome, text, name))

    @property
    def gone(self) -> bool:
        """Whether the message does not come here after all: its publisher is refused, or it is lost."""
        return self.lost or any(each.outcome == REFUSED for each in self.steps)

    def lines(self, limit: int) -> Iterator[str]:
        """Yield it as people read it."""
        yield f"{self.subject} in account {self.account or '?'}" + (f" ({self.via})" if self.via else "")
        for each in self.steps:
            head = f"  {each.kind:<{INDENT - 3}} "
            yield from textwrap.wrap(
                each.text, limit, initial_indent=head, subsequent_indent=" " * INDENT,
                break_long_words=False, break_on_hyphens=False,
            )  # fmt: skip


def show(title: str, waypoints: Sequence[Waypoint]) -> ExitCode:
    """Show the path of a message, and return the exit code of the run."""
    lines = [title]
    for waypoint in waypoints:
        lines += ["", *waypoint.lines(width())]
    steps = [each for waypoint in waypoints for each in waypoint.steps]
    code, end = _end(steps)
    records: list[dict[str, Any]] = [
        {"account": waypoint.account, "subject": waypoint.subject, "kind": each.kind, "outcome": each.outcome,
         "name": each.name, "text": each.text}
        for waypoint in waypoints for each in waypoint.steps
    ]  # fmt: skip
    output.show(STEPS.of(records), text="\n".join(clean(line) for line in [*lines, "", end]))
    return code


def _end(steps: list[PathStep]) -> tuple[ExitCode, str]:
    """Return how the path of the message ends, in all."""
    reached = [each for each in steps if each.outcome == REACHED]
    possible = [each for each in steps if each.outcome == POSSIBLE]
    blind = " Not everything could be seen." if any(each.outcome == UNKNOWN for each in steps) else ""
    if reached:
        kinds = {kind: sum(each.kind == kind for each in reached) for kind in dict.fromkeys(
            each.kind for each in reached
        )}  # fmt: skip
        unless = any(each.outcome == UNKNOWN and each.kind == "accounts" for each in steps)
        heard = f"It is heard{', unless a mapping leads it elsewhere' if unless else ''}"
        return ExitCode.OK, f"{heard}: {', '.join(f'{kind} {n}' for kind, n in kinds.items())}.{blind}"
    if possible:
        return ExitCode.OK, f"It may be heard, as told above.{blind}"
    if any(each.outcome == REFUSED for each in steps):
        return ExitCode.REFUSED, "It ends here: its publisher is refused."
    return ExitCode.FAILED, f"It ends here: nobody is known to hear it.{blind}"
