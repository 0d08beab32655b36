"""Ranges of sequences divided into what one task reads."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

# Sequences of a task by default: some seconds of work, and enough tasks to keep the cores busy.
USUAL = 250_000


def cut(
    ranges: Mapping[str, tuple[int, int]], *, least: int = 0, most: int = 0
) -> list[tuple[str, int, int]]:
    """Divide ranges [start, end) by stream into about `least` pieces in all, none longer than `most`.

    Zero means that there is no such bound; without both, a piece has at most USUAL sequences. The pieces of a
    stream are equally long, to within one. Streams share `least` in proportion to their lengths. The pieces
    are ordered by stream, then by sequence.
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
