"""Reads what a `stream report` shows from its text, as somebody who watches the video reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

STREAMS = "Stream Report"
REPLICATION = "Replication Report"
NO_STREAMS = "No Streams defined"


class Count(NamedTuple):
    """Messages and bytes as shown, e.g. (40, "3.8 KiB")."""

    messages: int
    size: str


class ReportedStream(NamedTuple):
    """A stream in a report: what it holds, its servers, and its leader ("" if there is none)."""

    total: Count
    servers: list[str]
    leader: str
    clean: bool  # no consumers, nothing lost, nothing deleted: this is so in the whole video


class Copy(NamedTuple):
    """A mirror or source: its domain, and the name and API prefix of the stream that it copies."""

    domain: str
    stream: str
    kind: str
    prefix: str
    origin: str


@dataclass
class StreamReport:
    """The report of a domain.

    found: whether it is a report at all, not an error.
    """

    found: bool
    streams: dict[str, ReportedStream] = field(default_factory=dict)
    copies: set[Copy] = field(default_factory=set)
    lagging: bool = False  # whether a copy lags or has an error

    def counts(self) -> dict[str, Count]:
        """Return the messages and bytes of each stream."""
        return {name: row.total for name, row in self.streams.items()}


def read(domain: str, text: str) -> StreamReport:
    """Parse the report of `domain` in `text`."""
    report = StreamReport(NO_STREAMS in text or STREAMS in text)
    title = ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("│").split("│")] if line.startswith("│") else []
        if len(cells) == 1:
            title = cells[0]
        elif cells and cells[0] != "Stream" and title == STREAMS:
            report.streams[cells[0]] = _row(cells)
        elif cells and cells[0] != "Stream" and title == REPLICATION:
            stream, kind, prefix, origin, _, lag, error = cells
            report.copies.add(Copy(domain, stream, kind, prefix, origin))
            report.lagging = report.lagging or lag != "0" or bool(error)
    return report


def _row(cells: list[str]) -> ReportedStream:
    _, _, consumers, messages, size, lost, deleted, replicas = cells
    servers = replicas.split(", ")
    leaders = [name.removesuffix("*") for name in servers if name.endswith("*")]
    return ReportedStream(
        Count(int(messages.replace(",", "")), size),
        sorted(name.removesuffix("*") for name in servers),
        leaders[0] if len(leaders) == 1 else "",
        consumers == lost == deleted == "0",
    )
