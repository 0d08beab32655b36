"""LeafParser: any frames in any pieces, junk, limits; encoders are its inverse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.protocol.wire import encode
from pyjs.protocol.wire.leaf import LeafParser
from pyjs.protocol.wire.ops import HPUB, LMSG, LSUB, LUNSUB, PING, PUB, VIOLATION, Op

names = st.text(alphabet="abc.$_é", min_size=1, max_size=8).map(str.encode)
maybe = st.just(b"") | names
HEADER = b"NATS/1.0\r\nA: 1\r\n\r\n"


def message(
    subject: bytes, reply: bytes, queues: list[bytes], header: bytes, body: bytes
) -> tuple[bytes, Op]:
    payload = header + body
    if queues:
        lead = b"+ %b %b " % (reply, b" ".join(queues)) if reply else b"| %b " % b" ".join(queues)
    else:
        lead = reply + b" " if reply else b""
    sizes = b"%d %d" % (len(header), len(payload)) if header else b"%d" % len(payload)
    frame = b"%b %b %b%b\r\n%b\r\n" % (b"HMSG" if header else b"LMSG", subject, lead, sizes, payload)
    if queues:
        return frame, (LMSG, subject, reply, tuple(queues), len(header), len(payload), payload)
    tail = frame[len(b"LMSG  " + subject) :]
    return frame, (HPUB if header else PUB, subject, reply, len(header), len(payload), tail)


frames = st.one_of(
    st.builds(
        message,
        names,
        maybe,
        st.lists(names, max_size=3),
        st.sampled_from([b"", HEADER]),
        st.binary(max_size=30),
    ),
    st.builds(
        lambda s, q, w: (encode.leaf_sub(s, q, w), (LSUB, s, q, w if q else 1)),
        names,
        maybe,
        st.integers(1, 99),
    ),
    st.builds(lambda s, q: (encode.leaf_unsub(s, q), (LUNSUB, s, q)), names, maybe),
    st.just((b"PING\r\n", (PING,))),
)


@given(st.lists(frames, max_size=10), st.lists(st.integers(0, 1 << 16), max_size=6))
def test_any_frames_in_any_pieces(sent: list[tuple[bytes, Op]], cuts: list[int]) -> None:
    data = b"".join(frame for frame, _ in sent)
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    parser = LeafParser()
    got = [op for i in range(len(edges) - 1) for op in parser.feed(data[edges[i] : edges[i + 1]])]
    assert got == [op for _, op in sent]


@given(st.binary(max_size=80) | st.text(alphabet="LMSGH+-|IP 09\r\nab", max_size=40).map(str.encode))
def test_junk_never_raises(junk: bytes) -> None:
    parser = LeafParser()
    ops = [op for i in range(len(junk)) for op in parser.feed(junk[i : i + 1])]
    assert all(op[0] != VIOLATION for op in ops[:-1])


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"SUB a 1\r\n", "Unknown Protocol Operation"),
        (b"PUB a 1\r\nx\r\n", "Unknown Protocol Operation"),
        (b"LS+\r\n", "Unknown Protocol Operation"),
        (b"LMSG a 2\r\nabc\r\n", "Unknown Protocol Operation"),
        (b"LS+ a b\r\n", ""),
        (b"LS- a b c\r\n", ""),
        (b"LMSG a\r\n", ""),
        (b"LMSG a * b c 2\r\n", ""),
        (b"LMSG a x\r\n", ""),
        (b"HMSG a 5 4\r\n", ""),
        (b"LMSG a 1048577\r\n", "Maximum Payload Violation"),
        (b"LS+ " + b"a" * 65537 + b"\r\n", "maximum control line exceeded"),
        (b"LS+ " + b"a" * 65538, "maximum control line exceeded"),
    ],
)
def test_errors(data: bytes, text: str) -> None:
    code, fault = LeafParser().feed(data)[-1]
    assert code == VIOLATION
    assert (fault.text, fault.close) == (text, True)


def test_control_lines_may_be_sixteen_times_longer_than_a_client_s() -> None:
    assert LeafParser().feed(b"LS+ " + b"a" * 65536 + b"\r\n") == [(LSUB, b"a" * 65536, b"", 1)]
