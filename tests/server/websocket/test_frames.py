"""Frames as bytes: whatever is written is read again, however it is cut up; nothing is read for who waits."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.fake_clock import FakeClock
from lib.web_socket import BINARY, CLOSE, CONTINUATION, OFFER, PING, compressed, frame
from pyjs.server.websocket.deflate import offered
from pyjs.server.websocket.errors import WebSocketError
from pyjs.server.websocket.frames import Control, FrameReader, FrameWriter, close_payload
from pyjs.server.websocket.wire import WebSocketWire

MOST = 1 << 20


def read(reader: FrameReader, data: bytes) -> list[bytes | Control]:
    """Everything that `data` brings; no empty pieces."""
    reader.feed(data)
    found = []
    while (one := reader.next()) is not None:
        if one:
            found.append(one)
    return found


@given(
    st.lists(st.binary(max_size=300), max_size=8),
    st.lists(st.integers(1, 50), min_size=1, max_size=8),
    st.booleans(),
    st.booleans(),
)
def test_what_is_written_is_read(bodies: list[bytes], cuts: list[int], masks: bool, compress: bool) -> None:
    writer = FrameWriter(mask=(lambda size: b"\x01\xff\x80\x00"[:size]) if masks else None, compress=compress)
    reader = FrameReader(masked=masks, most_inflated=MOST if compress else 0)
    sent = b"".join(writer.data(body) + writer.control(PING, b"p") for body in bodies)
    found: list[bytes | Control] = []
    at = number = 0
    while at < len(sent):
        size = cuts[number % len(cuts)]
        found += read(reader, sent[at : at + size])
        at, number = at + size, number + 1
    assert b"".join(each for each in found if isinstance(each, bytes)) == b"".join(bodies)
    assert [each for each in found if isinstance(each, Control)] == [Control(PING, b"p")] * len(bodies)


@pytest.mark.parametrize("size", [0, 125, 126, 65_535, 65_536, 1 << 20])
def test_sizes(size: int) -> None:
    found = read(FrameReader(masked=False), FrameWriter().data(bytes(size)))
    assert b"".join(cast("list[bytes]", found)) == bytes(size)


def test_a_message_inflates_in_pieces_and_up_to_a_limit() -> None:
    reader = FrameReader(masked=True, most_inflated=MOST)
    pieces = cast("list[bytes]", read(reader, compressed(bytes(MOST))))
    assert sum(map(len, pieces)) == MOST
    assert max(map(len, pieces)) == 1 << 16
    with pytest.raises(WebSocketError) as caught:
        read(reader, compressed(bytes(MOST + 1)))
    assert caught.value.code == 1009


def test_each_message_has_a_limit_of_its_own() -> None:
    reader = FrameReader(masked=True, most_inflated=1000)
    for _ in range(5):
        assert b"".join(cast("list[bytes]", read(reader, compressed(bytes(900))))) == bytes(900)


def test_fragments() -> None:
    reader = FrameReader(masked=True)
    sent = (
        frame(BINARY, b"a", final=False) + frame(CONTINUATION, b"b", final=False) + frame(CONTINUATION, b"c")
    )
    assert read(reader, sent + frame(BINARY, b"d")) == [b"a", b"b", b"c", b"d"]


def test_a_whole_message_may_not_begin_within_another() -> None:
    reader = FrameReader(masked=True)
    with pytest.raises(WebSocketError, match="new message started"):
        read(reader, frame(BINARY, b"a") + frame(BINARY, b"b", final=False) + frame(BINARY, b"c"))


def test_messages_that_came_together_are_one_piece() -> None:
    reader = FrameReader(masked=True)
    sent = frame(BINARY, b"a") + frame(BINARY, b"") + frame(BINARY, b"b") + frame(PING, b"p")
    assert read(reader, sent + frame(BINARY, b"c")) == [b"ab", Control(PING, b"p"), b"c"]


def test_a_long_text_of_a_close_frame_is_cut() -> None:
    assert close_payload(1000, "é" * 100)[2:].decode() == "é" * 60 + "..."


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (OFFER, (True, True)),
        ("permessage-deflate", (True, False)),
        ("foo; bar, PERMESSAGE-DEFLATE ;client_no_context_takeover", (True, False)),
        ("foo", (False, False)),
    ],
)
def test_offers(header: str, expected: tuple[bool, bool]) -> None:
    assert offered([header]) == expected


class Socket:
    """A transport that keeps what is written; `unread` is what its peer leaves."""

    def __init__(self) -> None:
        self.written = b""
        self.unread = 0
        self.reading = self.open = True

    def write(self, data: bytes) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return self.unread

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def close(self) -> None:
        self.open = False

    abort = close


class Receiver:
    """A connection that pauses its wire after each piece, if `slow`."""

    def __init__(self, wire: WebSocketWire, *, slow: bool = False) -> None:
        self.wire = wire
        self.slow = slow
        self.received: list[bytes] = []
        self.closed_reason = ""

    def receive(self, data: bytes) -> None:
        self.received.append(data)
        if self.slow:
            self.wire.pause_reading()

    def ended(self) -> None:
        self.close("Client Closed")

    def close(self, reason: str) -> None:
        self.closed_reason = reason
        self.wire.close()


class Context:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.flusher = self
        self.stalled: list[Any] = []
        self.log = self

    def error(self, text: str) -> None:
        del text


def wired(*, slow: bool = False, compress: bool = False) -> tuple[WebSocketWire, Socket, Receiver, Context]:
    context, sock = Context(), Socket()
    reader = FrameReader(masked=True, most_inflated=MOST * 100 if compress else 0)
    wire = WebSocketWire(cast("Any", context), sock, reader, FrameWriter(compress=compress))
    receiver = Receiver(wire, slow=slow)
    wire.attach(cast("Any", receiver))
    return wire, sock, receiver, context


def test_nothing_is_inflated_for_who_waits() -> None:
    wire, sock, receiver, context = wired(slow=True, compress=True)
    wire.receive(compressed(bytes(50 << 20)))
    assert (len(receiver.received), sock.reading) == (1, False)
    wire.resume_reading()
    assert len(receiver.received) == 1
    context.clock.advance(0)
    assert (len(receiver.received), sock.reading) == (2, False)
    receiver.slow = False
    wire.resume_reading()
    while not sock.reading:
        context.clock.advance(0)
    assert sum(map(len, receiver.received)) == 50 << 20


def test_pings_of_a_peer_that_reads_nothing_are_not_answered() -> None:
    wire, sock, _, _ = wired()
    wire.receive(frame(PING, b"one"))
    assert sock.written == b"\x8a\x03one"
    sock.unread = 1 << 20
    wire.receive(frame(PING, b"two"))
    assert sock.written == b"\x8a\x03one"


def test_what_was_written_comes_before_the_close_frame() -> None:
    wire, sock, receiver, context = wired(compress=True)
    wire.write(bytes(1 << 20))
    assert wire.get_write_buffer_size()
    receiver.close("Server Shutdown")
    wire.write(b"too late")
    while sock.open:
        context.clock.advance(0)
    found = read(FrameReader(masked=False, most_inflated=MOST), sock.written)
    assert b"".join(each for each in found if isinstance(each, bytes)) == bytes(1 << 20)
    assert found[-1] == Control(CLOSE, close_payload(1001, "Server Shutdown"))


def test_nothing_of_it_is_imported_without_the_block() -> None:
    code = """
import asyncio, sys
from pyjs.server.app import Server
async def main():
    async with Server():
        print(*sys.modules)
asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert not [name for name in done.stdout.split() if name.partition(".")[0] in {"wsproto", "h11"}]
    assert not [name for name in done.stdout.split() if name.startswith("pyjs.server.websocket")]
