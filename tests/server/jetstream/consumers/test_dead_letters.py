"""Messages that are given up are stored as dead letters first, each once, and held as long as that fails."""

from __future__ import annotations

from typing import Any

import pytest
from lib.consumer_fixture import ConsumerFixture
from pyjs.protocol import dead_letters, headers
from pyjs.protocol.api.consumer import ConsumerConfig
from pyjs.protocol.api.stream import StreamConfig
from pyjs.server.jetstream.consumers.core import Consumer
from pyjs.server.jetstream.consumers.dead_letters import LONGEST_PAUSE, MOST
from pyjs.server.jetstream.streams.core import Stream
from pyjs.server.slices import at_once

SECOND = 1_000_000_000


def queue(fixture: ConsumerFixture, **config: Any) -> Stream[Consumer]:
    """Make the stream for dead letters, and listen to what consumers deliver to `inbox`."""
    fixture.subscribe("inbox")
    fields = {"name": "DLQ_S", "subjects": dead_letters.queue_subjects("S"), "storage": "memory"}
    return fixture.jetstream.create(StreamConfig.from_json({"num_replicas": 1, **fields, **config}))


def letters(fixture: ConsumerFixture) -> list[tuple[int, str, bytes]]:
    """The stored letters: sequence, reason and body."""
    store = fixture.jetstream.streams["DLQ_S"].store
    found = []
    sequence = store.next_seq((dead_letters.message_filter("S"),), 0)
    while sequence:
        message = store.get(sequence)
        fields = {name: values[0] for name, values in headers.decode(message.header).items()}
        event = dead_letters.read_letter(fields)
        found.append((event.sequence, event.reason, message.body))
        sequence = store.next_seq((dead_letters.message_filter("S"),), sequence + 1)
    return found


def advisories(fixture: ConsumerFixture) -> int:
    return fixture.jetstream.streams["DLQ_S"].store.count(dead_letters.advisory_filters("S"), 0)


@pytest.mark.parametrize("retention", ["limits", "workqueue", "interest"])
def test_a_terminated_message_is_stored_before_it_is_removed(retention: str) -> None:
    fixture = ConsumerFixture(retention=retention)
    queue(fixture)
    consumer = fixture.consumer(durable_name="C", ack_policy="explicit")
    answers, inbox = fixture.subscribe("answer"), fixture.subscribe("inbox")
    fixture.publish("bad")
    fixture.pull(consumer)
    (message,) = inbox.take()
    seen: list[int] = []
    fixture.account.subscribe("$PYJS.DLQ.>", lambda _: seen.append(fixture.stream.store.messages))
    fixture.ack(message, "+TERM broken", reply="answer")
    fixture.clock.advance(0)
    assert (seen, answers.bodies()) == ([1], [""])
    assert fixture.stream.store.messages == (1 if retention == "limits" else 0)
    assert letters(fixture) == [(1, "terminated", b"bad")]
    assert advisories(fixture) == 1
    assert consumer.delivery_state.outstanding == 0


def test_an_exhausted_message_is_stored_with_its_header_which_is_not_obeyed() -> None:
    fixture = ConsumerFixture(retention="workqueue")
    store = queue(fixture).store
    fixture.publish("kept")
    consumer = fixture.consumer(durable_name="C", ack_policy="explicit", max_deliver=2, ack_wait=SECOND)
    block = headers.encode({"Nats-Msg-Id": "one", "Colour": "red", "Nats-Expected-Stream": "S"})
    fixture.account.publish("s.2", b"bad", header=block, own=True)
    inbox = fixture.subscribe("inbox")
    for _ in range(2):
        fixture.pull(consumer, '{"batch": 2}')
        fixture.clock.advance(2 * SECOND)
    assert len(inbox.take()) == 4
    fixture.clock.advance(SECOND)
    assert letters(fixture) == [(1, "max_deliveries", b"kept"), (2, "max_deliveries", b"bad")]
    stored = store.last(dead_letters.message_filter("S"))
    assert stored is not None and dead_letters.restored_header(stored.header) == block
    assert fixture.stream.store.messages == 2  # as on nats-server: nobody has acknowledged them
    assert (consumer.delivery_state.outstanding, advisories(fixture)) == (0, 2)


def test_a_message_is_held_as_long_as_it_cannot_be_stored() -> None:
    fixture = ConsumerFixture(retention="workqueue")
    full = queue(fixture, max_msgs=1, discard="new", subjects=["$PYJS.DLQ.S.*.>"])
    consumer = fixture.consumer(durable_name="C", ack_policy="explicit", ack_wait=SECOND, max_ack_pending=2)
    inbox, answers = fixture.subscribe("inbox"), fixture.subscribe("answer")
    fixture.publish("one", "two", "three")
    fixture.pull(consumer, '{"batch": 2}')
    first, second = inbox.take()
    for message in (first, second, second):
        fixture.ack(message, "+TERM", reply="answer")
    fixture.clock.advance(0)
    assert [letter[0] for letter in letters(fixture)] == [1]
    assert len(answers.take()) == 1
    for verb in ("-NAK", "+WPI"):  # neither brings it back
        fixture.ack(second, verb)
        fixture.pull(consumer, '{"expires": 100000000000}')
        fixture.clock.advance(5 * SECOND)
        assert [message.body for message in inbox.take() if message.reply] in ([b"three"], [])
    assert fixture.stream.store.messages == 2
    assert answers.take() == []
    assert any("1 messages wait to be dead letters" in line for line in fixture.log)
    at_once(full.removal.purging())
    fixture.clock.advance(LONGEST_PAUSE)
    assert [letter[0] for letter in letters(fixture)] == [2]
    assert len(answers.take()) == 2
    assert consumer.delivery_state.entry(2) is None


