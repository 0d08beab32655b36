"""Ranges of sequences divided into what one task reads.

A stream is cut by its sequences, unless that would be wrong by far. A stream that has lost most of its
sequences, such as a bucket whose keys change often, is cut by its messages, and one of large messages into
tasks of so many bytes. The sequences say nothing of either, so a server is asked; a batch of a stream query
keeps the answer in its offset.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ..jetstream import StreamStatus

# Of a task by default: about a second of work, so that a large stream keeps the cores of a cluster busy.
MESSAGES = 100_000
BYTES = 64 << 20
SPARSE = 2  # sequences per message from which a range is cut by messages
PROBES = 40  # questions for one cut: as many as halve the longest stream
MOST_FOUND = 500  # cuts that are looked for; between two of them a stream is cut by its sequences
CLOSE = 8  # a cut may be wrong by this part of a task


def cut(
    ranges: Mapping[str, tuple[int, int]],
    cuts: Mapping[str, tuple[int, ...]] = MappingProxyType({}),
    *,
    least: int = 0,
    most: int = 0,
) -> list[tuple[str, int, int]]:
    """Divide ranges [start, end) by stream into about `least` pieces in all, none longer than `most`.

    cuts: where to divide the ranges of some streams, as `find_cuts` returns it

    Zero means that there is no such bound; without both, a piece has at most MESSAGES sequences. The pieces
    of a stream are equally long, to within one. Streams share `least` in proportion to their lengths. The
    pieces are ordered by stream, then by sequence.
    """
    most = most or (0 if least else MESSAGES)
    total = sum(end - start for start, end in ranges.values())
    found = []
    for stream, (start, end) in sorted(ranges.items()):
        if cuts.get(stream):
            edges = [start, *(edge for edge in cuts[stream] if edge > start)]
        else:
            length = end - start
            pieces = share(least, length, total)
            if most:
                pieces = max(pieces, -(-length // most))
            edges = _equal(start, end, min(pieces, length))
        found += [(stream, low, high) for low, high in itertools.pairwise(edges)]
    return found


def share(least: int, length: int, total: int) -> int:
    """Return how many of `least` pieces of ranges of `total` sequences one of `length` gets, at least one."""
    return max(1, round(length * least / total)) if total else 1


def _equal(start: int, end: int, pieces: int) -> list[int]:
    return [start + (end - start) * at // pieces for at in range(pieces + 1)] if pieces > 0 else []


def find_cuts(
    stream: StreamStatus, start: int, end: int, wanted: int, left: Callable[[int], int | None]
) -> tuple[int, ...]:
    """Return where to cut the range [start, end), its end as the last; empty if `cut` does as well by itself.

    wanted: the number of tasks; 0: so many that one has at most MESSAGES and BYTES
    left: returns how many messages the stream has from a sequence on; None if nobody says
    """
    if end - start <= (1 if wanted else MESSAGES) and stream.bytes <= BYTES:
        return ()
    gone = min(max(stream.first - start, 0), end - start)  # what has left the front costs nothing to read
    start += gone
    length = messages = end - start
    rest = 0
    sparse = stream.messages * SPARSE < stream.last + 1 - stream.first
    if sparse:
        here, after = left(start), left(end)
        if here is None or after is None:  # nobody says where they are, but there are no more than that
            return tuple(_equal(start, end, wanted or -(-stream.messages // MESSAGES) or 1)[1:])
        messages, rest = max(here - after, 0), after
    pieces = wanted or max(
        -(-messages // MESSAGES), -(-messages * (stream.bytes // max(stream.messages, 1)) // BYTES)
    )
    pieces = max(1, min(pieces, messages))
    if sparse:
        return _by_messages(start, end, pieces, messages, lambda sequence: _less(left(sequence), rest))
    by_sequence = not gone and (wanted or pieces <= -(-length // MESSAGES))
    return () if by_sequence else tuple(_equal(start, end, pieces)[1:]) or (end,)


def _less(count: int | None, rest: int) -> int | None:
    return None if count is None else max(count - rest, 0)


def _by_messages(
    start: int, end: int, pieces: int, messages: int, left: Callable[[int], int | None]
) -> tuple[int, ...]:
    """Return cuts between which there are about as many of the messages; `left` counts those of the range."""
    known = [(start, messages), (end, 0)]  # how many of them there are from a sequence on
    coarse = min(pieces, MOST_FOUND)
    found: list[int] = []
    for piece in range(1, coarse):
        wanted = messages * (coarse - piece) // coarse
        best = _nearest(known, wanted, messages // (CLOSE * coarse), left)
        if best is not None and (found[-1] if found else start) < best < end:
            found.append(best)
    finer = -(-pieces // coarse)
    edges = [start, *found, end]
    return tuple(
        edge
        for low, high in itertools.pairwise(edges)
        for edge in _equal(low, high, min(finer, high - low))[1:]
    )


def _nearest(
    known: list[tuple[int, int]], wanted: int, tolerated: int, left: Callable[[int], int | None]
) -> int | None:
    """Return a sequence that about `wanted` messages are left from, adding to what is `known` on the way."""
    best = known[0]
    for _ in range(PROBES):
        at = bisect.bisect_left(known, -wanted, lo=1, hi=len(known) - 1, key=lambda one: -one[1])
        low, high = known[at - 1], known[at]
        best = min(low, high, key=lambda one: abs(one[1] - wanted))
        if high[0] - low[0] <= 1 or abs(best[1] - wanted) <= tolerated:
            return best[0]
        middle = (low[0] + high[0]) // 2
        count = left(middle)
        if count is None:
            return None
        # As a replica that is behind may count less, within what is known.
        known.insert(at, (middle, min(max(count, high[1]), low[1])))
    return best[0]
