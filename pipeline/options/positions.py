"""Where reading starts and ends: Kafka's words, for sequences of streams.

A position is `earliest`, `latest`, the sequence of a message (an end is exclusive), or a time: the first
message stored at or after it. In JSON a sequence of -2 is earliest and -1 latest, as in Kafka's options.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from . import values

EARLIEST_WORD, LATEST_WORD = "earliest", "latest"
_MINUS = {-2: EARLIEST_WORD, -1: LATEST_WORD}


@dataclass(frozen=True)
class StreamPosition:
    """A position in a stream.

    kind: `earliest`, `latest`, `sequence` or `time`
    value: the sequence, or ns since the epoch
    """

    kind: str
    value: int = 0


EARLIEST, LATEST = StreamPosition(EARLIEST_WORD), StreamPosition(LATEST_WORD)


@dataclass(frozen=True)
class StreamPositions:
    """A position for every stream, or one for each stream that is named; `option` is where it was given."""

    every: StreamPosition | None = None
    named: Mapping[str, StreamPosition] = field(default_factory=dict)
    option: str = ""

    def of(self, stream: str) -> StreamPosition | None:
        """Return the position of a stream, None if it has none."""
        return self.named.get(stream, self.every)


def sequences(given: str) -> StreamPositions:
    """Parse `earliest`, `latest` or `{"ORDERS": 1234}`. Raises ValueError."""
    word = given.strip().lower()
    if word in {EARLIEST_WORD, LATEST_WORD}:
        return StreamPositions(StreamPosition(word))
    found = {}
    for stream, value in _object(given, '{"ORDERS": 1234}, earliest or latest').items():
        if not isinstance(value, int) or isinstance(value, bool) or value == 0 or value < -2:
            raise ValueError(
                f"{stream}: {json.dumps(value)} is no sequence: 1 or more, -2 earliest, -1 latest"
            )
        found[stream] = StreamPosition(_MINUS[value]) if value < 0 else StreamPosition("sequence", value)
    return StreamPositions(named=found)


def times(given: str) -> StreamPositions:
    """Parse `{"ORDERS": 1763798400000}` or times as text. Raises ValueError."""
    found = {}
    for stream, value in _object(given, '{"ORDERS": "2026-11-22T08:00:00Z"}').items():
        found[stream] = StreamPosition(
            "time", values.time(value if isinstance(value, str) else json.dumps(value))
        )
    return StreamPositions(named=found)


def moment(given: str) -> StreamPositions:
    """Parse one time for every stream. Raises ValueError."""
    return StreamPositions(StreamPosition("time", values.time(given)))


def _object(given: str, example: str) -> dict[str, object]:
    try:
        found = json.loads(given)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not found:
        raise ValueError(f'"{given}" is not understood; write {example}')
    for name in found:
        values.stream(name)
    return found
