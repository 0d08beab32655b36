"""Reading messages one by one from the stream's leader: slow, but its answers are authoritative."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from ...protocol.errors import ApiError
from ...protocol.timestamp import parse_rfc3339
from .api import NO_MESSAGE, JetStreamRequests
from .columns import MessageColumns, MessageRange

AT_ONCE = 100  # messages of one range


class LeaderReader:
    """One reading of [start, end) from the leader."""

    def __init__(
        self, api: JetStreamRequests, stream: str, start: int, end: int, subjects: tuple[str, ...]
    ) -> None:
        self._api = api
        self._stream = stream
        self._position, self._end = start, end
        self._filters = subjects or (">",)

    def next_sequence(self) -> int:
        """Return the sequence of the next message of the range; `end` if there is none."""
        found = self._next(no_headers=True)
        return self._end if found is None else int(found["seq"])

    def ranges(self) -> Iterator[MessageRange]:
        """Yield at most one range, of up to `AT_ONCE` messages."""
        found: list[dict[str, Any]] = []
        while len(found) < AT_ONCE and self._position < self._end and (one := self._next()) is not None:
            found.append(one)
            self._position = int(one["seq"]) + 1
        if found:
            yield MessageRange(_rows(found), self._position)

    def _next(self, *, no_headers: bool = False) -> dict[str, Any] | None:
        """Return the first message from the position on, below the end, that one of the filters matches."""
        nearest: dict[str, Any] | None = None
        for subject in self._filters:
            request: dict[str, Any] = {"seq": self._position, "next_by_subj": subject}
            if no_headers:
                request["no_hdr"] = True
            try:
                found = self._api.call(f"STREAM.MSG.GET.{self._stream}", request)["message"]
            except ApiError as error:
                if error.err_code != NO_MESSAGE:
                    raise
                continue
            if found["seq"] < self._end and (nearest is None or found["seq"] < nearest["seq"]):
                nearest = found
        return nearest


def _rows(found: list[dict[str, Any]]) -> MessageColumns:
    def binary(field: str) -> pa.Array:
        return pa.array([base64.b64decode(one.get(field) or "") for one in found], pa.binary())

    return MessageColumns.of(
        [one["seq"] for one in found],
        np.array([parse_rfc3339(one["time"]) for one in found], np.int64),
        pa.array([one["subject"] for one in found], pa.string()),
        binary("data"),
        binary("hdrs"),
    )
