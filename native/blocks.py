"""Reading many messages of a client at once: a consumer's deliveries into columns, and acknowledgements.

A delivery is ``MSG subject sid reply size`` or ``HMSG subject sid reply header_size size``, with single
blanks and CRLF, and its whole payload. The reply is an ack subject: of 9 tokens, of which the last five are
figures, or of 11 or more, of which the 7th to the 11th are. Source: ADR-15.
"""

from __future__ import annotations

import re
from typing import Any, Final

LONGEST_LINE: Final = 8192  # bytes up to its CRLF; a longer one is left to the caller
_LARGEST: Final = (1 << 63) - 1
MORE, FULL, OTHER = 0, 1, 2
_WORD = rb"([^ \t\r\n]+) "
_line = re.compile(_WORD * 3 + rb"()([0-9]{1,9})\r").fullmatch
_header_line = re.compile(_WORD * 3 + rb"([0-9]{1,9}) ([0-9]{1,9})\r").fullmatch
_TOKEN = rb"[^.]*\."
_FIGURE = rb"([0-9]{1,19})"
_FIGURES = rb"\.".join([_FIGURE] * 4)
_short = re.compile(rb"\$JS\.ACK\." + _TOKEN * 3 + _FIGURES).fullmatch
_long = re.compile(rb"\$JS\.ACK\." + _TOKEN * 5 + _FIGURES + rb"(?:\..*)?").fullmatch

_ACK = rb"%b([0-9]{1,18}) [0-9]{1,18} ([0-9]{1,9})\r\n(%b ?\"seq\":[0-9]{1,19}\})\r\n"

Counts = tuple[int, int, int, int]


def take_deliveries(
    data: Any, start: int, end: int, sid: bytes, number: int, counts: Counts, columns: tuple[Any, ...]
) -> tuple[int, int, int, int, Counts]:
    """Append the deliveries in [start, end) of `data` to columns; return where and why that ended.

    Returns (position, why, needed, pending, counts). why: MORE, the frame there is not whole; FULL, there is
    no room for it; OTHER, it is not the next delivery of this consumer. needed: the bytes that a frame that
    is not whole, or has no room, has in all; 0 if not known. pending: what the last delivery says that its
    consumer has left, -1 if there was none.

    data: a buffer of bytes, which is not changed
    sid: of the subscription; a message of another one is OTHER
    number: of the consumer's last delivery before; one that does not follow it is OTHER
    counts: (rows, bytes of subjects, of headers, of payloads) that the columns have already
    columns: writable buffers of bytes: (sequences, times, sizes, subject offsets, subjects, header offsets,
        headers, payload offsets, payloads). The first three have 8 bytes a row, offsets have 4 for each row
        and for the end, all in the machine's order. A size is that of header and payload. Offsets and values
        may both be None: that column is not wanted. Offsets begin with 0, which the caller writes.
    """
    view = memoryview(data)
    out = [None if column is None else memoryview(column).cast("B") for column in columns]
    room = len(out[0]) // 8  # type: ignore[arg-type]
    rows, pending, done = counts[0], -1, list(counts[1:])
    while True:
        found = _next(view, start, end, sid, number)
        if isinstance(found, tuple):
            why, needed = found
            break
        stop = found.at + found.size + 2
        values: tuple[bytes | memoryview, ...] = (
            found.subject,
            view[found.at : found.at + found.header_size],
            view[found.at + found.header_size : found.at + found.size],
        )
        if rows == room or not all(
            column is None or used + len(value) <= len(column)
            for used, value, column in zip(done, values, out[4::2], strict=True)
        ):
            why, needed = FULL, stop - start
            break
        for column, figure in zip(out, (found.sequence, found.time, found.size), strict=False):
            column.cast("q")[rows] = figure  # type: ignore[union-attr]
        rows += 1
        for place, value in enumerate(values):
            offsets, column = out[3 + 2 * place], out[4 + 2 * place]
            if offsets is not None and column is not None:
                used = done[place]
                done[place] = used + len(value)
                column[used : done[place]] = value
                offsets.cast("i")[rows] = done[place]
        number, pending, start = number + 1, found.pending, stop
    return start, why, needed, pending, (rows, done[0], done[1], done[2])


def take_acks(data: Any, start: int, end: int, lead: bytes, stored: bytes, numbers: list[int]) -> int:
    """Append the numbers of publishes that were stored; return where the first other frame begins.

    Such a frame is ``MSG <inbox>.<number> <sid> <size>`` with a payload that says nothing but which stream
    stored it, and as what: not that it is a duplicate, nor an error.

    data: a buffer of bytes, of which [start, end) is read
    lead: `MSG <inbox>.`
    stored: what the payload begins with, up to the stream's name and a comma
    """
    found = re.compile(_ACK % (re.escape(lead), re.escape(stored))).match
    while (ack := found(data, start, end)) is not None and int(ack[2]) == len(ack[3]):
        numbers.append(int(ack[1]))
        start = ack.end()
    return start


class _Delivery:
    """One whole delivery: what its line says, and where its header begins."""

    def __init__(
        self, subject: bytes, at: int, header_size: int, size: int, figures: tuple[int, ...]
    ) -> None:
        self.subject, self.at = subject, at
        self.header_size, self.size = header_size, size
        self.sequence, _, self.time, self.pending = figures


def _next(view: memoryview, start: int, end: int, sid: bytes, number: int) -> _Delivery | tuple[int, int]:
    """Return the delivery that begins at `start`, or why there is none, and the bytes that it needs."""
    head = bytes(view[start : min(end, start + 5)])
    headed = head == b"HMSG "
    if not headed and head[:4] != b"MSG ":
        return (MORE, 0) if b"HMSG ".startswith(head) or b"MSG ".startswith(head) else (OTHER, 0)
    at = start + 4 + headed
    line = bytes(view[at : min(end, at + LONGEST_LINE + 1)])
    newline = line.find(b"\n")
    if newline < 0:
        return (OTHER if len(line) > LONGEST_LINE else MORE), 0
    fields = (_header_line if headed else _line)(line[:newline])
    if fields is None:
        return OTHER, 0
    subject, own, reply, header_digits, digits = fields.groups()
    header_size, size = int(header_digits or 0), int(digits)
    read = (_short if reply.count(b".") == 8 else _long)(reply)
    if read is None or own != sid or header_size > size:
        return OTHER, 0
    figures = tuple(map(int, read.groups()))
    if figures[1] != number + 1 or max(figures) > _LARGEST:
        return OTHER, 0
    at += newline + 1
    stop = at + size + 2
    if stop > end:
        return MORE, stop - start
    if bytes(view[stop - 2 : stop]) != b"\r\n":
        return OTHER, 0
    return _Delivery(subject, at, header_size, size, figures)
