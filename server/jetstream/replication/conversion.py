"""The conversion of a stream on one server to a replicated stream, and back.

Promises:
- Nothing that was acknowledged gets lost, and consumers go on where they were.
- After `scale_up` the store's note durably marks the store as a replica's, as of index 0; after `scale_down`
  it does not.
- Both functions block for a commit.
- A server that joins a group that was bootstrapped over messages is not a founder: its `Replica` is filled
  from another one (`Replica.join`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....store.consumer import MemoryConsumer
from ..consumers import lifecycle
from ..streams.core import Stream
from . import state as states
from .consumers import ReplicatedConsumerState

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....protocol.api.stream import StreamConfig
    from ....store.consumer import ConsumerStore
    from ....store.stream import StreamStore
    from ..consumers.core import Consumer
    from .replica import Replica


def scale_up(stream: Stream[Consumer], group: str = "") -> StreamStore:
    """End a plain stream and return its store, for the first `Replica` of a group.

    Blocks for a commit. Raises OSError, StoreError.
    """
    consumer_states = []
    for consumer in stream.consumers.public():
        consumer_state = ReplicatedConsumerState(consumer.name, consumer.created, consumer.config)
        consumer_state.state = consumer.delivery_state.state()
        consumer_state.delivered_at, consumer_state.acked_at = consumer.last_active
        consumer_states.append(consumer_state)
    store = stream.hand_over()
    for sequence in store.damaged():
        store.remove(sequence)  # a lost message was reported; now it is gone on all replicas alike
    state = states.ReplicaState(
        0,
        stream.clock.now(),
        stream.created,
        stream.config,
        group,
        **states.knowledge(stream),
        consumer_states=consumer_states,
    )
    store.note = states.encode(state)
    store.commit_sync()
    return store


def begin(config: StreamConfig, store: StreamStore, created: int, group: str) -> None:
    """Turn an empty store into that of a new stream's replica; `created` in ns.

    Blocks for a commit. Raises OSError, StoreError.
    """
    if config.first_seq > 1:
        store.skip_to(config.first_seq - 1)
    state = states.ReplicaState(0, created, created, config, group, remembered_from=store.last_seq + 1)
    store.note = states.encode(state)
    store.commit_sync()


def scale_down(
    replica: Replica, streams: dict[str, Stream[Consumer]], ended: Callable[[Consumer], None] | None = None
) -> Stream[Consumer]:
    """End a replica, and return the plain stream that goes on with its messages and consumers.

    streams: the streams of the account; the plain stream takes its place there before it starts.
    ended: is called for each consumer that ends, see `lifecycle.adopt`.

    Blocks for a commit. Raises ApiError, OSError, StoreError.
    """
    old = replica.stream
    context, config, created = old.context, old.config, old.created
    offsets = old.source_offsets.to_json()
    states = list(old.states.values())
    store = replica.hand_over()
    if config.storage == "file":
        context.save_offsets(config, created, offsets)
        names = {state.name for state in states}
        for stored in context.files.all():
            if stored.name not in names:
                context.files.remove(stored.name)
    store.note = b""
    store.commit_sync()
    stream = streams[config.name] = Stream(config, store, context, created)
    stream.recover(offsets)
    for state in states:
        kept = _store(stream, state)
        consumer = lifecycle.adopt(stream, state.name, state.config, state.created, kept, ended)
        consumer.last_active = state.delivered_at, state.acked_at
    stream.start()
    stream.start_sourcing()
    return stream


def _store(stream: Stream[Consumer], state: ReplicatedConsumerState) -> ConsumerStore:
    """Return a consumer's store with its state, which is durable if the consumer's storage is."""
    kept = lifecycle.open_store(stream, state.name, state.config, state.created)
    store: ConsumerStore = MemoryConsumer() if kept is None else kept
    store.save(state.state)
    store.commit_sync()
    return store
