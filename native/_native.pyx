# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, embedsignature=True
"""The compiled twins of this folder's functions. What each does is said there.

They read bytes in place and make no Python object but those of the result. Arguments have the types of the
plain ones; a wrong type raises TypeError. Everything here runs under the GIL and keeps nothing.
"""

from array import array as _array

from cpython cimport array
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem, PyDict_Next
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_AsEncodedString, PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp, memcpy, memset

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    void* PyUnicode_1BYTE_DATA(object text)
    object PyType_GenericAlloc(type kind, Py_ssize_t size)


cdef class QueueFields:
    cdef public bint flush_pending, headers
    cdef public list out
    cdef public int64_t out_bytes


cdef class SubscriptionFields:
    cdef public int64_t delivered
    cdef public QueueFields direct
    cdef public bytes sid


cdef class BucketFields:
    cdef public dict groups, plain


cdef class NodeFields:
    cdef public object children, here, rest


cdef class PlanFields:
    cdef public bint beyond, headers, silent, simple, special
    cdef public Py_ssize_t wide
    cdef public object batch_subscription, draw
    cdef public tuple callbacks, choices, targets, targets_for
    cdef public dict shares


cdef object _EMPTY = b""
cdef str _ANY = "*"
cdef object _ZERO = 0
cdef object _PUB = 1
cdef object _HPUB = 2

cdef enum:
    _DIGITS = 9
    _BLANK = 32
    _TAB = 9
    _CR = 13
    _LF = 10
    _DOT = 46


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


cdef struct _Publish:
    # A whole publish of the common form, by places in the bytes that it was found in.
    Py_ssize_t subject, subject_size, reply, reply_size, header_size, size, tail, stop


cdef bint _find_publish(
    const char* base,
    Py_ssize_t pos,
    Py_ssize_t end,
    Py_ssize_t longest,
    Py_ssize_t largest,
    bytes verb,
    bytes header_verb,
    _Publish* found,
) noexcept:
    """Whether a whole publish of the common form begins at `pos`."""
    cdef Py_ssize_t verb_size = PyBytes_GET_SIZE(verb), header_verb_size = PyBytes_GET_SIZE(header_verb)
    cdef const char* line
    cdef const char* newline
    cdef Py_ssize_t at, line_size, place, start, fields, sizes, size, header_size, stop
    cdef Py_ssize_t starts[4]
    cdef Py_ssize_t lengths[4]
    cdef char byte
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
        return False
    line = base + at
    newline = <const char*> memchr(line, _LF, end - at)
    if newline == NULL:
        return False
    line_size = newline - line - 1  # without CRLF
    if line_size < 3 or line_size > longest or line[line_size] != _CR:
        return False
    fields = start = 0
    for place in range(line_size + 1):
        byte = line[place]
        if byte == _BLANK or place == line_size:
            if place == start or fields > sizes + 1:
                return False
            starts[fields] = start
            lengths[fields] = place - start
            fields += 1
            start = place + 1
        elif byte == _TAB or byte == _CR:
            return False
    if fields <= sizes:
        return False
    size = _number(line + starts[fields - 1], lengths[fields - 1])
    header_size = 0
    if sizes == 2:
        header_size = _number(line + starts[fields - 2], lengths[fields - 2])
        if header_size <= 0:
            return False
    if size < header_size or size > largest:
        return False
    stop = at + line_size + 2 + size + 2
    if stop > end or base[stop - 2] != _CR or base[stop - 1] != _LF:
        return False
    found.subject = at
    found.subject_size = lengths[0]
    found.reply = at + starts[1]
    found.reply_size = lengths[1] if fields == sizes + 2 else 0
    found.header_size = header_size
    found.size = size
    found.tail = at + lengths[0] + 1
    found.stop = stop
    return True


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
    cdef _Publish one
    while most > 0 and pos < end and _find_publish(base, pos, end, longest, largest, verb, header_verb, &one):
        ops.append((
            _HPUB if one.header_size else _PUB,
            PyBytes_FromStringAndSize(base + one.subject, one.subject_size),
            PyBytes_FromStringAndSize(base + one.reply, one.reply_size) if one.reply_size else _EMPTY,
            one.header_size if one.header_size else _ZERO,
            one.size,
            PyBytes_FromStringAndSize(base + one.tail, one.stop - one.tail),
        ))
        pos = one.stop
        most -= 1
    return pos


cdef inline bint _must_be_looked_at(const char* reply, Py_ssize_t size) noexcept:
    """Whether a reply begins with `_R`, `_G` or `$J`."""
    if size < 2:
        return False
    return (reply[0] == 95 and (reply[1] == 82 or reply[1] == 71)) or (reply[0] == 36 and reply[1] == 74)


cdef inline bint _names_more(const char* reply, Py_ssize_t size) noexcept:
    """Whether the reply of a server's publish says more than where to reply."""
    if size >= 8 and memcmp(reply, b"$JS.ACK.", 8) == 0 and memchr(reply, 64, size) != NULL:
        return True
    return size >= 5 and memcmp(reply, b"_GR_.", 5) == 0


cdef enum:
    _SHORT_DOTS = 8
    _LONG_DOTS = 10
    _MOST_DIGITS = 19


cdef uint64_t _ack_sequence(
    const char* subject, Py_ssize_t size, Py_ssize_t* head_size, Py_ssize_t* dots
) noexcept nogil:
    """Read the subject of an ack; return the stream sequence, 0 if it is none."""
    cdef Py_ssize_t ends[12]  # of its first tokens
    cdef Py_ssize_t count = 0, place, token, first
    cdef uint64_t sequence = 0
    if size < 8 or memcmp(subject, b"$JS.ACK.", 8) != 0:
        return 0
    for place in range(size):
        if subject[place] == 46:
            if count < 11:
                ends[count] = place
            count += 1
    if count == _SHORT_DOTS:
        first = 4
    elif count >= _LONG_DOTS:
        first = 6
    else:
        return 0
    if count < 11:
        ends[count] = size
    for token in range(first, first + 5):
        if ends[token - 1] + 1 == ends[token]:
            return 0
        for place in range(ends[token - 1] + 1, ends[token]):
            if subject[place] < 48 or subject[place] > 57:
                return 0
    if ends[first + 1] - ends[first] - 1 > _MOST_DIGITS:
        return 0
    for place in range(ends[first] + 1, ends[first + 1]):
        sequence = sequence * 10 + (subject[place] - 48)
    head_size[0] = ends[first - 1]
    dots[0] = count
    return sequence


def scan_acks(
    bytes data not None,
    Py_ssize_t pos,
    Py_ssize_t most,
    Py_ssize_t longest,
    Py_ssize_t largest,
    tuple verbs not None,
    list seqs not None,
    list replies not None,
):
    cdef const char* base = PyBytes_AS_STRING(data)
    cdef const char* head = NULL
    cdef const char* body
    cdef Py_ssize_t end = PyBytes_GET_SIZE(data), total = 0, dots = 0, head_size = 0, lead = 0, count = 0
    cdef bytes verb = verbs[0], header_verb = verbs[1]
    cdef uint64_t sequence
    cdef _Publish one
    while most > 0 and pos < end and _find_publish(base, pos, end, longest, largest, verb, header_verb, &one):
        body = base + one.stop - 2 - one.size
        if (
            one.header_size
            or _must_be_looked_at(base + one.reply, one.reply_size)
            or not (
                one.size == 0
                or (one.size == 4 and memcmp(body, b"+ACK", 4) == 0)
                or (one.size == 3 and memcmp(body, b"+OK", 3) == 0)
            )
        ):
            break
        sequence = _ack_sequence(base + one.subject, one.subject_size, &lead, &count)
        if not sequence:
            break
        if head == NULL:
            head, head_size, dots = base + one.subject, lead, count
        elif lead != head_size or count != dots or memcmp(base + one.subject, head, lead) != 0:
            break
        number = sequence
        seqs.append(number)
        if one.reply_size:
            replies.append((number, PyBytes_FromStringAndSize(base + one.reply, one.reply_size)))
        total += one.size
        pos = one.stop
        most -= 1
    return pos, total, PyBytes_FromStringAndSize(head, head_size) if head != NULL else _EMPTY, dots


cdef PyObject* _shared_plan(const char* subject, Py_ssize_t size, dict shared, bytes prefix):
    """Return the plan that the subject shares with others, borrowed; NULL if there is none."""
    cdef Py_ssize_t start = PyBytes_GET_SIZE(prefix), end = start, place
    cdef PyObject* known
    if size <= start or memcmp(subject, PyBytes_AS_STRING(prefix), start) != 0:
        return NULL
    while end < size and subject[end] != _DOT:
        end += 1
    if end == size or subject[size - 1] == _DOT:
        return NULL
    for place in range(size - 1):
        if subject[place] == _DOT and subject[place + 1] == _DOT:
            return NULL
    known = PyDict_GetItem(shared, PyBytes_FromStringAndSize(subject + start, end - start))
    return NULL if known == NULL or <object> known is None else known


cdef enum:
    _WIDE = 1024  # deliveries of wide plans after which the caller looks at the clock
    _MOST_SEEN = 8192
    _MOST_INBOXES = 4096
    _STAR = 42
    _REST = 62  # >


cdef bint _literal(const char* subject, Py_ssize_t size) noexcept nogil:
    """Whether a subject has no empty token, and none that is a wildcard."""
    cdef Py_ssize_t start = 0, place
    for place in range(size + 1):
        if place == size or subject[place] == _DOT:
            if place == start:
                return False
            if place == start + 1 and (subject[start] == _STAR or subject[start] == _REST):
                return False
            start = place + 1
    return True


cdef bint _covers(tuple pattern, const char* subject, Py_ssize_t size):
    """Whether the pattern, whose last token may be `>`, covers a literal subject."""
    cdef Py_ssize_t start = 0, end, place, count = len(pattern)
    cdef const char* text
    cdef bytes wanted
    for place in range(count):
        wanted = pattern[place]
        if start > size:
            return False
        text = PyBytes_AS_STRING(wanted)
        if PyBytes_GET_SIZE(wanted) == 1 and text[0] == _REST and place == count - 1:
            return True
        end = start
        while end < size and subject[end] != _DOT:
            end += 1
        if not (PyBytes_GET_SIZE(wanted) == 1 and text[0] == _STAR) and (
            PyBytes_GET_SIZE(wanted) != end - start or memcmp(text, subject + start, end - start) != 0
        ):
            return False
        start = end + 1
    return start > size


