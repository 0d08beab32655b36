"""ReplyInfo: what the reply subject of a delivered message contains.

`$JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>`, or with domain and
account hash before the stream and possibly more tokens at the end; what crossed a leaf or route carries
`@<subject>` behind it. Promises: pure; None for anything else.
"""

from __future__ import annotations

from typing import NamedTuple


class ReplyInfo(NamedTuple):
    """One delivery.

    tries: how often it was delivered, this time included. time: ns, when the origin stored it. subject: ""
    when the reply does not have it.
    """

    stream: str
    consumer: str
    tries: int
    stream_seq: int
    consumer_seq: int
    time: int
    pending: int
    subject: str


def read_delivery(reply: str) -> ReplyInfo | None:
    """Read a reply subject."""
    acks, _, subject = reply.partition("@")
    tokens = acks.split(".")
    if len(tokens) == 9:
        at = 2
    elif len(tokens) >= 11:
        at = 4
    else:
        return None
    if tokens[0] != "$JS" or tokens[1] != "ACK":
        return None
    numbers = tokens[at + 2 : at + 7]
    if not all(number.isdigit() for number in numbers):
        return None
    tries, stream_seq, consumer_seq, time, pending = map(int, numbers)
    return ReplyInfo(tokens[at], tokens[at + 1], tries, stream_seq, consumer_seq, time, pending, subject)
