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
    """A sorted set of positive integers below 2**64 that mostly grows at its end and shrinks at its start.

    chunks: the members in columns of type "Q", which `native.add_sequences` appends to.
    count: how many members there are.
    """

    __slots__ = ("_head", "chunks", "count")

    def __init__(self, values: Iterable[int] = ()) -> None:
        self.chunks: list[array[int]] = [array("Q")]
        self._head = 0  # members of the first chunk that have been removed
        self.count = 0
        if values:
            self.extend(values)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        return chain(self.chunks[0][self._head :], *self.chunks[1:])

    def __contains__(self, seq: int) -> bool:
        if not self.count or seq <= 0:
            return False
        # Where it is if no number before it is missing.
        place = seq - self.chunks[0][0]
        if 0 <= place < len(self.chunks) * CHUNK:
            index, offset = divmod(place, CHUNK)
            chunk = self.chunks[index]
            if offset < len(chunk) and chunk[offset] == seq:
                return index > 0 or offset >= self._head
        index = self._chunk_of(seq) if len(self.chunks) > 1 else 0
        chunk = self.chunks[index]
        offset = bisect_left(chunk, seq, self._head if index == 0 else 0)
        return offset < len(chunk) and chunk[offset] == seq

    @property
    def first(self) -> int:
        """The smallest member, 0 if empty."""
        return self.chunks[0][self._head] if self.count else 0

    @property
    def last(self) -> int:
        """The greatest member, 0 if empty."""
        return self.chunks[-1][-1] if self.count else 0

    def append(self, seq: int) -> None:
        """Add a member that is greater than all others."""
        chunk = self.chunks[-1]
        if len(chunk) >= CHUNK:
            chunk = array("Q")
            self.chunks.append(chunk)
        chunk.append(seq)
        self.count += 1

    def extend(self, values: Iterable[int]) -> None:
        """Add members in ascending order, all greater than the present ones."""
        more = values if isinstance(values, array) else array("Q", values)
        if not self.count and len(more) <= CHUNK:
            self.chunks, self._head, self.count = [more[:]], 0, len(more)
            return
        start = 0
        while start < len(more):
            chunk = self.chunks[-1]
            room = CHUNK - len(chunk)
            if room <= 0:
                chunk = array("Q")
                self.chunks.append(chunk)
                room = CHUNK
            chunk.extend(more[start : start + room])
            start += room
        self.count += len(more)

    def _chunk_of(self, seq: int) -> int:
        """Return the chunk where `seq` is or would be: the first whose last member is not below it."""
        chunks = self.chunks
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
        index = self._chunk_of(seq) if len(self.chunks) > 1 else 0
        chunk = self.chunks[index]
        offset = bisect_left(chunk, seq, self._head if index == 0 else 0)
        return chunk[offset] if offset < len(chunk) else 0

    def at_or_before(self, seq: int) -> int:
        """Return the greatest member that is not above `seq`, 0 if there is none."""
        if not self.count or seq < self.first:
            return 0
        index = self._chunk_of(seq)
        chunk = self.chunks[index]
        offset = bisect_right(chunk, seq, self._head if index == 0 else 0)
        if offset > (self._head if index == 0 else 0):
            return chunk[offset - 1]
        return self.chunks[index - 1][-1]

    def count_from(self, seq: int) -> int:
        """Count the members that are not below `seq`."""
        if not self.count:
            return 0
        chunks = self.chunks
        index = self._chunk_of(seq) if len(chunks) > 1 else 0
        chunk = chunks[index]
        offset = bisect_left(chunk, seq, self._head if index == 0 else 0)
        if index * 2 >= len(chunks):
            return sum(map(len, chunks[index + 1 :])) + len(chunk) - offset
        return self.count - (sum(map(len, chunks[:index])) + offset - self._head)

    def pop_first(self) -> int:
        """Remove the smallest member and return it. There must be one."""
        chunk = self.chunks[0]
        seq = chunk[self._head]
        self.count -= 1
        self._head += 1
        if self._head == len(chunk):
            self._drop_chunk(0)
        return seq

    def prepend(self, seq: int) -> None:
        """Add a member that is smaller than all others."""
        chunk = self.chunks[0]
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
        chunk = self.chunks[index]
        head = self._head if index == 0 else 0
        offset = bisect_left(chunk, seq, head)
        if offset == len(chunk) or chunk[offset] != seq:
            return False
        self.count -= 1
        if index == 0 and offset == head:
            self._head += 1
        else:
            del chunk[offset]
        if len(chunk) == (self._head if index == 0 else 0):
            self._drop_chunk(index)
        return True

    def drop_before(self, seq: int) -> int:
        """Remove all members below `seq`, and return how many there were."""
        before = self.count
        self.count = self.count_from(seq)
        if not self.count:
            self.chunks = [array("Q")]
            self._head = 0
        elif self.count != before:
            index = self._chunk_of(seq)
            offset = bisect_left(self.chunks[index], seq, self._head if index == 0 else 0)
            del self.chunks[:index]
            self._head = offset
        return before - self.count

    def _drop_chunk(self, index: int) -> None:
        if len(self.chunks) == 1:
            self.chunks[0] = array("Q")
        else:
            del self.chunks[index]
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
        for index in range(self._chunk_of(expected), len(self.chunks)):
            chunk = self.chunks[index]
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
        for index in range(start, len(self.chunks)):
            chunk = self.chunks[index]
            if chunk[0] > high:
                return
            head = self._head if index == 0 else 0
            begin = bisect_left(chunk, low, head) if index == start else head
            yield from chunk[begin : bisect_right(chunk, high, head)]
