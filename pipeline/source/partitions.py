"""Ranges of sequences cut into what one task reads."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

# Sequences of a task when nothing is said: some seconds of work, and enough tasks to keep the cores busy.
USUAL = 250_000


def cut(
    ranges: Mapping[str, tuple[int, int]], *, least: int = 0, most: int = 0
) -> list[tuple[str, int, int]]:
    """Cut ranges [start, end) by stream into about `least` pieces in all, none longer than `most`.

    0 for either: not asked for; without both a piece has USUAL sequences at most. Each stream's pieces are of
    equal length, to one. Streams share `least` by their lengths. Order: by stream, then by sequence.
    """
    most = most or (0 if least else USUAL)
    total = sum(end - start for start, end in ranges.values())
    found = []
    for stream, (start, end) in sorted(ranges.items()):
        length = end - start
        pieces = max(1, round(length * least / total)) if total else 1
        if most:
            pieces = max(pieces, -(-length // most))
        pieces = min(pieces, length)
        edges = [start + length * at // pieces for at in range(pieces + 1)] if pieces > 0 else []
        found += [(stream, low, high) for low, high in itertools.pairwise(edges)]
    return found
