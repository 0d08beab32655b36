"""`pyjs traffic`: how many messages pass, by what they are for, second by second."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

import click

from ...cli import output, words
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.output import Column, Grid
from ...cli.output.terminal import Screen

KEPT = 11  # seconds that are shown
SECOND = 1.0
RAFT, CLUSTER, GENERAL = "Raft Traffic", "Cluster Traffic", "General Traffic"
SYSTEM, API, ACKS, REQUESTS, REST = "System", "JS API", "JS ACK", "Requests", "Rest"
# What messages are for, by how their subjects begin.
# Source: nats-server's server/raft.go and server/jetstream_cluster.go.
KINDS = {
    "$NRG.V.": (RAFT, "Vote"),
    "$NRG.AE.": (RAFT, "Append"),
    "$NRG.R.": (RAFT, "Reply"),
    "$NRG.RP.": (RAFT, "Remove Peer"),
    "$NRG.P.": (RAFT, "Proposal"),
    "$JSC.ARU.": (CLUSTER, "JSA Update"),
    "$JSC.SI.": (CLUSTER, "Stream Info"),
    "$JSC.CI.": (CLUSTER, "Consumer Info"),
    "$JSC.SYNC": (CLUSTER, "Stream Sync"),
    "$JSC.ACK.": (CLUSTER, "Reply"),
    "$JSC.R.": (CLUSTER, "Reply"),
    "$SYS.": (GENERAL, SYSTEM),
    "$JS.ACK.": (GENERAL, ACKS),
    "$JS.API.": (GENERAL, API),
}
COLUMNS = {
    RAFT: ("Vote", "Append", "Reply", "Remove Peer", "Proposal"),
    CLUSTER: ("JSA Update", "Stream Info", "Consumer Info", "Stream Sync", "Reply"),
    GENERAL: (REQUESTS, API, ACKS, SYSTEM, REST),
}


class Counter:
    """Counts messages by kind, and keeps the counts of the last seconds."""

    def __init__(self) -> None:
        self._now: dict[tuple[str, str], int] = {}
        self._size = 0
        self._seen: set[str] = {GENERAL}  # tables that had a message
        self._rows: dict[str, deque[list[str]]] = {name: deque(maxlen=KEPT) for name in COLUMNS}

    def add(self, subject: str, *, asks: bool, size: int) -> None:
        """Count a message.

        asks: whether it has a reply subject.
        """
        kind = (GENERAL, REQUESTS if asks else REST)
        if subject.startswith("$"):
            kind = next((found for lead, found in KINDS.items() if subject.startswith(lead)), kind)
        self._now[kind] = self._now.get(kind, 0) + 1
        self._seen.add(kind[0])
        self._size += size

    def tick(self) -> str:
        """End a second; return the tables of the last ones."""
        texts = []
        for name, columns in COLUMNS.items():
            counts = [self._now.get((name, column), 0) for column in columns]
            cells = [words.number(count) for count in counts]
            if name == GENERAL:
                cells.append(words.size(self._size))
            self._rows[name].append([*cells, words.number(sum(counts))])
            if name in self._seen:
                texts.append(_drawn(name, columns, self._rows[name]))
        self._now, self._size = {}, 0
        return "\n\n".join(texts)


def _drawn(name: str, columns: Sequence[str], rows: Sequence[list[str]]) -> str:
    headings = [*columns, *(["Total Bytes"] if name == GENERAL else []), "Total Messages"]
    grid = Grid(name, [Column("", each, output.WORD) for each in headings], headings, list(rows))
    return output.drawn(grid)


@click.command(cls=Command)
@click.argument("subjects", required=False, default=">")
async def traffic(subjects: str) -> None:
    """Show how many messages pass on SUBJECTS, by what they are for, every second until Ctrl-C."""
    counter = Counter()

    async def count(message: Any) -> None:
        counter.add(message.subject, asks=bool(message.reply), size=len(message.data))

    async with connect() as connection:
        await connection.nc.subscribe(subjects, cb=count)
        await connection.nc.flush(connection.timeout)
        screen = Screen(f"Messages each second on {subjects}")
        try:
            while True:
                await asyncio.sleep(SECOND)
                screen.draw(counter.tick())
        except asyncio.CancelledError:
            return
        finally:
            screen.close()
