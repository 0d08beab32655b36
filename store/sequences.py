"""Sorted sequence numbers in compact form, 8 bytes each.

They are appended in ascending order and removed anywhere. They are kept in chunks, so that a removal moves at
most a few kilobytes, and removing the first ones moves nothing. Costs: appending and removing the first are
O(1). Membership, search and rank are O(log n), plus one addition for each chunk of `CHUNK` members between
the place and the nearer end.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain

CHUNK = 8192


class Sequences:
    """A sorted set of positive integers below 2**64 that mostly grows at its end and shrinks at its start."""

    __slots__ = ("_chunks", "_head", "count")

    def __init__(self, values: Iterable[int] = ()) -> None:
        self._chunks: list[array[int]] = [array("Q")]
        self._head = 0  # members of the first chunk that have been removed
        self.count = 0
        self.extend(values)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        return chain(self._chunks[0][self._head :], *self._chunks[1:])

    def __contains__(self, seq: int) -> bool:
        return seq > 0 and self.at_or_after(seq) == seq

    @property
    def first(self) -> int:
        """The smallest member, 0 if empty."""
        return self._chunks[0][self._head] if self.count else 0

    @property
    def last(self) -> int:
        """The greatest member, 0 if empty."""
        return self._chunks[-1][-1] if self.count else 0

    def append(self, seq: int) -> None:
        """Add a member that is greater than all others."""
        chunk = self._chunks[-1]
        if len(chunk) >= CHUNK:
            chunk = array("Q")
            self._chunks.append(chunk)
        chunk.append(seq)
        self.count += 1

    def extend(self, values: Iterable[int]) -> None:
        """Add members in ascending order, all greater than the present ones."""
        more = values if isinstance(values, array) else array("Q", values)
        if not self.count and len(more) <= CHUNK:
            self._chunks, self._head, self.count = [more[:]], 0, len(more)
            return
        start = 0
        while start < len(more):
            chunk = self._chunks[-1]
            room = CHUNK - len(chunk)
            if room <= 0:
                chunk = array("Q")
                self._chunks.append(chunk)
                room = CHUNK
            chunk.extend(more[start : start + room])
            start += room
        self.count += len(more)

    def _chunk_of(self, seq: int) -> int:
        """Return the chunk where `seq` is or would be: the first whose last member is not below it."""
        chunks = self._chunks
        if len(chunks) == 1 or seq <= chunks[0][-1]:
            return 0
        low, high = 1, len(chunks) - 1
        if seq > chunks[high - 1][-1]:
            return high
        while low < high:
            middle = (low + high) // 2
            if chunks[middle][-1] < seq:
                low = middle + 1
            else:
                high = middle
        return low

    def at_or_after(self, seq: int) -> int:
        """Return the smallest member that is not below `seq`, 0 if there is none."""
        if not self.count:
            return 0
        index = self._chunk_of(seq) if len(self._chunks) > 1 else 0
        chunk = self._chunks[index]
        place = bisect_left(chunk, seq, self._head if index == 0 else 0)
        return chunk[place] if place < len(chunk) else 0

    def at_or_before(self, seq: int) -> int:
        """Return the greatest member that is not above `seq`, 0 if there is none."""
        if not self.count or seq < self.first:
            return 0
        index = self._chunk_of(seq)
        chunk = self._chunks[index]
        place = bisect_right(chunk, seq, self._head if index == 0 else 0)
        if place > (self._head if index == 0 else 0):
            return chunk[place - 1]
        return self._chunks[index - 1][-1]

    def count_from(self, seq: int) -> int:
        """Count the members that are not below `seq`."""
        if not self.count:
            return 0
        chunks = self._chunks
        index = self._chunk_of(seq) if len(chunks) > 1 else 0
        chunk = chunks[index]
        place = bisect_left(chunk, seq, self._head if index == 0 else 0)
        if index * 2 >= len(chunks):
            return sum(map(len, chunks[index + 1 :])) + len(chunk) - place
        return self.count - (sum(map(len, chunks[:index])) + place - self._head)

    def pop_first(self) -> int:
        """Remove the smallest member and return it. There must be one."""
        chunk = self._chunks[0]
        seq = chunk[self._head]
        self.count -= 1
        self._head += 1
        if self._head == len(chunk):
            self._drop_chunk(0)
        return seq

    def prepend(self, seq: int) -> None:
        """Add a member that is smaller than all others."""
        chunk = self._chunks[0]
        if self._head:
            self._head -= 1
            chunk[self._head] = seq
        else:
            chunk.insert(0, seq)
        self.count += 1

    def discard(self, seq: int) -> bool:
        """Remove a member. Return whether it was one."""
        if not self.count:
            return False
        index = self._chunk_of(seq)
        chunk = self._chunks[index]
        head = self._head if index == 0 else 0
        place = bisect_left(chunk, seq, head)
        if place == len(chunk) or chunk[place] != seq:
            return False
        self.count -= 1
        if index == 0 and place == head:
            self._head += 1
        else:
            del chunk[place]
        if len(chunk) == (self._head if index == 0 else 0):
            self._drop_chunk(index)
        return True

    def drop_before(self, seq: int) -> int:
        """Remove all members below `seq`, and return how many there were."""
        before = self.count
        self.count = self.count_from(seq)
        if not self.count:
            self._chunks = [array("Q")]
            self._head = 0
        elif self.count != before:
            index = self._chunk_of(seq)
            place = bisect_left(self._chunks[index], seq, self._head if index == 0 else 0)
            del self._chunks[:index]
            self._head = place
        return before - self.count

    def _drop_chunk(self, index: int) -> None:
        if len(self._chunks) == 1:
            self._chunks[0] = array("Q")
        else:
            del self._chunks[index]
        if index == 0:
            self._head = 0

    def gaps(self, low: int) -> Iterator[tuple[int, int]]:
        """Iterate over the runs of non-members from `low` to the greatest member: (first, last) of each.

        Numbers below the smallest member are left out. The set must not change meanwhile. The cost depends on
        the number of runs, plus one comparison for each chunk without any.
        """
        if not self.count:
            return
        expected = max(low, self.first)
        for index in range(self._chunk_of(expected), len(self._chunks)):
            chunk = self._chunks[index]
            begin = bisect_left(chunk, expected, self._head if index == 0 else 0)
            left = len(chunk) - begin
            if left and chunk[-1] - expected >= left:
                for seq in chunk[begin:]:
                    if seq > expected:
                        yield expected, seq - 1
                    expected = seq + 1
            elif left:
                expected = chunk[-1] + 1

    def between(self, low: int, high: int) -> Iterator[int]:
        """Iterate over the members from `low` to `high`, both included. The set must not change meanwhile."""
        if not self.count:
            return
        start = self._chunk_of(low)
        for index in range(start, len(self._chunks)):
            chunk = self._chunks[index]
            if chunk[0] > high:
                return
            head = self._head if index == 0 else 0
            begin = bisect_left(chunk, low, head) if index == start else head
            yield from chunk[begin : bisect_right(chunk, high, head)]
