"""Operation codes of parsed frames. The parsers give tuples whose first field is one of these.

client connection:  (PUB | HPUB, subject, reply, header_size, size, tail), (SUB, subject, queue, sid),
                    (UNSUB, sid, max)
leaf connection:    (LSUB, subject, queue, weight), (LUNSUB, subject, queue),
                    (PUB | HPUB, ...) as a client's for what is meant for all who hear it, and
                    (LMSG, subject, reply, queues, header_size, size, payload) for all else
route:              the same with more fields at the end, see `route.RouteParser`
both:              (CONNECT, json), (INFO, json), (PING,), (PONG,), (OK,), (ERR, text), (VIOLATION, PeerError)

Plain ints, not an enum: they are compared once per message.
"""

from typing import Any, Final

PUB: Final = 1
HPUB: Final = 2
SUB: Final = 3
UNSUB: Final = 4
CONNECT: Final = 5
PING: Final = 6
PONG: Final = 7
INFO: Final = 8
OK: Final = 9
ERR: Final = 10
LSUB: Final = 11
LUNSUB: Final = 12
LMSG: Final = 13
ACCOUNT: Final = 14
VIOLATION: Final = 99

Op = tuple[Any, ...]

NAMES: Final = {
    PUB: "PUB",
    HPUB: "HPUB",
    SUB: "SUB",
    UNSUB: "UNSUB",
    CONNECT: "CONNECT",
    PING: "PING",
    PONG: "PONG",
    INFO: "INFO",
    OK: "+OK",
    ERR: "-ERR",
    LSUB: "LS+",
    LUNSUB: "LS-",
    LMSG: "LMSG",
    ACCOUNT: "account",
    VIOLATION: "fault",
}
