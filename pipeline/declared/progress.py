"""What a batch of a sink did, and a run so far: the values behind displays, records and reports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True)
class Batch:
    """A batch that is written and committed; None is a value that Spark does not report.

    rows_in and rows_out: rows read and written
    seconds: from its start to its commit
    lag: the sequences that the streams had beyond the batch's end when it was planned; these are as many
        messages, if no filter excludes some and none were deleted
    rules: the rows that broke a rule, or did not decode, by TABLE.RULE; only those that some did
    """

    sink: str
    batch: int
    time: str  # RFC 3339, UTC: when it was done
    rows_in: int | None
    rows_out: int | None
    lag: int | None
    seconds: float
    watermark: str | None = None
    rules: Mapping[str, int] = field(default_factory=dict)

    @property
    def rate(self) -> float | None:
        """The rows read per second of the batch."""
        return None if self.rows_in is None or self.seconds <= 0 else self.rows_in / self.seconds

    def to_json(self) -> dict[str, Any]:
        """Return the batch as a document for programs."""
        rate = self.rate
        return {**asdict(self), "rate": None if rate is None else round(rate, 1)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Batch:
        """Return the batch of a document of `to_json`; unknown keys are ignored.

        Raises TypeError if the document is not one.
        """
        known = {each.name for each in fields(cls)}
        return cls(**{key: value for key, value in document.items() if key in known})


@dataclass
class Totals:
    """The totals of a run. Rows count once, however many sinks read them: the most that one sink read."""

    batches: int = 0
    read: dict[str, int] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    lags: dict[str, int | None] = field(default_factory=dict)
    broken: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, batch: Batch) -> None:
        """Add a batch."""
        self.batches += 1
        self.read[batch.sink] = self.read.get(batch.sink, 0) + (batch.rows_in or 0)
        self.written[batch.sink] = self.written.get(batch.sink, 0) + (batch.rows_out or 0)
        self.lags[batch.sink] = batch.lag
        broken = self.broken.setdefault(batch.sink, {})
        for rule, rows in batch.rules.items():
            broken[rule] = broken.get(rule, 0) + rows

    @property
    def rows_in(self) -> int:
        """The rows read."""
        return max(self.read.values(), default=0)

    @property
    def rows_out(self) -> int:
        """The rows written, by all sinks."""
        return sum(self.written.values())

    @property
    def rules(self) -> dict[str, int]:
        """The rows that broke each rule, by TABLE.RULE; as with rows read, the most that one sink met."""
        found: dict[str, int] = {}
        for broken in self.broken.values():
            for rule, rows in broken.items():
                found[rule] = max(found.get(rule, 0), rows)
        return found

    @property
    def lag(self) -> int | None:
        """How far the slowest sink is behind, None if that is not known."""
        return max((lag for lag in self.lags.values() if lag is not None), default=None)

    def to_json(self) -> dict[str, Any]:
        """Return the totals as a document."""
        return {
            "batches": self.batches,
            "rows_in": self.rows_in,
            "rows_out": self.rows_out,
            "lag": self.lag,
            "rules": self.rules,
        }

    @classmethod
    def of(cls, batches: Iterable[Batch]) -> Totals:
        """Return the totals of these batches."""
        totals = cls()
        for batch in batches:
            totals.add(batch)
        return totals


def of_query(
    sink: str, progress: Mapping[str, Any], rows_out: int | None, rules: Mapping[str, int] | None = None
) -> Batch:
    """Return a batch from a streaming query's report (the JSON of Spark's StreamingQueryProgress)."""
    milliseconds = (
        (progress.get("durationMs") or {}).get("triggerExecution") or progress.get("batchDuration") or 0
    )
    sources = progress.get("sources") or ()
    lags = [lag for source in sources if (lag := behind(source)) is not None]
    rows_in = progress.get("numInputRows")
    if rows_in is None:  # a remote session leaves the sum to us
        rows_in = sum(source.get("numInputRows") or 0 for source in sources)
    mark = (progress.get("eventTime") or {}).get("watermark")
    return Batch(
        sink=sink,
        batch=int(progress["batchId"]),
        time=_ended(str(progress["timestamp"]), float(milliseconds)),
        rows_in=int(rows_in),
        rows_out=rows_out,
        lag=sum(lags) if lags else None,
        seconds=round(float(milliseconds) / 1000, 3),
        watermark=None if mark is None or str(mark).startswith("1970-") else str(mark),
        rules=rules or {},
    )


def observed(progress: Mapping[str, Any], name: str) -> int | None:
    """Return the count that a query's report has under `name`, None without.

    A session of this process reports a row with a field `rows`, a remote one its JSON: values and schema.
    """
    row = (progress.get("observedMetrics") or {}).get(name)
    if row is None:
        return None
    return int(row["values"][0] if "values" in row else row["rows"])


def behind(source: Mapping[str, Any]) -> int | None:
    """Return the sequences between a batch's end and the streams' ends; None if the offsets do not say."""
    end, latest = _offsets(source.get("endOffset")), _offsets(source.get("latestOffset"))
    if not end or not latest:
        return None
    return sum(max(0, last - end.get(stream, last)) for stream, last in latest.items())


def _offsets(offset: object) -> dict[str, int]:
    """Return the next sequence by stream of an offset such as `{"ORDERS": {"next": 7, …}}`."""
    if isinstance(offset, str):
        try:
            offset = json.loads(offset)
        except ValueError:
            return {}
    if not isinstance(offset, Mapping):
        return {}
    marks = {stream: mark for stream, mark in offset.items() if isinstance(mark, Mapping)}
    return {str(stream): int(mark["next"]) for stream, mark in marks.items() if "next" in mark}


def _ended(began: str, milliseconds: float) -> str:
    start = datetime.fromisoformat(began)
    return moment(start.timestamp() + milliseconds / 1000)


def moment(seconds: float) -> str:
    """Return seconds since the epoch in RFC 3339, UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