cdef bint _permits(tuple allow, tuple deny, const char* subject, Py_ssize_t size):
    """Whether a literal subject is allowed, and not denied. False for any other subject."""
    cdef tuple pattern
    if not _literal(subject, size):
        return False
    if allow is not None:
        for pattern in allow:
            if _covers(pattern, subject, size):
                break
        else:
            return False
    for pattern in deny:
        if _covers(pattern, subject, size):
            return False
    return True


cdef enum:
    _MOST_TOKENS = 16
    _LONGEST_HEAD = 128


cdef PyObject* _stream_plan(const char* subject, Py_ssize_t size, dict routes, object literal):
    """Return the plan that the subject shares with others that begin alike, borrowed; NULL if none is known."""
    cdef char key[144]  # _LONGEST_HEAD and _MOST_TOKENS
    cdef Py_ssize_t tokens = 1, place, head = 0, second = 0
    cdef PyObject* known
    for place in range(size):
        if subject[place] == _DOT:
            if tokens == 1:
                head = place
            elif tokens == 2:
                second = place
            tokens += 1
    if tokens == 2:
        second = head
    if tokens < 2 or tokens > _MOST_TOKENS or second > _LONGEST_HEAD or not _literal(subject, size):
        return NULL
    memcpy(key, subject, second)
    memset(key + head, _DOT, tokens - 1)
    known = PyDict_GetItem(routes, PyBytes_FromStringAndSize(key, head + tokens - 1))
    if known == NULL:
        return NULL
    if <object> known is None:
        if tokens == 2:
            return NULL
        memcpy(key, subject, second)
        memset(key + second, _DOT, tokens - 2)
        known = PyDict_GetItem(routes, PyBytes_FromStringAndSize(key, second + tokens - 2))
        if known == NULL or <object> known is None:
            return NULL
    if literal and PyUnicode_DecodeUTF8(subject, size, "surrogateescape") in literal:
        return NULL
    return known


cdef tuple _inbox_receiver(bytes subject, bint headed, dict receivers, object ends, object literal):
    """Return the only receiver of a subject without a plan; None if it needs more."""
    cdef const char* text = PyBytes_AS_STRING(subject)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(subject), dot = size - 1
    cdef PyObject* known
    cdef tuple found
    while dot >= 0 and text[dot] != _DOT:
        dot -= 1
    if dot == size - 1:
        return None
    known = PyDict_GetItem(receivers, PyBytes_FromStringAndSize(text, dot if dot > 0 else 0))
    if known == NULL or <object> known is None:
        return None
    if ends and PyBytes_FromStringAndSize(text + dot + 1, size - dot - 1) in ends:
        return None
    found = <tuple> <object> known
    if headed and not (<QueueFields?> found[1]).headers:
        return None
    if literal and PyUnicode_DecodeUTF8(text, size, "surrogateescape") in literal:
        return None
    return found


cdef enum:
    _MOST_PLANS = 8192
    _OFTEN = 8
    _ALWAYS = 64
    _MOST_NODES = 16  # on one level of a tree
    _MOST_FOUND = 16  # subscriptions


cdef bint _gather(object value, bint headed, list found) except -1:
    """Add the subscriptions of a bucket; return whether all of them take the message as it is.

    value: anything but a bucket is nobody's.
    """
    cdef BucketFields bucket
    cdef SubscriptionFields one
    cdef PyObject* subscription = NULL
    cdef Py_ssize_t place = 0
    if not isinstance(value, BucketFields):
        return True
    bucket = <BucketFields> value
    if len(bucket.groups) or len(bucket.plain) > _MOST_FOUND - len(found):
        return False
    while PyDict_Next(bucket.plain, &place, &subscription, NULL):
        one = <SubscriptionFields?> <object> subscription
        if one.direct is None or (headed and not one.direct.headers):
            return False
        found.append(one)
    return True


cdef list _receivers(const char* subject, Py_ssize_t size, bint headed, NodeFields root, object literal):
    """Return the subscriptions that receive a subject, if all take it as it is; None if it needs more."""
    cdef PyObject* level[_MOST_NODES]
    cdef PyObject* following[2 * _MOST_NODES]
    cdef PyObject* child
    cdef Py_ssize_t nodes = 1, next_nodes, start = 0, end, place
    cdef NodeFields node
    cdef list found = []
    cdef str token
    if size and (subject[0] == 36 or (size >= 4 and memcmp(subject, b"_GR_", 4) == 0)):
        return None
    if not _literal(subject, size):
        return None
    if literal and not _gather(
        literal.get(PyUnicode_DecodeUTF8(subject, size, "surrogateescape")), headed, found
    ):
        return None
    level[0] = <PyObject*> root
    while start <= size and nodes:
        end = start
        while end < size and subject[end] != _DOT:
            end += 1
        token = PyUnicode_DecodeUTF8(subject + start, end - start, "surrogateescape")
        next_nodes = 0
        for place in range(nodes):
            node = <NodeFields?> <object> level[place]
            if not _gather(node.rest, headed, found):
                return None
            child = PyDict_GetItem(node.children, token)
            if child != NULL:
                following[next_nodes] = child
                next_nodes += 1
            child = PyDict_GetItem(node.children, _ANY)
            if child != NULL:
                following[next_nodes] = child
                next_nodes += 1
        if next_nodes > _MOST_NODES:
            return None
        memcpy(level, following, next_nodes * sizeof(PyObject*))
        nodes = next_nodes
        start = end + 1
    for place in range(nodes):
        node = <NodeFields?> <object> level[place]
        if not _gather(node.here, headed, found):
            return None
    return found


cdef bint _is_unknown_inbox(bytes subject, dict receivers):
    """Whether the cache has room to know who receives such inboxes, and does not."""
    cdef const char* text = PyBytes_AS_STRING(subject)
    cdef Py_ssize_t dot = PyBytes_GET_SIZE(subject) - 1
    if len(receivers) >= _MOST_INBOXES or text[0] != 95:
        return False
    while dot >= 0 and text[dot] != _DOT:
        dot -= 1
    return PyDict_GetItem(receivers, PyBytes_FromStringAndSize(text, dot if dot > 0 else 0)) == NULL


cdef bytes _lead(const char* subject, Py_ssize_t size, bytes sid, bint headed):
    """Return what precedes the tail of a message to a client."""
    if sid is None:
        raise TypeError("a subscription without a sid")
    cdef Py_ssize_t sid_size = PyBytes_GET_SIZE(sid), verb = 5 if headed else 4
    cdef bytes made = PyBytes_FromStringAndSize(NULL, verb + size + sid_size + 2)
    cdef char* at = PyBytes_AS_STRING(made)
    memcpy(at, b"HMSG " if headed else b"MSG ", verb)
    memcpy(at + verb, subject, size)
    at[verb + size] = _BLANK
    memcpy(at + verb + size + 1, PyBytes_AS_STRING(sid), sid_size)
    at[verb + size + sid_size + 1] = _BLANK
    return made


cdef bint _holds(const char* text, Py_ssize_t size, const char* wanted, Py_ssize_t wanted_size) noexcept nogil:
    """Whether these bytes are part of a text."""
    cdef const char* end = text + size - wanted_size
    if not wanted_size:
        return True
    while text <= end:
        text = <const char*> memchr(text, wanted[0], end - text + 1)
        if text == NULL:
            return False
        if memcmp(text, wanted, wanted_size) == 0:
            return True
        text += 1
    return False


cdef enum:
    _MOST_GROUPS = 8


cdef bint _find_for_groups(
    const char* base,
    Py_ssize_t pos,
    Py_ssize_t end,
    Py_ssize_t longest,
    Py_ssize_t largest,
    bytes verb,
    bytes header_verb,
    _Publish* found,
    Py_ssize_t* groups,
    Py_ssize_t* groups_size,
) noexcept:
    """Whether a whole publish that names queue groups begins at `pos`. Its `tail` begins with its sizes.

    groups: receives where their names begin; groups_size, how many bytes they have with the blanks between.
    """
    cdef Py_ssize_t verb_size = PyBytes_GET_SIZE(verb), header_verb_size = PyBytes_GET_SIZE(header_verb)
    cdef const char* line
    cdef const char* newline
    cdef Py_ssize_t at, line_size, place, start = 0, fields = 0, sizes, first, size, header_size = 0, stop
    cdef Py_ssize_t starts[14]
    cdef Py_ssize_t lengths[14]
    if (
        header_verb_size
        and end - pos > header_verb_size
        and memcmp(base + pos, PyBytes_AS_STRING(header_verb), header_verb_size) == 0
    ):
        at, sizes = pos + header_verb_size, 2
    elif verb_size and end - pos > verb_size and memcmp(base + pos, PyBytes_AS_STRING(verb), verb_size) == 0:
        at, sizes = pos + verb_size, 1
    else:
        return False
    line = base + at
    newline = <const char*> memchr(line, _LF, end - at)
    if newline == NULL:
        return False
    line_size = newline - line - 1  # without CRLF
    if line_size < 7 or line_size > longest or line[line_size] != _CR:
        return False
    for place in range(line_size + 1):
        if place == line_size or line[place] == _BLANK:
            if place == start or fields == 14:
                return False
            starts[fields] = start
            lengths[fields] = place - start
            fields += 1
            start = place + 1
        elif line[place] == _TAB or line[place] == _CR:
            return False
    if fields < 3 + sizes or lengths[1] != 1:
        return False
    if line[starts[1]] == 43:  # +
        first = 3
        found.reply = at + starts[2]
        found.reply_size = lengths[2]
    elif line[starts[1]] == 124:  # |
        first = 2
        found.reply = at
        found.reply_size = 0
    else:
        return False
    if not first < fields - sizes <= first + _MOST_GROUPS:
        return False
    size = _number(line + starts[fields - 1], lengths[fields - 1])
    if sizes == 2:
        header_size = _number(line + starts[fields - 2], lengths[fields - 2])
        if header_size <= 0:
            return False
    if size < header_size or size > largest:
        return False
    stop = at + line_size + 2 + size + 2
    if stop > end or base[stop - 2] != _CR or base[stop - 1] != _LF:
        return False
    found.subject = at
    found.subject_size = lengths[0]
    found.header_size = header_size
    found.size = size
    found.tail = at + starts[fields - sizes]
    found.stop = stop
    groups[0] = at + starts[first]
    groups_size[0] = starts[fields - sizes] - 1 - starts[first]
    return True


