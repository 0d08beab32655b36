"""A run as one HTML file: its result, throughput, lag and batch time over the run, its plan and its batches.

The file is self-contained: no scripts, and nothing to load. It follows the reader's light or dark setting. It
is made from what the run recorded, which has no secrets.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from html import escape

from . import chart, timeline
from .chart import ChartSeries, Point
from .progress import Batch, Totals
from .record import CRASHED, FAILED, FINISHED, INTERRUPTED, RUNNING, STOPPED, PipelineRun
from .timeline import TimelineSpan

LEAST = 0.05  # seconds that are a bar
ROWS = 200  # of the newest batches, as a table
# Why a run in this state has no batch.
EMPTY = {
    FINISHED: "This run had no batch, for the streams had nothing new to read",
    STOPPED: "This run was stopped before its first batch",
    INTERRUPTED: "This run was interrupted before its first batch was completed",
    FAILED: "This run failed before its first batch was completed",
    CRASHED: "The process of this run ended before its first batch was completed",
    RUNNING: "This run has not completed a batch yet",
}
Value = Callable[[Batch], float | None]


def html(run: PipelineRun) -> str:
    """Return the file's text."""
    batches = run.batches()
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(run.id)}: pipeline run</title><style>{STYLE}</style></head><body>",
        _head(run, batches),
        _drawn(run, batches) if batches else f'<p class="none">{escape(empty(run))}</p>',
        _rules(run, batches),
        _plan(run),
        _table(batches),
        f"<details><summary>Document</summary><pre>{escape(run.document())}</pre></details>",
        f"<footer>pyjs {escape(str(run.facts.get('version', '')))}; times are UTC</footer>",
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def empty(run: PipelineRun) -> str:
    """Return why a run without batches has none."""
    return EMPTY.get(run.state, "This run completed no batch") + ": there is nothing to draw."


def _head(run: PipelineRun, batches: Sequence[Batch]) -> str:
    facts, totals = run.facts, Totals.of(batches)
    busy = sum(batch.seconds for batch in batches)
    spent = sorted(batch.seconds for batch in batches)
    lags = [batch.lag for batch in batches if batch.lag is not None]
    read = sum(batch.rows_in or 0 for batch in batches)
    tiles = [
        ("rows read", f"{totals.rows_in:,}"),
        ("rows written", f"{totals.rows_out:,}"),
        ("batches", f"{totals.batches:,}"),
        ("rows/s in batches", chart.amount(read / busy) if busy else "-"),
        ("most behind", f"{max(lags):,}" if lags else "-"),
        ("median batch", f"{_quantile(spent, 0.5):.2f} s" if spent else "-"),
        ("95th percentile", f"{_quantile(spent, 0.95):.2f} s" if spent else "-"),
    ]
    shown = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>' for name, value in tiles
    )
    where = f"{facts.get('on', '')}, {facts.get('runs', '')}"
    began = _clock(_started(run))
    ended = _clock(str(run.outcome.get("time", ""))) if run.outcome else ""
    when = f"{began} to {ended}" if ended else f"since {began}"
    error = str(run.outcome.get("error") or "")
    return (
        f'<header><h1>{escape(run.id)} <em class="{escape(run.state)}">{escape(run.state)}</em></h1>'
        f"<p>{escape(str(facts.get('file', '')))}<br>{escape(where)}<br>{escape(when)}</p>"
        + (f'<p class="error">{escape(error)}</p>' if error else "")
        + f'</header><div class="tiles">{shown}</div>'
    )


def _drawn(run: PipelineRun, batches: Sequence[Batch]) -> str:
    """Return lines over time, or bars where no sink has the two batches that make a line."""
    names = [batch.sink for batch in batches]
    return _charts(batches) if len(set(names)) < len(names) else _bars(run, batches)


def _bars(run: PipelineRun, batches: Sequence[Batch]) -> str:
    ends = [_seconds_of(batch.time) for batch in batches]
    spans = [
        TimelineSpan(batch.sink, end - batch.seconds, end, _said(batch), number)
        for number, (batch, end) in enumerate(zip(batches, ends, strict=True))
    ]
    first = min(span.begin for span in spans)
    with contextlib.suppress(ValueError):
        spans.insert(0, TimelineSpan("start and plan", min(_seconds_of(_started(run)), first), first, ""))
    with contextlib.suppress(ValueError):
        ended = _seconds_of(str(run.outcome.get("time", "")))
        if ended - max(ends) >= LEAST:
            spans.append(TimelineSpan("end", max(ends), ended, ""))
    drawn = timeline.draw("Time", spans)
    return f"<section><h2>Time <small>what the run's seconds went to</small></h2>{drawn}</section>"


