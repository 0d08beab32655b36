"""Compressed leaf connections: how two ends agree, and what a hostile one cannot do. Without sockets."""

from __future__ import annotations

import json
import random

import pytest
from lib.fake_clock import FakeClock
from lib.leaf_fixture import LeafServer, Link, Peer
from pyjs.native import COMPILED
from pyjs.protocol.s2 import CHUNK, Unframer, begin, chunk
from pyjs.server.config.options import CompressionOptions, RemoteOptions
from pyjs.server.connection.compression import NOT_SUPPORTED, OFF, by_rtt, negotiate

ACCOUNTS = "accounts { ACC: { users: [{user: acc, password: acc}] } }\n"
SECOND = 1_000_000_000
MS = SECOND // 1000


@pytest.mark.parametrize(
    ("own", "theirs", "agreed"),
    [
        ("s2_fast", "s2_best", "s2_fast"),
        ("s2_better", "accept", "s2_better"),
        ("accept", "s2_best", "s2_best"),
        ("accept", "s2_auto", "s2_fast"),
        ("accept", "accept", OFF),
        ("s2_fast", "off", OFF),
        ("off", "s2_fast", OFF),
        ("off", "", NOT_SUPPORTED),
        ("s2_fast", "", NOT_SUPPORTED),
        ("not supported", "s2_fast", NOT_SUPPORTED),
        ("s2_auto", "s2_best", "s2_better"),  # the round trip takes 60 ms
    ],
)
def test_the_mode_that_two_ends_agree_on(own: str, theirs: str, agreed: str) -> None:
    assert negotiate(CompressionOptions(own), theirs, 60 * MS) == agreed


def test_an_unknown_mode() -> None:
    with pytest.raises(ValueError, match='unsupported route compression mode "zstd"'):
        negotiate(CompressionOptions("accept"), "zstd", 0)


@pytest.mark.parametrize(
    ("thresholds", "times"),
    [
        (None, {0: "uncompressed", 10: "uncompressed", 11: "fast", 50: "fast", 51: "better", 101: "best"}),
        ([5, 10, 15, 20], {5: "uncompressed", 6: "fast", 15: "better", 16: "best", 99: "best"}),
        ([0, 0, 20, 30], {1: "better", 20: "better", 21: "best"}),
        ([0, 10], {1: "fast", 99: "fast"}),
        ([10], {1: "uncompressed", 99: "uncompressed"}),
        ([-1, 10, 0, 0], {1: "fast", 99: "fast"}),
    ],
)
def test_the_mode_for_a_round_trip_time(thresholds: list[int] | None, times: dict[int, str]) -> None:
    limits = None if thresholds is None else [each * MS for each in thresholds]
    options = CompressionOptions("s2_auto", limits)
    assert {time: by_rtt(options, time * MS) for time in times} == {t: f"s2_{m}" for t, m in times.items()}


def hub(mode: str, clock: FakeClock | None = None) -> LeafServer:
    return LeafServer(f"{ACCOUNTS}leafnodes {{ compression: {mode} }}", clock)


def agreed(mode: str = "s2_fast") -> tuple[Peer, Unframer]:
    """A peer by hand that has agreed on compression with a hub, and not logged in."""
    peer = Peer(hub(mode))
    [info] = peer.read()
    assert json.loads(info.removeprefix("INFO "))["compression"] == mode
    peer.connection.receive(b'INFO {"server_id": "X", "leafnode_urls": [], "compression": "s2_best"}\r\n')
    reader = Unframer()
    again = json.loads(reader.feed(peer.wire.sent).removeprefix(b"INFO "))
    peer.wire.sent = b""
    assert again["nonce"] == json.loads(info.removeprefix("INFO "))["nonce"]
    assert again["compression"] == mode
    return peer, reader


def logged_in(mode: str = "s2_fast") -> tuple[Peer, Unframer]:
    peer, reader = agreed(mode)
    connect = json.dumps({"user": "acc", "pass": "acc", "name": "P", "headers": True})
    peer.connection.receive(begin() + chunk(f"CONNECT {connect}\r\nPING\r\n".encode(), 1))
    peer.env.run_pending()
    answers = reader.feed(peer.wire.sent)
    assert answers.endswith(b"PONG\r\n"), answers
    peer.wire.sent = b""
    return peer, reader


def test_both_ends_speak_compressed() -> None:
    link = Link(hub("s2_better"), LeafServer(ACCOUNTS))
    link.pump()
    assert link.up.connection.compression == "s2_better"
    assert link.down.connection.compression == "s2_uncompressed"  # no time passes on the way
    listener, sender = link.up.env.user(), link.down.env.user()
    listener.says("SUB a.> 1\r\n")
    link.pump()
    body = b"one two " * 40_000
    sender.says(f"PUB a.b {len(body)}\r\n{body.decode()}\r\n")
    link.pump()
    assert listener.read().decode() == f"MSG a.b 1 {len(body)}\r\n{body.decode()}\r\n"


def test_messages_arrive_compressed() -> None:
    peer, reader = logged_in()
    user = peer.env.user()
    peer.connection.receive(begin() + chunk(b"LS+ a\r\n", 1))
    body = "station=1;" * 50
    user.says(f"PUB a 500\r\n{body}\r\n")
    peer.env.run_pending()
    assert len(peer.wire.sent) < (100 if COMPILED else 600)
    assert reader.feed(peer.wire.sent) == f"LMSG a 500\r\n{body}\r\n".encode()