cdef bytes _with_reply(const char* reply, Py_ssize_t reply_size, const char* rest, Py_ssize_t size):
    """Return the reply, if there is one, a blank and the rest."""
    cdef bytes made
    cdef char* at
    if not reply_size:
        return PyBytes_FromStringAndSize(rest, size)
    made = PyBytes_FromStringAndSize(NULL, reply_size + 1 + size)
    at = PyBytes_AS_STRING(made)
    memcpy(at, reply, reply_size)
    at[reply_size] = _BLANK
    memcpy(at + reply_size + 1, rest, size)
    return made


cdef list _shares(dict shares, object draw, const char* groups, Py_ssize_t size):
    """Return a target for each of the groups, whose names blanks separate; None if one has none here."""
    cdef Py_ssize_t start = 0, place, members
    cdef PyObject* known
    cdef tuple share
    cdef list found = [], chosen = []
    for place in range(size + 1):
        if place == size or groups[place] == _BLANK:
            known = PyDict_GetItem(shares, PyBytes_FromStringAndSize(groups + start, place - start))
            if known == NULL or not <object> known:
                return None
            found.append(<object> known)
            start = place + 1
    for share in found:
        members = len(share)
        chosen.append(share[0 if members == 1 else <Py_ssize_t> int(draw() * members)])
    return chosen


cdef int _append(
    SubscriptionFields subscription, QueueFields queue, bytes lead, bytes tail, Py_ssize_t size, list pending_flush
) except -1:
    """Queue one message of `size` bytes, in two slices."""
    subscription.delivered += 1
    queue.out.append(lead)
    queue.out.append(tail)
    queue.out_bytes += size
    if not queue.flush_pending:
        queue.flush_pending = True
        pending_flush.append(queue)
    return 0


cdef bytes _naming(bytes lead, const char* reply, Py_ssize_t reply_size, bytes groups):
    """Return what precedes the sizes of a message to a server that must serve these queue groups."""
    cdef bytes made = PyBytes_FromStringAndSize(
        NULL, PyBytes_GET_SIZE(lead) + 2 + (reply_size + 1 if reply_size else 0) + PyBytes_GET_SIZE(groups)
    )
    cdef char* at = _add(PyBytes_AS_STRING(made), PyBytes_AS_STRING(lead), PyBytes_GET_SIZE(lead))
    if reply_size:
        at = _add(at, b"+ ", 2)
        at = _add(at, reply, reply_size)
        at = _add(at, b" ", 1)
    else:
        at = _add(at, b"| ", 2)
    _add(at, PyBytes_AS_STRING(groups), PyBytes_GET_SIZE(groups))
    return made


cdef int _queue(tuple target, bytes tail, _Publish* one, const char* reply, list pending_flush) except -1:
    """Queue one message for one target."""
    cdef bytes lead = target[4] if one.header_size else target[3], groups = target[5], rest = tail
    cdef Py_ssize_t named
    if PyBytes_GET_SIZE(groups):
        lead = _naming(lead, reply, one.reply_size, groups)
        if one.reply_size:
            named = one.reply_size + 1
            rest = PyBytes_FromStringAndSize(PyBytes_AS_STRING(tail) + named, PyBytes_GET_SIZE(tail) - named)
    return _append(
        <SubscriptionFields?> target[0], <QueueFields?> target[1], lead, rest, one.size, pending_flush
    )


cdef tuple _chosen(tuple choice, object draw):
    """Return the targets of which one choice consists; see `server.accounts.plan`."""
    cdef tuple ways = choice[0], ends
    cdef Py_ssize_t count = len(ways), place = 0
    if choice[1] is None:
        return ways[0 if count == 1 else <Py_ssize_t> int(draw() * count)]
    ends = choice[1]
    drawn = int(draw() * ends[count - 1])
    while ends[place] <= drawn:
        place += 1
    return ways[place]


def deliver_publishes(
    tuple lookups not None,
    tuple rules,
    Py_ssize_t kind,
    bytes traced not None,
    list pending_flush not None,
    list run not None,
    Py_ssize_t together,
    bytes data not None,
    Py_ssize_t pos,
    Py_ssize_t most,
    Py_ssize_t longest,
    Py_ssize_t largest,
    tuple verbs not None,
):
    cdef const char* base = PyBytes_AS_STRING(data)
    cdef const char* reply
    cdef Py_ssize_t end = PyBytes_GET_SIZE(data), count = 0, total = 0, queued = 0, groups = 0, groups_size, sights
    cdef bytes verb = verbs[0], header_verb = verbs[1], subject, tail, lead
    cdef dict plans = lookups[0], shared = lookups[1], receivers = lookups[3]
    cdef bytes prefix = lookups[2]
    cdef dict seen = lookups[4]
    cdef object ends = lookups[5], literal = lookups[6]
    cdef dict routes = lookups[7]
    cdef tuple interest = lookups[8]
    cdef NodeFields root = None if interest is None else interest[0]
    cdef dict leaving = None if interest is None else interest[1]
    cdef dict ways = None if interest is None else interest[2]
    cdef SubscriptionFields subscription
    cdef tuple allow = None if rules is None else rules[0], deny = () if rules is None else rules[1]
    cdef object receiver = None
    cdef PlanFields plan
    cdef PyObject* known
    cdef tuple targets, target, found, choice
    cdef list chosen
    cdef bint ruled = rules is not None
    cdef _Publish one
    while count < most and len(run) < together and queued < _WIDE and pos < end:
        groups_size = 0
        if not _find_publish(base, pos, end, longest, largest, verb, header_verb, &one) and not (
            kind
            and _find_for_groups(
                base, pos, end, longest, largest, verb, header_verb, &one, &groups, &groups_size
            )
        ):
            break
        reply = base + one.reply
        if (
            _names_more(reply, one.reply_size)
            if kind
            else _must_be_looked_at(reply, one.reply_size)
        ):
            break
        if ruled and not _permits(allow, deny, base + one.subject, one.subject_size):
            break
        subject = PyBytes_FromStringAndSize(base + one.subject, one.subject_size)
        if groups_size:
            tail = _with_reply(reply, one.reply_size, base + one.tail, one.stop - one.tail)
        else:
            tail = PyBytes_FromStringAndSize(base + one.tail, one.stop - one.tail)
        if one.header_size and _holds(
            PyBytes_AS_STRING(tail),
            PyBytes_GET_SIZE(tail) - 2 - one.size + one.header_size,
            PyBytes_AS_STRING(traced),
            PyBytes_GET_SIZE(traced),
        ):
            break
        known = PyDict_GetItem(plans, subject)
        if known == NULL:
            known = _shared_plan(base + one.subject, one.subject_size, shared, prefix)
        if known == NULL and len(routes):
            known = _stream_plan(base + one.subject, one.subject_size, routes, literal)
        if known == NULL:
            if run or groups_size:
                break
            key = hash(subject)
            known = PyDict_GetItem(seen, key)
            sights = <Py_ssize_t> <object> known if known != NULL else 0
            if sights >= _ALWAYS or (sights >= _OFTEN and len(plans) < _MOST_PLANS):
                seen[key] = _ZERO
                break
            found = _inbox_receiver(subject, one.header_size > 0, receivers, ends, literal)
            if found is not None:
                subscription = <SubscriptionFields?> found[0]
                lead = _lead(base + one.subject, one.subject_size, subscription.sid, one.header_size > 0)
                _append(subscription, <QueueFields?> found[1], lead, tail, one.size, pending_flush)
            else:
                if (
                    interest is None
                    or len(leaving)
                    or (len(ways) and subject in ways)
                    or _is_unknown_inbox(subject, receivers)
                ):
                    break
                chosen = _receivers(base + one.subject, one.subject_size, one.header_size > 0, root, literal)
                if chosen is None or (one.reply_size and not chosen):
                    break
                for subscription in chosen:
                    lead = _lead(base + one.subject, one.subject_size, subscription.sid, one.header_size > 0)
                    _append(subscription, subscription.direct, lead, tail, one.size, pending_flush)
            if known == NULL and len(seen) >= _MOST_SEEN:
                seen.clear()
            seen[key] = sights + 1
            count += 1
            total += one.size
            pos = one.stop
            continue
        plan = <PlanFields?> <object> known
        if one.header_size and not plan.headers:
            break
        targets = plan.targets_for[kind]
        if targets is None:
            if kind or not plan.simple:
                break
            if plan.batch_subscription is not None:
                if run and plan.batch_subscription is not receiver:
                    break
                receiver = plan.batch_subscription
                run.append((
                    subject,
                    PyBytes_FromStringAndSize(reply, one.reply_size) if one.reply_size else _EMPTY,
                    one.header_size if one.header_size else _ZERO,
                    one.size,
                    tail,
                ))
                count += 1
                total += one.size
                pos = one.stop
                continue
        if run:
            break
        if plan.special and (
            plan.callbacks or ((plan.silent or (plan.beyond and not kind)) and one.reply_size)
        ):
            break
        chosen = None
        if groups_size:
            chosen = _shares(plan.shares, plan.draw, base + groups, groups_size)
            if chosen is None:
                break
        if plan.special:
            queued += plan.wide
        for target in plan.targets if targets is None else targets:
            _queue(target, tail, &one, reply, pending_flush)
        if targets is None:
            for choice in plan.choices:
                for target in _chosen(choice, plan.draw):
                    _queue(target, tail, &one, reply, pending_flush)
        elif chosen is not None:
            for target in chosen:
                _queue(target, tail, &one, reply, pending_flush)
        count += 1
        total += one.size
        pos = one.stop
    return pos, count, total, queued, receiver


cdef inline Py_ssize_t _print(char* at, uint64_t value) noexcept nogil:
    """Write a number as decimal digits; return how many."""
    cdef char digits[20]
    cdef Py_ssize_t count = 0, place
    while True:
        digits[count] = 48 + value % 10
        count += 1
        value = value / 10
        if not value:
            break
    for place in range(count):
        at[place] = digits[count - 1 - place]
    return count


