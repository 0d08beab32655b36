"""SequenceHeap: a mapping of sequences to numbers, with the smallest number first.

Costs: O(log n) to set a sequence and to take the first, O(1) to drop one. A sequence that is dropped or set
again leaves a stale entry in the heap. The heap is rebuilt when it has more stale entries than others.
"""

import heapq

_STALE = 1024  # stale entries that are always allowed


class SequenceHeap:
    """A mapping of sequences to numbers that knows which number is the smallest."""

    __slots__ = ("_heap", "_numbers")

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._heap: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, seq: int) -> bool:
        return seq in self._numbers

    def set(self, seq: int, number: int) -> None:
        """Add a sequence, or change its number."""
        numbers = self._numbers
        numbers[seq] = number
        heapq.heappush(self._heap, (number, seq))
        if len(self._heap) > 2 * len(numbers) + _STALE:
            self._heap = [(at, one) for one, at in numbers.items()]
            heapq.heapify(self._heap)

    def drop(self, seq: int) -> None:
        """Remove a sequence, if it is there."""
        if self._numbers:
            self._numbers.pop(seq, None)

    def first(self) -> int | None:
        """Return the smallest number; None if there is none."""
        heap, numbers = self._heap, self._numbers
        while heap and numbers.get(heap[0][1]) != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def take(self, most: int) -> int:
        """Remove and return the sequence with the smallest number; 0 if there is none up to `most`."""
        first = self.first()
        if first is None or first > most:
            return 0
        seq = heapq.heappop(self._heap)[1]
        del self._numbers[seq]
        return seq

    def remains(self) -> list[list[tuple[int, int]] | dict[int, int]]:
        """Remove everything, and return the old containers, for the caller to free in slices."""
        parts: list[list[tuple[int, int]] | dict[int, int]] = [self._heap, self._numbers]
        self._heap, self._numbers = [], {}
        return parts
