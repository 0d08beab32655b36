"""What the log says of payloads with `trace`: how much of them, and how it is written."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lib.eventually import eventually
from lib.process import ServerProcess

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
trace: true
{more}
"""
ODD = 'tab\t quote" back\\ \x07 é \x80'.encode("latin-1") + "ü€\u200b".encode()
HEADER = b"NATS/1.0\r\nA: b\r\n\r\n"
BOTH = ("<<-", "->>")


def payloads(server: ServerProcess) -> list[str]:
    """Publish a few messages to oneself. Return what the log says of their payloads."""
    with server.connect() as wire:
        wire.sub("a")
        for body in (b"", b"12345", b"123456", ODD):
            wire.send(b"PUB a %d\r\n%b\r\n" % (len(body), body))
        wire.send(b"HPUB a %d %d\r\n%b12345\r\n" % (len(HEADER), len(HEADER) + 5, HEADER))
        wire.sync()
        wire.send("UNSUB 77\r\n")
        wire.sync()
    eventually(lambda: "UNSUB 77" in server.log())
    return [
        line.partition("- ")[2].partition("- ")[2] for line in server.log().splitlines() if "PAYLOAD" in line
    ]


def lines(*texts: str) -> list[str]:
    return sorted(f'{way} MSG_PAYLOAD: ["{text}"]' for text in texts for way in BOTH)


ODD_SHOWN = r"tab\t quote\" back\\ \a \xe9 \x80ü€\u200b"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", ["12345", "123456", ODD_SHOWN, r"NATS/1.0\r\nA: b\r\n\r\n12345"]),
        ("max_traced_msg_len: 5", ["12345", "12345...", r"tab\t ...", "NATS/..."]),
        ("trace_headers: true", [r"NATS/1.0\r\nA: b"]),
        ("trace_headers: true\nmax_traced_msg_len: 4", ["NATS..."]),
    ],
)
def test_how_payloads_are_traced(
    launch: Callable[[str], ServerProcess], more: str, expected: list[str]
) -> None:
    assert sorted(payloads(launch(CONFIG.format(more=more)))) == lines(*expected)