cdef enum:
    _MOST_HEADER = 65535

cdef const char* _VERSION_LINE = b"NATS/1.0\r\n"
cdef const char* _SPECIAL = b"\r\nNats-"
cdef const char* _ID_LINE = b"\r\nNats-Msg-Id:"


cdef bint _is_of_batch(bytes reply) noexcept:
    """Whether a reply subject is that of a fast batch."""
    cdef Py_ssize_t size = PyBytes_GET_SIZE(reply)
    return size >= 4 and memcmp(PyBytes_AS_STRING(reply) + size - 4, b".$FI", 4) == 0


cdef bint _only_id(const char* header, Py_ssize_t size, Py_ssize_t* start, Py_ssize_t* length) noexcept:
    """Whether nothing but a message id matters in a header; where it is, with length 0 for none."""
    cdef const char* end = header + size
    cdef const char* at = header
    cdef const char* value
    cdef const char* special = NULL
    length[0] = 0
    if not size:
        return True
    if size > _MOST_HEADER or size < 10 or memcmp(header, _VERSION_LINE, 10) != 0:
        return False
    while True:
        at = <const char*> memchr(at, _CR, end - at)
        if at == NULL or end - at < 7:
            break
        if memcmp(at, _SPECIAL, 7) == 0:
            if special != NULL:
                return False
            special = at
        at += 1
    if special == NULL:
        return True
    if end - special < 14 or memcmp(special, _ID_LINE, 14) != 0:
        return False
    value = at = special + 14
    while True:
        at = <const char*> memchr(at, _CR, end - at)
        if at == NULL:
            at = end
            break
        if end - at >= 2 and at[1] == _LF:
            break
        at += 1
    while value < at and (value[0] == _BLANK or value[0] == _TAB):
        value += 1
    while value < at and ((at - 1)[0] == _BLANK or (at - 1)[0] == _TAB):
        at -= 1
    start[0] = value - header
    length[0] = at - value
    return at > value


cdef bytes _acknowledgement(bytes ack, uint64_t sequence, bint duplicate):
    cdef Py_ssize_t size = PyBytes_GET_SIZE(ack), digits
    cdef char number[20]
    cdef const char* end = b',"duplicate": true}' if duplicate else b"}"
    cdef Py_ssize_t end_size = 19 if duplicate else 1
    cdef bytes made
    cdef char* at
    digits = _print(number, sequence)
    made = PyBytes_FromStringAndSize(NULL, size + digits + end_size)
    at = PyBytes_AS_STRING(made)
    memcpy(at, PyBytes_AS_STRING(ack), size)
    memcpy(at + size, number, digits)
    memcpy(at + size + digits, end, end_size)
    return made


def take_publishes(
    list run not None,
    Py_ssize_t start,
    Py_ssize_t most,
    dict known,
    bytes ack,
    uint64_t first,
    object time,
    list messages not None,
    list ids not None,
    list answers not None,
):
    cdef Py_ssize_t place = start, count = len(run), header_size, size, at, id_at = 0, id_size = 0
    cdef uint64_t sequence = first
    cdef bytes last = _EMPTY, subject, reply, tail, identifier, header
    cdef PyObject* found
    cdef const char* base
    cdef tuple publish
    while place < count:
        publish = run[place]
        subject = publish[0]
        reply = publish[1]
        header_size = publish[2]
        size = publish[3]
        tail = publish[4]
        at = PyBytes_GET_SIZE(tail) - 2 - size
        if header_size < 0 or header_size > size or at < 0:
            raise ValueError("a publish with wrong sizes")
        base = PyBytes_AS_STRING(tail) + at
        if size > most or not _only_id(base, header_size, &id_at, &id_size) or _is_of_batch(reply):
            break
        place += 1
        identifier = _EMPTY
        if id_size:
            identifier = PyBytes_FromStringAndSize(base + id_at, id_size)
            if known is not None:
                found = PyDict_GetItem(known, identifier)
                if found != NULL and <object> found:
                    if ack is not None and PyBytes_GET_SIZE(reply):
                        answers.append((reply, _acknowledgement(ack, <object> found, True)))
                    continue
                sequence_of = sequence
                known[identifier] = sequence_of
                ids.append((time, identifier, sequence_of))
        header = PyBytes_FromStringAndSize(base, header_size) if header_size else _EMPTY
        messages.append((
            PyUnicode_DecodeUTF8(PyBytes_AS_STRING(subject), PyBytes_GET_SIZE(subject), "surrogateescape"),
            header,
            PyBytes_FromStringAndSize(base + header_size, size - header_size),
        ))
        last = identifier
        if ack is not None and PyBytes_GET_SIZE(reply):
            answers.append((reply, _acknowledgement(ack, sequence, False)))
        sequence += 1
    return place, last


def take_copies(
    messages not None,
    originals not None,
    Py_ssize_t start,
    Py_ssize_t most,
    dict known,
    tuple label not None,
    uint64_t first,
    object time,
    list copies not None,
    list ids not None,
):
    cdef list batch = messages if isinstance(messages, list) else list(messages)
    cdef list shown = originals if isinstance(originals, list) else list(originals)
    cdef Py_ssize_t place = start, count = len(batch), id_at = 0, id_size = 0, digits, size, key_size = 0, kept
    cdef uint64_t sequence = first, newest = 0
    cdef bytes lead = label[0], between = label[1], end = label[2]
    cdef bytes last = _EMPTY, header, body, identifier, labelled, encoded
    cdef str key
    cdef const char* text = NULL
    cdef const char* block
    cdef char* at
    cdef char number[20]
    cdef PyObject* found
    cdef object message
    cdef tuple parts
    if between is not None and len(shown) < count:
        raise ValueError("a message without its subject")
    while place < count:
        message = batch[place]
        if not isinstance(message, tuple) or len(message) != 5:
            raise TypeError("a message is a tuple of five")
        parts = <tuple> message
        header = parts[2]
        body = parts[3]
        if not _only_id(PyBytes_AS_STRING(header), PyBytes_GET_SIZE(header), &id_at, &id_size):
            break
        kept = PyBytes_GET_SIZE(header) - 2 if PyBytes_GET_SIZE(header) else 10
        digits = _print(number, <uint64_t> parts[0])
        size = kept + PyBytes_GET_SIZE(lead) + digits + PyBytes_GET_SIZE(end)
        if between is not None:
            key = shown[place]
            if PyUnicode_IS_COMPACT_ASCII(key):
                text = <const char*> PyUnicode_1BYTE_DATA(key)
                key_size = PyUnicode_GET_LENGTH(key)
            else:
                encoded = PyUnicode_AsEncodedString(key, "utf-8", "surrogateescape")
                text = PyBytes_AS_STRING(encoded)
                key_size = PyBytes_GET_SIZE(encoded)
            size += PyBytes_GET_SIZE(between) + key_size
        if size > _MOST_HEADER or size + PyBytes_GET_SIZE(body) > most:
            break
        identifier = _EMPTY
        if id_size:
            identifier = PyBytes_FromStringAndSize(PyBytes_AS_STRING(header) + id_at, id_size)
            if known is not None:
                found = PyDict_GetItem(known, identifier)
                if found != NULL and <object> found:
                    place += 1
                    continue
                sequence_of = sequence
                known[identifier] = sequence_of
                ids.append((time, identifier, sequence_of))
        labelled = PyBytes_FromStringAndSize(NULL, size)
        at = PyBytes_AS_STRING(labelled)
        block = PyBytes_AS_STRING(header) if PyBytes_GET_SIZE(header) else <char*> _VERSION_LINE
        at = _add(at, block, kept)
        at = _add(at, PyBytes_AS_STRING(lead), PyBytes_GET_SIZE(lead))
        at = _add(at, number, digits)
        if between is not None:
            at = _add(at, PyBytes_AS_STRING(between), PyBytes_GET_SIZE(between))
            at = _add(at, text, key_size)
        at = _add(at, PyBytes_AS_STRING(end), PyBytes_GET_SIZE(end))
        copies.append((parts[1], labelled, body))
        last = identifier
        newest = parts[0]
        sequence += 1
        place += 1
    return place, last, newest


def match_names(list names not None, Py_ssize_t start, Py_ssize_t stop, patterns not None):
    cdef Py_ssize_t place, size, end = min(stop, len(names))
    cdef const char* text
    cdef bytes encoded
    cdef str name
    cdef tuple pattern
    cdef list found = []
    cdef tuple wanted = tuple(patterns)
    if start < 0:
        raise ValueError("a place before the first")
    for place in range(start, end):
        name = names[place]
        if PyUnicode_IS_COMPACT_ASCII(name):
            text = <const char*> PyUnicode_1BYTE_DATA(name)
            size = PyUnicode_GET_LENGTH(name)
        else:
            encoded = PyUnicode_AsEncodedString(name, "utf-8", "surrogateescape")
            text = PyBytes_AS_STRING(encoded)
            size = PyBytes_GET_SIZE(encoded)
        if size:
            for pattern in wanted:
                if _covers(pattern, text, size):
                    found.append(place)
                    break
    return found


cdef array.array _WIDE_COLUMN = _array("Q")

cdef enum:
    _CHUNK = 8192  # `store.sequences.CHUNK`


def add_sequences(
    dict ids not None,
    list columns not None,
    messages not None,
    Py_ssize_t start,
    array.array seqs not None,
    array.array numbers not None,
    make not None,
    list names,
):
    cdef Py_ssize_t place = start, count = len(messages), size, taken = len(numbers)
    cdef PyObject* found
    cdef object number, sequences, single
    cdef list chunks
    cdef array.array chunk
    cdef tuple message
    if numbers.typecode != "I" or seqs.typecode != "Q":
        raise TypeError("columns of types I and Q are needed")
    if len(seqs) < count:
        raise ValueError("a message without a sequence")
    array.resize_smart(numbers, taken + count - start if count > start else taken)
    while place < count:
        message = messages[place]
        found = PyDict_GetItem(ids, message[0])
        if found == NULL:
            if names is None:
                break
            number = len(names)
            ids[message[0]] = number
            names.append(message[0])
            columns.append(seqs.data.as_ulonglongs[place])
            numbers.data.as_uints[taken] = number
            taken += 1
            place += 1
            continue
        number = <object> found
        sequences = columns[number]
        if isinstance(sequences, int):
            single = sequences
            sequences = make()
            sequences.append(single)
            columns[number] = sequences
        chunks = sequences.chunks
        chunk = chunks[len(chunks) - 1]
        size = len(chunk)
        if size >= _CHUNK or chunk.typecode != "Q":
            sequences.append(seqs.data.as_ulonglongs[place])
        else:
            array.resize_smart(chunk, size + 1)
            chunk.data.as_ulonglongs[size] = seqs.data.as_ulonglongs[place]
            sequences.count += 1
        numbers.data.as_uints[taken] = number
        taken += 1
        place += 1
    array.resize_smart(numbers, taken)
    return place


