"""A range of a stream's sequences, read as Arrow record batches.

Promises: every message of the range that still exists, once, in order, complete up to the end or an error.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from ...protocol.errors import ApiError
from ..link import Link
from . import columns as layout
from .api import NO_MESSAGE, Api


@dataclass(frozen=True)
class Range:
    """Sequences [start, end) of a stream, of the messages on `subjects` only if any are given."""

    stream: str
    start: int
    end: int
    subjects: tuple[str, ...] = ()


def read(
    link: Link,
    api: Api,
    range: Range,  # noqa: A002 - the word for it
    *,
    batch: int = 10_000,
    headers: bool = False,
    domain: str = "",
    columns: Sequence[str] | None = None,
    tolerate_loss: bool = False,
    retries: int = 3,
    retry_interval: float = 1.0,
) -> Iterator[pa.RecordBatch]:
    """Give the range's messages, at most `batch` rows at a time.

    `columns`: which ones and in which order; else all, the headers only if `headers`. `domain` fills its
    column. A lost connection is made anew up to `retries` times in a row, every `retry_interval` seconds.
    Raises ShortRead, and DataLoss unless `tolerate_loss`.
    """
    names = tuple(columns) if columns is not None else layout.names(headers=headers)
    rows: list[dict[str, Any]] = []
    at = range.start
    while at < range.end:
        try:
            found = api.call(f"STREAM.MSG.GET.{range.stream}", {"seq": at, "next_by_subj": ">"})["message"]
        except ApiError as error:
            if error.err_code != NO_MESSAGE:
                raise
            break
        if found["seq"] >= range.end:
            break
        rows.append(
            {
                "subject": found["subject"],
                "data": base64.b64decode(found.get("data") or ""),
                "stream": range.stream,
                "sequence": found["seq"],
                "timestamp": datetime.fromisoformat(found["time"]),
                "headers": [],
                "size": 0,
                "domain": domain,
            }
        )
        at = found["seq"] + 1
        if len(rows) == batch:
            yield pa.RecordBatch.from_pylist(rows, layout.schema(names))
            rows = []
    if rows:
        yield pa.RecordBatch.from_pylist(rows, layout.schema(names))