@pytest.mark.parametrize(
    "wrong",
    [
        b"PING\r\n" * 10,
        begin() + b"\x02\x00\x00\x00",
        begin() + b"\x00\x08\x00\x00" + b"\0" * 8,
        begin() + chunk(b"PING\r\n")[:-1] + b"x",  # a wrong checksum
    ],
)
@pytest.mark.parametrize("after", [agreed, logged_in], ids=["before login", "after"])
def test_what_is_no_s2_closes_the_connection(wrong: bytes, after: object) -> None:
    peer, _ = after()  # type: ignore[operator]
    peer.connection.receive(wrong)
    assert peer.closed == "Read Error"


def test_a_stranger_gets_no_more_memory_than_for_a_login() -> None:
    peer, _ = agreed()
    peer.connection.receive(begin() + b"\x00\xff\xff\x02")  # a chunk of 192 KiB
    assert peer.closed == "Read Error"
    peer, _ = logged_in()
    peer.connection.receive(begin() + b"\x00\xff\xff\x02")
    assert not peer.closed


def test_a_bomb_is_taken_chunk_by_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small chunks that become large ones are served one by one, and no further while the loop is busy."""
    peer, _ = logged_in()
    line = b"LMSG x 60000\r\n" + bytes(60_000) + b"\r\n"
    many = begin() + chunk(line, 2) * 2000  # 120 MB
    assert len(many) < 400_000
    clock, connection = peer.env.clock, peer.connection
    began = connection.in_msgs
    now = clock.now
    monkeypatch.setattr(clock, "now", lambda: now() + (connection.in_msgs - began) * MS)  # a millisecond each
    connection.receive(many)
    assert 1 <= connection.in_msgs - began <= 10
    assert peer.wire.paused
    monkeypatch.undo()
    peer.env.run_pending()
    assert connection.in_msgs - began == 2000
    assert not (peer.wire.paused or peer.closed)


@pytest.mark.skipif(not COMPILED, reason="nothing is compressed without the compiled part")
def test_large_writes_are_compressed_in_turns() -> None:
    peer, reader = logged_in()
    data = random.Random(1).randbytes(5 * CHUNK)
    wire = peer.connection.wire
    wire.write(data)
    assert not peer.wire.sent
    assert wire.get_write_buffer_size() == len(data)
    wire.write(b"PING\r\n")  # after what was there before
    peer.env.run_pending()
    assert reader.feed(peer.wire.sent) == data + b"PING\r\n"
    assert not wire.get_write_buffer_size()


def test_the_effort_follows_the_round_trip_time() -> None:
    link = Link(hub("s2_auto"), LeafServer(ACCOUNTS))
    link.pump()
    connection = link.up.connection
    assert connection.compression == "s2_uncompressed"
    connection.adapt_compression(70 * MS)
    assert connection.compression == "s2_better"
    connection.adapt_compression(MS)
    assert connection.compression == "s2_uncompressed"


def test_a_reload_changes_the_effort_or_the_connection() -> None:
    peer, _ = logged_in()
    connection = peer.connection
    for mode, stays in (("s2_best", True), ("accept", False), ("off", False), ("s2_auto", True)):
        peer.env.leafs.options.leafnodes.compression = CompressionOptions(mode)
        assert connection.follow_compression() == stays
    assert connection.compression == "s2_uncompressed"


def test_a_remote_without_compression() -> None:
    remote = RemoteOptions(
        urls=["nats-leaf://acc:acc@127.0.0.1:7422"], account="ACC", compression=CompressionOptions("off")
    )
    link = Link(hub("s2_fast"), LeafServer(ACCOUNTS), remote)
    link.pump()
    assert (link.up.connection.compression, link.down.connection.compression) == ("off", "off")


def test_a_peer_that_reads_nothing_is_closed_by_the_deadline() -> None:
    """Though what waits for it is far smaller than what was sent since."""
    peer, _ = logged_in()
    connection, clock = peer.connection, peer.env.clock
    peer.connection.receive(begin() + chunk(b"LS+ a\r\n", 1))
    user = peer.env.user()
    peer.wire.stuck = True
    deadline = connection.write_deadline
    for _ in range(3):
        user.says(f"PUB a 50000\r\n{'0' * 50_000}\r\n")
        peer.env.run_pending()
        clock.advance(deadline)
    assert peer.closed == "Slow Consumer (Write Deadline)"


def test_a_peer_that_reads_slowly_stays() -> None:
    peer, _ = logged_in()
    connection, clock = peer.connection, peer.env.clock
    peer.connection.receive(begin() + chunk(b"LS+ a\r\n", 1))
    user = peer.env.user()
    peer.wire.stuck = True
    for _ in range(5):
        user.says(f"PUB a 50000\r\n{'0' * 50_000}\r\n")
        peer.env.run_pending()
        before = peer.wire.buffered
        user.says(f"PUB a 50000\r\n{'0' * 50_000}\r\n")
        peer.env.run_pending()
        peer.wire.buffered -= before  # all but the last write is read
        clock.advance(connection.write_deadline)
    assert not peer.closed
