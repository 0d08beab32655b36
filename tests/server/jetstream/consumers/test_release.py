"""What consumers release, so that streams that keep messages for them may remove it."""

from __future__ import annotations

from lib.consumer_fixture import SECOND, ConsumerFixture
from pyjs.server.jetstream.consumers.info import describe


def test_acking_all_up_to_a_message_lets_go_of_those_given_up_before_it() -> None:
    fixture = ConsumerFixture(retention="interest")
    consumer = fixture.consumer(durable_name="c", ack_policy="all", ack_wait=SECOND, max_deliver=1)
    got = fixture.subscribe("inbox")
    fixture.publish("1", "2")
    fixture.pull(consumer)
    fixture.clock.advance(2 * SECOND)  # out of deliveries, and kept for who may ask for it by its sequence
    fixture.pull(consumer)
    assert fixture.stream.store.messages == 2
    fixture.ack(got.messages[-1])
    assert (fixture.stream.store.messages, describe(consumer).ack_floor.stream_seq) == (0, 2)
