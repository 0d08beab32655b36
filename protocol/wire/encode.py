"""Frames to send: one function per frame, bytes out. No checks: who calls has valid parts.

A delivered message is ``b"MSG " + subject + b" " + sid + b" " + tail`` (``HMSG`` with headers), where `tail`
is what the client parser gives or `tail` below makes, so that one tail serves all receivers.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..gojson import encode as json_bytes

PING: Final = b"PING\r\n"
PONG: Final = b"PONG\r\n"
OK: Final = b"+OK\r\n"


def info(fields: Mapping[str, Any]) -> bytes:
    """INFO as servers send it, with the blank before the line's end."""
    return b"INFO " + json_bytes(fields) + b" \r\n"


def connect(fields: Mapping[str, Any]) -> bytes:
    """CONNECT of a client or a leaf."""
    return b"CONNECT " + json_bytes(fields) + b"\r\n"


def err(text: str) -> bytes:
    """-ERR with its text in quotes, and in one line whatever is in it."""
    line = text.replace("\r", " ").replace("\n", " ")
    return f"-ERR '{line}'\r\n".encode("utf-8", "backslashreplace")


def tail(reply: bytes, header: bytes, body: bytes) -> bytes:
    """Everything of a message after subject and sid, in the canonical form."""
    lead = reply + b" " if reply else b""
    if header:
        return b"%b%d %d\r\n%b%b\r\n" % (lead, len(header), len(header) + len(body), header, body)
    return b"%b%d\r\n%b\r\n" % (lead, len(body), body)


def without_header(reply: bytes, header_size: int, size: int, tail: bytes) -> bytes:
    """Turn the tail of a message with headers into one without, for a peer that has none."""
    body = tail[len(tail) - 2 - size + header_size :]
    lead = reply + b" " if reply else b""
    return b"%b%d\r\n%b" % (lead, size - header_size, body)


def msg(subject: bytes, sid: bytes, reply: bytes, header: bytes, body: bytes) -> bytes:
    """MSG, or HMSG if there is a header block."""
    verb = b"HMSG" if header else b"MSG"
    return b"%b %b %b %b" % (verb, subject, sid, tail(reply, header, body))


def no_responders(reply: bytes, sid: bytes, subject: bytes) -> bytes:
    """Status 503 to a requester that nobody received on `subject`."""
    header = b"NATS/1.0 503\r\nNats-Subject: %b\r\n\r\n" % subject
    return b"HMSG %b %b %d %d\r\n%b\r\n" % (reply, sid, len(header), len(header), header)


def pub(subject: bytes, reply: bytes, header: bytes, body: bytes) -> bytes:
    """PUB, or HPUB if there is a header block."""
    return b"%b %b %b" % (b"HPUB" if header else b"PUB", subject, tail(reply, header, body))


def sub(subject: bytes, queue: bytes, sid: bytes) -> bytes:
    """SUB, with a queue group unless empty."""
    return b"SUB %b %b %b\r\n" % (subject, queue, sid) if queue else b"SUB %b %b\r\n" % (subject, sid)


def unsub(sid: bytes, limit: int = 0) -> bytes:
    """UNSUB now, or after `limit` messages."""
    return b"UNSUB %b %d\r\n" % (sid, limit) if limit else b"UNSUB %b\r\n" % sid


def leaf_sub(subject: bytes, queue: bytes = b"", weight: int = 1) -> bytes:
    """LS+, with weight (members of the group here) for a queue group."""
    return b"LS+ %b %b %d\r\n" % (subject, queue, weight) if queue else b"LS+ %b\r\n" % subject


def leaf_unsub(subject: bytes, queue: bytes = b"") -> bytes:
    """LS-."""
    return b"LS- %b %b\r\n" % (subject, queue) if queue else b"LS- %b\r\n" % subject


def route_sub(account: bytes, subject: bytes, queue: bytes, weight: int, origin: bytes) -> bytes:
    """RS+, or LS+ for interest of a leaf that belongs to the cluster `origin`."""
    lead = b"LS+ %b" % origin if origin else b"RS+"
    if queue:
        return b"%b %b %b %b %d\r\n" % (lead, account, subject, queue, weight)
    return b"%b %b %b\r\n" % (lead, account, subject)


def route_unsub(account: bytes, subject: bytes, queue: bytes, lead: bytes = b"RS-") -> bytes:
    """RS-. What was told with LS+ ends with the lead `LS- origin`, for an older peer `LS-`."""
    fields = (lead, account, subject, queue) if queue else (lead, account, subject)
    return b" ".join(fields) + b"\r\n"
