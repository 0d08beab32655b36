"""What consumers let go of, so that streams that keep messages for them may too."""

from __future__ import annotations

from lib.consumer_fixture import SECOND, Rig


def test_acking_all_up_to_a_message_lets_go_of_those_given_up_before_it() -> None:
    rig = Rig(retention="interest")
    consumer = rig.consumer(durable_name="c", ack_policy="all", ack_wait=SECOND, max_deliver=1)
    got = rig.hear("inbox")
    rig.publish("1", "2")
    rig.pull(consumer)
    rig.clock.advance(2 * SECOND)  # out of deliveries, and kept for who may ask for it by its sequence
    rig.pull(consumer)
    assert rig.stream.store.messages == 2
    rig.ack(got.messages[-1])
    assert (rig.stream.store.messages, consumer.info().ack_floor.stream_seq) == (0, 2)
