"""Mutated client protocol sent to both servers: the same frames come back, and both or neither close.

A seed is a session: well-formed lines of which one is damaged. The server stays up, whatever was sent.
"""

from __future__ import annotations

import random
import re
import socket
from contextlib import suppress

import pytest
from lib.pool import Pool
from lib.wire import Wire

CONFIG = "listen: 127.0.0.1:<client>\nserver_name: S\nmax_payload: 2000\nmax_control_line: 1000\n"
CONNECT = 'CONNECT {"verbose":%s,"pedantic":%s,"headers":true,"no_responders":true,"protocol":0}\r\n'
LINES = [
    "PING\r\n",
    "PONG\r\n",
    "SUB a 1\r\n",
    "SUB a.* q 2\r\n",
    "SUB > 3\r\n",
    "UNSUB 1\r\n",
    "UNSUB 2 1\r\n",
    "PUB a 5\r\nhello\r\n",
    "PUB a reply.to 5\r\nhello\r\n",
    "PUB nobody a 0\r\n\r\n",
    "HPUB a 22 27\r\nNATS/1.0\r\nKey: val\r\n\r\nhello\r\n",
    "HPUB a.b r.r 12 12\r\nNATS/1.0\r\n\r\n\r\n",
    "+OK\r\n",
    'CONNECT {"verbose":false}\r\n',
]
# What a CR without its LF means inside a line is left open.
LONE_CR = re.compile(rb"\r(?!\n)")
NOISE = [
    "\r\n",
    " ",
    "\t",
    "9",
    "-",
    "*",
    ">",
    ".",
    "..",
    "é",
    "PUB",
    "{",
    '"',
    "\x7f",
    "00000000",
]


def damage(rng: random.Random, line: str) -> str:
    """One small accident."""
    at = rng.randrange(len(line))
    kind = rng.randrange(5)
    if kind == 0:
        return line[:at] + line[at + 1 :]
    if kind == 1:
        return line[:at] + rng.choice(NOISE) + line[at:]
    if kind == 2:
        return line[:at] + rng.choice(NOISE) + line[at + 1 :]
    if kind == 3:
        return line[:at] + line[at : at + 4] * rng.randrange(2, 30) + line[at + 4 :]
    return line[:at]


def session(rng: random.Random) -> bytes:
    """A CONNECT, some lines, a damaged one, some more, and a PING at the end."""
    connect = CONNECT % (rng.choice(["true", "false"]), rng.choice(["true", "false"]))
    lines = [rng.choice(LINES) for _ in range(rng.randrange(1, 6))]
    after = [rng.choice(LINES) for _ in range(rng.randrange(3))]
    return "".join([connect, *lines, damage(rng, rng.choice(LINES)), *after, "PING\r\n"]).encode()


def answer_to(port: int, data: bytes) -> bytes:
    """All that comes back until the server closes; our side is closed for writing after the last byte."""
    wire = Wire(port)
    with wire:
        seen = wire.buffer
        with suppress(OSError):  # the server may be quicker to close
            wire.send(data)
            wire.sock.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            while more := wire.sock.recv(1 << 16):
                seen += more
    return seen


def received(seen: bytes) -> list[bytes]:
    """What came as sorted lines: who of several subscribers is served first is nobody's promise."""
    lines = sorted(seen.split(b"\r\n"))
    # The rest of this line is a snippet of the parser's buffer.
    return [line.split(b",")[0] if b"maximum control line" in line else line for line in lines]


@pytest.mark.parametrize("seed", range(60))
def test_damaged_sessions(pool: Pool, seed: int) -> None:
    one, two = pool.get("reference", CONFIG), pool.get("pyjs", CONFIG)
    rng = random.Random(seed)
    for _ in range(10):
        data = session(rng)
        if LONE_CR.search(data):
            continue
        assert received(answer_to(two.port, data)) == received(answer_to(one.port, data)), data
    with two.connect() as wire:
        assert wire.sync() == []
