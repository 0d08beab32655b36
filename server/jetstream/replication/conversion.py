"""From a stream on one server to a replicated one, and back.

Promises: nothing that was acknowledged gets lost on the way, and consumers go on where they were; after
`found` the store says durably that it is a replica's, as of index 0, and after `dissolve` that it is not.
Both block for a commit. Who joins a group founded over messages is no founder: its `Replica` is made with
`joining`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....store.consumer import MemoryConsumer
from ..consumers import lifecycle
from ..streams.core import Stream
from . import state as states
from .consumer_state import ReplicatedConsumerState

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....protocol.api.stream import StreamConfig
    from ....store.consumer import ConsumerStore
    from ....store.stream import StreamStore
    from ..consumers.core import Consumer
    from .replica import Replica


def found(stream: Stream, group: str = "") -> StreamStore:
    """End a plain stream and give its store, for the first `Replica` of a group.

    Raises OSError, StoreError.
    """
    standings = []
    for consumer in stream.public_consumers():
        standing = ReplicatedConsumerState(consumer.name, consumer.created, consumer.config)
        standing.state = consumer.ledger.state()
        standing.delivered_at, standing.acked_at = consumer.last_active
        standings.append(standing)
    store = stream.hand_over()
    for sequence in store.damaged():
        store.remove(sequence)  # what is lost, and was reported, is gone for all replicas alike
    state = states.ReplicaState(
        0,
        stream.clock.now(),
        stream.created,
        stream.config,
        group,
        **states.knowledge(stream),
        standings=standings,
    )
    store.note = states.encode(state)
    store.commit_sync()
    return store


def begin(config: StreamConfig, store: StreamStore, created: int, group: str) -> None:
    """Make an empty store that of a new stream's replica. Raises OSError, StoreError."""
    if config.first_seq > 1:
        store.skip_to(config.first_seq - 1)
    state = states.ReplicaState(0, created, created, config, group, remembered_from=store.last_seq + 1)
    store.note = states.encode(state)
    store.commit_sync()


def dissolve(replica: Replica, ended: Callable[[Consumer], None] | None = None) -> Stream:
    """End a replica and go on as a plain stream with its consumers. Raises ApiError, OSError, StoreError.

    ended: is told of each consumer that has come to its end, see `lifecycle.adopt`.
    """
    old = replica.stream
    account, config, created = old.account, old.config, old.created
    positions = old.positions.to_json()
    standings = list(old.standings.values())
    store = replica.hand_over()
    if config.storage == "file":
        account.save(old, positions)
        names = {standing.name for standing in standings}
        for asset in account.directory.consumers(config.name):
            if asset.name not in names:
                account.directory.remove_consumer(config.name, asset.name)
    store.note = b""
    store.commit_sync()
    stream = Stream(config, store, account, created)
    account.streams[config.name] = stream
    stream.recover(positions)
    for standing in standings:
        kept = _store(stream, standing)
        consumer = lifecycle.adopt(stream, standing.name, standing.config, standing.created, kept, ended)
        consumer.last_active = standing.delivered_at, standing.acked_at
    stream.start()
    stream.start_inflow()
    return stream


def _store(stream: Stream, standing: ReplicatedConsumerState) -> ConsumerStore:
    """A consumer's store with its state in it, durable where it is to be."""
    kept = lifecycle.open_store(stream, standing.name, standing.config, standing.created)
    store: ConsumerStore = MemoryConsumer() if kept is None else kept
    store.save(standing.state)
    store.commit_sync()
    return store
