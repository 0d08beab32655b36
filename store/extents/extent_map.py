"""ExtentMap: which extent of a file holds which bytes of its content."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import NamedTuple

UNREADABLE = (
    b"\xff"  # what is read where there is no extent that can be read: no record of the store consists of it
)
LACKING = b"\x00"  # the same where whole sectors are zeros, as after a power cut


class Span(NamedTuple):
    """Bytes `start` to `stop` of the content.

    place, size: where the extent is that holds them from its beginning on, and how many bytes it takes in the
        file. If `size` is 0 there is none, and `place` is the byte that is read instead.
    length: the content of the extent. Less than that may count, after a cut.
    """

    start: int
    stop: int
    place: int
    size: int
    length: int


class ExtentMap:
    """The spans of a file, in order and without gaps.

    end: where they end.
    appended_only: whether the extents of the file are those of the map, one after the other.
    """

    def __init__(self) -> None:
        self.end = 0
        self.appended_only = True
        self._starts = array("Q")
        self._places = array("Q")
        self._sizes = array("I")
        self._lengths = array("I")

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def stored(self) -> int:
        """How many bytes of the file its extents take."""
        return sum(self._sizes)

    def _stop(self, index: int) -> int:
        return self._starts[index + 1] if index + 1 < len(self._starts) else self.end

    def _span(self, index: int) -> Span:
        start, stop = self._starts[index], self._stop(index)
        return Span(start, stop, self._places[index], self._sizes[index], self._lengths[index])

    def covering(self, start: int, stop: int) -> list[Span]:
        """Return the spans that have any of these bytes."""
        stop = min(stop, self.end)
        if start >= stop:
            return []
        first = bisect_right(self._starts, start) - 1
        last = bisect_right(self._starts, stop - 1)
        return [self._span(index) for index in range(first, last)]

    def append(self, place: int, size: int, length: int) -> None:
        """Add an extent at the end."""
        if not length:
            return
        # The readers of other threads look at `end` first, so it is the last to change.
        self._places.append(place)
        self._sizes.append(size)
        self._lengths.append(length)
        self._starts.append(self.end)
        self.end += length

    def append_unreadable(self, length: int, fill: bytes) -> None:
        """Add bytes that cannot be read, and `fill` that is read instead."""
        while length > 0:
            part = min(length, 1 << 30)
            self.append(fill[0], 0, part)
            length -= part

    def put(self, start: int, place: int, size: int, length: int) -> None:
        """Add an extent whose content replaces what is there."""
        self.appended_only = False
        stop = start + length
        if self.move(start, stop, place, size, length):
            return
        old = [self._span(index) for index in range(len(self))]
        self._set([])
        for span in old:
            if span.stop <= start:
                self._keep(span)
            elif span.start < start:
                self._keep(span._replace(stop=start))
        if self.end < start:
            self.append_unreadable(start - self.end, UNREADABLE)
        self.append(place, size, length)
        for span in old:
            if span.start >= stop:
                self._keep(span)
            elif span.stop > stop:  # an extent that lacks its beginning cannot be read
                self.append_unreadable(span.stop - stop, UNREADABLE)

    def move(self, start: int, stop: int, place: int, size: int, length: int) -> bool:
        """Have another extent hold these bytes. Return False if they are not one span."""
        index = bisect_right(self._starts, start) - 1
        if index < 0 or self._starts[index] != start or self._stop(index) != stop:
            return False
        self._places[index], self._sizes[index], self._lengths[index] = place, size, length
        return True

    def _keep(self, span: Span) -> None:
        self._places.append(span.place)
        self._sizes.append(span.size)
        self._lengths.append(span.length)
        self._starts.append(span.start)
        self.end = span.stop

    def _set(self, spans: list[Span]) -> None:
        self.end = 0
        self._starts, self._places = array("Q"), array("Q")
        self._sizes, self._lengths = array("I"), array("I")
        for span in spans:
            self._keep(span)

    def cut(self, end: int) -> tuple[int, bool]:
        """Cut the content to `end` bytes.

        Return where in the file the last extent ends that is still needed, and whether an extent must say
        where the content ends, because extents before that place may have more.
        """
        spans = [self._span(index) for index in range(len(self))]
        kept = [span for span in spans if span.start < end]
        place = max((span.place + span.size for span in kept if span.size), default=0)
        if kept and kept[-1].start + kept[-1].length > end:
            self.appended_only = False
        if kept:
            kept[-1] = kept[-1]._replace(stop=min(end, kept[-1].stop))
        self._set(kept)
        return place, not self.appended_only

    def drop_unreadable_end(self) -> None:
        """Remove bytes at the end that cannot be read."""
        kept = [self._span(index) for index in range(len(self))]
        while kept and not kept[-1].size:
            kept.pop()
        self._set(kept)

    def end_at(self, end: int) -> None:
        """Note that an extent says that the content ends there."""
        if end < self.end:
            self.cut(end)
        self.appended_only = False
