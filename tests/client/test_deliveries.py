"""Deliveries taken from a connection into columns, whatever comes between them, and however it is cut."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from random import Random

import numpy as np
import pytest
from pyjs.client import BlockingConnection, ClientError, ConnectionLost, ConnectionOptions, TimedOut
from pyjs.client.block import HEADERS, PAYLOADS, SUBJECTS, DeliveryBlock
from pyjs.client.handshake import HandshakeResult
from pyjs.protocol import headers
from pyjs.protocol.wire import encode

HEADER = headers.encode({"N": ["1"]})
SIZE = 40_000
Ends = tuple[BlockingConnection, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    """A connection, and the server's end of it."""
    ours, theirs = socket.socketpair()
    made = BlockingConnection(ConnectionOptions(("x",)), HandshakeResult(ours, "x", {}, b""))
    with made, closing(theirs):
        theirs.settimeout(20)
        yield made, theirs


def delivery(number: int, body: bytes, header: bytes = b"") -> bytes:
    """The delivery `number` of a consumer, which then has 9,999 - `number` left."""
    reply = b"$JS.ACK.S.C.1.%d.%d.%d.%d" % (10 + number, number, 1_000 + number, 9_999 - number)
    frame: bytes = encode.msg(b"mine.a", b"1", reply, header, body)
    return frame


def payloads_of(block: DeliveryBlock) -> list[bytes]:
    texts = block.texts(PAYLOADS)
    assert texts is not None
    found: list[bytes] = texts.to_pylist()
    return found


def test_a_block_holds_all_deliveries_in_their_order(ends: Ends) -> None:
    """Small and large ones, with and without headers, some like frames, and other frames between."""
    connection, server = ends
    bodies = [b"%d" % number + b"\r\nMSG a 1 0\r\n" * (number % 50) * 20 for number in range(2000)]
    bodies[700] = b"x" * 900_000
    sent = []
    for number, body in enumerate(bodies, 1):
        sent.append(delivery(number, body, HEADER if number % 3 == 0 else b""))
        if number % 400 == 0:
            sent += [encode.msg(b"other", b"2", b"", b"", b"%d" % number), b"PING\r\n", b"PONG\r\n"]
    sent.append(encode.msg(b"other", b"2", b"", b"", b"last"))
    data, random = b"".join(sent), Random(1)

    def serve() -> None:
        start = 0
        while start < len(data):
            end = start + random.choice([1, 50, 5_000, 700_000])
            server.sendall(data[start:end])
            start = end

    thread = threading.Thread(target=serve)
    thread.start()
    blocks, others = [DeliveryBlock(b"1", 300, SIZE)], list[bytes]()
    while others[-1:] != [b"last"]:
        others += connection.take_into(blocks[-1]).payloads
        if blocks[-1].full:
            last = blocks[-1]
            blocks.append(DeliveryBlock(b"1", 300, max(SIZE, last.needed), number=last.number))
    thread.join()
    assert server.recv(1000) == b"PONG\r\n" * 5
    payloads = [payloads_of(block) for block in blocks]
    assert list(chain.from_iterable(payloads)) == bodies
    assert others == [b"400", b"800", b"1200", b"1600", b"2000", b"last"]
    assert list(chain.from_iterable(block.sequences for block in blocks)) == list(range(11, 2011))
    assert list(chain.from_iterable(block.times for block in blocks)) == list(range(1001, 3001))
    assert blocks[-1].pending == 7_999
    sizes = np.concatenate([block.sizes for block in blocks]).tolist()
    assert sizes == [len(body) + (number % 3 == 0) * len(HEADER) for number, body in enumerate(bodies, 1)]
    for block in blocks:
        texts = block.texts(HEADERS)
        found = [b""] * len(block) if texts is None else texts.to_pylist()
        assert found == [HEADER if seq % 3 == 1 else b"" for seq in block.sequences]


def test_what_another_method_receives_is_not_lost(ends: Ends) -> None:
    connection, server = ends
    block = DeliveryBlock(b"1", 2, SIZE)
    server.sendall(b"".join(delivery(number, b"%d" % number) for number in range(1, 5)))
    assert not len(connection.take_into(block))
    assert block.full
    server.sendall(encode.msg(b"a", b"1", b"", b"", b"after") + delivery(5, b"5")[:20])
    connection.poll()
    assert connection.receive().payload == b"3"
    server.sendall(delivery(5, b"5", HEADER * 0)[20:])
    rest, others = DeliveryBlock(b"1", 9, SIZE, number=3), list[bytes]()
    while len(rest) < 2:
        others += connection.take_into(rest).payloads
    assert payloads_of(rest) == [b"4", b"5"]
    assert others == [b"after"]


def test_a_delivery_without_the_one_before_it_is_no_part_of_a_block(ends: Ends) -> None:
    connection, server = ends
    server.sendall(b"".join(delivery(number, b"%d" % number) for number in (1, 2, 4)))
    block, others = DeliveryBlock(b"1", 300, SIZE, wanted=()), list[bytes]()
    while not others:
        others += connection.take_into(block).payloads
    assert (len(block), others) == (2, [b"4"])
    assert block.sizes.tolist() == [1, 1]
    assert block.texts(SUBJECTS) is block.texts(HEADERS) is block.texts(PAYLOADS) is None
    with pytest.raises(TimedOut):
        connection.take_into(block, 0.01)


def test_the_end_and_nonsense_are_told(ends: Ends) -> None:
    connection, server = ends
    block = DeliveryBlock(b"1", 300, SIZE)
    server.sendall(delivery(1, b"1") + b"MSG a 1 x\r\n")
    with pytest.raises(ClientError, match="NATS server"):
        while True:
            connection.take_into(block)
    assert len(block) == 1


def test_a_server_that_goes_is_told(ends: Ends) -> None:
    connection, server = ends
    server.sendall(delivery(1, b"1")[:-1])
    server.close()
    block = DeliveryBlock(b"1", 300, SIZE)
    with pytest.raises(ConnectionLost):
        connection.take_into(block)
    assert not len(block)
