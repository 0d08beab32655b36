"""Many messages at once, as Arrow columns: what a bulk reader gets instead of an object per message.

Frames follow each other, so the end of a frame is known only after its line was read. `scan` guesses instead:
every line that begins like a message may be one. The first frame is certain, and a guess is right as long as
each frame ends where the next one begins. What follows after that is left to `parse`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .chunks import pieces
from .frames import Frames

MOST_DIGITS = 10  # of a size
_CR, _LF, _SPACE, _ZERO = b"\r\n 0"
_MSG, _HMSG = (int.from_bytes(verb, "little") for verb in (b"MSG ", b"HMSG"))


@dataclass(frozen=True, slots=True)
class ArrowMessages:
    """Messages as binary columns of equal length, in the order in which they arrived.

    heads: `subject sid[ reply]` of each message
    headers: the header block of each message, empty if it has none; None when no message has any
    payloads: the payload of each message
    """

    heads: pa.Array
    headers: pa.Array | None
    payloads: pa.Array

    def __len__(self) -> int:
        return len(self.payloads)

    @property
    def size(self) -> int:
        """The bytes in all columns."""
        headers = 0 if self.headers is None else self.headers.nbytes
        return int(self.heads.nbytes + headers + self.payloads.nbytes)

    @classmethod
    def of(cls, frames: Frames) -> ArrowMessages:
        """Return the messages of `frames` as columns."""
        headers = [frames.headers.get(row, b"") for row in range(len(frames))] if frames.headers else None
        return cls(_binary(frames.heads), headers and _binary(headers), _binary(frames.payloads))

    @classmethod
    def join(cls, blocks: Sequence[ArrowMessages]) -> ArrowMessages:
        """Return all rows of the blocks, of which there must be at least one."""
        if len(blocks) == 1:
            return blocks[0]
        headers = None
        if any(block.headers is not None for block in blocks):
            headers = pa.concat_arrays([block.every_header() for block in blocks])
        heads = pa.concat_arrays([block.heads for block in blocks])
        return cls(heads, headers, pa.concat_arrays([block.payloads for block in blocks]))

    def every_header(self) -> pa.Array:
        """Return the header blocks as a column, even when no message has headers."""
        return _binary([b""] * len(self)) if self.headers is None else self.headers

    def only(self, rows: pa.Array) -> ArrowMessages:
        """Return the rows for which `rows` is true."""
        headers = None if self.headers is None else self.headers.filter(rows)
        return ArrowMessages(self.heads.filter(rows), headers, self.payloads.filter(rows))


def scan(data: bytes) -> tuple[ArrowMessages | None, int]:
    """Return the messages at the start of `data` that are certainly whole frames, and where they end.

    The messages are None, and the end is 0, if there are none.
    """
    if len(data) < len(b"MSG "):
        return None, 0
    text = np.frombuffer(data, np.uint8)
    starts, lines, headed = _candidates(data, text)
    sizes, before = _numbers(text, lines)
    header_sizes = np.zeros(len(starts), np.int64)
    if headed.any():
        header_sizes[headed], before[headed] = _numbers(text, before[headed])
    heads = starts + 4 + headed
    ends = lines + 2 + sizes
    good = (before > heads) & (header_sizes <= sizes) & (ends + 2 <= len(data))
    good &= starts == np.append(0, ends[:-1] + 2)[: len(ends)]
    count = len(good) if good.all() else int(np.argmin(good))
    if not count:
        return None, 0
    bounds = np.column_stack([heads, before, lines + 2, lines + 2 + header_sizes, ends])[:count]
    headers = pieces(data, bounds, [2]) if headed[:count].any() else None
    return ArrowMessages(pieces(data, bounds, [0]), headers, pieces(data, bounds, [3])), int(
        ends[count - 1]
    ) + 2


def _candidates(data: bytes, text: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where lines that begin like a message start and end, and which of them begin like an HMSG."""
    ends = np.flatnonzero(text[:-1] == _CR)
    ends = ends[text[ends + 1] == _LF]
    starts = np.concatenate([[0], ends[:-1] + 2])[: len(ends)]
    words = np.ndarray((len(data) - 3,), "<u4", data, strides=(1,))  # the four bytes from each place on
    verbs = words[np.minimum(starts, len(words) - 1)]
    headed = verbs == _HMSG
    likely = headed | (verbs == _MSG)
    return starts[likely], ends[likely], headed[likely]


def _numbers(text: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers whose digits end before `ends`, and the positions of the spaces before them.

    The position is 0 if there is no number.
    """
    values, positions, power = np.zeros(len(ends), np.int64), ends - 1, 1
    for _ in range(MOST_DIGITS):
        digits = text[positions] - np.uint8(_ZERO)  # anything but a digit wraps around to more than 9
        found = digits < 10
        if not found.any():
            break
        values += np.where(found, digits, 0).astype(np.int64) * power
        positions = positions - found
        power *= 10
    return values, np.where((positions < ends - 1) & (text[positions] == _SPACE), positions, 0)


def _binary(values: Sequence[bytes]) -> pa.Array:
    return pa.array(values, pa.binary())
