"""A run of deliveries made at once has the bytes and sizes of single deliveries."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.server.jetstream.consumers.batch_delivery import DeliveryRun, fitting
from pyjs.store.message import StoredMessage

PREFIX = "$JS.ACK.S%d.consumer.1."
SUBJECTS = st.sampled_from(["a", "b.c", "100%d", "grün", "\udcff.x"])
HEADERS = st.sampled_from([b"", b"", b"NATS/1.0\r\nA: %d\r\n\r\n"])
TIMES = st.integers(10**18 - 3, 10**18 + 3)


@st.composite
def runs(draw: st.DrawFn) -> list[StoredMessage]:
    seq = draw(st.sampled_from([1, 7, 98, 995]))
    messages = []
    for _ in range(draw(st.integers(1, 12))):
        seq += draw(st.integers(0, 3))
        body = draw(st.binary(max_size=12))
        messages.append(StoredMessage(seq, draw(SUBJECTS), draw(HEADERS), body, draw(TIMES)))
        seq += 1
    return messages


def one(message: StoredMessage, number: int, pending: int) -> tuple[bytes, int]:
    """The frame of one delivery for the subscription 7, and what it counts."""
    subject = message.subject.encode("utf-8", "surrogateescape")
    reply = f"{PREFIX}{message.seq}.{number}.{message.time}.{pending}".encode()
    payload = message.header + message.body
    head, tail = b" ".join((subject, b"7", reply)), b"%d\r\n%b\r\n" % (len(payload), payload)
    size = len(subject) + len(reply) + len(payload)
    if message.header:
        return b"HMSG %b %d %b" % (head, len(message.header), tail), size
    return b"MSG %b %b" % (head, tail), size


@given(runs(), st.sampled_from([0, 8, 97]), st.sampled_from([0, 3, 95]), st.data())
def test_a_run_has_the_frames_and_sizes_of_single_deliveries(
    messages: list[StoredMessage], number: int, left: int, data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, len(messages)))
    pending = len(messages) + left
    run = DeliveryRun(messages, PREFIX.encode(), number, pending)
    expected = [
        one(message, number + place, pending - place) for place, message in enumerate(messages, start=1)
    ]
    payloads = sum(len(m.header) + len(m.body) for m in messages[:count])
    assert run.frames(b"7", count) == (b"".join(frame for frame, _ in expected[:count]), payloads)
    assert run.sizes() == [size for _, size in expected]
    assert run.seqs(count) == [message.seq for message in messages[:count]]
    assert run.plain != any(message.header for message in messages)


@pytest.mark.parametrize("room", [1, 3, 4, 5, 12, 13, 14])
def test_what_fits_leaves_room(room: int) -> None:
    sizes = [3, 1, 5, 4]
    totals = list(accumulate(sizes))
    assert [total < room for total in totals] == [place < fitting(sizes, room) for place in range(4)]
