"""What mirrors and sources are brought together is stored as if it came one by one."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.streams import JetStreamFixture
from pyjs.native import take_copies
from pyjs.protocol import headers
from pyjs.server.accounts.subscription import DeliveredRun, RunSubscription
from pyjs.server.jetstream.consumers.core import Consumer
from pyjs.server.jetstream.consumers.push_runs import PushRuns
from pyjs.server.jetstream.streams import source_header
from pyjs.server.jetstream.streams.core import Stream
from pyjs.server.jetstream.streams.origin_consumer import Origin
from pyjs.store.message import StoredMessage

MILLISECOND = 1_000_000
COUNT = 300
HEADERS: list[dict[str, str]] = [
    {},
    {},
    {"A": "b"},
    {"Nats_Msg_Id": "%d"},
    {"Nats_Msg_Id": "the same"},
    {"Nats_TTL": "never", "Nats_Msg_Id": "%d"},
    {"Nats_Expected_Stream": "O"},
    {"Nats_Expected_Stream": "O", "Nats_Msg_Id": "%d", "A": "b"},
]


def filled(fixture: JetStreamFixture, seed: int) -> Stream[Consumer]:
    """A stream O with gaps, and with all kinds of headers."""
    rng = Random(seed)
    origin = fixture.stream("O", subjects=["o.*"], allow_msg_ttl=True, duplicate_window=100 * MILLISECOND)
    for number in range(COUNT):
        fixture.clock.advance(30 * MILLISECOND)
        more = {key: value.replace("%d", str(number)) for key, value in rng.choice(HEADERS).items()}
        fixture.publish(f"o.{rng.randrange(40)}", bytes(rng.randrange(60)), **more)
    for _ in range(rng.choice([0, 0, 40])):
        origin.store.remove(rng.randrange(1, COUNT))
    return origin


def copied(
    fixture: JetStreamFixture, monkeypatch: pytest.MonkeyPatch, *, together: bool, **config: Any
) -> list[StoredMessage]:
    """The messages of a stream with this configuration; together: whether runs are delivered to it."""
    with monkeypatch.context() as patch:
        if not together:
            patch.setattr(PushRuns, "serve", lambda *_: 0)
        made = fixture.stream("C", **config)
        for _ in range(20):
            fixture.clock.advance(100 * MILLISECOND)
    found = fixture.messages(made)
    fixture.js.delete("C")
    return found


def origin_of(stream: Stream[Consumer]) -> Origin:
    assert stream.sourcing is not None
    found = stream.sourcing._mirror or next(iter(stream.sourcing._sources.values()))
    assert found is not None
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"storage": "file"},
        {"max_msgs": 100},
        {"max_msgs_per_subject": 2},
        {"filter_subject": "o.1"},
        {"opt_start_seq": 50},
        {"allow_msg_ttl": True},
    ],
)
def test_a_mirror_is_the_same(
    fixture: JetStreamFixture, monkeypatch: pytest.MonkeyPatch, seed: int, more: dict[str, Any]
) -> None:
    origin = filled(fixture, seed)
    wanted = {key: value for key, value in more.items() if key in {"filter_subject", "opt_start_seq"}}
    config = {key: value for key, value in more.items() if key not in wanted}
    config["mirror"] = {"name": "O", **wanted}
    found = copied(fixture, monkeypatch, together=True, **config)
    assert found
    assert found == copied(fixture, monkeypatch, together=False, **config)
    if not more:
        assert [message.seq for message in found] == [message.seq for message in fixture.messages(origin)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"storage": "file"},
        {"duplicate_window": 100 * MILLISECOND},
        {"max_msgs_per_subject": 2},
        {"max_msgs": 100, "discard": "new"},
        {"max_msg_size": 160},
        {"subject_transforms": [{"src": "o.*", "dest": "c.{{wildcard(1)}}"}]},
    ],
)
def test_a_source_is_the_same(
    fixture: JetStreamFixture, monkeypatch: pytest.MonkeyPatch, seed: int, more: dict[str, Any]
) -> None:
    filled(fixture, seed)
    wanted = {key: value for key, value in more.items() if key == "subject_transforms"}
    config = {key: value for key, value in more.items() if key not in wanted}
    config["sources"] = [{"name": "O", **wanted}]
    both = [copied(fixture, monkeypatch, together=together, **config) for together in (True, False)]
    one, other = ([message._replace(time=0) for message in found] for found in both)
    assert one
    assert one == other


def test_a_run_that_is_lost_is_asked_for_again(fixture: JetStreamFixture) -> None:
    origin = fixture.stream("O", subjects=["o"])
    mirror, copy = fixture.stream("M", mirror={"name": "O"}), fixture.stream("C", sources=[{"name": "O"}])
    fixture.clock.advance(MILLISECOND)
    lost: list[DeliveredRun] = []
    for stream in (mirror, copy):
        subscription = origin_of(stream)._subscription
        assert isinstance(subscription, RunSubscription)
        subscription.run_callback = lost.append
    for number in range(COUNT):
        origin.store.append("o", b"", b"%d" % number, fixture.clock.now())
    fixture.publish("o")  # so that the consumers look
    for _ in range(60):
        fixture.clock.advance(100 * MILLISECOND)
    assert lost
    assert fixture.messages(mirror) == fixture.messages(origin)
    assert [message.body for message in fixture.messages(copy)] == [
        message.body for message in fixture.messages(origin)
    ]


def test_what_comes_before_a_refused_message_is_copied_once(fixture: JetStreamFixture) -> None:
    origin = fixture.stream("O", subjects=["o"])
    sizes = [9] * 100 + [900] + [9] * 100
    for size in sizes:
        origin.store.append("o", b"", bytes(size), fixture.clock.now())
    fixture.publish("o")
    copy = fixture.stream("C", sources=[{"name": "O"}], max_msg_size=500)
    for _ in range(60):
        fixture.clock.advance(100 * MILLISECOND)
    assert copy.store.messages == 100
    error = origin_of(copy).info().error
    assert error is not None
    assert error.err_code == 10054
    fixture.js.update(copy.config.replace(max_msg_size=-1))
    for _ in range(60):
        fixture.clock.advance(100 * MILLISECOND)
    values = [headers.get(message.header, b"Nats-Stream-Source") for message in fixture.messages(copy)]
    assert [value.split()[1] for value in values if value] == [b"%d" % n for n in range(1, 203)]


@given(
    st.sampled_from(["O > >", "O a.* b.$1", "O:hash > >", "O:hash a >", "\udcff > >", "O a\fb c\fd"]),
    st.sampled_from(["", "id", "\ufffd"]),
    st.sampled_from([1, 1 << 40]),
    st.sampled_from(["a", "gr\u00fcn.x", "\udcff"]),
    st.sampled_from([b"", b"NATS/1.0\r\nA: b\r\n\r\n", b"NATS/1.0\r\nNats-Msg-Id: 1\r\n\r\n"]),
)
def test_a_run_is_labelled_as_a_single_message(
    index: str, identity: str, sequence: int, subject: str, header: bytes
) -> None:
    copies: list[tuple[str, bytes, bytes]] = []
    label = source_header.label(index, identity)
    message = StoredMessage(sequence, "to", header, b"body", 5)
    stop, _, newest = take_copies([message], [subject], 0, 1 << 20, {}, label, 1, 5, copies, [])
    assert (stop, newest) == (1, sequence)
    assert copies == [("to", source_header.labelled(header, index, sequence, subject, identity), b"body")]
