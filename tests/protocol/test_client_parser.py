"""ClientParser against a small model: any frames in any pieces; junk; limits; the reference's error texts."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.native import scan_publishes
from pyjs.protocol.errors import PeerError
from pyjs.protocol.wire import encode
from pyjs.protocol.wire.client import ClientParser
from pyjs.protocol.wire.ops import HPUB, PING, PONG, PUB, SUB, UNSUB, VIOLATION, Op

names = st.text(alphabet="abc.*>$_é", min_size=1, max_size=12).map(str.encode)
bodies = st.binary(max_size=40) | st.sampled_from([b"PING\r\n", b"\r\n", b"\t", b"PUB a 1\r\nx\r\n"])
blanks = st.sampled_from([b" ", b"  ", b"\t", b" \t "])


def publish(subject: bytes, reply: bytes, header: bytes, body: bytes) -> tuple[bytes, Op]:
    op = (HPUB if header else PUB, subject, reply, len(header), len(header) + len(body))
    return encode.pub(subject, reply, header, body), (*op, encode.tail(reply, header, body))


def odd_publish(
    verb: bytes, gap: bytes, end: bytes, subject: bytes, reply: bytes, body: bytes
) -> tuple[bytes, Op]:
    fields = [subject, reply, b"%d" % len(body)] if reply else [subject, b"%d" % len(body)]
    frame = verb + gap + gap.join(fields) + end + body + b"\r\n"
    return frame, (PUB, subject, reply, 0, len(body), encode.tail(reply, b"", body))


frames = st.one_of(
    st.builds(
        publish, names, st.just(b"") | names, st.sampled_from([b"", b"NATS/1.0\r\nA: 1\r\n\r\n"]), bodies
    ),
    st.builds(
        odd_publish,
        st.sampled_from([b"PUB", b"pub", b"Pub"]),
        blanks,
        st.sampled_from([b"\r\n", b"\n", b" \r\n"]),
        names,
        st.just(b"") | names,
        bodies,
    ),
    st.builds(lambda s, q, i: (encode.sub(s, q, i), (SUB, s, q, i)), names, st.just(b"") | names, names),
    st.builds(lambda i, n: (encode.unsub(i, n), (UNSUB, i, n)), names, st.integers(0, 999999999)),
    st.sampled_from([(b"PING\r\n", (PING,)), (b"pong\n", (PONG,)), (b"PING x\r\n", (PING,))]),
)


def feed_in_pieces(parser: ClientParser, data: bytes, cuts: list[int]) -> list[Op]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [op for i in range(len(edges) - 1) for op in parser.feed(data[edges[i] : edges[i + 1]])]


@given(st.lists(frames, max_size=12), st.lists(st.integers(0, 1 << 16), max_size=8))
def test_any_frames_in_any_pieces(sent: list[tuple[bytes, Op]], cuts: list[int]) -> None:
    data = b"".join(frame for frame, _ in sent)
    wanted = [op for _, op in sent]
    assert ClientParser().feed(data) == wanted
    assert feed_in_pieces(ClientParser(), data, cuts) == wanted


class Receiver:
    """Delivers at once what begins with a publish to `quick`, as a connection may; keeps all in order."""

    def __init__(self) -> None:
        self.parser = ClientParser()
        self.parser.deliver = self._deliver
        self.got: list[Op] = []

    def _deliver(
        self, data: bytes, pos: int, most: int, longest: int, largest: int, verbs: tuple[bytes, bytes]
    ) -> tuple[int, int, bool]:
        count = 0
        while count < most and data.startswith(b"PUB quick ", pos):
            found: list[Op] = []
            pos = scan_publishes(data, pos, 1, longest, largest, verbs, found)
            if not found:
                break
            self.got += found
            count += 1
        return pos, count, True

    def read(self, data: bytes) -> None:
        before = len(self.got)
        operations = self.parser.feed(data)
        assert self.parser.delivered == len(self.got) - before
        self.got += operations
        if self.parser.left:
            self.read(data[-self.parser.left :])


filled = st.builds(
    lambda name, letter, size: publish(name, b"", b"", letter * size),
    st.sampled_from([b"quick", b"slow"]),
    st.sampled_from([b"a", b"\r\n", b"PUB quick 0\r\n\r\n"]),
    st.integers(0, 6000),
)


@given(st.lists(filled | frames, max_size=12), st.lists(st.integers(0, 1 << 16), max_size=8))
def test_large_reads_keep_the_order_of_what_is_delivered_at_once(
    sent: list[tuple[bytes, Op]], cuts: list[int]
) -> None:
    data, receiver = b"".join(frame for frame, _ in sent), Receiver()
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in pairwise(edges):
        receiver.read(data[start:end])
    assert receiver.got == [op for _, op in sent]


@pytest.mark.parametrize("first", [b"quick", b"slow"])
def test_nothing_is_delivered_before_an_operation_that_a_read_completes(first: bytes) -> None:
    pieces = [publish(first, b"", b"", bytes(9000)), *[publish(b"quick", b"", b"", b"x" * 900)] * 9]
    data, receiver = b"".join(frame for frame, _ in pieces), Receiver()
    receiver.read(data[:5000])
    receiver.read(data[5000:])
    assert receiver.got == [op for _, op in pieces]


@pytest.mark.parametrize("end", [b"\r\n", b"\r\r", b"xx", b"\n\r"])
def test_a_payload_that_another_read_completes_is_checked_like_any_other(end: bytes) -> None:
    data = b"PUB a 5000\r\n" + bytes(5000) + end + b"PING\r\n" * 2000
    parser = ClientParser()
    assert parser.feed(data[:2000]) == []
    rest = parser.feed(data[2000:])
    whole = ClientParser().feed(data)
    assert [op[0] for op in rest[:3]] == [op[0] for op in whole[:3]]
    assert (rest[0] == whole[0]) is (end == b"\r\n")
    assert (rest[0][0] == VIOLATION) is (end != b"\r\n")


@given(st.lists(frames, max_size=5))
def test_byte_by_byte(sent: list[tuple[bytes, Op]]) -> None:
    data = b"".join(frame for frame, _ in sent)
    parser = ClientParser()
    assert [op for i in range(len(data)) for op in parser.feed(data[i : i + 1])] == [op for _, op in sent]


def same(a: list[Op], b: list[Op]) -> bool:
    """Equal, violations by their text only: what they were near differs with the chunks."""

    def plain(ops: list[Op]) -> list[Any]:
        return [(op[1].text, op[1].close) if op[0] == VIOLATION else op for op in ops]

    return plain(a) == plain(b)


@given(
    st.lists(frames, max_size=4),
    st.binary(max_size=60) | st.text(alphabet="PUBHSNICOGEMT+-RK 019\r\n\tab", max_size=40).map(str.encode),
    st.lists(st.integers(0, 1 << 16), max_size=8),
)
def test_junk_gives_operations_or_one_error_at_the_end_however_cut(
    sent: list[tuple[bytes, Op]], junk: bytes, cuts: list[int]
) -> None:
    data = b"".join(frame for frame, _ in sent) + junk
    whole = ClientParser().feed(data)
    assert whole[: len(sent)] == [op for _, op in sent]
    assert all(op[0] != VIOLATION for op in whole[:-1])
    assert same(feed_in_pieces(ClientParser(), data, cuts), whole)


def fault(data: bytes, **options: Any) -> PeerError | None:
    ops = ClientParser(**options).feed(data)
    return ops[-1][1] if ops and ops[-1][0] == VIOLATION else None


UNKNOWN = "Unknown Protocol Operation"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"FOO\r\n", UNKNOWN),
        (b"GET / HTTP/1.1", UNKNOWN),
        (b"\r\n", UNKNOWN),
        (b"\n", UNKNOWN),
        (b" PING\r\n", UNKNOWN),
        (b"\x00\x01\x02", UNKNOWN),
        (b"\x16\x03\x01", UNKNOWN),
        (b"PUB\r\n", UNKNOWN),
        (b"SUB\r\n", UNKNOWN),
        (b"UNSUB\r\n", UNKNOWN),
        (b"-ERR\r\n", UNKNOWN),
        (b"MSG a 1 2\r\nhi\r\n", UNKNOWN),
        (b"RS+ a b\r\n", UNKNOWN),
        (b"LS+ a\r\n", UNKNOWN),
        (b"A+ x\r\n", UNKNOWN),
        (b"PUB a 5\r\nhelloXX", UNKNOWN),
        (b"PUB a 5\r\nhello!", UNKNOWN),
        (b"PUB a r 5\r\nhello\r!", UNKNOWN),
        (b"HPUB a 12 12\r\nNATS/1.0\r\n\r\nXX", UNKNOWN),
        (b"PUB a\r\n", ""),
        (b"PUB \r\n", ""),
        (b"PUB a x\r\n", ""),
        (b"PUB a -1\r\n", ""),
        (b"PUB a +5\r\n", ""),
        (b"PUB a b c 5\r\n", ""),
        (b"PUB a 99999999999\r\n", ""),
        (b"HPUB a 5 4\r\n1234\r\n", ""),
        (b"HPUB a 5\r\n", ""),
        (b"HPUB a b c 1 5\r\n", ""),
        (b"SUB a\r\n", ""),
        (b"SUB a b c d\r\n", ""),
        (b"UNSUB \r\n", ""),
        (b"UNSUB 1 2 3\r\n", ""),
        (b"PUB a 1048577\r\n", "Maximum Payload Violation"),
        (b"PUB a 1048576 \r\n" + b"x" * 1048576 + b"..", UNKNOWN),
        (b"HPUB a 12 1048577\r\n", "Maximum Payload Violation"),
        (b"PUB " + b"a" * 4097, "maximum control line exceeded"),
        (b"PUB" + b" " * 8200, "maximum control line exceeded"),
        (b"SUB " + b"a" * 4095 + b" 1\r\n", "maximum control line exceeded"),
        (b"PING " + b"a" * 5000 + b"\r\n", "maximum control line exceeded"),
    ],
)
def test_errors_are_the_reference_ones_and_close(data: bytes, text: str) -> None:
    found = fault(data)
    assert found is not None
    assert (found.text, found.close) == (text, True)
    assert found.reason


def test_a_control_line_of_exactly_the_limit_is_taken() -> None:
    assert ClientParser().feed(b"SUB " + b"a" * 4094 + b" 1\r\n") == [(SUB, b"a" * 4094, b"", b"1")]
    assert fault(b"PUB " + b"a" * 20 + b" 1\r\nx\r\n", max_control_line=22) is None
    assert fault(b"PUB " + b"a" * 21 + b" 1\r\nx\r\n", max_control_line=22) is not None


def test_operations_before_a_error_are_given_and_nothing_after() -> None:
    parser = ClientParser()
    ops = parser.feed(b"PING\r\nPUB a 1\r\nx\r\nBAD\r\nPING\r\n")
    assert [op[0] for op in ops] == [PING, PUB, VIOLATION]
    assert parser.feed(b"PING\r\n") == []


def test_limits_may_change_between_reads() -> None:
    parser = ClientParser(max_payload=10)
    assert parser.feed(b"PUB a 10\r\n0123456789\r\n")[0][0] == PUB
    parser.max_payload = 5
    assert parser.feed(b"PUB a 10\r\n")[0][1].text == "Maximum Payload Violation"
    assert ClientParser(max_payload=-1).feed(b"PUB a 9999999\r\n") == []


def test_headers_may_be_refused_without_a_word() -> None:
    found = fault(b"HPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\n", headers=False)
    assert found is not None
    assert found.text == ""
    assert "headers not supported" in found.reason


def test_a_large_payload_in_small_reads_costs_no_more_than_its_size() -> None:
    size = 8 << 20
    parser = ClientParser(max_payload=size)
    assert parser.feed(b"PUB a %d\r\n" % size) == []
    piece = b"x" * 1024
    for _ in range(size // 1024):
        assert parser.feed(piece) == []
    buffer = parser.buffer
    assert buffer.size <= size + 4096 + 16
    [op] = parser.feed(b"\r\n")
    assert op[4] == size
    assert len(op[5]) == size + len(b"8388608\r\n\r\n")


def test_the_same_line_again_and_again() -> None:
    one = b"PUB a 3\r\nabc\r\n"
    parser = ClientParser()
    ops: list[Op] = []
    data = one * 1000 + one[:-1]
    while data:
        ops += parser.feed(data)
        data = data[len(data) - parser.left :]
    assert ops == [(PUB, b"a", b"", 0, 3, b"3\r\nabc\r\n")] * 1000
    assert parser.feed(b"\n" + one) == ops[:2]


@pytest.mark.parametrize("line", [b"SUB a 3\r", b"SUB a\r3", b"SUB a \r3\r"])
def test_a_stray_carriage_return_is_a_blank_and_never_part_of_a_field(line: bytes) -> None:
    """It would come back in a MSG line and break it."""
    assert ClientParser().feed(line + b"\r\n") == [(SUB, b"a", b"", b"3")]


@pytest.mark.parametrize("line", [b"PUB a%sb 1", b"PUB a r%sb 1", b"HPUB a%sb 12 13", b"HPUB a r%sb 12 13"])
def test_sizes_that_are_known_change_nothing(line: bytes) -> None:
    """The short ways for sizes seen before read a frame as the long one does, stray CR or not."""
    body = b"NATS/1.0\r\n\r\nx\r\n" if line.startswith(b"H") else b"x\r\n"
    for between in (b" ", b"\r", b"\t", b"  "):
        frame = line % between + b"\r\n" + body
        parser = ClientParser()
        parser.feed(b"PUB a 1\r\nx\r\nHPUB a 12 13\r\nNATS/1.0\r\n\r\nx\r\n")
        assert same(parser.feed(frame), ClientParser().feed(frame))
