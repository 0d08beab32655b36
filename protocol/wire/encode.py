"""The frames to send: one function for each kind of frame. They check nothing: the caller passes valid parts.

A delivered message is ``b"MSG " + subject + b" " + sid + b" " + tail`` (``HMSG`` with headers), where `tail`
is what the client parser returns or `tail` below makes, so that one tail serves all receivers.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..gojson import encode as json_bytes

PING: Final = b"PING\r\n"
PONG: Final = b"PONG\r\n"
OK: Final = b"+OK\r\n"


def info(fields: Mapping[str, Any]) -> bytes:
    """Return INFO as servers send it, with a blank before the line's end."""
    return b"INFO " + json_bytes(fields) + b" \r\n"


def connect(fields: Mapping[str, Any]) -> bytes:
    """Return CONNECT of a client or a leaf."""
    return b"CONNECT " + json_bytes(fields) + b"\r\n"


def err(text: str) -> bytes:
    """Return -ERR with its text in quotes. Line breaks in the text become blanks."""
    line = text.replace("\r", " ").replace("\n", " ")
    return f"-ERR '{line}'\r\n".encode("utf-8", "backslashreplace")


def tail(reply: bytes, header: bytes, body: bytes) -> bytes:
    """Return everything of a message after subject and sid, in the canonical form."""
    lead = reply + b" " if reply else b""
    if header:
        return b"%b%d %d\r\n%b%b\r\n" % (lead, len(header), len(header) + len(body), header, body)
    return b"%b%d\r\n%b\r\n" % (lead, len(body), body)


def without_header(reply: bytes, header_size: int, size: int, tail: bytes) -> bytes:
    """Return the tail of a message with its headers left out, for a peer that does not support them."""
    body = tail[len(tail) - 2 - size + header_size :]
    lead = reply + b" " if reply else b""
    return b"%b%d\r\n%b" % (lead, size - header_size, body)


def msg(subject: bytes, sid: bytes, reply: bytes, header: bytes, body: bytes) -> bytes:
    """Return MSG, or HMSG if there is a header block."""
    verb = b"HMSG" if header else b"MSG"
    return b"%b %b %b %b" % (verb, subject, sid, tail(reply, header, body))


def no_responders(reply: bytes, sid: bytes, subject: bytes) -> bytes:
    """Return status 503 for a requester whose request on `subject` nobody received."""
    header = b"NATS/1.0 503\r\nNats-Subject: %b\r\n\r\n" % subject
    return b"HMSG %b %b %d %d\r\n%b\r\n" % (reply, sid, len(header), len(header), header)


def pub(subject: bytes, reply: bytes, header: bytes, body: bytes) -> bytes:
    """Return PUB, or HPUB if there is a header block."""
    return b"%b %b %b" % (b"HPUB" if header else b"PUB", subject, tail(reply, header, body))


def sub(subject: bytes, queue: bytes, sid: bytes) -> bytes:
    """Return SUB, with a queue group unless it is empty."""
    return b"SUB %b %b %b\r\n" % (subject, queue, sid) if queue else b"SUB %b %b\r\n" % (subject, sid)


def unsub(sid: bytes, limit: int = 0) -> bytes:
    """Return UNSUB, to take effect now or after `limit` messages."""
    return b"UNSUB %b %d\r\n" % (sid, limit) if limit else b"UNSUB %b\r\n" % sid


def leaf_sub(subject: bytes, queue: bytes = b"", weight: int = 1) -> bytes:
    """Return LS+. A queue group has a weight, the number of its members here."""
    return b"LS+ %b %b %d\r\n" % (subject, queue, weight) if queue else b"LS+ %b\r\n" % subject


def leaf_unsub(subject: bytes, queue: bytes = b"") -> bytes:
    """Return LS-."""
    return b"LS- %b %b\r\n" % (subject, queue) if queue else b"LS- %b\r\n" % subject


def route_sub(account: bytes, subject: bytes, queue: bytes, weight: int, origin: bytes) -> bytes:
    """Return RS+, or LS+ for the interest of a leaf that belongs to the cluster `origin`.

    account: b"" on the route of a pinned account.
    """
    lead = b"LS+ %b" % origin if origin else b"RS+"
    fields = (lead, account, subject) if account else (lead, subject)
    end = b" %b %d\r\n" % (queue, weight) if queue else b"\r\n"
    return b" ".join(fields) + end


def route_unsub(account: bytes, subject: bytes, queue: bytes, lead: bytes = b"RS-") -> bytes:
    """Return RS-. Interest sent with LS+ ends with the lead `LS- origin`, or `LS-` for an older peer.

    account: b"" on the route of a pinned account.
    """
    return b" ".join(field for field in (lead, account, subject, queue) if field) + b"\r\n"


def account_unsub(account: bytes) -> bytes:
    """Return A-, by which a cluster tells another one that it has no interest in an account at all."""
    return b"A- %b\r\n" % account
