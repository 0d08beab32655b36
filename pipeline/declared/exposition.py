"""A run's figures as text for Prometheus, with names of the form `pyjs_pipeline_*`.

`RunMetrics` is told what happens in a run, from the run's thread, and asked for the text from any other.
Counters count this run, and begin at 0 with it. The lag of the streams is asked for when the text is, at most
once in LAG_SECONDS: it is that of now also while a long batch runs.

Format: version 0.0.4 of Prometheus' text exposition.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from .lag import SourceLag
from .progress import Batch

LAG_SECONDS = 10.0
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
Lags = Callable[[], Sequence[SourceLag]]


class _Text:
    """Samples by metric, in the order in which metrics were first named."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def add(self, name: str, kind: str, text: str, value: float, labels: Mapping[str, str]) -> None:
        """Add a sample; `kind` and `text` say what the metric is."""
        whole = f"pyjs_pipeline_{name}"
        head = [f"# HELP {whole} {text}\n", f"# TYPE {whole} {kind}\n"]
        shown = ",".join(f'{key}="{each.translate(_ESCAPES)}"' for key, each in labels.items())
        self._lines.setdefault(whole, head).append(f"{whole}{{{shown}}} {value}\n")

    def text(self) -> str:
        """Return everything."""
        return "".join(line for lines in self._lines.values() for line in lines)


class _Sink:
    """The sums of one sink."""

    def __init__(self) -> None:
        self.batches = self.rows_in = self.rows_out = 0
        self.seconds = 0.0
        self.last: Batch | None = None

    def add(self, batch: Batch) -> None:
        """Add a batch that was completed."""
        self.batches += 1
        self.rows_in += batch.rows_in or 0
        self.rows_out += batch.rows_out or 0
        self.seconds += batch.seconds
        self.last = batch


class RunMetrics:
    """The figures of one run.

    lags: asks how far its sinks are behind; it may raise anything
    """

    def __init__(
        self,
        pipeline: str,
        run: str,
        sinks: Sequence[str],
        version: str,
        lags: Lags,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._own = {"pipeline": pipeline}
        self._run, self._version = run, version
        self._sinks = {name: _Sink() for name in sinks}
        self._lags, self._now = lags, now
        self._began = now()
        self._lock = threading.Lock()
        self._asking = threading.Lock()  # one question at a time, however many scrape
        self._asked = float("-inf")
        self._found: Sequence[SourceLag] | None = None

    def batch(self, batch: Batch) -> None:
        """Count a batch that was completed."""
        with self._lock:
            self._sinks.setdefault(batch.sink, _Sink()).add(batch)

    def text(self) -> str:
        """Return all metrics."""
        lags = self._fresh()
        out = _Text()
        out.add(
            "info",
            "gauge",
            "The run; always 1.",
            1,
            {**self._own, "run": self._run, "version": self._version},
        )
        out.add("start_time_seconds", "gauge", "When the run began.", round(self._began, 3), self._own)
        with self._lock:
            for name, sink in self._sinks.items():
                self._of_sink(out, sink, {**self._own, "sink": name})
        out.add("sources_up", "gauge", "Whether the lag below is known.", int(lags is not None), self._own)
        for each in lags or ():
            self._of_source(out, each)
        return out.text()

    def _of_sink(self, out: _Text, sink: _Sink, labels: Mapping[str, str]) -> None:
        for name, text, value in (
            ("batches_total", "Batches that were completed.", sink.batches),
            ("rows_read_total", "Rows that were read.", sink.rows_in),
            ("rows_written_total", "Rows that were written.", sink.rows_out),
            (
                "batch_seconds_total",
                "Time from the start of batches to their commit.",
                round(sink.seconds, 3),
            ),
        ):
            out.add(name, "counter", text, value, labels)
        if sink.last is None:
            return
        ended = datetime.fromisoformat(sink.last.time).timestamp()
        out.add("last_batch_seconds", "gauge", "Time of the last batch.", sink.last.seconds, labels)
        out.add("last_batch_end_seconds", "gauge", "When the last batch was completed.", ended, labels)

    def _of_source(self, out: _Text, lag: SourceLag) -> None:
        labels = {
            **self._own,
            "sink": lag.sink,
            "source": lag.source,
            "stream": lag.stream,
            "domain": lag.domain,
        }
        if lag.last is not None:
            out.add("source_last_sequence", "gauge", "The stream's last sequence.", lag.last, labels)
        if lag.next is not None:
            text = "The sequence that the next batch begins with."
            out.add("source_next_sequence", "gauge", text, lag.next, labels)
        if lag.behind is not None:
            out.add("source_behind", "gauge", "Messages that no completed batch has.", lag.behind, labels)

    def _fresh(self) -> Sequence[SourceLag] | None:
        """Return the lag, asked for again if it is older than LAG_SECONDS; None if that failed."""
        with self._asking:
            if self._now() - self._asked >= LAG_SECONDS:
                try:
                    self._found = self._lags()
                except Exception:  # whatever ails a stream is no reason to have no metrics
                    self._found = None
                self._asked = self._now()
            return self._found
