"""Messages as route frames: leaf frames with the account in front, and the origin of a leaf's message.

See `leaf.frames` for what a reply carries besides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.wire import encode
from ..leaf.frames import full_reply

if TYPE_CHECKING:
    from ..accounts.subscription import RoutedMessage


def route_frame(
    account: bytes, msg: RoutedMessage, queues: tuple[bytes, ...], origin: bytes, headers: bool
) -> tuple[bytes, bytes, int]:
    """Return (prefix, tail, size) of the frame for one peer.

    account: its name, b"" on the route of a pinned account.
    queues: the queue groups that the peer must serve.
    origin: the cluster of the leaf that the message came from.
    headers: whether the peer accepts headers.
    """
    reply, size, tail = msg.reply, msg.size, msg.tail
    header_size = msg.header_size
    if header_size and not headers:
        tail = encode.without_header(reply, header_size, size, tail)
        size -= header_size
        header_size = 0
    carried = bool((msg.shown or msg.way) and reply)
    name = account + b" " if account else b""
    if origin:
        lead = b"LMSG %b %b%b " % (origin, name, msg.subject)
    else:
        lead = b"%b %b%b " % (b"HMSG" if header_size else b"RMSG", name, msg.subject)
    if not queues and not carried and (header_size or not origin):
        return lead, tail, size
    rest = tail[len(reply) + 1 :] if reply else tail
    if origin and not header_size:
        rest = b"0 " + rest  # an LMSG always has the size of the header
    if carried:
        reply = full_reply(msg)
    if queues:
        between = b"+ %b " % reply if reply else b"| "
        return b"%b%b%b " % (lead, between, b" ".join(queues)), rest, size
    return lead + (reply + b" " if reply else b""), rest, size