cdef inline char* _add(char* at, const char* part, Py_ssize_t size) noexcept nogil:
    """Write bytes; return where they end."""
    memcpy(at, part, size)
    return at + size


cdef inline char* _add_number(char* at, int64_t value, char end) noexcept nogil:
    """Write a number, and what follows it; return where that ends."""
    if value < 0:
        at[0] = 45
        at += 1
    at += _print(at, <uint64_t> value if value >= 0 else -<uint64_t> value)
    at[0] = end
    return at + 1


cdef object _run_receiver(
    list batch,
    Py_ssize_t start,
    Py_ssize_t count,
    object plans,
    dict receivers,
    object ends,
    object literal,
    Py_ssize_t* taken,
):
    """Return who receives the first messages from `start` on, at most `count`, and how many that are.

    The receiver is None if the very first message needs more; see `frame_replies`. A message is a tuple that
    begins with its subject.
    """
    cdef Py_ssize_t place, size, dot, lead, head_size = 0
    cdef const char* text
    cdef const char* head = NULL
    cdef object receiver = None
    cdef bytes subject
    cdef tuple message
    cdef PyObject* known = NULL
    cdef bint some_end = bool(ends), some_literal = bool(literal), some_plans = bool(plans)
    taken[0] = 0
    for place in range(count):
        message = batch[start + place]
        subject = message[0]
        if some_plans and subject in plans:
            break
        text = PyBytes_AS_STRING(subject)
        size = PyBytes_GET_SIZE(subject)
        dot = size - 1
        while dot >= 0 and text[dot] != _DOT:
            dot -= 1
        if dot == size - 1:
            break
        lead = dot if dot > 0 else 0
        if receiver is None or lead != head_size or memcmp(text, head, lead) != 0:
            known = PyDict_GetItem(receivers, PyBytes_FromStringAndSize(text, lead))
            if known == NULL or <object> known is None:
                break
            if receiver is not None and <object> known is not receiver:
                break
        if some_end and PyBytes_FromStringAndSize(text + dot + 1, size - dot - 1) in ends:
            break
        if some_literal and PyUnicode_DecodeUTF8(text, size, "surrogateescape") in literal:
            break
        if receiver is None or lead != head_size:
            receiver = <object> known
            head, head_size = text, lead
        taken[0] += 1
    return receiver


cdef struct _Answer:
    const char* subject
    Py_ssize_t subject_size
    const char* header
    Py_ssize_t header_size
    const char* body
    Py_ssize_t body_size


cdef bytes _framed(_Answer* run, Py_ssize_t count, bytes sid):
    """Return the frames of these messages. Those without a header have one of size 0."""
    cdef Py_ssize_t place, sid_size = PyBytes_GET_SIZE(sid), room = 0
    cdef char digits[20]
    cdef _Answer* one
    cdef char* at
    cdef bytes frames
    for place in range(count):
        one = &run[place]
        room += 10 + one.subject_size + sid_size + one.header_size + one.body_size
        room += _print(digits, one.header_size + one.body_size)
        if one.header_size:
            room += 2 + _print(digits, one.header_size)
    frames = PyBytes_FromStringAndSize(NULL, room)
    at = PyBytes_AS_STRING(frames)
    for place in range(count):
        one = &run[place]
        if one.header_size:
            at[0] = 72
            at += 1
        at = _add(at, b"MSG ", 4)
        at = _add(at, one.subject, one.subject_size)
        at = _add(at, b" ", 1)
        at = _add(at, PyBytes_AS_STRING(sid), sid_size)
        at = _add(at, b" ", 1)
        if one.header_size:
            at = _add_number(at, one.header_size, _BLANK)
        at = _add_number(at, one.header_size + one.body_size, _CR)
        at = _add(at, b"\n", 1)
        at = _add(at, one.header, one.header_size)
        at = _add(at, one.body, one.body_size)
        at = _add(at, b"\r\n", 2)
    return frames


def frame_replies(
    messages not None,
    Py_ssize_t start,
    Py_ssize_t most,
    plans not None,
    dict receivers not None,
    ends not None,
    literal not None,
):
    cdef list batch = messages if isinstance(messages, list) else list(messages)
    cdef Py_ssize_t count = min(most, len(batch) - start), payload = 0, taken = 0, place
    cdef object receiver = _run_receiver(batch, start, count, plans, receivers, ends, literal, &taken)
    cdef bytes subject, body
    cdef tuple message
    cdef _Answer* run
    if not taken:
        return start, None, _EMPTY, 0
    run = <_Answer*> malloc(taken * sizeof(_Answer))
    if run == NULL:
        raise MemoryError
    try:
        for place in range(taken):
            message = batch[start + place]
            subject = message[0]
            body = message[1]
            run[place].subject, run[place].subject_size = PyBytes_AS_STRING(subject), PyBytes_GET_SIZE(subject)
            run[place].header, run[place].header_size = PyBytes_AS_STRING(subject), 0
            run[place].body, run[place].body_size = PyBytes_AS_STRING(body), PyBytes_GET_SIZE(body)
            payload += run[place].body_size
        return start + taken, receiver, _framed(run, taken, receiver[0].sid), payload
    finally:
        free(run)


def frame_answers(
    answers not None,
    Py_ssize_t start,
    Py_ssize_t most,
    plans not None,
    dict receivers not None,
    ends not None,
    literal not None,
):
    cdef list batch = answers if isinstance(answers, list) else list(answers)
    cdef Py_ssize_t count = min(most, len(batch) - start), payload = 0, taken = 0, place
    cdef object receiver = _run_receiver(batch, start, count, plans, receivers, ends, literal, &taken)
    cdef bytes subject, header, body
    cdef tuple answer
    cdef bint headers
    cdef _Answer* run
    cdef _Answer* one
    if not taken:
        return start, None, _EMPTY, 0
    headers = receiver[1].headers
    run = <_Answer*> malloc(taken * sizeof(_Answer))
    if run == NULL:
        raise MemoryError
    try:
        for place in range(taken):
            one = &run[place]
            answer = batch[start + place]
            if len(answer) != 3:
                raise TypeError("an answer is a tuple of three")
            subject = answer[0]
            header = answer[1]
            body = answer[2]
            one.subject, one.subject_size = PyBytes_AS_STRING(subject), PyBytes_GET_SIZE(subject)
            one.header, one.header_size = PyBytes_AS_STRING(header), PyBytes_GET_SIZE(header) if headers else 0
            one.body, one.body_size = PyBytes_AS_STRING(body), PyBytes_GET_SIZE(body)
            payload += one.header_size + one.body_size
        return start + taken, receiver, _framed(run, taken, receiver[0].sid), payload
    finally:
        free(run)


cdef object _single(const char* at, Py_ssize_t size):
    """Return what a body asks for, if that is one message by its sequence, or the last one of a subject."""
    cdef const char* end = at + size
    cdef const char* start
    cdef uint64_t sequence = 0
    cdef bint by_sequence
    if size < 9 or at[0] != 123 or (end - 1)[0] != 125:
        return None
    at += 1
    end -= 1
    if at[0] == _BLANK:
        at += 1
    if end - at >= 6 and memcmp(at, b'"seq":', 6) == 0:
        at += 6
        by_sequence = True
    elif end - at >= 15 and memcmp(at, b'"last_by_subj":', 15) == 0:
        at += 15
        by_sequence = False
    else:
        return None
    if at < end and at[0] == _BLANK:
        at += 1
    if end > at and (end - 1)[0] == _BLANK:
        end -= 1
    if by_sequence:
        if not 0 < end - at <= 19 or at[0] == 48:
            return None
        while at < end:
            if at[0] < 48 or at[0] > 57:
                return None
            sequence = sequence * 10 + (at[0] - 48)
            at += 1
        return sequence
    if end - at < 3 or at[0] != 34 or (end - 1)[0] != 34:
        return None
    at += 1
    end -= 1
    start = at
    while at < end:
        if at[0] < 33 or at[0] > 126 or at[0] == 34 or at[0] == _STAR or at[0] == _REST or at[0] == 92:
            return None
        at += 1
    return PyUnicode_DecodeUTF8(start, end - start, NULL)


def read_gets(publishes not None):
    cdef list batch = publishes if isinstance(publishes, list) else list(publishes)
    cdef Py_ssize_t size, at, dots, length
    cdef const char* text
    cdef bytes subject, tail
    cdef tuple publish
    cdef list found = []
    for publish in batch:
        if publish[2]:
            found.append(None)
            continue
        subject = publish[0]
        size = publish[3]
        tail = publish[4]
        text = PyBytes_AS_STRING(subject)
        length = PyBytes_GET_SIZE(subject)
        dots = at = 0
        while at < length and dots < 5:
            dots += text[at] == _DOT
            at += 1
        if dots == 5:
            if size or memchr(text + at, _STAR, length - at) != NULL or memchr(text + at, _REST, length - at) != NULL:
                found.append(None)
            else:
                found.append(PyUnicode_DecodeUTF8(text + at, length - at, "surrogateescape"))
            continue
        if size < 0 or size + 2 > PyBytes_GET_SIZE(tail):
            raise ValueError("a publish with wrong sizes")
        found.append(_single(PyBytes_AS_STRING(tail) + PyBytes_GET_SIZE(tail) - 2 - size, size))
    return found


