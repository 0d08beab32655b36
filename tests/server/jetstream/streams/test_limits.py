"""Limits, discard policies, age, lifetimes, retention."""

from __future__ import annotations

import json
from collections.abc import Sequence

from lib.streams import JetStreamFixture
from pyjs.server.config.options import AccountJetStream
from pyjs.server.jetstream.streams.limits import MOST_PASSED
from pyjs.store.message import StoredMessage

SECOND = 1_000_000_000


def error(answer: bytes) -> tuple[int, str]:
    found = json.loads(answer)["error"]
    return found["err_code"], found["description"]


def test_the_oldest_go_when_there_are_too_many(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s.*"], max_msgs=2)
    for name in "abc":
        fixture.publish(f"s.{name}")
    assert fixture.subjects(stream) == ["s.b", "s.c"]
    assert stream.store.first_seq == 2


def test_the_oldest_go_when_there_are_too_many_bytes(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s"], max_bytes=100)
    for _ in range(9):
        fixture.publish("s", b"12345678")
    assert stream.store.bytes == 100
    assert stream.store.messages == 4


def test_each_subject_keeps_its_newest(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s.*"], max_msgs_per_subject=1)
    for subject in ("s.a", "s.b", "s.a"):
        fixture.publish(subject)
    assert fixture.subjects(stream) == ["s.b", "s.a"]


def test_discard_new_refuses_with_the_limits_name(fixture: JetStreamFixture) -> None:
    fixture.stream("M", subjects=["m"], max_msgs=1, discard="new")
    fixture.stream("B", subjects=["b"], max_bytes=20, discard="new")
    fixture.stream("P", subjects=["p.*"], max_msgs_per_subject=1, discard="new", discard_new_per_subject=True)
    for subject in ("m", "p.a"):
        fixture.publish(subject)
    assert error(fixture.publish("m")) == (10077, "maximum messages exceeded")
    assert error(fixture.publish("b", b"12345")) == (10077, "maximum bytes exceeded")
    assert error(fixture.publish("p.a")) == (10077, "maximum messages per subject exceeded")
    assert fixture.publish("p.b") == b'{"stream":"P","seq":2}'


def test_discard_new_still_replaces_the_oldest_of_a_full_subject(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s.*"], max_msgs=2, max_msgs_per_subject=1, discard="new")
    for subject in ("s.a", "s.b", "s.a"):
        assert b"error" not in fixture.publish(subject)
    assert error(fixture.publish("s.c"))[0] == 10077
    assert fixture.subjects(stream) == ["s.b", "s.a"]


def test_messages_go_when_they_are_too_old(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s.*"], max_age=10 * SECOND)
    fixture.publish("s.a")
    fixture.clock.advance(6 * SECOND)
    fixture.publish("s.b")
    fixture.clock.advance(5 * SECOND)
    assert fixture.subjects(stream) == ["s.b"]
    fixture.clock.advance(6 * SECOND)
    assert (stream.store.messages, stream.store.first_seq, stream.store.last_seq) == (0, 3, 2)


def test_an_empty_stream_of_limited_age_sets_no_timer(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"], max_age=10 * SECOND)
    assert fixture.clock.pending() == 0


def test_a_message_with_a_lifetime_goes_when_it_ends(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s.*"], allow_msg_ttl=True)
    fixture.publish("s.a", Nats_TTL="5")
    fixture.publish("s.b", Nats_TTL="2s")
    fixture.publish("s.c")
    fixture.clock.advance(3 * SECOND)
    assert fixture.subjects(stream) == ["s.a", "s.c"]
    fixture.clock.advance(3 * SECOND)
    assert fixture.subjects(stream) == ["s.c"]


def test_messages_that_never_expire_are_passed_once(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s.*"], max_age=SECOND, allow_msg_ttl=True)
    count = 3 * MOST_PASSED
    for _ in range(count):
        fixture.publish("s.kept", Nats_TTL="never")
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
        fixture.publish("s.a")
        fixture.publish("s.kept", Nats_TTL="never")
        fixture.clock.advance(SECOND // 20)
    fixture.clock.advance(2 * SECOND)
    assert looks < count + 2000
    assert set(fixture.subjects(stream)) == {"s.kept"}
    assert stream.store.messages == count + 100


def test_a_message_that_never_expires_outlives_the_streams_age(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s.*"], allow_msg_ttl=True, max_age=5 * SECOND)
    fixture.publish("s.a", Nats_TTL="never")
    fixture.publish("s.b")
    fixture.clock.advance(20 * SECOND)
    assert fixture.subjects(stream) == ["s.a"]


def test_a_lifetime_that_cannot_be_read_is_refused(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"], allow_msg_ttl=True)
    assert error(fixture.publish("s", Nats_TTL="soon"))[0] == 10165
    assert error(fixture.publish("s", Nats_TTL="10ms"))[0] == 10165


def test_a_marker_follows_the_last_message_of_a_subject_that_expires(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(
        subjects=["s.*"], allow_msg_ttl=True, max_age=5 * SECOND, subject_delete_marker_ttl=60 * SECOND
    )
    fixture.publish("s.a", Nats_TTL="60s")
    fixture.publish("s.b")
    fixture.clock.advance(6 * SECOND)
    marker = fixture.messages(stream)[-1]
    assert marker.subject == "s.b"
    assert b"Nats-Marker-Reason: MaxAge\r\nNats-TTL: 1m0s\r\nNats-Rollup: sub\r\n" in marker.header
    fixture.clock.advance(200 * SECOND)
    assert stream.store.messages == 0


def test_an_account_at_its_limit_stores_nothing_more(tmp_path: object) -> None:
    fixture = JetStreamFixture(str(tmp_path), limits=AccountJetStream(max_memory=60))
    fixture.stream(subjects=["s"])
    fixture.publish("s", b"12345678")
    fixture.publish("s", b"12345678")
    assert error(fixture.publish("s", b"12345678"))[0] == 10002
    assert fixture.js.limits.memory.used == 50
    fixture.js.lookup("S").removal.purge()
    assert fixture.js.limits.memory.used == 0
    assert b"error" not in fixture.publish("s", b"12345678")
    fixture.close()


def test_interest_without_consumers_stores_nothing_but_uses_the_sequence(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s"], retention="interest")
    assert fixture.publish("s") == b'{"stream":"S","seq":1}'
    assert fixture.publish("s") == b'{"stream":"S","seq":2}'
    assert (stream.store.messages, stream.store.last_seq) == (0, 2)


def test_stricter_limits_apply_at_once_when_a_stream_is_updated(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s.*"])
    for name in "abcaab":
        fixture.publish(f"s.{name}")
    fixture.js.update(stream.config.replace(max_msgs_per_subject=1))
    assert fixture.subjects(stream) == ["s.c", "s.a", "s.b"]
    fixture.js.update(stream.config.replace(max_msgs=1))
    assert fixture.subjects(stream) == ["s.b"]
