"""Operations: what the parsers make of frames. Each is a tuple that begins with one of these codes.

Of a client:
    (PUB | HPUB, subject, reply, header_size, size, tail)
    (SUB, subject, queue, sid)
    (UNSUB, sid, max)

Of a leaf:
    (PUB | HPUB, subject, reply, header_size, size, tail): a message to every plain subscription
    (LMSG, subject, reply, queues, header_size, size, payload): a message that names queue groups, too
    (LSUB, subject, queue, weight)
    (LUNSUB, subject, queue)

Of a route:
    (ACCOUNT, account): the account of each PUB and HPUB that follows, until the next ACCOUNT; also before an
        LMSG without an origin
    (PUB | HPUB, ...): as of a leaf
    (LMSG, subject, reply, queues, header_size, size, payload, [origin,] account): a message that names queue
        groups or the cluster that it comes from
    (LSUB, subject, queue, weight, origin, account)
    (LUNSUB, subject, queue, origin, account)

Of a gateway: as of a route, and
    (ASUB, account): its cluster has interest in an account again
    (AUNSUB, account): its cluster has none

Of all:
    (CONNECT, json), (INFO, json), (PING,), (PONG,), (OK,), (ERR, text), (VIOLATION, PeerError)

tail: everything after the subject, in the form that MSG and HMSG need: `[reply ][header_size ]size`, and the
payload in CRLF. size: the bytes of header and payload together.

The codes are plain ints, not an enum, because they are compared for each message.
"""

from typing import Any, Final

from ...native import publishes

PUB: Final = publishes.PUB
HPUB: Final = publishes.HPUB
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
ASUB: Final = 15
AUNSUB: Final = 16
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
    ASUB: "A+",
    AUNSUB: "A-",
    VIOLATION: "fault",
}
