"""Direct gets."""

from __future__ import annotations

import random

from .. import traffic
from ..load import Wire
from .meter import Measured
from .publishing import fill
from .windows import INBOX, in_window, subscribed


def got(
    port: int, count: int, pids: list[int], *, by: str = "subject", window: int = 32, keys: int = 20_000
) -> Measured:
    """Direct gets of the keys of a bucket in random order, each with an inbox of its own: gets per second.

    by: how a message is named: "subject" is the last one of the request's subject, as clients read a key;
        "last" the last one of a subject in the body; "sequence" the one with a sequence.
    window: how many may be without an answer.
    """
    config = {
        "name": "KV_BENCH",
        "subjects": ["$KV.BENCH.>"],
        "allow_direct": True,
        "max_msgs_per_subject": 1,
    }
    Wire(port).request("$JS.API.STREAM.CREATE.KV_BENCH", config)
    names = traffic.subjects(keys, "$KV.BENCH")
    fill(port, names, traffic.LARGEST)
    draw = random.Random(3)
    asked = []
    for number in range(count):
        at = draw.randrange(keys)
        subject, body = "$JS.API.DIRECT.GET.KV_BENCH", b""
        if by == "subject":
            subject += f".{names[at]}"
        elif by == "last":
            body = b'{"last_by_subj":"%b"}' % names[at].encode()
        else:
            body = b'{"seq":%d}' % (at + 1)
        reply = f"{INBOX}.{traffic.identifier(draw, 6)}{number:X}"
        asked.append(b"PUB %b %b %d\r\n%b\r\n" % (subject.encode(), reply.encode(), len(body), body))
    return in_window(subscribed(port), asked, window, b"\r\nNats-Sequence: ", pids)
