"""Plain: the consumers of a stream with one copy, made what the meta group decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api.consumer import ConsumerConfig
from ....protocol.errors import ApiError
from ..consumer import lifecycle

if TYPE_CHECKING:
    from ...cluster.meta.assignment import ConsumerAssignment
    from ..stream.core import Stream
    from .asset import Asset


def level_consumers(asset: Asset, stream: Stream, wanted: list[ConsumerAssignment]) -> None:
    """Let there be these, and no others."""
    known = {consumer.name: consumer.created for consumer in wanted}
    for consumer in stream.public_consumers():
        if known.get(consumer.name) != consumer.created:
            consumer.delete()
    for assignment in wanted:
        level_consumer(asset, stream, assignment)


def level_consumer(asset: Asset, stream: Stream, assignment: ConsumerAssignment) -> None:
    """Make one, or change it; harmless when it is as it shall be."""
    name, config = assignment.name, ConsumerConfig.from_json(assignment.config)
    if name in stream.offline_consumers:
        return  # told already: what it confirmed is not to be begun anew
    there = stream.consumers.get(name)
    try:
        if there is not None and there.created == assignment.created:
            if there.config == config:
                return
            lifecycle.replace(there, config)
        else:
            if there is not None:
                there.delete()
            store = lifecycle.open_store(stream, name, config, assignment.created)
            lifecycle.adopt(stream, name, config, assignment.created, store, asset.ended)
    except ApiError as fault:
        asset.warn(f"has no consumer '{name}': {fault.description}")
        return
    asset.say_up(name)
