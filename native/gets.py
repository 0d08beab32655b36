"""Direct gets: reading requests for one message each, and making the headers of the answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

# A body that asks for one message and nothing else: by its sequence, or the last one of a literal subject in
# ASCII without escapes.
_SINGLE = re.compile(rb'\{ ?"(?:seq": ?([1-9][0-9]{0,18})|last_by_subj": ?"([!#-)+-=?-\[\]-~]+)") ?\}')
_VERSION = b"NATS/1.0\r\n"
_NO_TIME = "0001-01-01T00:00:00Z"


def read_gets(publishes: Sequence[tuple[bytes, bytes, int, int, bytes]]) -> list[int | str | None]:
    """Return the one message that each request asks for: its sequence, or the subject it is the last of.

    None if it has headers, or if its body must be decoded as JSON. The subject may also follow the fifth dot
    of the subject of the request, which then has no body.

    publishes: (subject, reply, header_size, size, tail) of each, see `protocol.wire.ops`.
    """
    return [_wanted(*publish) for publish in publishes]


def _wanted(subject: bytes, _reply: bytes, header_size: int, size: int, tail: bytes) -> int | str | None:
    if header_size:
        return None
    by_subject = subject.split(b".", 5)[5:]
    if by_subject:
        key = by_subject[0]
        return None if size or b"*" in key or b">" in key else key.decode("utf-8", "surrogateescape")
    found = _SINGLE.fullmatch(tail, len(tail) - 2 - size, len(tail) - 2)
    if found is None:
        return None
    sequence, last = found.groups()
    return int(sequence) if sequence else last.decode()


def head_answers(
    answers: Sequence[tuple[Any, ...]], stream: str, second: Callable[[int], str]
) -> list[tuple[bytes, bytes, bytes]]:
    """Return (reply, header, body) of answers, each of which is that already, or (reply, message).

    The header of such an answer is the message's own with where it is stored.

    A message is (sequence, subject, header, body, time in ns).
    second: returns a time in s as RFC 3339 has it, up to the seconds.
    """
    return [
        answer if len(answer) == 3 else (answer[0], _header(answer[1], stream, second), answer[1][3])
        for answer in answers
    ]


def _header(message: tuple[int, str, bytes, bytes, int], stream: str, second: Callable[[int], str]) -> bytes:
    sequence, subject, header, _, time = message
    seconds, fraction = divmod(time, 1_000_000_000)
    stamp = f"{second(seconds)}.{fraction:09d}".rstrip("0").rstrip(".") + "Z" if time else _NO_TIME
    text = (
        f"Nats-Stream: {stream}\r\nNats-Subject: {subject}\r\nNats-Sequence: {sequence}\r\n"
        f"Nats-Time-Stamp: {stamp}\r\n\r\n"
    )
    return (header[:-2] if header else _VERSION) + text.encode("utf-8", "surrogateescape")