cdef const char* _text_of(str text, Py_ssize_t* size, list kept) except NULL:
    """Return the bytes of a text, which belong to it or to an object in `kept`."""
    cdef bytes encoded
    if PyUnicode_IS_COMPACT_ASCII(text):
        size[0] = PyUnicode_GET_LENGTH(text)
        return <const char*> PyUnicode_1BYTE_DATA(text)
    encoded = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape")
    kept.append(encoded)
    size[0] = PyBytes_GET_SIZE(encoded)
    return PyBytes_AS_STRING(encoded)


cdef enum:
    _MOST_HEADED = 150  # bytes: names, line ends and blanks of four lines, two numbers, and what follows the seconds


def head_answers(answers not None, str stream not None, second not None):
    cdef list made = [], kept = []
    cdef str second_text
    cdef Py_ssize_t stream_size = 0, subject_size = 0, stamp_size = 0, kept_size, fraction, place
    cdef const char* stream_text = _text_of(stream, &stream_size, kept)
    cdef const char* subject_text
    cdef const char* stamp = NULL
    cdef int64_t time, seconds, known = 0
    cdef tuple answer, message
    cdef object found
    cdef bytes header
    cdef char* start
    cdef char* at
    for answer in answers:
        if len(answer) == 3:
            made.append(answer)
            continue
        found = answer[1]
        if not isinstance(found, tuple) or len(found) != 5:
            raise TypeError("a message is a tuple of five")
        message = <tuple> found
        header = message[2]
        time = message[4]
        seconds = time // 1_000_000_000
        fraction = time % 1_000_000_000
        if fraction < 0:  # C rounds to zero
            seconds -= 1
            fraction += 1_000_000_000
        if time and (stamp == NULL or seconds != known):
            second_text = second(seconds)
            stamp = _text_of(second_text, &stamp_size, kept)
            known = seconds
        kept_size = PyBytes_GET_SIZE(header) - 2 if PyBytes_GET_SIZE(header) >= 2 else 0
        subject_text = _text_of(message[1], &subject_size, kept)
        start = at = <char*> malloc(kept_size + stream_size + subject_size + stamp_size + _MOST_HEADED)
        if start == NULL:
            raise MemoryError
        if PyBytes_GET_SIZE(header):
            at = _add(at, PyBytes_AS_STRING(header), kept_size)
        else:
            at = _add(at, _VERSION_LINE, 10)
        at = _add(at, b"Nats-Stream: ", 13)
        at = _add(at, stream_text, stream_size)
        at = _add(at, b"\r\nNats-Subject: ", 16)
        at = _add(at, subject_text, subject_size)
        at = _add(at, b"\r\nNats-Sequence: ", 17)
        try:
            at += _print(at, <uint64_t> message[0])
            at = _add(at, b"\r\nNats-Time-Stamp: ", 19)
            if not time:
                at = _add(at, b"0001-01-01T00:00:00", 19)
            else:
                at = _add(at, stamp, stamp_size)
                if fraction:
                    at[0] = _DOT
                    for place in range(9, 0, -1):
                        at[place] = 48 + fraction % 10
                        fraction = fraction // 10
                    at += 10
                    while (at - 1)[0] == 48:
                        at -= 1
            at = _add(at, b"Z\r\n\r\n", 5)
            made.append((answer[0], PyBytes_FromStringAndSize(start, at - start), message[3]))
        finally:
            free(start)
    return made


cdef struct _Delivery:
    uint64_t sequence
    int64_t time
    const char* subject
    Py_ssize_t subject_size
    const char* header
    Py_ssize_t header_size
    const char* body
    Py_ssize_t body_size


cdef enum:
    _MOST_FIGURES = 150  # bytes: four numbers of a subject, two sizes, the verb, blanks, dots and line ends


def frame_deliveries(
    messages not None,
    Py_ssize_t count,
    bytes sid not None,
    bytes ack_prefix not None,
    uint64_t number,
    int64_t pending,
):
    cdef list batch = messages if isinstance(messages, list) else list(messages)
    cdef Py_ssize_t sid_size = PyBytes_GET_SIZE(sid), prefix_size = PyBytes_GET_SIZE(ack_prefix)
    cdef Py_ssize_t place, room = 0, payload = 0
    cdef list encoded = []  # keeps what the pointers point to
    cdef bytes octets, header, body
    cdef str subject
    cdef object message
    cdef tuple parts
    cdef _Delivery* run
    cdef _Delivery* one
    cdef char* start
    cdef char* at
    if not 0 < count <= len(batch):
        raise ValueError("a run without messages, or with fewer than said")
    run = <_Delivery*> malloc(count * sizeof(_Delivery))
    if run == NULL:
        raise MemoryError
    try:
        for place in range(count):
            one = &run[place]
            message = batch[place]
            if not isinstance(message, tuple) or len(message) != 5:
                raise TypeError("a message is a tuple of five")
            parts = <tuple> message
            one.sequence = parts[0]
            subject = parts[1]
            header = parts[2]
            body = parts[3]
            one.time = parts[4]
            if PyUnicode_IS_COMPACT_ASCII(subject):
                one.subject = <const char*> PyUnicode_1BYTE_DATA(subject)
                one.subject_size = PyUnicode_GET_LENGTH(subject)
            else:
                octets = PyUnicode_AsEncodedString(subject, "utf-8", "surrogateescape")
                encoded.append(octets)
                one.subject = PyBytes_AS_STRING(octets)
                one.subject_size = PyBytes_GET_SIZE(octets)
            one.header, one.header_size = PyBytes_AS_STRING(header), PyBytes_GET_SIZE(header)
            one.body, one.body_size = PyBytes_AS_STRING(body), PyBytes_GET_SIZE(body)
            payload += one.header_size + one.body_size
            room += one.subject_size + sid_size + prefix_size + _MOST_FIGURES
        start = at = <char*> malloc(room + payload)
        if start == NULL:
            raise MemoryError
        for place in range(count):
            one = &run[place]
            if one.header_size:
                at[0] = 72
                at += 1
            at = _add(at, b"MSG ", 4)
            at = _add(at, one.subject, one.subject_size)
            at = _add(at, b" ", 1)
            at = _add(at, PyBytes_AS_STRING(sid), sid_size)
            at = _add(at, b" ", 1)
            at = _add(at, PyBytes_AS_STRING(ack_prefix), prefix_size)
            at += _print(at, one.sequence)
            at = _add(at, b".", 1)
            number += 1
            pending -= 1
            at += _print(at, number)
            at = _add(at, b".", 1)
            at = _add_number(at, one.time, 46)
            at = _add_number(at, pending, _BLANK)
            if one.header_size:
                at = _add_number(at, one.header_size, _BLANK)
            at = _add_number(at, one.header_size + one.body_size, _CR)
            at = _add(at, b"\n", 1)
            at = _add(at, one.header, one.header_size)
            at = _add(at, one.body, one.body_size)
            at = _add(at, b"\r\n", 2)
        try:
            return PyBytes_FromStringAndSize(start, at - start), payload
        finally:
            free(start)
    finally:
        free(run)


# CRC-32 as zlib computes it: eight bytes at a time, and long data as four interleaved chains of such steps, which
# a processor works on at the same time.
cdef enum:
    _CHAINS = 4
    _BLOCK = 32  # bytes: a word of each chain

cdef uint32_t _crc_table[8][256]  # of a byte, and so many zeros after it
cdef uint32_t _chain_table[8][256]  # the same with the words of the other chains, as zeros


cdef void _fill_table(uint32_t (*table)[256], uint32_t polynomial) noexcept:
    cdef uint32_t value
    cdef int row, place, bit
    for place in range(256):
        value = place
        for bit in range(8):
            value = (value >> 1) ^ (polynomial if value & 1 else 0)
        table[0][place] = value
    for place in range(256):
        for row in range(1, 8):
            value = table[row - 1][place]
            table[row][place] = (value >> 8) ^ table[0][value & 0xFF]


cdef void _fill_chain_table() noexcept:
    cdef uint32_t value
    cdef int row, place, bit
    for place in range(256):
        for row in range(8):
            value = _crc_table[row][place]
            for bit in range(_BLOCK - 8):
                value = (value >> 8) ^ _crc_table[0][value & 0xFF]
            _chain_table[row][place] = value


_fill_table(_crc_table, 0xEDB88320)
_fill_chain_table()


cdef inline uint64_t _word(const uint8_t* at) noexcept nogil:
    """Read eight bytes in little-endian order; compilers make one instruction of it."""
    return (
        at[0]
        | (<uint64_t> at[1] << 8)
        | (<uint64_t> at[2] << 16)
        | (<uint64_t> at[3] << 24)
        | (<uint64_t> at[4] << 32)
        | (<uint64_t> at[5] << 40)
        | (<uint64_t> at[6] << 48)
        | (<uint64_t> at[7] << 56)
    )


cdef inline uint32_t _step(uint32_t (*table)[256], uint64_t word) noexcept nogil:
    return (
        table[7][word & 0xFF]
        ^ table[6][(word >> 8) & 0xFF]
        ^ table[5][(word >> 16) & 0xFF]
        ^ table[4][(word >> 24) & 0xFF]
        ^ table[3][(word >> 32) & 0xFF]
        ^ table[2][(word >> 40) & 0xFF]
        ^ table[1][(word >> 48) & 0xFF]
        ^ table[0][word >> 56]
    )


cdef uint32_t _crc32(const uint8_t* data, Py_ssize_t size, uint32_t crc) noexcept nogil:
    cdef uint32_t one, two, three, four
    crc = ~crc
    if size >= 2 * _BLOCK:
        one, two, three, four = crc, 0, 0, 0
        while size >= 2 * _BLOCK:
            one = _step(_chain_table, _word(data) ^ one)
            two = _step(_chain_table, _word(data + 8) ^ two)
            three = _step(_chain_table, _word(data + 16) ^ three)
            four = _step(_chain_table, _word(data + 24) ^ four)
            data += _BLOCK
            size -= _BLOCK
        crc = _step(_crc_table, _word(data) ^ one)
        crc = _step(_crc_table, _word(data + 8) ^ two ^ crc)
        crc = _step(_crc_table, _word(data + 16) ^ three ^ crc)
        crc = _step(_crc_table, _word(data + 24) ^ four ^ crc)
        data += _BLOCK
        size -= _BLOCK
    while size >= 8:
        crc = _step(_crc_table, _word(data) ^ crc)
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


