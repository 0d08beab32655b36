"""Transcripts: command lines with what they print, played again and compared.

    > pyjs stream add --mirror test        a command; the words before the first blank are dropped
    ? Stream Name backup                   a question and its answer, as it stays on the screen
    Stream backup was created              output
    > pyjs stream report                   the next command

Lines before the first command, and lines that start with `#`, are for the reader. Times, ids, durations of
seconds, and blank lines at either end are not compared. A command without output must only succeed.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from .cli import Cli
from .eventually import TooEarlyError, eventually
from .terminal import readings

Alike = Callable[[list[str]], list[str]]
REPORT_SECONDS = 45.0  # after a restart a copy may wait before it looks for its origin again
AGAIN = {"report", "push"}  # servers have a second to answer a push, which busy ones may not manage
UNEQUAL = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\[\d\d:\d\d:\d\d\]"), "[<time>]"),
    (re.compile(r"(?m)^\d\d:\d\d:\d\d "), "<time> "),
    (re.compile(r"\b\d+\.\d\ds\b"), "0.00s"),
    (re.compile(r"(Nats-Stream-Source: \S+):\S{8} "), r"\1:<id> "),
    (re.compile(r"(?m)(Nats-Stream-Source: .* > > \S+) \S{8}$"), r"\1 <id>"),
)


@dataclass
class Step:
    """A command line, its answers and its output."""

    command: str
    expected: list[str] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        """Return the command's words without the program's name."""
        return shlex.split(self.command)[1:]

    @property
    def questions(self) -> list[str]:
        """Return the answered questions, in order, without the mark."""
        return [line[2:] for line in self.expected if line.startswith("? ")]


def parse(text: str, replaced: dict[str, str] | None = None) -> list[Step]:
    """Return the steps of a transcript; `replaced` words are put in first (ports, for example)."""
    for old, new in (replaced or {}).items():
        text = text.replace(old, new)
    steps: list[Step] = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if line.startswith("> "):
            steps.append(Step(line[2:]))
        elif steps:
            steps[-1].expected.append(line)
    return steps


def read(path: Path, replaced: dict[str, str] | None = None) -> list[Step]:
    """Return the steps of a transcript file."""
    return parse(path.read_text(encoding="utf-8"), replaced)


def play(cli: Cli, step: Step, alike: Alike | None = None, *, partly: bool = False) -> None:
    """Run a step and compare what `alike` (usually `normal`) leaves of the lines.

    partly: it is enough that the expected lines are among those that are shown, see `missing`.

    A command whose effect may come later than its run (AGAIN) is run again until it shows what is expected or
    time is up.
    """
    compared = alike or normal

    def fits() -> bool:
        code, shown = _shown(cli, step)
        if partly:
            lacking = missing([line for line in step.expected if not line.startswith("? ")], shown)
            assert code == 0, f"{step.command}\n" + "\n".join(shown)
            assert not lacking, f"{step.command}: {lacking}\n" + "\n".join(shown)
            return True
        if code == 0 and (not normal(step.expected) or compared(shown) == compared(step.expected)):
            return True
        wrong = differences(step.expected, shown, compared) if code == 0 else [f"exit {code}", *shown]
        raise TooEarlyError(f"{step.command}\n" + "\n".join(wrong))

    try:
        eventually(fits, 0 if AGAIN.isdisjoint(step.words) else REPORT_SECONDS)
    except TooEarlyError as error:
        pytest.fail(str(error), pytrace=False)


def missing(expected: list[str], shown: list[str]) -> str:
    """Return the first expected line that does not stand behind the one before it, or "".

    A line may be a part of one that is shown. How blanks are spread is not compared.
    """
    text = "\n".join(" ".join(line.split()) for line in shown)
    for line in filter(str.strip, expected):
        _, found, text = text.partition(" ".join(line.split()))
        if not found:
            return line
    return ""


def _shown(cli: Cli, step: Step) -> tuple[int, list[str]]:
    """Return the exit code, and what was printed; everything if it failed."""
    if not step.questions:
        result = cli.run(*step.words)
        # `pub` logs to stderr; the documents show that too.
        shown = (result.out or result.err) if result.code == 0 else result.out + result.err
        return result.code, shown.splitlines()
    with cli.terminal(step.words) as terminal:
        for line in step.questions:
            shown = terminal.question(partial(_asked_in, line))
            question = _asked_in(line, shown)
            assert question is not None, _unexpected(step, shown, line, terminal.lines())
            terminal.answer(question, line[len(question) :].strip())
        code = terminal.finish()
        return code, terminal.lines() if code == 0 else terminal.errors().splitlines()


def _asked_in(line: str, shown: str) -> str | None:
    """Return the form of a shown question that a transcript's line begins with; None if there is none."""
    return next((each for each in readings(shown) if each and line.startswith(each)), None)


def _unexpected(step: Step, asked: str, line: str, lines: list[str]) -> str:
    return f"{step.command}: asked {asked!r}, expected {line!r}\n" + "\n".join(lines)


def differences(expected: list[str], shown: list[str], alike: Alike) -> list[str]:
    """Return the differences, `-` expected and `+` shown."""
    return list(difflib.unified_diff(alike(expected), alike(shown), n=1, lineterm=""))


def normal(lines: list[str]) -> list[str]:
    """Return lines without what differs from run to run."""
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    for pattern, stand_in in UNEQUAL:
        text = pattern.sub(stand_in, text)
    return text.splitlines()