def test_what_is_held_is_given_up_if_the_queue_is_deleted_and_an_ack_still_counts() -> None:
    fixture = ConsumerFixture(retention="workqueue")
    queue(fixture, max_msgs=1, discard="new", subjects=["$PYJS.DLQ.S.*.>"])
    consumer = fixture.consumer(durable_name="C", ack_policy="explicit")
    inbox = fixture.subscribe("inbox")
    fixture.publish("one", "two", "three")
    fixture.pull(consumer, '{"batch": 3}')
    messages = inbox.take()
    for message in messages:
        fixture.ack(message, "+TERM")
    fixture.clock.advance(0)
    fixture.ack(messages[2])
    assert consumer.delivery_state.outstanding == 1
    fixture.jetstream.delete("DLQ_S")
    fixture.clock.advance(LONGEST_PAUSE)
    assert (consumer.delivery_state.outstanding, fixture.stream.store.messages) == (0, 0)
    assert not consumer.delivery_state.leaving


def test_very_many_are_stored_once_each_and_a_few_at_a_time() -> None:
    fixture = ConsumerFixture()
    queue(fixture)
    consumer = fixture.consumer(durable_name="C", ack_policy="explicit", ack_wait=SECOND, max_deliver=1)
    fixture.publish(*map(str, range(1000)))
    under_way: list[int] = []
    fixture.account.subscribe("$PYJS.DLQ.>", lambda _: under_way.append(len(consumer.dead_letters._sent)))
    fixture.pull(consumer, '{"batch": 1000}')
    fixture.clock.advance(3 * SECOND)
    assert sorted(letters(fixture)) == [(n + 1, "max_deliveries", b"%d" % n) for n in range(1000)]
    assert max(under_way) <= MOST
    assert consumer.delivery_state.outstanding == 0


def test_a_letter_that_was_stored_before_a_crash_is_not_stored_again() -> None:
    fixture = ConsumerFixture()
    queue(fixture)
    consumer = fixture.consumer(durable_name="C", ack_policy="explicit", ack_wait=SECOND, max_deliver=1)
    fixture.publish("one")
    fixture.pull(consumer)
    before = consumer.delivery_state.state()
    fixture.clock.advance(2 * SECOND)
    assert len(letters(fixture)) == 1
    fixture.clock.advance(3600 * SECOND)  # no message id is known any more
    consumer.delivery_state.restore(before, fixture.clock.now())
    consumer.ack_waits.arm()
    fixture.clock.advance(2 * SECOND)
    assert (len(letters(fixture)), consumer.delivery_state.outstanding) == (1, 0)


def test_a_consumer_of_the_same_name_has_letters_of_its_own() -> None:
    fixture = ConsumerFixture()
    queue(fixture)
    fixture.publish("one")
    for _ in range(2):
        consumer = fixture.consumer(durable_name="C", ack_policy="explicit", ack_wait=SECOND, max_deliver=1)
        fixture.pull(consumer)
        fixture.clock.advance(2 * SECOND)
        consumer.delete()
        fixture.stream.consumers.clear()
    assert [letter[0] for letter in letters(fixture)] == [1, 1]


def test_only_the_consumers_that_were_asked_for_have_letters() -> None:
    fixture = ConsumerFixture()
    queue(fixture, subjects=dead_letters.queue_subjects("S", "D"))
    for name in ("C", "D"):
        config = ConsumerConfig(durable_name=name, ack_policy="explicit", ack_wait=SECOND, max_deliver=1)
        consumer = fixture.consumer(**config.to_json())
        fixture.publish(name, subject=f"s.{name}")
        fixture.pull(consumer)
    fixture.clock.advance(2 * SECOND)
    assert letters(fixture) == [(1, "max_deliveries", b"C")]  # D began with the first message, too
    assert advisories(fixture) == 1


def test_an_acknowledged_message_is_no_dead_letter() -> None:
    fixture = ConsumerFixture()
    queue(fixture)
    consumer = fixture.consumer(durable_name="C", ack_policy="explicit")
    inbox = fixture.subscribe("inbox")
    fixture.publish("one")
    fixture.pull(consumer)
    (message,) = inbox.take()
    fixture.ack(message)
    fixture.ack(message, "+TERM")
    fixture.clock.advance(0)
    assert letters(fixture) == []