cdef Py_ssize_t _check_columns(Py_ssize_t count, array.array seqs, array.array times) except -1:
    """Return how many messages there are, if each has a sequence and a time."""
    if seqs.typecode != "Q" or times.typecode != "q":
        raise TypeError("columns of types Q and q are needed")
    if len(seqs) != count or len(times) != count:
        raise ValueError("columns of another length than the messages")
    return count


def encode_messages(
    messages not None, array.array seqs not None, array.array times not None, uint32_t seed, uint64_t offset
):
    cdef Py_ssize_t count = _check_columns(len(messages), seqs, times)
    cdef Py_ssize_t row = 0, headed = 0, key_size, header_size, body_size
    cdef list records = []
    cdef array.array offsets = array.clone(_COLUMN, count, zero=False)
    cdef array.array lengths = array.clone(_COLUMN, count, zero=False)
    cdef tuple message
    cdef bytes header, body, record, encoded
    cdef str key
    cdef const char* text
    cdef uint8_t* at
    cdef uint64_t length
    for message in messages:
        key = message[0]
        if PyUnicode_IS_COMPACT_ASCII(key):
            text = <const char*> PyUnicode_1BYTE_DATA(key)
            key_size = PyUnicode_GET_LENGTH(key)
        else:
            encoded = PyUnicode_AsEncodedString(key, "utf-8", "surrogateescape")
            text = PyBytes_AS_STRING(encoded)
            key_size = PyBytes_GET_SIZE(encoded)
        header = message[1]
        body = message[2]
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
        _put(at + 16, seqs.data.as_ulonglongs[row], 8)
        _put(at + 24, <uint64_t> times.data.as_longlongs[row], 8)
        memcpy(at + _FIXED, text, key_size)
        memcpy(at + _FIXED + key_size, PyBytes_AS_STRING(header), header_size)
        memcpy(at + _FIXED + key_size + header_size, PyBytes_AS_STRING(body), body_size)
        _put(at, _crc32(at + 4, length - 4, seed), 4)
        records.append(record)
        offsets.data.as_uints[row] = offset
        lengths.data.as_uints[row] = length | (_HAS_HEADER if header_size else 0)
        headed += header_size > 0
        row += 1
        offset += length
    return records, offsets, lengths, headed


cdef inline uint64_t _get(const uint8_t* at, int size) noexcept nogil:
    """Read a number in little-endian order."""
    cdef uint64_t value = 0
    cdef int place
    for place in range(size):
        value |= <uint64_t> at[place] << (8 * place)
    return value


cdef inline void _fill(object target, Py_ssize_t place, object part) noexcept:
    """Set an item of a new tuple."""
    Py_INCREF(part)
    PyTuple_SET_ITEM(target, place, part)


cdef object _message(
    type make, const uint8_t* at, int64_t length, uint32_t seed, object sequence, object subject
):
    """Return the message of the record of at least `_FIXED` bytes; None if it is not as it should be."""
    cdef int64_t key_size = _get(at + 6, 2), header_size = _get(at + 12, 4)
    cdef object message, header, body, time
    if (
        at[4] != _MAGIC
        or <int64_t> _get(at + 8, 4) != length
        or _get(at + 16, 8) != <uint64_t> sequence
        or _FIXED + key_size + header_size > length
        or _crc32(at + 4, length - 4, seed) != _get(at, 4)
    ):
        return None
    time = <int64_t> _get(at + 24, 8)
    at += _FIXED + key_size
    header = PyBytes_FromStringAndSize(<const char*> at, header_size) if header_size else _EMPTY
    body = PyBytes_FromStringAndSize(<const char*> at + header_size, length - _FIXED - key_size - header_size)
    message = PyType_GenericAlloc(make, 5)  # what tuple.__new__ does, without another tuple before
    _fill(message, 0, sequence)
    _fill(message, 1, subject)
    _fill(message, 2, header)
    _fill(message, 3, body)
    _fill(message, 4, time)
    return message


def decode_message(
    type make not None, bytes data not None, uint32_t seed, sequence not None, str subject not None
):
    if not issubclass(make, tuple):
        raise TypeError("a class of tuples is needed")
    if PyBytes_GET_SIZE(data) < _FIXED:
        return None
    return _message(make, <const uint8_t*> PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), seed, sequence, subject)


def decode_messages(
    type make not None,
    bytes data not None,
    int64_t start,
    uint32_t seed,
    seqs not None,
    array.array offsets not None,
    array.array lengths not None,
    array.array numbers not None,
    list names not None,
):
    cdef Py_ssize_t count = min(len(seqs), len(offsets), len(lengths), len(numbers)), row
    cdef const uint8_t* base = <const uint8_t*> PyBytes_AS_STRING(data)
    cdef int64_t position, length, end = PyBytes_GET_SIZE(data)
    cdef uint32_t number
    cdef list messages = []
    cdef object message, subject
    if not issubclass(make, tuple):
        raise TypeError("a class of tuples is needed")
    if offsets.typecode != "I" or lengths.typecode != "I" or numbers.typecode != "I":
        raise TypeError("columns of type I are needed")
    for row in range(count):
        position = <int64_t> offsets.data.as_uints[row] - start
        length = lengths.data.as_uints[row] & 0x7FFFFFFF
        if position < 0 or length < _FIXED or position + length > end:
            break
        number = numbers.data.as_uints[row]
        subject = names[number] if number < <size_t> len(names) else None
        message = _message(make, base + position, length, seed, seqs[row], subject)
        if message is None:
            break
        if subject is None:
            raise IndexError("a subject without a name")
        messages.append(message)
    return messages


def keep_messages(
    dict stored not None, messages not None, array.array seqs not None, array.array times not None
):
    cdef Py_ssize_t count = _check_columns(len(messages), seqs, times), size = 0, row = 0
    cdef tuple message
    cdef str subject
    cdef bytes header, body
    for message in messages:
        subject = message[0]
        header = message[1]
        body = message[2]
        if row >= count:
            raise ValueError("columns of another length than the messages")
        sequence = seqs.data.as_ulonglongs[row]
        stored[sequence] = (subject, header, body, times.data.as_longlongs[row])
        if PyUnicode_IS_COMPACT_ASCII(subject):
            size += PyUnicode_GET_LENGTH(subject)
        else:
            size += len(PyUnicode_AsEncodedString(subject, "utf-8", "surrogateescape"))
        size += PyBytes_GET_SIZE(header) + PyBytes_GET_SIZE(body)
        row += 1
    return size


# --- WebSocket frames

cdef inline void _mask(char* to, const char* data, Py_ssize_t size, uint32_t key) noexcept nogil:
    """Copy with the mask over it; the key is as it lies in memory."""
    cdef uint64_t twice = (<uint64_t> key << 32) | key, word
    cdef Py_ssize_t place = 0
    while size - place >= 8:
        memcpy(&word, data + place, 8)
        word ^= twice
        memcpy(to + place, &word, 8)
        place += 8
    while place < size:
        to[place] = data[place] ^ (<const char*> &key)[place & 3]
        place += 1


def mask_bytes(bytes data not None, bytes key not None):
    cdef Py_ssize_t size = PyBytes_GET_SIZE(data)
    cdef bytes made
    cdef uint32_t mask
    if PyBytes_GET_SIZE(key) != 4:
        raise ValueError(f"a mask has 4 bytes, not {len(key)}")
    memcpy(&mask, PyBytes_AS_STRING(key), 4)
    made = PyBytes_FromStringAndSize(NULL, size)
    _mask(PyBytes_AS_STRING(made), PyBytes_AS_STRING(data), size, mask)
    return made


cdef Py_ssize_t _body(const uint8_t* at, Py_ssize_t left, bint masked, uint64_t* size) noexcept nogil:
    """Where the payload begins of a whole message of one frame, 0 if that is not what lies here. Sets its size."""
    cdef Py_ssize_t start = 2, place
    cdef uint64_t found, shorter
    if left < 2 or (at[0] != 0x81 and at[0] != 0x82) or (at[1] >> 7) != masked:
        return 0
    found = at[1] & 0x7F
    if found >= 126:
        shorter = 126 if found == 126 else 1 << 16
        start = 4 if found == 126 else 10
        if left < start:
            return 0
        found = 0
        for place in range(2, start):
            found = (found << 8) | at[place]
        if found < shorter:
            return 0
    if masked:
        start += 4
    if left < start or found > <uint64_t> (left - start):
        return 0
    size[0] = found
    return start


def take_frames(bytearray data not None, Py_ssize_t most, bint masked):
    cdef const uint8_t* base = <const uint8_t*> PyByteArray_AS_STRING(data)
    cdef Py_ssize_t end = PyByteArray_GET_SIZE(data), stop = 0, total = 0, pos = 0, body
    cdef uint64_t size = 0
    cdef uint32_t key
    cdef bytes made
    cdef char* to
    while stop < most:
        body = _body(base + stop, end - stop, masked, &size)
        if not body:
            break
        stop += body + <Py_ssize_t> size
        total += <Py_ssize_t> size
    made = PyBytes_FromStringAndSize(NULL, total)
    to = PyBytes_AS_STRING(made)
    while pos < stop:
        body = _body(base + pos, end - pos, masked, &size)
        if masked:
            memcpy(&key, base + pos + body - 4, 4)
            _mask(to, <const char*> base + pos + body, <Py_ssize_t> size, key)
        else:
            memcpy(to, base + pos + body, size)
        to += size
        pos += body + <Py_ssize_t> size
    return stop, made


# --- S2

cdef uint32_t _castagnoli_table[8][256]  # as _crc_table


_fill_table(_castagnoli_table, 0x82F63B78)


cdef extern from *:
    """
    #if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    #include <nmmintrin.h>
    #include <string.h>
    /* Processors have an instruction for it, which is ten times as fast as a table. */
    __attribute__((target("sse4.2")))
    static uint32_t crc32c_words(uint32_t crc, const uint8_t *at, Py_ssize_t size) {
        uint64_t value = crc, word;
        for (; size >= 8; at += 8, size -= 8) {
            memcpy(&word, at, 8);
            value = _mm_crc32_u64(value, word);
        }
        return (uint32_t) value;
    }
    #define HAS_CRC32C_WORDS __builtin_cpu_supports("sse4.2")
    #else
    static uint32_t crc32c_words(uint32_t crc, const uint8_t *at, Py_ssize_t size) { return crc; }
    #define HAS_CRC32C_WORDS 0
    #endif
    """
    uint32_t crc32c_words(uint32_t crc, const uint8_t* at, Py_ssize_t size) noexcept nogil
    const int HAS_CRC32C_WORDS


