"""Limits, discard policies, age, lifetimes, retention."""

from __future__ import annotations

import json
from collections.abc import Sequence

from lib.streams import World
from pyjs.server.config.options import AccountJetStream
from pyjs.server.jetstream.streams.limits import MOST_PASSED
from pyjs.store.message import StoredMessage

SECOND = 1_000_000_000


def error(answer: bytes) -> tuple[int, str]:
    found = json.loads(answer)["error"]
    return found["err_code"], found["description"]


def test_the_oldest_go_when_there_are_too_many(world: World) -> None:
    stream = world.stream(subjects=["s.*"], max_msgs=2)
    for name in "abc":
        world.publish(f"s.{name}")
    assert world.subjects(stream) == ["s.b", "s.c"]
    assert stream.store.first_seq == 2


def test_the_oldest_go_when_there_are_too_many_bytes(world: World) -> None:
    stream = world.stream(subjects=["s"], max_bytes=100)
    for _ in range(9):
        world.publish("s", b"12345678")
    assert stream.store.bytes == 100
    assert stream.store.messages == 4


def test_each_subject_keeps_its_newest(world: World) -> None:
    stream = world.stream(subjects=["s.*"], max_msgs_per_subject=1)
    for subject in ("s.a", "s.b", "s.a"):
        world.publish(subject)
    assert world.subjects(stream) == ["s.b", "s.a"]


def test_discard_new_refuses_with_the_limits_name(world: World) -> None:
    world.stream("M", subjects=["m"], max_msgs=1, discard="new")
    world.stream("B", subjects=["b"], max_bytes=20, discard="new")
    world.stream("P", subjects=["p.*"], max_msgs_per_subject=1, discard="new", discard_new_per_subject=True)
    for subject in ("m", "p.a"):
        world.publish(subject)
    assert error(world.publish("m")) == (10077, "maximum messages exceeded")
    assert error(world.publish("b", b"12345")) == (10077, "maximum bytes exceeded")
    assert error(world.publish("p.a")) == (10077, "maximum messages per subject exceeded")
    assert world.publish("p.b") == b'{"stream":"P","seq":2}'


def test_discard_new_still_replaces_the_oldest_of_a_full_subject(world: World) -> None:
    stream = world.stream(subjects=["s.*"], max_msgs=2, max_msgs_per_subject=1, discard="new")
    for subject in ("s.a", "s.b", "s.a"):
        assert b"error" not in world.publish(subject)
    assert error(world.publish("s.c"))[0] == 10077
    assert world.subjects(stream) == ["s.b", "s.a"]


def test_messages_go_when_they_are_too_old(world: World) -> None:
    stream = world.stream(subjects=["s.*"], max_age=10 * SECOND)
    world.publish("s.a")
    world.clock.advance(6 * SECOND)
    world.publish("s.b")
    world.clock.advance(5 * SECOND)
    assert world.subjects(stream) == ["s.b"]
    world.clock.advance(6 * SECOND)
    assert (stream.store.messages, stream.store.first_seq, stream.store.last_seq) == (0, 3, 2)


def test_an_empty_stream_of_limited_age_sets_no_timer(world: World) -> None:
    world.stream(subjects=["s"], max_age=10 * SECOND)
    assert world.clock.pending() == 0


def test_a_message_with_a_lifetime_goes_when_it_ends(world: World) -> None:
    stream = world.stream(subjects=["s.*"], allow_msg_ttl=True)
    world.publish("s.a", Nats_TTL="5")
    world.publish("s.b", Nats_TTL="2s")
    world.publish("s.c")
    world.clock.advance(3 * SECOND)
    assert world.subjects(stream) == ["s.a", "s.c"]
    world.clock.advance(3 * SECOND)
    assert world.subjects(stream) == ["s.c"]


def test_messages_that_never_expire_are_passed_once(world: World) -> None:
    stream = world.stream(subjects=["s.*"], max_age=SECOND, allow_msg_ttl=True)
    count = 3 * MOST_PASSED
    for _ in range(count):
        world.publish("s.kept", Nats_TTL="never")
    looks = 0
    store = stream.store
    find, read = store.next_seq, store.next

    def found(filters: Sequence[str], sequence: int) -> int:
        nonlocal looks
        looks += 1
        return find(filters, sequence)

    def message(filters: Sequence[str], sequence: int) -> StoredMessage | None:
        nonlocal looks
        looks += 1
        return read(filters, sequence)

    store.next_seq, store.next = found, message  # type: ignore[method-assign,assignment]
    for _ in range(100):
        world.publish("s.a")
        world.publish("s.kept", Nats_TTL="never")
        world.clock.advance(SECOND // 20)
    world.clock.advance(2 * SECOND)
    assert looks < count + 2000
    assert set(world.subjects(stream)) == {"s.kept"}
    assert stream.store.messages == count + 100


def test_a_message_that_never_expires_outlives_the_streams_age(world: World) -> None:
    stream = world.stream(subjects=["s.*"], allow_msg_ttl=True, max_age=5 * SECOND)
    world.publish("s.a", Nats_TTL="never")
    world.publish("s.b")
    world.clock.advance(20 * SECOND)
    assert world.subjects(stream) == ["s.a"]


def test_a_lifetime_that_cannot_be_read_is_refused(world: World) -> None:
    world.stream(subjects=["s"], allow_msg_ttl=True)
    assert error(world.publish("s", Nats_TTL="soon"))[0] == 10165
    assert error(world.publish("s", Nats_TTL="10ms"))[0] == 10165


def test_a_marker_follows_the_last_message_of_a_subject_that_expires(world: World) -> None:
    stream = world.stream(
        subjects=["s.*"], allow_msg_ttl=True, max_age=5 * SECOND, subject_delete_marker_ttl=60 * SECOND
    )
    world.publish("s.a", Nats_TTL="60s")
    world.publish("s.b")
    world.clock.advance(6 * SECOND)
    marker = world.messages(stream)[-1]
    assert marker.subject == "s.b"
    assert b"Nats-Marker-Reason: MaxAge\r\nNats-TTL: 1m0s\r\nNats-Rollup: sub\r\n" in marker.header
    world.clock.advance(200 * SECOND)
    assert stream.store.messages == 0


def test_an_account_at_its_limit_stores_nothing_more(tmp_path: object) -> None:
    world = World(str(tmp_path), limits=AccountJetStream(max_memory=60))
    world.stream(subjects=["s"])
    world.publish("s", b"12345678")
    world.publish("s", b"12345678")
    assert error(world.publish("s", b"12345678"))[0] == 10002
    assert world.js.limits.memory.used == 50
    world.js.lookup("S").purge()
    assert world.js.limits.memory.used == 0
    assert b"error" not in world.publish("s", b"12345678")
    world.close()


def test_interest_without_consumers_stores_nothing_but_uses_the_sequence(world: World) -> None:
    stream = world.stream(subjects=["s"], retention="interest")
    assert world.publish("s") == b'{"stream":"S","seq":1}'
    assert world.publish("s") == b'{"stream":"S","seq":2}'
    assert (stream.store.messages, stream.store.last_seq) == (0, 2)


def test_stricter_limits_apply_at_once_when_a_stream_is_updated(world: World) -> None:
    stream = world.stream(subjects=["s.*"])
    for name in "abcaab":
        world.publish(f"s.{name}")
    world.js.update(stream.config.replace(max_msgs_per_subject=1))
    assert world.subjects(stream) == ["s.c", "s.a", "s.b"]
    world.js.update(stream.config.replace(max_msgs=1))
    assert world.subjects(stream) == ["s.b"]
