"""What the reply subjects of a consumer's deliveries tell, read for many messages at once.

The reply is `$JS.ACK.<stream>.<consumer>.<delivered>.<sequence>.<consumer sequence>.<time>.<pending>`, or
with domain and account hash before the stream and perhaps a token at the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import csv

from .columns import text
from .errors import Interrupted

_SHORT, _LONG = 9, 11  # tokens
_NUMBERS = 4
_PLAIN = {"quote_char": False, "escape_char": False}


class Delivery(NamedTuple):
    """The figures of one delivery; `time` in ns since the epoch."""

    sequence: int
    number: int  # of the consumer, from 1 without a gap
    time: int
    pending: int  # messages that the consumer has left after this one


def one(head: bytes) -> Delivery:
    """Read one head `subject sid reply`. Raises Interrupted for what is no delivery."""
    tokens = head.rpartition(b" ")[2].split(b".")
    at = {_SHORT: 5}.get(len(tokens), 7)
    try:
        if len(tokens) == _SHORT or len(tokens) >= _LONG:
            return Delivery(*map(int, tokens[at : at + _NUMBERS]))
    except ValueError:
        pass
    raise Interrupted("a message came that its consumer did not send")


def read(heads: list[bytes]) -> tuple[pa.Array, np.ndarray]:
    """The subjects, and a row of four figures (see `Delivery`) for each head. Raises Interrupted."""
    first = heads[0].partition(b" ")[2]  # sid and reply
    lead, *figures = first.rsplit(b".", _NUMBERS)
    common = b" " + lead + b"."
    whole = b"\n".join(heads)
    if len(figures) == _NUMBERS and first.count(b".") in {_SHORT - 1, _LONG - 1}:
        # All that two deliveries of a consumer have in common goes in one sweep; the figures keep their dots.
        whole = whole.replace(common, b" .")
        found = _columns(whole, ["subject", "figures"])
        subjects, dotted = found.column(0), found.column(1)
        numbers = _numbers(dotted)
        if numbers is not None and len(numbers) == len(heads) * _NUMBERS:
            return text(subjects), numbers.reshape(-1, _NUMBERS)
    subjects = pa.array([head.partition(b" ")[0] for head in heads], pa.binary())
    return text(subjects), np.array([one(head) for head in heads], np.int64)


def _columns(data: bytes, names: list[str]) -> pa.RecordBatch:
    table = csv.read_csv(
        pa.py_buffer(data),
        csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
        csv.ParseOptions(delimiter=" ", ignore_empty_lines=False, **_PLAIN),
        csv.ConvertOptions(check_utf8=False, column_types=dict.fromkeys(names, pa.binary())),
    )
    return table.combine_chunks().to_batches()[0]


def _numbers(dotted: pa.Array) -> np.ndarray | None:
    """The numbers of values such as `.1.2.3.4`, one after the other; None if there is anything else."""
    _, offsets, data = dotted.buffers()
    bounds = np.frombuffer(offsets, np.int32)
    start, end = int(bounds[dotted.offset]), int(bounds[dotted.offset + len(dotted)])
    digits = data[start:end].to_pybytes()
    if not digits.startswith(b".") or digits.replace(b".", b"").isdigit() is False:
        return None
    lines = digits.replace(b".", b"\n")[1:]
    try:
        read = csv.read_csv(
            pa.py_buffer(lines),
            csv.ReadOptions(use_threads=False, block_size=len(lines) + 1, column_names=["n"]),
            csv.ParseOptions(**_PLAIN),
            csv.ConvertOptions(column_types={"n": pa.int64()}),
        )
    except pa.ArrowInvalid:
        return None
    numbers: np.ndarray = read.column(0).to_numpy()
    return numbers