def crc32c(bytes data not None):
    cdef const uint8_t* at = <const uint8_t*> PyBytes_AS_STRING(data)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(data), words
    cdef uint32_t crc = 0xFFFFFFFF
    if HAS_CRC32C_WORDS:
        words = size & ~7
        crc = crc32c_words(crc, at, words)
        at += words
        size -= words
    while size >= 8:
        crc = _step(_castagnoli_table, _word(at) ^ crc)
        at += 8
        size -= 8
    while size > 0:
        crc = (crc >> 8) ^ _castagnoli_table[0][(crc ^ at[0]) & 0xFF]
        at += 1
        size -= 1
    return crc ^ <uint32_t> 0xFFFFFFFF


cdef enum:
    _S2_LONGEST = 65536
    _SHORTEST = 4
    _ENOUGH = 64
    _HASH_BITS = 14

cdef int[4] _DEPTHS = [0, 1, 8, 48]

cdef struct _Compressor:
    const uint8_t* data
    Py_ssize_t size, known, offset
    int depth, bits
    uint16_t* newest
    uint16_t* before
    uint8_t* out


cdef inline uint32_t _hash(const _Compressor* of, Py_ssize_t pos) noexcept nogil:
    cdef uint32_t word
    memcpy(&word, of.data + pos, 4)
    return <uint32_t> (word * <uint32_t> 2654435761) >> (32 - of.bits)


cdef inline void _note(_Compressor* of, Py_ssize_t pos) noexcept nogil:
    cdef uint32_t found
    if pos >= of.known:
        found = _hash(of, pos)
        of.before[pos] = of.newest[found]
        of.newest[found] = <uint16_t> (pos + 1)
        of.known = pos + 1


cdef inline Py_ssize_t _same(const _Compressor* of, Py_ssize_t one, Py_ssize_t other) noexcept nogil:
    cdef uint64_t first, second
    cdef Py_ssize_t start = other
    while of.size - other >= 8:
        memcpy(&first, of.data + one, 8)
        memcpy(&second, of.data + other, 8)
        if first != second:
            break
        one += 8
        other += 8
    while other < of.size and of.data[one] == of.data[other]:
        one += 1
        other += 1
    return other - start


cdef inline Py_ssize_t _find(_Compressor* of, Py_ssize_t pos, Py_ssize_t* offset) noexcept nogil:
    cdef Py_ssize_t best = _SHORTEST - 1, length, place
    cdef int left = of.depth
    offset[0] = 0
    if 0 < of.offset <= pos:
        length = _same(of, pos - of.offset, pos)
        if length > best:
            best, offset[0] = length, of.offset
    place = of.newest[_hash(of, pos)]
    while place and left:
        # None can be longer that differs where the best one ends.
        if pos + best < of.size and of.data[place - 1 + best] == of.data[pos + best]:
            length = _same(of, place - 1, pos)
            if length > best:
                best, offset[0] = length, pos - place + 1
        place = of.before[place - 1]
        left -= 1
    _note(of, pos)
    return best if offset[0] else 0


cdef inline void _add_literal(_Compressor* of, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    cdef Py_ssize_t length = stop - start - 1
    if length < 0:
        return
    if length < 60:
        of.out[0] = <uint8_t> (length << 2)
        of.out += 1
    elif length < 256:
        of.out[0] = 60 << 2
        of.out[1] = <uint8_t> length
        of.out += 2
    else:
        of.out[0] = 61 << 2
        of.out[1] = <uint8_t> length
        of.out[2] = <uint8_t> (length >> 8)
        of.out += 3
    memcpy(of.out, of.data + start, length + 1)
    of.out += length + 1


cdef inline void _add_copy(_Compressor* of, Py_ssize_t offset, Py_ssize_t length) noexcept nogil:
    cdef Py_ssize_t first
    if offset != of.offset:
        of.offset = offset
        first = length if length <= 64 else 60
        if first < 12 and offset < 2048:
            of.out[0] = <uint8_t> (1 | (first - 4) << 2 | (offset >> 8) << 5)
            of.out[1] = <uint8_t> offset
            of.out += 2
        else:
            of.out[0] = <uint8_t> (2 | (first - 1) << 2)
            of.out[1] = <uint8_t> offset
            of.out[2] = <uint8_t> (offset >> 8)
            of.out += 3
        length -= first
    if not length:
        return
    if length <= 8:
        of.out[0] = <uint8_t> (1 | (length - 4) << 2)
        of.out[1] = 0
        of.out += 2
    elif length < 264:
        of.out[0] = 1 | 5 << 2
        of.out[1] = 0
        of.out[2] = <uint8_t> (length - 8)
        of.out += 3
    else:
        length -= 260
        of.out[0] = 1 | 6 << 2
        of.out[1] = 0
        of.out[2] = <uint8_t> length
        of.out[3] = <uint8_t> (length >> 8)
        of.out += 4


cdef void _compress(_Compressor* of) noexcept nogil:
    cdef Py_ssize_t size = of.size, last = size - _SHORTEST, start = 0, pos = 0, misses = 0
    cdef Py_ssize_t length, longer, offset = 0, other = 0, place
    while size > 127:
        of.out[0] = <uint8_t> (size & 127 | 128)
        of.out += 1
        size >>= 7
    of.out[0] = <uint8_t> size
    of.out += 1
    while pos <= last:
        length = _find(of, pos, &offset)
        if length < _SHORTEST:
            pos += 1 + ((misses >> 5) if of.depth == 1 else 0)
            misses += 1
            continue
        while of.depth > 1 and length < _ENOUGH and pos < last:
            longer = _find(of, pos + 1, &other)
            if longer <= length:
                break
            pos, length, offset = pos + 1, longer, other
        _add_literal(of, start, pos)
        _add_copy(of, offset, length)
        pos += length
        if of.depth > 1:
            for place in range(of.known, min(pos, last + 1)):
                _note(of, place)
        elif pos - 2 <= last:
            _note(of, pos - 2)
        start, misses = pos, 0
    _add_literal(of, start, of.size)


def compress_s2(bytes data not None, int effort):
    cdef _Compressor of
    cdef Py_ssize_t size = PyBytes_GET_SIZE(data), tables, bits = 6
    cdef uint8_t* memory
    cdef uint8_t* out
    if not 0 < effort < 4 or size > _S2_LONGEST:
        raise ValueError(f"{size} bytes with an effort of {effort}")
    while bits < _HASH_BITS and (size >> bits):
        bits += 1
    # Each copy takes fewer bytes than it stands for, and has at most one literal before it.
    tables = ((<Py_ssize_t> 1 << bits) + size) * sizeof(uint16_t)
    memory = <uint8_t*> malloc(tables + size + size // 16 + 16)
    if memory == NULL:
        raise MemoryError
    of.data, of.size, of.known, of.offset = <const uint8_t*> PyBytes_AS_STRING(data), size, 0, 0
    of.depth, of.bits = _DEPTHS[effort], <int> bits
    of.newest = <uint16_t*> memory
    of.before = of.newest + (<Py_ssize_t> 1 << bits)
    memset(of.newest, 0, (<Py_ssize_t> 1 << bits) * sizeof(uint16_t))
    out = of.out = memory + tables
    _compress(&of)
    made = PyBytes_FromStringAndSize(<char*> out, of.out - out)
    free(memory)
    return made


cdef bint _decompress(const uint8_t* at, const uint8_t* end, uint8_t* out, Py_ssize_t size) noexcept nogil:
    """Whether the tags make exactly `size` bytes, which are then there."""
    cdef Py_ssize_t done = 0, length, offset = 0, extra, piece, span
    cdef uint8_t tag
    while at < end:
        tag = at[0]
        extra = 0
        if tag & 3 == 0:
            length = tag >> 2
            at += 1
            if length >= 60:
                extra = length - 59
                if end - at < extra:
                    return False
                length = <Py_ssize_t> _get(at, <int> extra)
                at += extra
            length += 1
            if length > end - at or length > size - done:
                return False
            memcpy(out + done, at, length)
            at += length
            done += length
            continue
        if tag & 3 == 1:
            if end - at < 2:
                return False
            length = (tag >> 2) & 7
            if (tag & 0xE0) or at[1]:
                offset = (<Py_ssize_t> (tag & 0xE0) << 3) | at[1]
                at += 2
            else:
                at += 2
                if length > 4:
                    extra = length - 4
                    if end - at < extra:
                        return False
                    length = <Py_ssize_t> _get(at, <int> extra)
                    length += 4 if extra == 1 else 1 << 8 if extra == 2 else 1 << 16
                    at += extra
            length += 4
        else:
            extra = 2 if tag & 3 == 2 else 4
            if end - at < 1 + extra:
                return False
            length = 1 + (tag >> 2)
            offset = <Py_ssize_t> _get(at + 1, <int> extra)
            at += 1 + extra
        if offset <= 0 or offset > done or length > size - done:
            return False
        span = offset
        while length > 0:  # what reaches into itself repeats, twice as much each time
            piece = span if span < length else length
            memcpy(out + done, out + done - span, piece)
            done += piece
            length -= piece
            span += piece
    return done == size


def decompress_s2(bytes block not None, Py_ssize_t most):
    cdef const uint8_t* base = <const uint8_t*> PyBytes_AS_STRING(block)
    cdef Py_ssize_t end = PyBytes_GET_SIZE(block), at = 0
    cdef uint64_t size = 0
    cdef bytes made
    while True:
        if at >= end or at >= 5:
            return None
        size |= (<uint64_t> (base[at] & 127)) << (7 * at)
        at += 1
        if base[at - 1] < 128:
            break
    if most < 0 or size > <uint64_t> most:
        return None
    made = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> size)
    if _decompress(base + at, base + end, <uint8_t*> PyBytes_AS_STRING(made), <Py_ssize_t> size):
        return made
    return None
