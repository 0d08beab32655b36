"""Messages of a key-value bucket as its entries: their keys and operations. Source: ADR-8 and ADR-48."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...protocol import headers

PUT, DELETE, PURGE = "PUT", "DEL", "PURGE"
_BEFORE_KEY = r"^\$KV\.[^.]*\."
_OPERATION, _REASON = b"KV-Operation", b"Nats-Marker-Reason"
# Why a server puts a marker in the place of a key.
_REASONS = {b"MaxAge": PURGE, b"Purge": PURGE, b"Remove": DELETE}


def keys(subjects: pa.Array) -> pa.Array:
    """Return the keys of subjects `$KV.<bucket>.<key>`; other subjects are left as they are."""
    return pc.replace_substring_regex(subjects, _BEFORE_KEY, "", max_replacements=1)


def operations(blocks: pa.Array | None, count: int) -> pa.Array:
    """Return PUT, DEL or PURGE for each of `count` header blocks; None for blocks: no message has any."""
    found = np.full(count, PUT, object)
    if blocks is not None:
        for row in np.flatnonzero(pc.binary_length(blocks).to_numpy(zero_copy_only=False)):
            found[row] = _operation(blocks[int(row)].as_py())
    return pa.array(found, pa.string())


def _operation(block: bytes) -> str:
    said = headers.get(block, _OPERATION)
    if said is not None:
        return said.decode("ascii", "replace")
    reason = headers.get(block, _REASON)
    return PUT if reason is None else _REASONS.get(reason, PURGE)
