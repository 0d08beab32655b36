"""Where a stream query stands: for each stream the next sequence to read, and which stream that was.

As Spark keeps it in a checkpoint: `{"ORDERS": {"next": 1235, "created": "2026-…Z"}}`, streams sorted.
`created` tells a stream from a later one of the same name. A stream that the offset before did not have, or
had as another one, also has `since`: the sequence from which this offset counts, so that a batch is read
again as it was read first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Offset = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class StreamOffset:
    """The place in one stream: `next` is read next; `since` as above, else 0."""

    next: int
    created: str
    since: int = 0


StreamOffsets = dict[str, StreamOffset]


def read(offset: Mapping[str, Mapping[str, Any]]) -> StreamOffsets:
    """The marks of an offset from a checkpoint. Raises ValueError for one that is not ours."""
    try:
        return {
            stream: StreamOffset(int(mark["next"]), str(mark["created"]), int(mark.get("since", 0)))
            for stream, mark in offset.items()
        }
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ValueError(
            "the checkpoint's offsets are not those of a jetstream source; use another folder"
        ) from None


def write(marks: StreamOffsets) -> Offset:
    """Marks as Spark keeps them. Equal marks give equal texts."""
    return {
        stream: {"next": mark.next, "created": mark.created} | ({"since": mark.since} if mark.since else {})
        for stream, mark in sorted(marks.items())
    }


def ranges(start: StreamOffsets, end: StreamOffsets) -> dict[str, tuple[int, int]]:
    """The sequences [from, to) of each stream between two offsets; streams without any are left out."""
    found = {}
    for stream, mark in end.items():
        before = start.get(stream)
        first = before.next if before and before.created == mark.created else max(mark.since, 1)
        if first < mark.next:
            found[stream] = (first, mark.next)
    return found


def between(start: StreamOffsets, end: StreamOffsets, most: int) -> StreamOffsets:
    """As far from `start` to `end` as `most` sequences allow, shared by what each stream has; 0: all the way.

    Every stream of `end` keeps its place in the result, with its `since`.
    """
    waiting = ranges(start, end)
    total = sum(last - first for first, last in waiting.values())
    if not most or total <= most:
        return end
    shares = {stream: (last - first) * most // total for stream, (first, last) in waiting.items()}
    left = most - sum(shares.values())
    # What rounding left over goes to those that have most waiting, so that none waits for ever.
    for stream in sorted(waiting, key=lambda name: waiting[name][0] - waiting[name][1])[:left]:
        shares[stream] += 1
    found = dict(end)
    for stream, (first, _) in waiting.items():
        found[stream] = StreamOffset(first + shares[stream], end[stream].created, end[stream].since)
    return found
