"""Parts of a long text, copied out of it into an Arrow column without an object for each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa


def pieces(
    text: bytes | pa.Buffer, bounds: np.ndarray, wanted: Sequence[int], kind: pa.DataType | None = None
) -> pa.Array:
    """Return the wanted parts of each row of `bounds`, one row after the other, as binary or another `kind`.

    text: the text, less than 2 GiB of it
    bounds: a row for each stretch of the text, in ascending order; its values say where the parts of the
        stretch start. A part ends where the next one starts.
    wanted: the numbers of the parts in a row
    """
    rows, parts = bounds.shape
    buffer = pa.py_buffer(text)
    # An array of all parts needs no copy; taking some of them copies only these.
    starts = np.append(bounds.astype(np.int32), np.int32(buffer.size))
    whole = pa.Array.from_buffers(kind or pa.binary(), rows * parts, [None, pa.py_buffer(starts), buffer])
    chosen = np.add.outer(np.arange(0, rows * parts, parts), np.array(wanted))
    return whole.take(pa.array(chosen.reshape(-1)))