def _said(batch: Batch) -> str:
    """Return what a batch did, in the words of its bar; what is not known is left out."""
    rate = batch.rate
    words = [
        None if batch.rows_in is None else f"{batch.rows_in:,} in",
        None if batch.rows_out is None else f"{batch.rows_out:,} out",
        None if rate is None else f"{chart.amount(rate)} rows/s",
        None if batch.lag is None else f"{batch.lag:,} behind",
    ]
    return ", ".join(word for word in words if word)


def _started(run: PipelineRun) -> str:
    return str(run.facts.get("started", ""))


def _seconds_of(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def _charts(batches: Sequence[Batch]) -> str:
    names = list(dict.fromkeys(batch.sink for batch in batches))
    legend = "".join(f'<i class="s{number % 6}"></i>{escape(name)} ' for number, name in enumerate(names))
    parts = [f'<p class="legend">{legend}</p>'] if len(names) > 1 else []
    for title, note, unit, value, join in (
        ("Throughput", "rows read in a second of a batch", "rows/s", _rate, _mean),
        ("Lag", "messages that the streams had beyond a batch", "messages", _lag, _most),
        ("Batch time", "seconds from the start of a batch to its commit", "s", _seconds, _most),
    ):
        drawn = chart.draw(title, _series(batches, names, value), unit, join=join)
        parts.append(f"<section><h2>{title} <small>{note}</small></h2>{drawn}</section>")
    return "\n".join(parts)


def _series(batches: Iterable[Batch], names: Sequence[str], value: Value) -> list[ChartSeries]:
    points: dict[str, list[Point]] = {name: [] for name in names}
    for batch in batches:
        found = value(batch)
        if found is not None:
            points[batch.sink].append((datetime.fromisoformat(batch.time).timestamp(), float(found)))
    return [ChartSeries(name, found) for name, found in points.items()]


def _rate(batch: Batch) -> float | None:
    return batch.rate


def _lag(batch: Batch) -> float | None:
    return batch.lag


def _seconds(batch: Batch) -> float | None:
    return batch.seconds


def _mean(points: Sequence[Point]) -> float:
    return sum(value for _, value in points) / len(points)


def _most(points: Sequence[Point]) -> float:
    return max(value for _, value in points)


def _quantile(ordered: Sequence[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def _clock(text: str) -> str:
    return text[:19].replace("T", " ")


def _plan(run: PipelineRun) -> str:
    rows = [
        (step.get("kind", ""), step.get("name", ""), step.get("what", ""), ", ".join(step.get("reads") or ()))
        for step in run.facts.get("steps") or ()
    ]
    names = ("step", "name", "what", "reads")
    return f"<section><h2>Plan</h2>{_grid(names, rows)}</section>" if rows else ""


def _rules(run: PipelineRun, batches: Sequence[Batch]) -> str:
    """Return how many rows broke each rule, and what became of them."""
    broken = Totals.of(batches).rules
    rules = run.facts.get("rules") or {}
    rows = [(rule, str(otherwise), _number(broken.get(rule, 0))) for rule, otherwise in rules.items()]
    names = ("rule", "otherwise", "rows that broke it")
    return f"<section><h2>Rules</h2>{_grid(names, rows)}</section>" if rows else ""


def _table(batches: Sequence[Batch]) -> str:
    if not batches:
        return ""
    newest = batches[-ROWS:][::-1]
    rows = [
        (
            _clock(each.time),
            each.sink,
            f"{each.batch:,}",
            *(_number(value) for value in (each.rows_in, each.rows_out, each.rate, each.lag)),
            f"{each.seconds:.2f}",
            _clock(each.watermark or ""),
        )
        for each in newest
    ]
    names = ("done", "sink", "batch", "rows in", "rows out", "rows/s", "behind", "seconds", "watermark")
    title = "Batches" if len(newest) == len(batches) else f"The newest {len(newest)} batches"
    return f"<details><summary>{title}</summary>{_grid(names, rows)}</details>"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _grid(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="grid">{table}</div>'


STYLE = """
:root { color-scheme: light dark; --paper: #fcfcfb; --card: #ffffff; --ink: #1b1b1a; --dim: #62615c;
  --rule: #e4e3df; --c0: #2a78d6; --c1: #d9571f; --c2: #12855c; --c3: #a87000; --c4: #b8457c; --c5: #4a3aa7;
  --good: #12855c; --bad: #c62f2f; --warn: #a87000; }
@media (prefers-color-scheme: dark) { :root { --paper: #161615; --card: #1e1e1c; --ink: #f2f1ec;
  --dim: #a3a19a; --rule: #35342f; --c0: #5a9df0; --c1: #f08a5d; --c2: #3fbf8f; --c3: #e0ab3d; --c4: #e58ab5;
  --c5: #a497f2; --good: #3fbf8f; --bad: #ef7070; --warn: #e0ab3d; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  max-width: 1020px; margin: 2rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.05rem; margin: 0 0 .5rem; }
h1 em { font: 600 .8rem system-ui; vertical-align: middle; padding: .15rem .6rem; border-radius: 1rem;
  border: 1px solid currentColor; color: var(--warn); }
h1 em.finished, h1 em.running { color: var(--good); } h1 em.failed, h1 em.crashed { color: var(--bad); }
header p { color: var(--dim); margin: .4rem 0; overflow-wrap: anywhere; }
header p.error { color: var(--bad); }
small, footer, .legend { color: var(--dim); font-weight: normal; } footer { margin-top: 2rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(120px, 1fr)); gap: .6rem;
  margin: 1.25rem 0; }
.tile, section { background: var(--card); border: 1px solid var(--rule); border-radius: 8px;
  padding: .8rem 1rem; }
.tile b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums; }
.tile span { color: var(--dim); font-size: .8rem; } section { margin: 0 0 1rem; }
svg { width: 100%; height: auto; display: block; } svg .grid { stroke: var(--rule); }
svg .ink { fill: var(--dim); font: 12px system-ui, sans-serif; }
svg .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
svg .dot { stroke-width: 9; stroke-opacity: 0; fill-opacity: 0; } svg .dot.seen { fill-opacity: 1; }
svg .bar.rest { fill: var(--rule); }
svg .dot:hover { fill-opacity: 1; }
.bar.s0 { fill: var(--c0); } .bar.s1 { fill: var(--c1); } .bar.s2 { fill: var(--c2); }
.bar.s3 { fill: var(--c3); } .bar.s4 { fill: var(--c4); } .bar.s5 { fill: var(--c5); }
.line.s0 { stroke: var(--c0); } .dot.s0 { fill: var(--c0); stroke: var(--c0); }
.line.s1 { stroke: var(--c1); } .dot.s1 { fill: var(--c1); stroke: var(--c1); }
.line.s2 { stroke: var(--c2); } .dot.s2 { fill: var(--c2); stroke: var(--c2); }
.line.s3 { stroke: var(--c3); } .dot.s3 { fill: var(--c3); stroke: var(--c3); }
.line.s4 { stroke: var(--c4); } .dot.s4 { fill: var(--c4); stroke: var(--c4); }
.line.s5 { stroke: var(--c5); } .dot.s5 { fill: var(--c5); stroke: var(--c5); }
.legend i { display: inline-block; width: .8rem; height: .8rem; border-radius: 3px; margin: 0 .35rem 0 .8rem;
  vertical-align: -1px; }
i.s0 { background: var(--c0); } i.s1 { background: var(--c1); } i.s2 { background: var(--c2); }
i.s3 { background: var(--c3); } i.s4 { background: var(--c4); } i.s5 { background: var(--c5); }
div.grid { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .87rem; }
th { text-align: left; color: var(--dim); font-weight: 600; }
th, td { padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--rule);
  font-variant-numeric: tabular-nums; }
pre { overflow-x: auto; font-size: .85rem; } details { margin: 1rem 0; } summary { cursor: pointer; }
.empty { color: var(--dim); } .none { font-size: 1.1rem; border-left: 4px solid var(--warn);
  padding: .4rem 1rem; }
"""
