"""The reply subjects of a consumer's deliveries, parsed for many messages at once.

The reply is `$JS.ACK.<stream>.<consumer>.<delivered>.<sequence>.<consumer sequence>.<time>.<pending>`, or
with domain and account hash before the stream and perhaps a token at the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ...client.chunks import pieces
from .columns import text
from .errors import Interrupted

_SHORT, _LONG = 9, 11  # tokens
_NUMBERS = 4
_SPACE, _DOT = b" ."


class MsgMetadata(NamedTuple):
    """The figures of one delivery; `time` is in ns since the epoch."""

    sequence: int
    number: int  # of the consumer, from 1 without a gap
    time: int
    pending: int  # messages that the consumer has left after this one


def one(head: bytes) -> MsgMetadata:
    """Parse one head `subject sid reply`. Raises Interrupted if it is not that of a delivery."""
    tokens = head.rpartition(b" ")[2].split(b".")
    at = {_SHORT: 5}.get(len(tokens), 7)
    try:
        if len(tokens) == _SHORT or len(tokens) >= _LONG:
            return MsgMetadata(*map(int, tokens[at : at + _NUMBERS]))
    except ValueError:
        pass
    raise Interrupted("a message came that its consumer did not send")


def read(heads: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Return the subjects, and a row of four figures (see `MsgMetadata`) for each head.

    Raises Interrupted if a head is not that of a delivery.
    """
    found = _read_alike(heads)
    if found is not None:
        return found
    several = heads.to_pylist()
    subjects = pa.array([head.partition(b" ")[0] for head in several], pa.binary())
    return text(subjects), np.array([one(head) for head in several], np.int64)


def _read_alike(heads: pa.Array) -> tuple[pa.Array, np.ndarray] | None:
    """Read heads that all have three words, and whose replies all have as many tokens, the figures last."""
    _, offsets, values = heads.buffers()
    bounds = np.frombuffer(offsets, np.int32)[heads.offset : heads.offset + len(heads) + 1]
    letters = np.frombuffer(values, np.uint8)[: bounds[-1]]
    starts, ends = bounds[:-1], bounds[1:]
    spaces = np.flatnonzero(letters == _SPACE)
    if len(spaces) != 2 * len(heads):
        return None
    first, second = spaces[0::2], spaces[1::2]
    dots = np.flatnonzero(letters == _DOT)
    after = np.searchsorted(dots, ends)
    tokens = after - np.searchsorted(dots, second) + 1
    if (first < starts).any() or (second >= ends).any():
        return None
    if tokens[0] not in {_SHORT, _LONG} or (tokens != tokens[0]).any():
        return None
    leading = dots[np.add.outer(after, np.arange(-_NUMBERS, 0))]  # the dot before each figure
    following = np.column_stack([leading[:, 1:], ends])
    bounds = np.stack([leading + 1, following], axis=2).reshape(len(heads), -1)
    try:
        figures = pieces(values, bounds, range(0, 2 * _NUMBERS, 2), pa.string()).cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    subjects = pieces(values, np.column_stack([starts, first]), [0])
    return text(subjects), figures.to_numpy().reshape(-1, _NUMBERS)
