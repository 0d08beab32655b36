"""`pyjs subscribe --report-subjects` and `--graph`: what arrives is counted and drawn, not shown.

Promises: at most 100,000 subjects are told apart, and the rest is counted together.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Sequence
from operator import itemgetter
from typing import Any

from ...cli import output
from ...cli.errors import UsageError
from ...cli.output import BYTES, NAME, NUMBER, Column, Table
from ...cli.output.cells import clean
from ...cli.output.graph import PlotSeries, check_terminal, graph
from ...cli.output.watch import repeated
from ...cli.proposal import typed_line

MOST = 100_000
OTHERS = "(others)"
MOST_PLOTS = 4
SECOND = 1.0
RATE = "{:,.1f}".format
SUBJECTS = Table(
    "subjects",
    "Active Subjects",
    (
        Column("subject", "Subject", NAME),
        Column("messages", "Message Count", NUMBER),
        Column("bytes", "Bytes", BYTES),
    ),
    key="subject",
    empty="Waiting for messages",
)


class Counted(ABC):
    """What counts the messages and draws the counts."""

    @abstractmethod
    def add(self, pattern: str, message: Any) -> None:
        """Count a message that a subscription to `pattern` got (empty: a stream)."""

    @abstractmethod
    async def draw(self) -> None:
        """Draw every second until Ctrl-C."""

    @abstractmethod
    def end(self) -> None:
        """Show the last counts."""

    async def beside(self, messages: Coroutine[Any, Any, None]) -> None:
        """Draw until the messages end."""
        reading, drawing = asyncio.create_task(messages), asyncio.create_task(self.draw())
        try:
            done, _ = await asyncio.wait((reading, drawing), return_when=asyncio.FIRST_COMPLETED)
            if reading in done:
                self.end()
            for task in done:
                task.result()
        finally:
            reading.cancel()
            drawing.cancel()
            await asyncio.gather(reading, drawing, return_exceptions=True)


class SubjectReport(Counted):
    """The subjects, or the subscriptions, on which most arrives; a table every second.

    number: how many are shown.
    by_subscription: whether messages are counted by the subject that was subscribed to.
    """

    def __init__(self, number: int, *, by_subscription: bool) -> None:
        self.number, self.by_subscription = number, by_subscription
        self._counts: dict[str, list[int]] = {}

    def add(self, pattern: str, message: Any) -> None:
        """Count a message that a subscription to `pattern` got (empty: a stream)."""
        name = pattern if self.by_subscription and pattern else message.subject
        if name not in self._counts and len(self._counts) >= MOST:
            name = OTHERS
        count = self._counts.setdefault(name, [0, 0])
        count[0] += 1
        count[1] += len(message.data)

    def end(self) -> None:
        """Show the table."""
        found = sorted(self._counts.items(), key=lambda each: (-each[1][0], each[0]))[: self.number]
        records = [{"subject": name, "messages": count, "bytes": size} for name, (count, size) in found]
        sums = {
            "messages": sum(count for _, (count, _) in found),
            "bytes": sum(size for _, (_, size) in found),
        }
        footer = {"subject": "Totals"} | {
            column.field: column.cell(sums) for column in SUBJECTS.columns if column.field in sums
        }
        title = "Top Subject Report" if self.number == 1 else f"Top {self.number} Active Subjects Report"
        output.show(SUBJECTS.of(records, title=title, footer=footer))

    async def draw(self) -> None:
        """Draw the table every second."""

        async def report() -> None:
            self.end()

        await repeated(report, clean(typed_line()), SECOND)


class RateGraph(Counted):
    """How many messages arrive each second: a plot for each of at most four subscriptions."""

    def __init__(self, patterns: Sequence[str]) -> None:
        check_terminal()
        if not 0 < len(patterns) <= MOST_PLOTS:
            raise UsageError(f"--graph plots one to {MOST_PLOTS} subjects", "a pattern such as 'orders.>'")
        self._counts = dict.fromkeys(patterns, 0)

    def add(self, pattern: str, _message: Any) -> None:
        """Count a message that a subscription to `pattern` got."""
        self._counts[pattern] += 1

    def end(self) -> None:
        """Do nothing: the plots stay on the screen."""

    async def draw(self) -> None:
        """Draw the plots every second."""
        series = [PlotSeries(name, itemgetter(name), RATE, rate=True) for name in self._counts]

        async def read() -> dict[str, int]:
            return dict(self._counts)

        await graph("Messages / second", series, read)
