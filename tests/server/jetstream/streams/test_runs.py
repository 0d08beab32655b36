"""Publishes that come together have the effect of single ones: the same messages and answers, in order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from lib.examples import seeds
from lib.streams import JetStreamFixture, Spy
from pyjs.protocol import headers
from pyjs.server.accounts.subscription import Message, Publish
from pyjs.server.jetstream.consumers.core import Consumer
from pyjs.server.jetstream.streams.core import Stream

Part = tuple[str, bytes, bytes, bytes]  # subject, reply, header, body

ID = headers.encode({"Nats-Msg-Id": "once"})
EXPECTS_ID = headers.encode({"Nats-Expected-Last-Msg-Id": "once"})
PARTS = [
    ("s.a", b"ack", b"", b"1"),
    ("s.a", b"ack", b"", b"2"),
    ("s.a", b"", b"", b"nobody waits"),
    ("s.b", b"ack", b"", b"other subject"),
    ("s.b", b"ack", ID, b"with an id"),
    ("s.b", b"ack", EXPECTS_ID, b"after that id"),
    ("s.b", b"ack", ID, b"again"),
    ("s.b", b"ack", b"", b"x" * 100),
    ("s.b", b"ack", EXPECTS_ID, b"after another"),
    ("s.a", b"ack", b"", b""),
    ("s.a", b"ack", b"", b"3"),
]
CONFIGS: list[dict[str, Any]] = [
    {},
    {"max_msg_size": 50},
    {"max_msgs": 3},
    {"max_msgs": 3, "discard": "new"},
    {"max_bytes": 120},
    {"max_msgs_per_subject": 2},
    {"max_msgs_per_subject": 2, "discard": "new", "discard_new_per_subject": True},
    {"max_age": 10_000_000_000, "duplicate_window": 1_000_000_000},
    {"no_ack": True},
    {"retention": "interest"},
    {"retention": "workqueue"},
    {"subject_transform": {"src": "s.*", "dest": "t.$1"}},
    {"republish": {"src": "s.>", "dest": "r.>"}},
]


def together(_: JetStreamFixture, stream: Stream[Consumer], parts: Sequence[Part]) -> None:
    run: list[Publish] = []
    for subject, reply, header, body in parts:
        size = len(header) + len(body)
        lead = b"%b%b%d" % (reply + b" " if reply else b"", b"%d " % len(header) if header else b"", size)
        run.append((subject.encode(), reply, len(header), size, b"%b\r\n%b%b\r\n" % (lead, header, body)))
    stream.ingest.receive_batch(run)


def one_by_one(_: JetStreamFixture, stream: Stream[Consumer], parts: Sequence[Part]) -> None:
    for subject, reply, header, body in parts:
        stream.ingest.receive(Message(subject, reply.decode(), header, body, None))


def outcome(
    fixture: JetStreamFixture,
    store: Any,
    config: dict[str, Any],
    storage: str,
    parts: Sequence[Part] = PARTS,
) -> tuple[Any, ...]:
    stream = fixture.stream("S", subjects=["s.>"], storage=storage, **config)
    spy = Spy(fixture.account, "ack")
    again = Spy(fixture.account, "r.>")
    fixture.runner.paused = True
    store(fixture, stream, parts)
    fixture.runner.release()
    fixture.runner.paused = False
    state = stream.store
    found = (
        fixture.messages(stream),
        spy.bodies,
        len(again.bodies),
        state.first_seq,
        state.last_seq,
        state.bytes,
    )
    fixture.js.delete("S")
    return (*found, stream.dedupe.last_id)


@pytest.mark.parametrize("storage", ["memory", "file"])
@pytest.mark.parametrize("config", CONFIGS, ids=[" ".join(config) or "plain" for config in CONFIGS])
def test_a_run_does_what_its_publishes_do_alone(
    fixture: JetStreamFixture, config: dict[str, Any], storage: str
) -> None:
    expected = outcome(fixture, one_by_one, config, storage)
    assert outcome(fixture, together, config, storage) == expected


@seeds(20)
def test_any_run_does_what_its_publishes_do_alone(fixture: JetStreamFixture, seed: int) -> None:
    chance = random.Random(seed)
    ids = [headers.encode({"Nats-Msg-Id": name}) for name in ("once", "two", "three")]
    others = [b"", b"", EXPECTS_ID, headers.encode({"A": "b"}), b"NATS/1.0 200 OK\r\nA: b\r\n\r\n"]
    parts = [
        (chance.choice(["s.a", "s.b", "s.c"]), chance.choice([b"ack", b"ack", b""]), header, b"%d" % place)
        for place, header in enumerate(chance.choices([*ids, *others], k=chance.randint(1, 40)))
    ]
    config = chance.choice(CONFIGS)
    storage = chance.choice(["memory", "file"])
    expected = outcome(fixture, one_by_one, config, storage, parts)
    assert outcome(fixture, together, config, storage, parts) == expected


def test_a_run_that_the_store_refuses_is_reported_to_each_publisher(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s.>"], storage="file")
    spy = Spy(fixture.account, "ack")
    stream.store.close()
    together(fixture, stream, PARTS)
    assert len(spy.bodies) == len([part for part in PARTS if part[1]])
    assert all(b'"error":' in body for body in spy.bodies)
