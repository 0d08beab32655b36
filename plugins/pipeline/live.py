"""A run on a terminal: a panel that is redrawn as batches come.

The rows of a console sink scroll above it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from ...cli import render
from .lines import STOPPING_NOW, grid, summary

if TYPE_CHECKING:
    from ...pipeline.declared.progress import Batch, Totals
    from ...pipeline.declared.run import Outcome

RUNNING = "running, Ctrl-C stops after the batch under way"
BARS = "▁▂▃▄▅▆▇█"
HISTORY = 24  # batches whose rate is drawn
COLORS = {"finished": "green", "stopped": "magenta", "interrupted": "red", "failed": "red"}


class LiveDisplay:
    """The present activity of a run. It is a context manager, which has the terminal to itself meanwhile."""

    def __init__(self, sinks: Sequence[str], console: Console | None = None) -> None:
        self.console = console or Console()
        self._sinks = {name: _Line(name) for name in sinks}
        self._state = "starting"
        self._stopping = False
        self._title = ""
        self._where = ""
        self._log = ""
        self._began = time.monotonic()
        self._over: Text | None = None
        self._spinner = Spinner("dots", style="cyan")
        self._live = Live(get_renderable=self._draw, console=self.console, refresh_per_second=8)

    def __enter__(self) -> LiveDisplay:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Restore the terminal, with its cursor."""
        self._live.stop()

    def started(self, facts: Mapping[str, Any]) -> None:
        """Show that the run has its folder, and that Spark starts now."""
        self._title, self._log = str(facts["id"]), str(facts["log"])
        self._where = f"{facts['on']}, {facts['runs']}"
        if "metrics" in facts:
            self._where += f", metrics at {facts['metrics']}"

    def stage(self, text: str) -> None:
        """Show to which stage the run has come."""
        if not self._stopping:
            self._state = text

    def batch(self, batch: Batch) -> None:
        """Show a batch that was completed."""
        if not self._stopping:
            self._state = RUNNING
        self._sinks[batch.sink].add(batch)

    def tick(self, doing: Mapping[str, str]) -> None:
        """Show what each sink does now."""
        for name, line in self._sinks.items():
            line.doing = doing.get(name, "")

    def rows(
        self, sink: str, batch: int, columns: Sequence[str], rows: Sequence[Sequence[Any]], total: int | None
    ) -> None:
        """Show rows for the console, above the panel."""
        self.console.print(Text(grid(sink, batch, columns, rows, total), no_wrap=True, overflow="ellipsis"))

    def stopping(self, *, now: bool) -> None:
        """Show that Ctrl-C was pressed; the second time `now` is set."""
        self._stopping = True
        self._state = (
            STOPPING_NOW if now else "stopping after the batch under way; Ctrl-C once more stops at once"
        )

    def ended(self, run: str, outcome: Outcome, totals: Totals, seconds: float) -> None:
        """Show how the run ended; the panel stays as it is."""
        color = COLORS.get(outcome.state, "")
        self._over = Text.assemble((f"{run} ", "bold"), (summary(outcome, totals, seconds), color))
        self._live.refresh()

    def _draw(self) -> RenderableType:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("sink", no_wrap=True)
        for name in ("batch", "rows in", "rows out", "rows/s", "behind", "batch time"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("rows/s of late", no_wrap=True)
        table.add_column("now", style="dim", no_wrap=True, overflow="ellipsis")
        for line in self._sinks.values():
            table.add_row(*line.cells(over=self._over is not None))
        body = Padding(table, (0, 0, 0, 2))
        if self._over is not None:
            return Group(self._over, body)
        seconds = int(time.monotonic() - self._began)
        elapsed = f"{seconds}s" if seconds < 60 else render.span(seconds * 10**9)
        self._spinner.update(
            text=Text.assemble((self._title, "bold"), f"  {elapsed}  ", (self._state, "cyan"))
        )
        where = Text(f"  {self._where}", style="dim", no_wrap=True, overflow="ellipsis")
        log = Text(f"  log {self._log}", style="dim", no_wrap=True, overflow="ellipsis")
        return Group(self._spinner, where, log, body)


class _Line:
    """The line of one sink in the panel."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.doing = ""
        self.last: Batch | None = None
        self.rows_in = 0
        self.rows_out = 0
        self.rates: deque[float] = deque(maxlen=HISTORY)

    def add(self, batch: Batch) -> None:
        """Add a batch to the line."""
        self.last = batch
        self.rows_in += batch.rows_in or 0
        self.rows_out += batch.rows_out or 0
        if batch.rate is not None:
            self.rates.append(batch.rate)

    def cells(self, *, over: bool) -> list[RenderableType]:
        """Return the cells of the line: sums of the run, and values of the last batch."""
        batch = self.last
        if batch is None:
            return [self.name, *[""] * 7, "" if over else self.doing]
        rate = "" if batch.rate is None else render.number(round(batch.rate))
        lag = Text("") if batch.lag is None else _behind(batch.lag, batch.rows_in or 0)
        return [
            Text(self.name, style="bold"),
            str(batch.batch),
            render.number(self.rows_in),
            render.number(self.rows_out),
            rate,
            lag,
            f"{batch.seconds:.2f} s",
            Text(spark_line(self.rates), style="cyan"),
            "" if over else self.doing,
        ]


def spark_line(values: Sequence[float]) -> str:
    """Return the values as bars, the highest one full."""
    top = max(values, default=0.0)
    if top <= 0:
        return BARS[0] * len(values)
    return "".join(BARS[min(len(BARS) - 1, int(value / top * (len(BARS) - 1) + 0.5))] for value in values)


def _behind(lag: int, rows: int) -> Text:
    """Return the lag, in another colour if it is more than a batch takes."""
    return Text(render.number(lag), style="green" if lag == 0 else "magenta" if lag > rows else "")
