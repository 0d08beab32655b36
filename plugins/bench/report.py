"""The text of a benchmark: what is about to run, its results as a table, and the CSV file."""

from __future__ import annotations

import csv
import io
import secrets
import statistics
from collections.abc import Mapping, Sequence

from ...cli import render, words
from ..messaging.rtt import in_words
from .sample import MICRO, BenchmarkSample, total
from .settings import BenchmarkSettings

LATENCIES = {
    "Min": "min",
    "Avg": "avg",
    "P50": "p50",
    "P90": "p90",
    "P99": "p99",
    "P99.9": "p99_9",
    "Max": "max",
}
CSV_COLUMNS = ("#RunID", "ClientID", "MsgCount", "MsgBytes", "MsgsPerSec", "BytesPerSec", "DurationSecs")
CSV_LATENCIES = {
    "MinLatencyMicroSecs": "min",
    "AvgLatencyMicroSecs": "avg",
    "MaxLatencyMicroSecs": "max",
    "P50LatencyMicroSecs": "p50",
    "P90LatencyMicroSecs": "p90",
    "P99LatencyMicroSecs": "p99",
    "P99.9LatencyMicroSecs": "p99_9",
    "StdDevLatencyMicroSecs": "stddev",
}


def banner(label: str, settings: BenchmarkSettings, facts: Mapping[str, object]) -> str:
    """Return the line that says what starts, with the settings that matter, sorted by name."""
    known: dict[str, object] = {
        **facts,
        "msgs": words.number(settings.messages),
        "msg-size": words.size(settings.size),
        "clients": settings.clients,
    }
    shown = ", ".join(f"{name}={_word(value)}" for name, value in sorted(known.items()))
    return f"Starting {label} benchmark [{shown}]"


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def results(label: str, operation: str, samples: Sequence[BenchmarkSample]) -> str:
    """Return the results as a table, one row for each client, and the spread of their rates.

    operation: what the latencies are measured of.
    """
    whole = total(samples)
    timed = bool(whole.latencies.count)
    columns = ["Client", "Messages", "Time", "Messages/s", "Bytes/s", *(LATENCIES if timed else ())]
    rows = [_row(str(number), each, timed) for number, each in enumerate(samples, 1)]
    footer = _row("All", whole, timed) if len(samples) > 1 else None
    lines = ["", render.table(label[:1].upper() + label[1:], columns, rows, footer)]
    if timed:
        lines.append(f"Latencies are those of {operation}.")
    if len(samples) > 1:
        rates = [sample.rate for sample in samples]
        spread = statistics.pstdev(rates)
        figures = (("least", min(rates)), ("average", statistics.fmean(rates)), ("most", max(rates)))
        figured = [f"{name} {round(rate):,}" for name, rate in figures]
        told = f"Messages/s of a client: {', '.join(figured)}, standard deviation {round(spread):,}."
        lines.append(render.fitting(told))
    return "\n".join(lines)


def _row(name: str, sample: BenchmarkSample, timed: bool) -> list[str]:
    cells = [
        name,
        words.number(sample.messages),
        f"{sample.seconds:.3f}s",
        f"{round(sample.rate):,}",
        words.size(round(sample.bytes_rate)),
    ]
    if timed:
        figures = sample.latencies.figures()
        cells += [in_words(round(figures[name] * MICRO)) for name in LATENCIES.values()]
    return cells


def document(label: str, operation: str, samples: Sequence[BenchmarkSample]) -> dict[str, object]:
    """Return the results as a document; rates per second, latencies in microseconds."""
    found: dict[str, object] = {
        "benchmark": label,
        "clients": [{"client": number, **each.document()} for number, each in enumerate(samples, 1)],
        "total": total(samples).document(),
    }
    if operation:
        found["latency_of"] = operation
    return found


def csv_text(samples: Sequence[BenchmarkSample], prefix: str) -> str:
    """Return the CSV file: the columns of `nats bench --csv`, a row for each client.

    prefix: of the clients' names: P for those that send, S for those that receive.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    timed = any(sample.latencies.count for sample in samples)
    writer.writerow([*CSV_COLUMNS, *(CSV_LATENCIES if timed else ())])
    run_id = secrets.token_hex(11)
    for number, sample in enumerate(samples):
        row: list[object] = [run_id, f"{prefix}{number}", sample.messages, sample.size, round(sample.rate)]
        row += [f"{sample.bytes_rate:f}", f"{sample.seconds:f}"]
        if timed:
            figures = sample.latencies.figures()
            row += [f"{figures[name]:f}" for name in CSV_LATENCIES.values()]
        writer.writerow(row)
    return text.getvalue()
