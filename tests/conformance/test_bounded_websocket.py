"""Whatever frames a WebSocket client sends, no callback of the loop takes long (lib/callbacks.py)."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from lib.callbacks import Callbacks
from lib.process import ServerProcess
from lib.web_socket import BINARY, CONTINUATION, OFFER, PING, WebSocket, compressed, frame

CONFIG = """
listen: 127.0.0.1:<client>
websocket { listen: 127.0.0.1:<ws>, no_tls: true, compression: true }
"""
LARGE = b"PUB here 500000\r\n" + bytes(range(256)) * 1953 + bytes(32) + b"\r\n"
BURSTS = {
    "empty frames": frame(BINARY) * 100_000,
    "empty fragments": frame(BINARY, b"", final=False) + frame(CONTINUATION, b"", final=False) * 100_000,
    "pings": frame(PING, b"x" * 20) * 50_000,
    "small messages": frame(BINARY, b"PUB here 1\r\nx\r\n") * 50_000,
    "small compressed messages": compressed(b"PUB here 1\r\nx\r\n") * 20_000,
    "messages that inflate": compressed(b"PUB none 0\r\n\r\n" * 500_000) * 3,
    "large messages": frame(BINARY, LARGE * 10),
}


@pytest.mark.parametrize("case", BURSTS)
def test_no_burst_holds_the_loop(
    callbacks: Callbacks, launch: Callable[[str], ServerProcess], implementation: str, case: str
) -> None:
    """What comes after the burst shows that all of it was served."""
    server = launch(CONFIG)
    client = WebSocket(server.ports["ws"])
    assert client.upgrade(sec_websocket_extensions=OFFER).status == 101
    client.info()
    assert client.login() == [b"PONG"]
    end = frame(CONTINUATION, b"PING\r\n") if case == "empty fragments" else frame(BINARY, b"PING\r\n")
    if implementation == "reference" and case == "messages that inflate":
        end = b""
    with callbacks.bounded(server):
        sending = threading.Thread(target=client.send, args=(BURSTS[case] + end,))
        sending.start()
        while end and client.line() != b"PONG":
            pass
        sending.join()
    client.close()


def test_no_delivery_holds_the_loop(callbacks: Callbacks, launch: Callable[[str], ServerProcess]) -> None:
    """Much is compressed in turns, and all of it arrives before a close."""
    server = launch(CONFIG)
    client = WebSocket(server.ports["ws"])
    assert client.upgrade(sec_websocket_extensions=OFFER).status == 101
    client.info()
    assert client.login() == [b"PONG"]
    client.nats("SUB here 1\r\nPING\r\n")
    assert client.line() == b"PONG"
    with callbacks.bounded(server), server.connect() as other:
        other.send(LARGE * 30)
        other.sync()
        for _ in range(30):
            assert client.line() == b"MSG here 1 500000"
            body = b""
            while len(body) < 500_000:
                body += client.line() + b"\r\n"
    client.close()
