"""The position of a stream query: for each stream the next sequence to read, and which stream that was.

Spark keeps it in a checkpoint as `{"ORDERS": {"next": 1235, "created": "2026-…Z"}}`, streams sorted.
`created` distinguishes a stream from a later one of the same name. If the previous offset did not have a
stream, or had another one of its name, the mark also has `since`: the sequence from which this offset counts,
so that a batch that is read again has the same messages as at first. Where a new query starts at `earliest`,
the mark has `earliest`; an offset that ends a batch, as in a checkpoint, never has it. If a stream compacts
and has a `max_age`, the mark has `after`, which tells compaction from loss. If a batch is not cut into tasks
by its sequences alone, the mark has the `cuts`, so that the tasks are the same when it is planned again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

Offset = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class StreamOffset:
    """The position in one stream.

    next: the sequence to read next
    created: the creation time of the stream
    since: the sequence from which the offset counts, as described above, else 0
    earliest: whether it is where a new query starts at `earliest`: what leaves the front before that is read
        is no loss
    after: a time that all messages from `next` on were stored after, in ns since the epoch; 0 if not known
    cuts: the sequences at which the batch that ends here is cut into tasks, in order
    """

    next: int
    created: str
    since: int = 0
    earliest: bool = False
    after: int = 0
    cuts: tuple[int, ...] = ()


StreamOffsets = dict[str, StreamOffset]


def read(offset: Mapping[str, Mapping[str, Any]]) -> StreamOffsets:
    """Return the marks of an offset from a checkpoint. Raises ValueError for one of another source."""
    try:
        return {
            stream: StreamOffset(
                int(mark["next"]),
                str(mark["created"]),
                int(mark.get("since", 0)),
                earliest=mark.get("earliest") is True,
                after=int(mark.get("after", 0)),
                cuts=tuple(int(cut) for cut in mark.get("cuts", ())),
            )
            for stream, mark in offset.items()
        }
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ValueError(
            "the checkpoint's offsets are not those of a jetstream source; use another folder"
        ) from None


def write(marks: StreamOffsets) -> Offset:
    """Return marks as Spark keeps them. Equal marks give equal texts."""
    return {
        stream: {"next": mark.next, "created": mark.created}
        | ({"since": mark.since} if mark.since else {})
        | ({"earliest": True} if mark.earliest else {})
        | ({"after": mark.after} if mark.after else {})
        | ({"cuts": list(mark.cuts)} if mark.cuts else {})
        for stream, mark in sorted(marks.items())
    }


def ranges(start: StreamOffsets, end: StreamOffsets) -> dict[str, tuple[int, int]]:
    """Return the sequences [from, to) of each stream between two offsets, without streams that have none."""
    found = {}
    for stream, mark in end.items():
        before = start.get(stream)
        first = before.next if before and before.created == mark.created else max(mark.since, 1)
        if first < mark.next:
            found[stream] = (first, mark.next)
    return found


def late_bound(start: StreamOffsets, end: StreamOffsets, stream: str) -> bool:
    """Return whether the range of a stream between two offsets begins where the stream itself began."""
    before, mark = start.get(stream), end[stream]
    if before is not None and before.created == mark.created:
        return before.earliest
    return True


def between(start: StreamOffsets, end: StreamOffsets, most: int) -> StreamOffsets:
    """Return an offset at most `most` sequences after `start`, at `end` if it is nearer or `most` is 0.

    The streams share `most` in proportion to what each has. Every stream of `end` keeps its place in the
    result, with its `since`.
    """
    waiting = ranges(start, end)
    total = sum(last - first for first, last in waiting.values())
    if not most or total <= most:
        return end
    shares = {stream: (last - first) * most // total for stream, (first, last) in waiting.items()}
    left = most - sum(shares.values())
    # What rounding left over goes to those that have most waiting, so that none waits forever.
    for stream in sorted(waiting, key=lambda name: waiting[name][0] - waiting[name][1])[:left]:
        shares[stream] += 1
    found = dict(end)
    for stream, (first, last) in waiting.items():
        if first + shares[stream] < last:
            # What is left was stored after what was read, and no more is known of its time.
            before = start.get(stream)
            after = before.after if before and before.created == end[stream].created else 0
            found[stream] = replace(end[stream], next=first + shares[stream], after=after)
    return found
