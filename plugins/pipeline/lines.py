"""A run as lines: words for people who redirect the output to a pipe or file, JSON for machines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ...cli import render

if TYPE_CHECKING:
    from ...pipeline.declared.progress import Batch, Totals
    from ...pipeline.declared.run import Outcome

STOPPING_NOW = "stopping at once: the batch under way is broken off"


class TextLines:
    """One line for each batch, on stdout."""

    def started(self, facts: Mapping[str, Any]) -> None:
        """Show that the run has its folder, and that Spark starts now."""
        render.show(f"{facts['id']} started on {facts['on']}: {facts['runs']}")
        render.show(f"log: {facts['log']}")
        if "metrics" in facts:
            render.show(f"metrics: {facts['metrics']}")

    def stage(self, text: str) -> None:
        """Show to which stage the run has come."""
        render.show(f"{datetime.now():%H:%M:%S} {text}")

    def batch(self, batch: Batch) -> None:
        """Show a batch that was completed."""
        when = datetime.fromisoformat(batch.time).astimezone()
        render.show(f"{when:%H:%M:%S} {batch.sink} batch {batch.batch}: {_in_words(batch)}")

    def tick(self, doing: Mapping[str, str]) -> None:
        """Show nothing: there is nothing new."""

    def rows(
        self, sink: str, batch: int, columns: Sequence[str], rows: Sequence[Sequence[Any]], total: int | None
    ) -> None:
        """Show rows for the console."""
        render.show(grid(sink, batch, columns, rows, total))

    def stopping(self, *, now: bool) -> None:
        """Show that Ctrl-C was pressed; the second time `now` is set."""
        render.show(STOPPING_NOW if now else "stopping after the batch under way; once more stops at once")

    def ended(self, run: str, outcome: Outcome, totals: Totals, seconds: float) -> None:
        """Show that the run is over."""
        render.show(f"{run} {summary(outcome, totals, seconds)}")

    def close(self) -> None:
        """Do nothing: nothing is open."""


class JsonLines:
    """One JSON document for each event, on stdout: started, stage, batch, rows, stopping, ended."""

    def __init__(self) -> None:
        self._run = ""

    def started(self, facts: Mapping[str, Any]) -> None:
        """Write that the run has its folder, and that Spark starts now."""
        self._run = str(facts["id"])
        self._say("started", {key: value for key, value in facts.items() if key != "id"})

    def stage(self, text: str) -> None:
        """Write to which stage the run has come."""
        self._say("stage", {"stage": text})

    def batch(self, batch: Batch) -> None:
        """Write a batch that was completed."""
        self._say("batch", batch.to_json())

    def tick(self, doing: Mapping[str, str]) -> None:
        """Write nothing: there is nothing new."""

    def rows(
        self, sink: str, batch: int, columns: Sequence[str], rows: Sequence[Sequence[Any]], total: int | None
    ) -> None:
        """Write rows for the console."""
        found = [dict(zip(columns, row, strict=True)) for row in rows]
        self._say("rows", {"sink": sink, "batch": batch, "rows": found, "total": total})

    def stopping(self, *, now: bool) -> None:
        """Write that a signal came; the second time `now` is set."""
        self._say("stopping", {"now": now})

    def ended(self, run: str, outcome: Outcome, totals: Totals, seconds: float) -> None:
        """Write that the run is over."""
        self._say(
            "ended",
            {
                "state": outcome.state,
                "seconds": round(seconds, 3),
                **totals.to_json(),
                "error": outcome.error,
                "hint": outcome.hint,
            },
        )

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def _say(self, event: str, document: Mapping[str, Any]) -> None:
        render.show(json.dumps({"event": event, "run": self._run, **document}, ensure_ascii=False))


def _in_words(batch: Batch) -> str:
    """Return a batch in words; unknown values are left out."""
    words = []
    if batch.rows_in is not None:
        words.append(f"{render.number(batch.rows_in)} rows in")
    if batch.rows_out is not None:
        words.append(f"{render.number(batch.rows_out)} out")
    if batch.rate is not None:
        words.append(f"{render.number(round(batch.rate))} rows/s")
    if batch.lag is not None:
        words.append(f"{render.number(batch.lag)} behind")
    words += [f"{render.number(rows)} broke {rule}" for rule, rows in batch.rules.items()]
    return ", ".join([*words, f"{batch.seconds:.2f} s"])


def summary(outcome: Outcome, totals: Totals, seconds: float) -> str:
    """Return how a run ended, and what it did."""
    broken = "".join(f", {render.number(rows)} broke {rule}" for rule, rows in totals.rules.items())
    batches = f"{render.number(totals.batches)} batch{'' if totals.batches == 1 else 'es'}"
    return (
        f"{outcome.state} after {render.span(int(seconds * 1e9))}: {batches}, "
        f"{render.number(totals.rows_in)} rows in, {render.number(totals.rows_out)} out{broken}"
    )


def grid(
    sink: str, batch: int, columns: Sequence[str], rows: Sequence[Sequence[Any]], total: int | None
) -> str:
    """Return a batch's rows as a table."""
    shown = f"the first {render.number(len(rows))}"
    if total is None:
        return render.table(f"{sink} batch {batch}: {shown} rows", columns, rows)
    more = f", {shown}" if total > len(rows) else ""
    title = f"{sink} batch {batch}: {render.number(total)} row{'' if total == 1 else 's'}{more}"
    return render.table(title, columns, rows)
