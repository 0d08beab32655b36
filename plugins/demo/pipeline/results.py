"""The results of the Spark program, read without Spark: by a plain client and by pyarrow."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from ..client import connected
from .shops import ResultKey

Rows = dict[ResultKey, tuple[int, int]]  # (orders, cents); the latest value of each row counts


def from_stream(url: str) -> tuple[Rows, int]:
    """Return the rows in the stream `stats`, and how many messages it has."""
    return asyncio.run(_stream(url))


async def _stream(url: str) -> tuple[Rows, int]:
    client = await connected(url, connect_timeout=5)
    try:
        stream = client.jetstream(timeout=10)
        count = (await stream.stream_info("stats")).state.messages
        rows: Rows = {}
        for number in range(1, count + 1):
            message = await stream.get_msg("stats", number)
            _enter(rows, json.loads(message.data or b"{}"))
        return rows, count
    finally:
        await client.close()


def from_parquet(folder: Path) -> Rows:
    """Return the rows in the Parquet folder, later batches over earlier ones."""
    from pyarrow import parquet

    rows: Rows = {}
    for batch in sorted(folder.glob("batch=*"), key=lambda path: int(path.name.partition("=")[2])):
        for row in parquet.read_table(batch, partitioning=None).to_pylist():
            _enter(rows, row)
    return rows


def _enter(rows: Rows, row: dict[str, object]) -> None:
    key = ResultKey(str(row["minute"]), str(row["domain"]), str(row["subject"]))
    rows[key] = (int(str(row["orders"])), int(str(row["cents"])))
