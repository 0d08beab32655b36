"""Clients over WebSocket: the upgrade, frames, status codes of close frames, compression."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from lib.process import ServerProcess
from lib.web_socket import (
    BINARY,
    CLOSE,
    CONTINUATION,
    OFFER,
    PING,
    PONG,
    TEXT,
    WebSocket,
    compressed,
    frame,
    request,
)

CONFIG = """
listen: 127.0.0.1:<client>
max_payload: 100000
websocket {
  listen: 127.0.0.1:<ws>
  no_tls: true
  compression: true
  same_origin: false
  allowed_origins: ["http://good.example", "https://good.example:8443"]
  headers: { "X-Who": "it is me" }
}
"""
Dial = Callable[[], WebSocket]


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(CONFIG)


@pytest.fixture
def dial(server: ServerProcess) -> Iterator[Dial]:
    """A fresh socket to the WebSocket port."""
    opened: list[WebSocket] = []

    def connect() -> WebSocket:
        opened.append(WebSocket(server.ports["ws"]))
        return opened[-1]

    yield connect
    for each in opened:
        each.close()


@pytest.fixture
def joined(dial: Dial) -> WebSocket:
    """A client that has logged in, without compression."""
    return join(dial)


def join(dial: Dial, **headers: str) -> WebSocket:
    client = dial()
    assert client.upgrade(**headers).status == 101
    client.info()
    assert client.login() == [b"PONG"]
    return client


REFUSED: dict[str, tuple[bytes, int]] = {
    "method": (request(method="POST", content_length="0"), 405),
    "upgrade": (request(upgrade="h2c"), 400),
    "no upgrade": (request(upgrade=None), 400),
    "connection": (request(connection="keep-alive"), 400),
    "no key": (request(sec_websocket_key=None), 400),
    "short key": (request(sec_websocket_key="AAAA"), 400),
    "key is not base64": (request(sec_websocket_key="?" * 24), 400),
    "version": (request(sec_websocket_version="8"), 400),
    "no host": (request(host=None), 400),
    "origin": (request(origin="http://bad.example"), 403),
    "origin's port": (request(origin="http://good.example:81"), 403),
    "origin's scheme": (request(origin="https://good.example"), 403),
    "opaque origin": (request(origin="null"), 403),
    "mqtt": (request("/mqtt"), 404),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_request_is_refused(dial: Dial, case: str) -> None:
    client = dial()
    client.send(REFUSED[case][0])
    assert client.answer().status == REFUSED[case][1]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://good.example"},
        {"origin": "HTTP://GOOD.example:80"},
        {"origin": "https://good.example:8443"},
        {"upgrade": "foo, WebSocket", "connection": "keep-alive, upgrade"},
    ],
)
def test_an_upgrade(dial: Dial, headers: dict[str, str]) -> None:
    client = dial()
    answer = client.upgrade("/any/path?query", **headers)
    assert answer.status == 101
    assert answer.headers["sec-websocket-accept"] == "ICX+Yqv66kxgM0FcWaLWlFLwTAI="
    assert answer.headers["x-who"] == "it is me"
    assert "sec-websocket-extensions" not in answer.headers
    assert client.info()["client_ip"] == "127.0.0.1"


def test_a_client_that_speaks_too_early_is_refused(dial: Dial) -> None:
    client = dial()
    client.send(request() + frame(BINARY, b"PING\r\n"))
    assert client.closed()


def test_a_request_in_pieces(dial: Dial) -> None:
    client = dial()
    whole = request()
    for at in range(0, len(whole), 7):
        client.send(whole[at : at + 7])
    assert client.answer().status == 101


def test_a_client_publishes_and_receives(joined: WebSocket, server: ServerProcess, unique: str) -> None:
    other = server.connect()
    other.sub(unique)
    other.sync()
    joined.nats(f"SUB {unique} 1\r\nPUB {unique} 5\r\nhello\r\n")
    assert other.msg().body == b"hello"
    assert [joined.line(), joined.line()] == [f"MSG {unique} 1 5".encode(), b"hello"]
    other.pub(unique, b"back")
    assert [joined.line(), joined.line()] == [f"MSG {unique} 1 4".encode(), b"back"]
    other.close()


def test_frames_need_not_end_where_operations_end(joined: WebSocket, unique: str) -> None:
    data = f"SUB {unique} 1\r\nPUB {unique} 5\r\nhello\r\n".encode()
    joined.send(b"".join(frame(BINARY, data[at : at + 1]) for at in range(len(data))))
    assert [joined.line(), joined.line()] == [f"MSG {unique} 1 5".encode(), b"hello"]


def test_frames_arrive_in_pieces(joined: WebSocket, unique: str) -> None:
    body = b"x" * 70_000
    data = frame(BINARY, f"SUB {unique} 1\r\nPUB {unique} {len(body)}\r\n".encode() + body + b"\r\n")
    cuts = [0, 1, 2, 5, 9, 12, 20, len(data)]
    for at, to in pairwise(cuts):
        joined.send(data[at:to])
    assert joined.line() == f"MSG {unique} 1 {len(body)}".encode()
    assert joined.line() == body


def test_a_frame_may_be_longer_than_the_largest_payload(joined: WebSocket, unique: str) -> None:
    one = f"PUB {unique} 90000\r\n".encode() + b"x" * 90_000 + b"\r\n"
    joined.nats(f"SUB {unique} 1\r\n".encode() + one * 20)
    for _ in range(20):
        assert joined.line() == f"MSG {unique} 1 90000".encode()
        assert len(joined.line()) == 90_000


def test_fragments_with_a_ping_between(joined: WebSocket, unique: str) -> None:
    joined.send(
        frame(BINARY, b"", final=False)
        + frame(CONTINUATION, f"SUB {unique} 1\r\nPUB ".encode(), final=False)
        + frame(PING, b"are you there")
        + frame(CONTINUATION, f"{unique} 2\r\nhi\r\n".encode())
    )
    pong = None
    while pong is None or b"hi\r\n" not in joined.text:
        found = joined.frame()
        if found.opcode == PONG:
            pong = found.payload
        else:
            joined.text += found.payload
    assert pong == b"are you there"


@pytest.mark.parametrize("opcode", [TEXT, BINARY])
def test_text_is_taken_like_bytes(joined: WebSocket, unique: str, opcode: int) -> None:
    joined.send(frame(opcode, f"SUB {unique} 1\r\nPUB {unique} 2\r\n".encode() + b"\xff\xfe\r\n"))
    assert [joined.line(), joined.line()] == [f"MSG {unique} 1 2".encode(), b"\xff\xfe"]


def expected(status: int, implementation: str) -> tuple[int, ...]:
    """Return what a close frame may say. nats-server often closes before the frame of an error is out."""
    unsent = status in {1002, 1009} and implementation == "reference"
    return (status, 0) if unsent else (status,)


WRONG: dict[str, tuple[bytes, int]] = {
    "no mask": (frame(BINARY, b"PING\r\n", masked=False), 1002),
    "second reserved bit": (frame(BINARY, b"PING\r\n", reserved=0x20), 1002),
    "third reserved bit": (frame(BINARY, b"PING\r\n", reserved=0x10), 1002),
    "compressed without agreement": (compressed(b"PING\r\n"), 1002),
    "unknown opcode": (frame(0x3, b"PING\r\n"), 1002),
    "unknown control opcode": (frame(0xB, b""), 1002),
    "continuation of nothing": (frame(CONTINUATION, b"PING\r\n"), 1002),
    "message within a message": (frame(BINARY, b"", final=False) + frame(BINARY, b"PING\r\n"), 1002),
    "long ping": (frame(PING, b"x" * 126), 1002),
    "ping in fragments": (frame(PING, b"x", final=False), 1002),
    "impossible length": (frame(BINARY, b"", length=1 << 63), 1002),
    "close of one byte": (frame(CLOSE, b"\x03"), 1002),
    "close with a reserved status": (frame(CLOSE, b"\x03\xed"), 1002),
    "close with no status at all": (frame(CLOSE, b"\x00\x01"), 1002),
    "close with text that is no UTF-8": (frame(CLOSE, b"\x03\xe8\xff"), 1007),
    "close": (frame(CLOSE, b"\x03\xe8bye"), 1000),
    "close with a status of an application": (frame(CLOSE, b"\x0f\xa0"), 4000),
    "close without a status": (frame(CLOSE), -1),
    "too large a payload": (frame(BINARY, b"PUB a 100001\r\n"), 1009),
}


@pytest.mark.parametrize("case", WRONG)
def test_how_the_server_closes(joined: WebSocket, implementation: str, case: str) -> None:
    data, status = WRONG[case]
    joined.send(data)
    assert joined.ends() in expected(status, implementation)
    assert joined.closed()


def test_what_came_before_a_close_is_served(joined: WebSocket, server: ServerProcess, unique: str) -> None:
    other = server.connect()
    other.sub(unique)
    other.sync()
    joined.send(frame(BINARY, f"PUB {unique} 4\r\nlast\r\n".encode()) + frame(CLOSE, b"\x03\xe8"))
    assert other.msg().body == b"last"
    assert joined.ends() == 1000
    other.close()


def test_compression_is_agreed_on(dial: Dial, unique: str) -> None:
    client = dial()
    answer = client.upgrade(sec_websocket_extensions="x-other, permessage-deflate; client_max_window_bits")
    assert answer.headers["sec-websocket-extensions"] == OFFER
    client.info()
    assert client.login() == [b"PONG"]
    body = b"again and again " * 1000
    publish = f"SUB {unique} 1\r\nPUB {unique} {len(body)}\r\n".encode() + body + b"\r\n"
    for data in (compressed(publish), frame(BINARY, publish.partition(b"\r\n")[2])):
        client.send(data)
        found = client.frame()
        assert found.compressed
        client.text = found.payload
        assert client.line() == f"MSG {unique} 1 {len(body)}".encode()
        assert client.line() == body


def test_a_compressed_message_in_fragments(dial: Dial, unique: str) -> None:
    client = join(dial, sec_websocket_extensions=OFFER)
    whole = compressed(f"SUB {unique} 1\r\nPUB {unique} 2\r\nhi\r\n".encode(), masked=False)
    payload = whole[2:]
    client.send(frame(BINARY, payload[:5], final=False, reserved=0x40))
    client.send(frame(PING, b""))
    client.send(frame(CONTINUATION, payload[5:20], final=False) + frame(CONTINUATION, payload[20:]))
    assert [client.line(), client.line()] == [f"MSG {unique} 1 2".encode(), b"hi"]


def test_a_small_answer_is_not_compressed(dial: Dial) -> None:
    client = join(dial, sec_websocket_extensions=OFFER)
    client.send(compressed(b"PING\r\n"))
    assert client.frame()[1:] == (b"PONG\r\n", False)


WRONG_WITH_COMPRESSION: dict[str, tuple[bytes, int]] = {
    "bomb": (compressed(b"PING\r\n" * 3_000_000), 1009),
    "no deflate": (frame(BINARY, b"\xff" * 20, reserved=0x40), 1002),
    "compressed control": (frame(PING, b"", reserved=0x40), 1002),
    "compressed continuation": (
        frame(BINARY, b"", final=False) + frame(CONTINUATION, b"PING\r\n", reserved=0x40),
        1002,
    ),
}


@pytest.mark.parametrize("case", WRONG_WITH_COMPRESSION)
def test_how_the_server_closes_what_is_compressed(dial: Dial, implementation: str, case: str) -> None:
    client = join(dial, sec_websocket_extensions=OFFER)
    data, status = WRONG_WITH_COMPRESSION[case]
    client.send(data)
    assert client.ends() in expected(status, implementation)


def test_masks_can_be_left_out(dial: Dial, unique: str) -> None:
    client = dial()
    answer = client.upgrade(nats_no_masking="true")
    assert answer.headers["nats-no-masking"] == "true"
    client.info()
    client.send(frame(BINARY, b"CONNECT {}\r\nPING\r\n", masked=False))
    assert [client.line(), client.line()] == [b"+OK", b"PONG"]
    client.send(frame(PING, b"x" * 125, masked=False))
    assert client.frame().payload == b"x" * 125
