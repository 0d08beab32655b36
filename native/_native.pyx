# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, embedsignature=True
"""The compiled twins of this folder's functions. What each does is said there.

They read bytes in place and make no Python object but those of the result. Arguments have the types of the
plain ones; a wrong type raises TypeError. Everything here runs under the GIL and keeps nothing.
"""

from array import array as _array

from cpython cimport array
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_AsEncodedString
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

cdef object _EMPTY = b""
cdef object _ZERO = 0
cdef object _PUB = 1
cdef object _HPUB = 2

cdef enum:
    _DIGITS = 9
    _BLANK = 32
    _TAB = 9
    _CR = 13
    _LF = 10


cdef inline Py_ssize_t _number(const char* at, Py_ssize_t size) noexcept nogil:
    """The number that the digits stand for, -1 if they are not one to nine digits."""
    cdef Py_ssize_t value = 0, place
    cdef int digit
    if size < 1 or size > _DIGITS:
        return -1
    for place in range(size):
        digit = at[place] - 48
        if digit < 0 or digit > 9:
            return -1
        value = value * 10 + digit
    return value


def scan_publishes(
    bytes data not None,
    Py_ssize_t pos,
    Py_ssize_t most,
    Py_ssize_t longest,
    Py_ssize_t largest,
    tuple verbs not None,
    list ops not None,
):
    cdef const char* base = PyBytes_AS_STRING(data)
    cdef Py_ssize_t end = PyBytes_GET_SIZE(data)
    cdef bytes verb = verbs[0], header_verb = verbs[1]
    cdef Py_ssize_t verb_size = PyBytes_GET_SIZE(verb), header_verb_size = PyBytes_GET_SIZE(header_verb)
    cdef const char* line
    cdef const char* newline
    cdef Py_ssize_t at, line_size, place, start, fields, sizes, size, header_size, stop, tail
    cdef Py_ssize_t starts[4]
    cdef Py_ssize_t lengths[4]
    cdef char byte
    while most > 0 and pos < end:
        if verb_size and end - pos > verb_size and memcmp(base + pos, PyBytes_AS_STRING(verb), verb_size) == 0:
            at = pos + verb_size
            sizes = 1
        elif (
            header_verb_size
            and end - pos > header_verb_size
            and memcmp(base + pos, PyBytes_AS_STRING(header_verb), header_verb_size) == 0
        ):
            at = pos + header_verb_size
            sizes = 2
        else:
            return pos
        line = base + at
        newline = <const char*> memchr(line, _LF, end - at)
        if newline == NULL:
            return pos
        line_size = newline - line - 1  # without CRLF
        if line_size < 3 or line_size > longest or line[line_size] != _CR:
            return pos
        fields = start = 0
        for place in range(line_size + 1):
            byte = line[place]
            if byte == _BLANK or place == line_size:
                if place == start or fields > sizes + 1:
                    return pos
                starts[fields] = start
                lengths[fields] = place - start
                fields += 1
                start = place + 1
            elif byte == _TAB or byte == _CR:
                return pos
        if fields <= sizes:
            return pos
        size = _number(line + starts[fields - 1], lengths[fields - 1])
        header_size = 0
        if sizes == 2:
            header_size = _number(line + starts[fields - 2], lengths[fields - 2])
            if header_size <= 0:
                return pos
        if size < header_size or size > largest:
            return pos
        stop = at + line_size + 2 + size + 2
        if stop > end or base[stop - 2] != _CR or base[stop - 1] != _LF:
            return pos
        tail = at + lengths[0] + 1
        ops.append((
            _PUB if sizes == 1 else _HPUB,
            PyBytes_FromStringAndSize(line, lengths[0]),
            PyBytes_FromStringAndSize(line + starts[1], lengths[1]) if fields == sizes + 2 else _EMPTY,
            header_size if header_size else _ZERO,
            size,
            PyBytes_FromStringAndSize(base + tail, stop - tail),
        ))
        pos = stop
        most -= 1
    return pos


# CRC-32 as zlib computes it, eight bytes at a time.
cdef uint32_t _crc_table[8][256]


