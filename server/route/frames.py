"""Messages as route frames: leaf frames with the account in front, and where a leaf's came from.

See `leaf.frames` for the subject that travels in a delivery's reply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.wire import encode

if TYPE_CHECKING:
    from ..accounts.subscription import RoutedMessage


def route_frame(
    account: bytes, msg: RoutedMessage, queues: tuple[bytes, ...], origin: bytes, headers: bool
) -> tuple[bytes, bytes, int]:
    """(prefix, tail, size) of the frame for one peer. origin: the cluster of the leaf it came from."""
    reply, size, tail = msg.reply, msg.size, msg.tail
    header_size = msg.header_size
    if header_size and not headers:
        tail = encode.without_header(reply, header_size, size, tail)
        size -= header_size
        header_size = 0
    carried = bool(msg.shown and reply)
    if origin:
        lead = b"LMSG %b %b %b " % (origin, account, msg.subject)
    else:
        lead = b"%b %b %b " % (b"HMSG" if header_size else b"RMSG", account, msg.subject)
    if not queues and not carried and (header_size or not origin):
        return lead, tail, size
    rest = tail[len(reply) + 1 :] if reply else tail
    if origin and not header_size:
        rest = b"0 " + rest  # of these the size of the header is always given
    if carried:
        reply = b"%b@%b" % (reply, msg.shown)
    if queues:
        between = b"+ %b " % reply if reply else b"| "
        return b"%b%b%b " % (lead, between, b" ".join(queues)), rest, size
    return lead + (reply + b" " if reply else b""), rest, size
