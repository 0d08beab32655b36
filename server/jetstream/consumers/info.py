"""A consumer's ConsumerInfo, and the metadata that servers add to its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api.consumer import ConsumerConfig, ConsumerInfo, PriorityGroupState, SequenceInfo
from ....protocol.limits import API_LEVEL
from ....version import NATS_VERSION

if TYPE_CHECKING:
    from .core import Consumer

_OWN = ("_nats.ver", "_nats.level")


def stamped(config: ConsumerConfig) -> ConsumerConfig:
    """Return the configuration as it is stored: with the API level that its features require."""
    level = 0
    priority = config.priority_policy != "none" or config.priority_timeout or config.priority_groups
    if config.pause_until or priority:
        level = 1
    if config.ack_policy == "flow_control":
        level = 4
    kept = {k: v for k, v in config.metadata.items() if k not in _OWN}
    return config.replace(metadata={**kept, "_nats.req.level": str(level)})


def shown(config: ConsumerConfig) -> ConsumerConfig:
    """Return the configuration as responses show it: with this server's version and API level."""
    metadata = {**config.metadata, "_nats.ver": NATS_VERSION, "_nats.level": str(API_LEVEL)}
    return config.replace(metadata=metadata)


def describe(consumer: Consumer) -> ConsumerInfo:
    """Return the consumer's info, without the cluster's part."""
    from .pull_delivery import PullDelivery

    delivery_state, config, now = consumer.delivery_state, consumer.config, consumer.clock.now()
    delivery = consumer.delivery
    paused = consumer.pause.at(now)
    groups = []
    if config.priority_groups and isinstance(delivery, PullDelivery):
        pin = delivery.pin
        groups = [PriorityGroupState(config.priority_groups[0], pin.identifier, pin.since)]
    return ConsumerInfo(
        stream_name=consumer.stream.name,
        name=consumer.name,
        created=consumer.created,
        config=config,
        delivered=SequenceInfo(
            delivery_state.consumer_seq, delivery_state.stream_seq, consumer.sender.delivered_at
        ),
        ack_floor=SequenceInfo(
            delivery_state.floor_consumer, delivery_state.floor_stream, consumer.ack_handler.acked_at
        ),
        num_ack_pending=delivery_state.outstanding,
        # With max_deliver 1 nothing is redelivered: `redelivered` then only has messages that were given up.
        num_redelivered=0 if config.max_deliver == 1 else len(delivery_state.redelivered),
        num_waiting=delivery.waiting() if isinstance(delivery, PullDelivery) else 0,
        num_pending=consumer.pending_messages(),
        push_bound=delivery.bound,
        paused=paused,
        pause_remaining=config.pause_until - now if paused else 0,
        ts=now,
        priority_groups=groups,
    )