cdef void _fill_crc_table() noexcept:
    cdef uint32_t value
    cdef int row, place, bit
    for place in range(256):
        value = place
        for bit in range(8):
            value = (value >> 1) ^ (0xEDB88320 if value & 1 else 0)
        _crc_table[0][place] = value
    for place in range(256):
        for row in range(1, 8):
            value = _crc_table[row - 1][place]
            _crc_table[row][place] = (value >> 8) ^ _crc_table[0][value & 0xFF]


_fill_crc_table()


cdef uint32_t _crc32(const uint8_t* data, Py_ssize_t size, uint32_t crc) noexcept nogil:
    cdef uint32_t low, high
    crc = ~crc
    while size >= 8:
        low = crc ^ (
            data[0] | (<uint32_t> data[1] << 8) | (<uint32_t> data[2] << 16) | (<uint32_t> data[3] << 24)
        )
        high = data[4] | (<uint32_t> data[5] << 8) | (<uint32_t> data[6] << 16) | (<uint32_t> data[7] << 24)
        crc = (
            _crc_table[7][low & 0xFF]
            ^ _crc_table[6][(low >> 8) & 0xFF]
            ^ _crc_table[5][(low >> 16) & 0xFF]
            ^ _crc_table[4][low >> 24]
            ^ _crc_table[3][high & 0xFF]
            ^ _crc_table[2][(high >> 8) & 0xFF]
            ^ _crc_table[1][(high >> 16) & 0xFF]
            ^ _crc_table[0][high >> 24]
        )
        data += 8
        size -= 8
    while size > 0:
        crc = (crc >> 8) ^ _crc_table[0][(crc ^ data[0]) & 0xFF]
        data += 1
        size -= 1
    return ~crc


cdef inline void _put(uint8_t* at, uint64_t value, int size) noexcept nogil:
    """Write a number in little-endian order."""
    cdef int place
    for place in range(size):
        at[place] = (value >> (8 * place)) & 0xFF


cdef array.array _COLUMN = _array("I")

cdef enum:
    _FIXED = 32
    _MAGIC = 0xB5
    _MESSAGE = 1

cdef uint32_t _HAS_HEADER = 0x80000000
cdef uint64_t _LONGEST = 0x7FFFFFFF


def encode_messages(messages not None, uint64_t first, int64_t time, uint32_t seed, uint64_t offset):
    cdef Py_ssize_t count = len(messages), row = 0, key_size, header_size, body_size
    cdef list records = []
    cdef array.array offsets = array.clone(_COLUMN, count, zero=False)
    cdef array.array lengths = array.clone(_COLUMN, count, zero=False)
    cdef tuple message
    cdef bytes key, header, body, record
    cdef uint8_t* at
    cdef uint64_t length
    for message in messages:
        key = PyUnicode_AsEncodedString(message[0], "utf-8", "surrogateescape")
        header = message[1]
        body = message[2]
        key_size = PyBytes_GET_SIZE(key)
        header_size = PyBytes_GET_SIZE(header)
        body_size = PyBytes_GET_SIZE(body)
        length = _FIXED + key_size + header_size + body_size
        if key_size > 0xFFFF or length > _LONGEST or offset + length > 0xFFFFFFFF or row >= count:
            raise OverflowError("a record is too long for its file")
        record = PyBytes_FromStringAndSize(NULL, length)
        at = <uint8_t*> PyBytes_AS_STRING(record)
        at[4] = _MAGIC
        at[5] = _MESSAGE
        _put(at + 6, key_size, 2)
        _put(at + 8, length, 4)
        _put(at + 12, header_size, 4)
        _put(at + 16, first, 8)
        _put(at + 24, <uint64_t> time, 8)
        memcpy(at + _FIXED, PyBytes_AS_STRING(key), key_size)
        memcpy(at + _FIXED + key_size, PyBytes_AS_STRING(header), header_size)
        memcpy(at + _FIXED + key_size + header_size, PyBytes_AS_STRING(body), body_size)
        _put(at, _crc32(at + 4, length - 4, seed), 4)
        records.append(record)
        offsets.data.as_uints[row] = offset
        lengths.data.as_uints[row] = length | (_HAS_HEADER if header_size else 0)
        row += 1
        offset += length
        first += 1
    return records, offsets, lengths
