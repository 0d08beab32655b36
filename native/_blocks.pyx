# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, embedsignature=True
"""The compiled twin of `blocks`: a client's deliveries into columns, each byte of a payload copied once.

It reads and writes the buffers that it is given in place. A wrong argument raises an exception; nothing is
written beyond a buffer, whatever the bytes say.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

cdef enum:
    _MORE = 0
    _FULL = 1
    _OTHER = 2
    _COLUMNS = 9
    _FIGURES = 4
    _SIZE_DIGITS = 9
    _FIGURE_DIGITS = 19
    _LONGEST_LINE = 8192
    _LONGEST_COLUMN = 2147483647  # offsets have 32 bits
    _SHORT = 9  # tokens
    _LONG = 11


cdef struct _Delivery:
    # Places in the bytes: of the subject, of what follows the line, and of the frame's end.
    Py_ssize_t subject, subject_size, at, header_size, size, stop
    int64_t figures[_FIGURES]  # sequence, number, time, pending


cdef inline int64_t _number(const char* at, Py_ssize_t size, Py_ssize_t most) noexcept:
    """The number that the digits stand for, -1 if they are not one to `most` digits, or too many."""
    cdef uint64_t value = 0  # which holds any 19 digits
    cdef Py_ssize_t place
    cdef int digit
    if size < 1 or size > most:
        return -1
    for place in range(size):
        digit = at[place] - 48
        if digit < 0 or digit > 9:
            return -1
        value = value * 10 + <uint64_t> digit
    return <int64_t> value if value <= <uint64_t> INT64_MAX else -1


cdef bint _read_reply(const char* reply, Py_ssize_t size, int64_t* figures) noexcept:
    """Whether a reply is an ack subject, whose figures are then written."""
    cdef Py_ssize_t place, tokens = 1, first, token, start, part
    if size < 8 or memcmp(reply, b"$JS.ACK.", 8) != 0:
        return False
    for place in range(size):
        tokens += reply[place] == 46
    if tokens == _SHORT:
        first = 5
    elif tokens >= _LONG:
        first = 7
    else:
        return False
    token = part = start = 0
    for place in range(size + 1):
        if place == size or reply[place] == 46:
            if token >= first:
                figures[part] = _number(reply + start, place - start, _FIGURE_DIGITS)
                if figures[part] < 0:
                    return False
                part += 1
                if part == _FIGURES:
                    return True
            token += 1
            start = place + 1
    return False


cdef int _next(
    const char* base,
    Py_ssize_t start,
    Py_ssize_t end,
    const char* sid,
    Py_ssize_t sid_size,
    int64_t number,
    _Delivery* found,
    Py_ssize_t* needed,
) noexcept:
    """Find the delivery at `start`: -1 if there is one, otherwise why there is none."""
    cdef Py_ssize_t left = end - start, at, line_size, place, field, begin, header_size
    cdef const char* line
    cdef const char* newline
    cdef Py_ssize_t starts[5]
    cdef Py_ssize_t lengths[5]
    cdef Py_ssize_t fields
    cdef char byte
    needed[0] = 0
    if left >= 4 and memcmp(base + start, b"MSG ", 4) == 0:
        at, fields = start + 4, 4
    elif left >= 5 and memcmp(base + start, b"HMSG ", 5) == 0:
        at, fields = start + 5, 5
    elif (left < 4 and memcmp(base + start, b"MSG ", left) == 0) or (
        left < 5 and memcmp(base + start, b"HMSG ", left) == 0
    ):
        return _MORE
    else:
        return _OTHER
    line = base + at
    left = end - at
    newline = <const char*> memchr(line, 10, left if left < _LONGEST_LINE + 1 else _LONGEST_LINE + 1)
    if newline == NULL:
        return _OTHER if left > _LONGEST_LINE else _MORE
    line_size = newline - line - 1  # without CRLF
    if line_size < 1 or line[line_size] != 13:
        return _OTHER
    field = begin = 0
    for place in range(line_size + 1):
        byte = line[place]
        if byte == 32 or place == line_size:
            if place == begin or field == fields:
                return _OTHER
            starts[field] = begin
            lengths[field] = place - begin
            field += 1
            begin = place + 1
        elif byte == 9 or byte == 13:
            return _OTHER
    if field != fields:
        return _OTHER
    found.size = _number(line + starts[fields - 1], lengths[fields - 1], _SIZE_DIGITS)
    header_size = 0
    if fields == 5:
        header_size = _number(line + starts[3], lengths[3], _SIZE_DIGITS)
    if (
        found.size < 0
        or header_size < 0
        or header_size > found.size
        or lengths[1] != sid_size
        or memcmp(line + starts[1], sid, sid_size) != 0
        or not _read_reply(line + starts[2], lengths[2], found.figures)
        or found.figures[1] != number + 1
    ):
        return _OTHER
    found.subject = at
    found.subject_size = lengths[0]
    found.header_size = header_size
    found.at = at + line_size + 2
    found.stop = found.at + found.size + 2
    if found.stop > end:
        needed[0] = found.stop - start
        return _MORE
    if base[found.stop - 2] != 13 or base[found.stop - 1] != 10:
        return _OTHER
    return -1


cdef class _Buffers:
    """The buffers of one call, which are released when it ends."""

    cdef Py_buffer data
    cdef Py_buffer views[_COLUMNS]
    cdef bint held
    cdef int count
    cdef char* at[_COLUMNS]  # NULL for a column that is not wanted
    cdef Py_ssize_t size[_COLUMNS]

    def __cinit__(self):
        self.held = False
        self.count = 0

    cdef int take(self, data, tuple columns) except -1:
        cdef int place, held = 0
        PyObject_GetBuffer(data, &self.data, PyBUF_SIMPLE)
        self.held = True
        if len(columns) != _COLUMNS:
            raise ValueError(f"there are {len(columns)} columns")
        for place in range(_COLUMNS):
            self.at[place] = NULL
            self.size[place] = 0
        for place in range(_COLUMNS):
            if columns[place] is None:
                continue
            PyObject_GetBuffer(columns[place], &self.views[self.count], PyBUF_WRITABLE)
            self.at[place] = <char*> self.views[self.count].buf
            self.size[place] = self.views[self.count].len
            self.count += 1
        for place in range(3):
            if self.at[place] == NULL or (self.at[3 + 2 * place] == NULL) != (self.at[4 + 2 * place] == NULL):
                raise ValueError("a column is missing")
        return 0

    def __dealloc__(self):
        cdef int place
        if self.held:
            PyBuffer_Release(&self.data)
        for place in range(self.count):
            PyBuffer_Release(&self.views[place])


def take_deliveries(
    data,
    Py_ssize_t start,
    Py_ssize_t end,
    bytes sid not None,
    int64_t number,
    tuple counts not None,
    tuple columns not None,
):
    cdef _Buffers buffers = _Buffers()
    buffers.take(data, columns)
    cdef Py_ssize_t rows = counts[0], room, needed = 0, place
    cdef Py_ssize_t used[3]
    cdef Py_ssize_t size[3]
    cdef const char* source[3]
    cdef const char* base = <const char*> buffers.data.buf
    cdef int why
    cdef int64_t pending = -1
    cdef _Delivery found
    cdef bint fits
    used[0], used[1], used[2] = counts[1], counts[2], counts[3]
    room = buffers.size[0] // 8
    if start < 0 or start > end or end > buffers.data.len or rows < 0 or rows > room:
        raise ValueError("there are not so many bytes or rows")
    if buffers.size[1] < 8 * room or buffers.size[2] < 8 * room:
        raise ValueError("a column is too short")
    for place in range(3):
        if buffers.at[3 + 2 * place] == NULL:
            continue
        if buffers.size[3 + 2 * place] < 4 * (room + 1) or buffers.size[4 + 2 * place] > _LONGEST_COLUMN:
            raise ValueError("a column is too short, or too long")
        if used[place] < 0 or used[place] > buffers.size[4 + 2 * place]:
            raise ValueError("there are not so many bytes")
    while True:
        why = _next(
            base, start, end, PyBytes_AS_STRING(sid), PyBytes_GET_SIZE(sid), number, &found, &needed
        )
        if why >= 0:
            break
        source[0], size[0] = base + found.subject, found.subject_size
        source[1], size[1] = base + found.at, found.header_size
        source[2], size[2] = base + found.at + found.header_size, found.size - found.header_size
        fits = rows < room
        for place in range(3):
            if buffers.at[4 + 2 * place] != NULL:
                fits = fits and size[place] <= buffers.size[4 + 2 * place] - used[place]
        if not fits:
            why, needed = _FULL, found.stop - start
            break
        (<int64_t*> buffers.at[0])[rows] = found.figures[0]
        (<int64_t*> buffers.at[1])[rows] = found.figures[2]
        (<int64_t*> buffers.at[2])[rows] = found.size
        rows += 1
        for place in range(3):
            if buffers.at[4 + 2 * place] != NULL:
                memcpy(buffers.at[4 + 2 * place] + used[place], source[place], size[place])
                used[place] += size[place]
                (<int32_t*> buffers.at[3 + 2 * place])[rows] = <int32_t> used[place]
        number += 1
        pending = found.figures[3]
        start = found.stop
    return start, why, needed, pending, (rows, used[0], used[1], used[2])


cdef inline Py_ssize_t _digits(const char* base, Py_ssize_t at, Py_ssize_t end, Py_ssize_t most) noexcept:
    """How many digits there are from `at` on; -1 if none, or more than `most`."""
    cdef Py_ssize_t place = at
    while place < end and 48 <= base[place] <= 57:
        place += 1
        if place - at > most:
            return -1
    return place - at if place > at else -1


def take_acks(
    data, Py_ssize_t start, Py_ssize_t end, bytes lead not None, bytes stored not None, list numbers not None
):
    cdef Py_buffer view
    cdef Py_ssize_t at, count, body, size
    cdef int64_t number
    cdef Py_ssize_t lead_size = PyBytes_GET_SIZE(lead), stored_size = PyBytes_GET_SIZE(stored)
    cdef const char* base
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if start < 0 or start > end or end > view.len:
            raise ValueError("there are not so many bytes")
        base = <const char*> view.buf
        while end - start > lead_size and memcmp(base + start, PyBytes_AS_STRING(lead), lead_size) == 0:
            at = start + lead_size
            count = _digits(base, at, end, 18)
            if count < 0 or at + count >= end or base[at + count] != 32:
                break
            number = _number(base + at, count, 18)
            at += count + 1
            count = _digits(base, at, end, 18)
            if count < 0 or at + count >= end or base[at + count] != 32:
                break
            at += count + 1
            count = _digits(base, at, end, _SIZE_DIGITS)
            if count < 0:
                break
            size = _number(base + at, count, _SIZE_DIGITS)
            body = at + count + 2
            if body + size + 2 > end or base[body - 2] != 13 or base[body - 1] != 10:
                break
            if size <= stored_size or memcmp(base + body, PyBytes_AS_STRING(stored), stored_size) != 0:
                break
            at = body + stored_size
            if base[at] == 32:
                at += 1
            if body + size - at < 8 or memcmp(base + at, b'"seq":', 6) != 0:
                break
            at += 6
            count = _digits(base, at, body + size, 19)
            if count < 0 or at + count + 1 != body + size or base[at + count] != 125:
                break
            if base[body + size] != 13 or base[body + size + 1] != 10:
                break
            numbers.append(number)
            start = body + size + 2
    finally:
        PyBuffer_Release(&view)
    return start
