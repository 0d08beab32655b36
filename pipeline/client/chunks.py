"""Parts of a long text, copied out of it into an Arrow column without an object for each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa


def pieces(
    text: bytes | pa.Buffer, bounds: np.ndarray, wanted: Sequence[int], kind: pa.DataType | None = None
) -> pa.Array:
    """The wanted parts of each row of `bounds`, one row after the other; binary, or of another `kind`.

    bounds: a row for each stretch of the text, in ascending order: where its parts start. A part ends where
    the next one starts. The text has less than 2 GiB.
    """
    rows, parts = bounds.shape
    buffer = pa.py_buffer(text)
    # All parts make an array that needs no copy; to take some of them copies these and nothing else.
    starts = np.append(bounds.astype(np.int32), np.int32(buffer.size))
    whole = pa.Array.from_buffers(kind or pa.binary(), rows * parts, [None, pa.py_buffer(starts), buffer])
    chosen = np.add.outer(np.arange(0, rows * parts, parts), np.array(wanted))
    return whole.take(pa.array(chosen.reshape(-1)))
