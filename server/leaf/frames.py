"""Messages as leaf frames: what a peer must know besides the message itself.

A delivery of JetStream is matched by the consumer's delivery subject, and shown under the subject of the
stored message. Between servers the frame carries the first, and the second is appended to the ack subject in
`reply`, after an `@`. A way back through gateways stands before the reply; see `accounts.reply_ways`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...protocol import gojson
from ...protocol import headers as header_block
from ...protocol.gateway_reply import split_way
from ...protocol.wire import encode
from ..accounts.ack_routes import ACKS

if TYPE_CHECKING:
    from ..accounts.reply_ways import ReplyWays
    from ..accounts.subscription import RoutedMessage

__all__ = ["full_reply", "leaf_frame", "read_reply", "split_delivery"]

_REQUEST_INFO = b"Nats-Request-Info"
_ACK_DOTS = 8  # $JS.ACK.<stream>.<consumer>.<tries>.<stream seq>.<consumer seq>.<time>.<pending>


def split_delivery(reply: bytes) -> tuple[bytes, bytes]:
    """Return an ack subject and the subject that was appended to it, b"" if there was none."""
    parts = reply.split(b".", _ACK_DOTS)
    if len(parts) <= _ACK_DOTS:
        return reply, b""
    _, mark, shown = parts[_ACK_DOTS].partition(b"@")
    if not mark or not shown:
        return reply, b""
    return reply[: len(reply) - len(shown) - 1], shown


def read_reply(reply: bytes, ways: ReplyWays) -> tuple[bytes, bytes, bytes]:
    """Return the parts of a server's reply: the way back before it, the reply, and what is shown after it.

    A way back is remembered.
    """
    way, reply = split_way(reply)
    shown = b""
    if reply.startswith(ACKS):
        reply, shown = split_delivery(reply)
    if way:
        ways.remember(reply, way)
    return way, reply, shown


def leaf_frame(
    msg: RoutedMessage, queues: tuple[bytes, ...], headers: bool, accounts: Mapping[str, str]
) -> tuple[bytes, bytes, int]:
    """Return (prefix, tail, size) of the frame for one peer.

    queues: the queue groups that the peer must serve.
    headers: whether the peer accepts headers.
    accounts: names of accounts here -> the peer's names of them, to describe who asks a service.
    """
    subject, reply, size, tail = msg.subject, msg.reply, msg.size, msg.tail
    header_size = msg.header_size
    if header_size and not headers:
        tail = encode.without_header(reply, header_size, size, tail)
        size -= header_size
        header_size = 0
    elif header_size and accounts and _REQUEST_INFO in tail:
        header = _renamed_account(msg.header, accounts)
        if header is not None:
            tail = encode.tail(reply, header, msg.body)
            size += len(header) - header_size
            header_size = len(header)
    verb = b"HMSG" if header_size else b"LMSG"
    carried = bool((msg.shown or msg.way) and reply)
    if not queues and not carried:
        return b"%b %b " % (verb, subject), tail, size
    rest = tail[len(reply) + 1 :] if reply else tail
    if carried:
        reply = full_reply(msg)
    if queues:
        lead = b"+ %b " % reply if reply else b"| "
        return b"%b %b %b%b " % (verb, subject, lead, b" ".join(queues)), rest, size
    return b"%b %b %b " % (verb, subject, reply), rest, size


def full_reply(msg: RoutedMessage) -> bytes:
    """Return the reply with what other servers must know; see the module."""
    return b"%b%b@%b" % (msg.way, msg.reply, msg.shown) if msg.shown else msg.way + msg.reply


def _renamed_account(header: bytes, accounts: Mapping[str, str]) -> bytes | None:
    """Return the header with the peer's name for the asker's account, None if nothing changes."""
    given = header_block.get(header, _REQUEST_INFO)
    try:
        info = gojson.decode(given) if given else None
    except ValueError:
        return None
    if not isinstance(info, dict):
        return None
    name = accounts.get(str(info.get("acc")))
    if name is None or name == info["acc"]:
        return None
    info["acc"] = name
    return header_block.set(header, _REQUEST_INFO, json.dumps(info, separators=(",", ":")).encode())
