"""RouteParser: any frames in any pieces, junk, limits; encoders are its inverse."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.protocol.wire import encode
from pyjs.protocol.wire.ops import ACCOUNT, HPUB, LMSG, LSUB, LUNSUB, PING, PUB, VIOLATION, Op
from pyjs.protocol.wire.route import RouteParser

names = st.text(alphabet="abc.$_é", min_size=1, max_size=8).map(str.encode)
maybe = st.just(b"") | names
HEADER = b"NATS/1.0\r\nA: 1\r\n\r\n"


def message(
    account: bytes,
    subject: bytes,
    reply: bytes,
    queues: list[bytes],
    header: bytes,
    body: bytes,
    origin: bytes,
) -> tuple[bytes, Op]:
    payload = header + body
    between = reply + b" " if reply else b""
    if queues:
        between = (b"+ %b " % reply if reply else b"| ") + b" ".join(queues) + b" "
    sizes = b"%d %d" % (len(header), len(payload)) if header or origin else b"%d" % len(payload)
    verb = b"LMSG %b" % origin if origin else b"HMSG" if header else b"RMSG"
    frame = b"%b %b %b %b%b\r\n%b\r\n" % (verb, account, subject, between, sizes, payload)
    lead = (origin, account) if origin else (account,)
    if origin or queues:
        return frame, (LMSG, subject, reply, tuple(queues), len(header), len(payload), payload, *lead)
    tail = frame[len(b"RMSG   " + account + subject) :]
    return frame, (HPUB if header else PUB, subject, reply, len(header), len(payload), tail, account)


frames = st.one_of(
    st.builds(
        message,
        names,
        names,
        maybe,
        st.lists(names, max_size=3),
        st.sampled_from([b"", HEADER]),
        st.binary(max_size=30),
        maybe,
    ),
    st.builds(
        lambda a, s, q, w, o: (encode.route_sub(a, s, q, w, o), (LSUB, s, q, w if q else 1, o, a)),
        names,
        names,
        maybe,
        st.integers(1, 99),
        maybe,
    ),
    st.builds(
        lambda a, s, q, o: (
            encode.route_unsub(a, s, q, b"LS- " + o if o else b"RS-"),
            (LUNSUB, s, q, o, a),
        ),
        names,
        names,
        maybe,
        maybe,
    ),
    st.just((b"PING\r\n", (PING,))),
)


@given(st.lists(frames, max_size=10), st.lists(st.integers(0, 1 << 16), max_size=6))
def test_any_frames_in_any_pieces(sent: list[tuple[bytes, Op]], cuts: list[int]) -> None:
    data = b"".join(frame for frame, _ in sent)
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    parser = RouteParser()
    parser.origins = True
    got = [op for i in range(len(edges) - 1) for op in parser.feed(data[edges[i] : edges[i + 1]])]
    assert got == list(with_accounts([op for _, op in sent]))


def with_accounts(operations: list[Op]) -> Iterator[Op]:
    """The account of a message without origin comes before it, if it is another than that of the last."""
    last = None
    for operation in operations:
        if operation[0] in (PUB, HPUB) or (operation[0] == LMSG and len(operation) == 8):
            account = operation[-1]
            if operation[0] != LMSG:
                operation = operation[:-1]
            if account != last:
                last = account
                yield ACCOUNT, account
        yield operation


@pytest.mark.parametrize(
    "lines", [b"HMSG A s 0 3\r\nabc\r\n", b"RMSG A\ts  3\r\nabc\r\n", b"rmsg A s 3\r\nabc\r\n"]
)
def test_odd_forms_are_given_as_the_common_one(lines: bytes) -> None:
    assert RouteParser().feed(lines) == [(ACCOUNT, b"A"), (PUB, b"s", b"", 0, 3, b"3\r\nabc\r\n")]


def test_older_peers_end_what_a_leaf_receives_without_its_origin() -> None:
    assert RouteParser().feed(b"LS- A a.b q\r\n") == [(LUNSUB, b"a.b", b"q", b"", b"A")]


@given(st.binary(max_size=80) | st.text(alphabet="RLMSGHA+-|IP 09\r\nab", max_size=40).map(str.encode))
def test_junk_never_raises(junk: bytes) -> None:
    parser = RouteParser()
    ops = [op for i in range(len(junk)) for op in parser.feed(junk[i : i + 1])]
    assert all(op[0] != VIOLATION for op in ops[:-1])


@pytest.mark.parametrize(
    "line",
    [b"RS+ A\r\n", b"RS+ A s q\r\n", b"RS- A\r\n", b"LS+ o A\r\n", b"RMSG A 3\r\nabc\r\n", b"SUB a 1\r\n"],
)
def test_what_is_wrong_ends_it(line: bytes) -> None:
    ops = RouteParser().feed(line)
    assert [op[0] for op in ops] == [VIOLATION]


def test_words_of_gateways_are_passed_over() -> None:
    assert RouteParser().feed(b"A+ ACC\r\nA- ACC\r\nPING\r\n") == [(PING,)]
