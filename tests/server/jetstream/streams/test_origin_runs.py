"""What an origin on another server delivers is read in runs as it would be read one by one."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from pyjs.protocol.wire.ops import HPUB, PING, PUB, Op
from pyjs.server.accounts.fanout import deliver_together
from pyjs.server.accounts.plan import Plan
from pyjs.server.accounts.sublist import Sublist
from pyjs.server.accounts.subscription import (
    INTERNAL,
    DeliveredRun,
    Message,
    Publish,
    RunSubscription,
    message_of,
)
from pyjs.server.jetstream.streams.origin_request import read_delivery
from pyjs.server.jetstream.streams.origin_runs import CONTROL, read_runs

HEADERS = st.sampled_from([b"", b"", b"NATS/1.0\r\nA: b\r\n\r\n", CONTROL + b"\r\n\r\n"])
STRANGE = [
    b"",
    b"$JS.ACK",
    b"$JS.ACK.S.C.1.1.1.1@s",
    b"$JS.ACK.S.C.2.7.7.1.1@s",
    b"$JS.ACK.S.C.1.7.x.1.1@s",
    b"$JS.ACK.S.C.1.7..1.1@s",
    b"$JS.ACK.S.C.1.7.7.99999999999999999999.1@s",
    b"$JS.ACK.S.C.1.7.7.1.1",
    b"$JS.ACK.S.C.1.7.7.1.1@",
    b"$JS.ACK.D.H.S.C.1.7.7.1.1@s",
    b"$JS.ACK.D.H.S.C.1.7.7.1.1.more@s",
    b"$JS.FC.S.C.x@s",
]
Read = tuple[str, int, int, int, int, str, bytes, bytes]


def publish(reply: bytes, header: bytes = b"", body: bytes = b"x") -> Publish:
    tail = b"%b%d %d\r\n%b%b\r\n" % (
        reply + b" " if reply else b"",
        len(header),
        len(header + body),
        header,
        body,
    )
    return b"d", reply, len(header), len(header + body), tail


@st.composite
def publishes(draw: st.DrawFn) -> list[Publish]:
    made, seq, number = [], 0, 0
    for _ in range(draw(st.integers(1, 12))):
        seq += draw(st.sampled_from([1, 1, 1, 1, 5, 0, -3]))
        number += draw(st.sampled_from([1, 1, 1, 1, 1, 2, 0]))
        name = draw(st.sampled_from([b"S.C", b"S.C", b"S.C", b"S.D", b"D.H.S.C"]))
        shown = draw(st.sampled_from([b"s.1", b"s.@2", b"\xff"]))
        reply = b"$JS.ACK.%b.1.%d.%d.%d.%d@%b" % (
            name,
            max(seq, 1),
            number,
            draw(st.integers(0, 1 << 62)),
            100,
            shown,
        )
        if draw(st.integers(0, 9)) == 0:
            reply = draw(st.sampled_from(STRANGE))
        made.append(publish(reply, draw(HEADERS), draw(st.sampled_from([b"", b"body"]))))
    return made


def one_by_one(message: Message) -> Iterator[Read | Message]:
    found = read_delivery(message.reply)
    control = not message.body and message.header.startswith(CONTROL)
    if found is None or control or found.tries > 1:
        yield message
        return
    name, subject = f"{found.stream}.{found.consumer}", found.subject or message.subject
    figures = found.consumer_seq, found.stream_seq, found.time, found.pending
    yield (name, *figures, subject, message.header, message.body)


def flat(found: DeliveredRun | Message) -> Iterator[Read | Message]:
    if isinstance(found, Message):
        yield from one_by_one(found)
        return
    name = ".".join(found.ack_prefix.split(".")[-4:-2])
    for place, (seq, subject, header, body, time) in enumerate(found.messages):
        yield name, found.number + place, seq, time, -1, subject, header, body


def plain(read: Read | Message) -> object:
    if isinstance(read, Message):
        return read.subject, read.reply, read.header, read.body
    name, number, seq, time, _, subject, header, body = read
    return name, number, seq, time, subject, header, body


@given(publishes())
def test_runs_are_read_as_single_messages_are(given: list[Publish]) -> None:
    alone = [plain(one) for each in given for one in one_by_one(message_of(each))]
    found = list(read_runs(given))
    assert [plain(one) for each in found for one in flat(each)] == alone
    for run in found:
        if isinstance(run, DeliveredRun):
            seqs = [message.seq for message in run.messages]
            assert seqs == sorted(set(seqs))


def test_what_follows_is_one_run_that_says_how_many_are_left() -> None:
    given = [publish(b"$JS.ACK.S.C.1.%d.%d.5.%d@s.%d" % (2 * n, n, 9 - n, n)) for n in range(1, 10)]
    (run,) = read_runs(given)
    assert isinstance(run, DeliveredRun)
    assert (run.ack_prefix, run.number, run.pending) == ("$JS.ACK.S.C.1.", 1, 0)
    assert [message.subject for message in run.messages] == [f"s.{n}" for n in range(1, 10)]


def test_deliveries_in_a_row_come_together_and_the_rest_after_them() -> None:
    got: list[list[Publish]] = []
    subscription = RunSubscription("d", INTERNAL, lambda _: None)
    subscription.callback, subscription.batch_callback = (lambda _: None), got.append
    sublist = Sublist()
    sublist.insert(subscription)
    plan = Plan(b"d", "d", sublist, None, lambda: 0.0)
    traced = publish(b"$JS.ACK.S.C.1.3.3.1.1@s", b"NATS/1.0\r\nTRACE\r\n\r\n")
    first, second = (publish(b"$JS.ACK.S.C.1.%d.%d.1.1@s" % (n, n)) for n in (1, 2))
    for stop in ((HPUB, *traced), (PUB, *publish(b"$JS.FC.S.C.x")), (PUB, b"e", *first[1:]), (PING,)):
        rest: list[Op] = [(PUB, *second), stop, (PING,)]
        taken = deliver_together(plan, b"TRACE", (PUB, *first), iter(rest))
        assert taken is not None
        count, size, following = taken
        assert (count, size, list(following)) == (2, 2, [stop, (PING,)])
        assert got.pop() == [first, second]
    for stop in ((HPUB, *traced), (PUB, *publish(b"$JS.FC.S.C.x"))):
        assert deliver_together(plan, b"TRACE", stop, iter([])) is None
    assert deliver_together(plan, b"TRACE", (PUB, *first), iter([])) is not None
