"""Finding whole publishes of the common form in what a peer has sent."""

from __future__ import annotations

import re
from typing import Any, Final

PUB: Final = 1
HPUB: Final = 2
_NAME = rb"([^ \t\r\n]+) (?:([^ \t\r\n]+) )?"  # subject and reply
_fields = re.compile(_NAME + rb"([0-9]{1,9})\r\n").match
_header_fields = re.compile(_NAME + rb"([0-9]{1,9}) ([0-9]{1,9})\r\n").match


def scan_publishes(
    data: bytes, pos: int, most: int, longest: int, largest: int, verbs: tuple[bytes, bytes], ops: list[Any]
) -> int:
    """Append the publishes that begin at `pos` to `ops`, and return where the first other frame begins.

    A publish of the common form is ``VERB subject [reply] size`` or ``HVERB subject [reply] header_size
    size`` with single blanks and CRLF, and its whole payload. Anything else ends the scan, for the caller to
    look at: other verbs, tabs, an unfinished frame, a size above `largest`, arguments above `longest` bytes,
    an empty header.

    most: how many are appended at most.
    verbs: the verb without and with headers, each with its blank; b"" for none.
    ops: receives (PUB, subject, reply, 0, size, tail) and (HPUB, subject, reply, header_size, size, tail).
        `tail` is what follows the subject and its blank, to the end of the frame.
    """
    verb, header_verb = verbs
    verb_size, header_verb_size = len(verb), len(header_verb)
    append = ops.append
    for _ in range(most):
        if verb and data.startswith(verb, pos):
            at = pos + verb_size
            found = _fields(data, at)
            if found is None:
                return pos
            subject, reply, digits = found.groups(b"")
            code, header_size, size = PUB, 0, int(digits)
        elif header_verb and data.startswith(header_verb, pos):
            at = pos + header_verb_size
            found = _header_fields(data, at)
            if found is None:
                return pos
            subject, reply, header_digits, digits = found.groups(b"")
            code, header_size, size = HPUB, int(header_digits), int(digits)
            if not 0 < header_size <= size:
                return pos
        else:
            return pos
        payload_at = found.end()
        stop = payload_at + size + 2
        if size > largest or payload_at - 2 - at > longest or data[stop - 2 : stop] != b"\r\n":
            return pos
        append((code, subject, reply, header_size, size, data[at + len(subject) + 1 : stop]))
        pos = stop
    return pos
