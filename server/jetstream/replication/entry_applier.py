"""EntryApplier: applies the entries of a log to a replica's stream.

Promises: the same entries have the same effect on every replica. A store that fails ends the replica
(`applying` raises) and is never ignored for a single message, since the replica would differ from the others.

An entry that takes long is applied in steps. The result is the same wherever they pause: nothing else changes
the stream meanwhile, and each part of the entry begins when the one before has ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....protocol.api.consumer import ConsumerConfig
from ....protocol.api.stream import StreamConfig
from ..consumers.start import choose, picks_last
from ..streams.publish_headers import ROLLUP
from . import entry as entries
from .consumers import ReplicatedConsumerState
from .entry import Outcome
from .source_entries import SourceEntries

if TYPE_CHECKING:
    from ...accounts.subscription import Publish
    from ...slices import Steps
    from .stream import ReplicatedStream

LARGE = 8192  # bytes of a message that may cause many removals


class EntryApplier:
    """Applies them to one stream."""

    def __init__(self, stream: ReplicatedStream) -> None:
        self._stream = stream
        self._removal = stream.entry_removal
        self._sources: SourceEntries = SourceEntries(
            stream.store, stream.source_offsets, stream.ingest, self._removal, stream.output.store_failed
        )

    def applying(self, index: int, data: bytes) -> Steps[Outcome]:
        """Apply an entry, unless it was applied before. Raises any error that ends this replica."""
        if index <= self._stream.index:
            return None
        entry = entries.decode(data)
        stream = self._stream
        stream.time.pass_to(entry.time)
        stream.random.begin(index)
        stream.between = True
        outcome = yield from _APPLY[type(entry)](self, entry)
        yield from self._removal.finishing()
        stream.between = False
        stream.index = index
        return outcome

    def finish(self, upto: int) -> None:
        """Send the answers of all entries up to `upto`, which have been applied."""
        self._stream.index = max(self._stream.index, upto)
        self._stream.applied.flush()

    def _publishes(self, entry: entries.Publishes) -> Steps[Outcome]:
        run, start = entry.run, 0
        if len(run) == 1:
            self._stream.ingest.receive_batch(run)
            return None
        for end in self._rests(run):
            self._stream.ingest.receive_batch(run[start:end] if end - start < len(run) else run)
            yield from self._removal.finishing()
            if end % entries.RUN == 0:
                yield
            start = end
        return None

    def _publish_batch(self, entry: entries.PublishBatch) -> Outcome:
        self._stream.ingest.receive_whole(entry.run)
        return None

    def _rests(self, run: list[Publish]) -> list[int]:
        """Return where to pause: after every RUN publishes, and after each that may remove much."""
        ends = [*range(entries.RUN, len(run), entries.RUN), len(run)]
        if self._stream.config.allow_rollup_hdrs or self._stream.config.max_bytes > 0:
            much = [at for at, one in enumerate(run, 1) if one[3] > LARGE or (one[2] and ROLLUP in one[4])]
            ends = sorted({*ends, *much})
        return ends

    def _fire(self, entry: entries.FireSchedules) -> Steps[Outcome]:
        for fired in entry.fired:
            self._stream.ingest.fire([fired])
            yield from self._removal.finishing()
        return True

    def _delete(self, entry: entries.DeleteMsg) -> Outcome:
        return self._removal.delete_message(entry.sequence, erase=entry.erase)

    def _purge(self, entry: entries.Purge) -> Steps[Outcome]:
        return (yield from self._removal.purging(subject=entry.subject, up_to=entry.up_to, keep=entry.keep))

    def _expiry(self, entry: entries.Expire) -> Steps[Outcome]:
        if entry.what == entries.AGE:
            yield from self._stream.limits.expiring()
        else:
            self._stream.expiry.expire()
        return True

    def _configure(self, entry: entries.Configure) -> Steps[Outcome]:
        config = StreamConfig.from_json(json.loads(entry.config))
        yield from self._stream.applying(config)
        self._stream.configure_reads()
        return True

    # --- consumers

    def _add_consumer(self, entry: entries.AddConsumer) -> Steps[Outcome]:
        stream = self._stream
        config = ConsumerConfig.from_json(json.loads(entry.config))
        state = stream.states.get(entry.name)
        if state is None:
            most, picks = stream.config.max_msgs_per_subject, None
            if picks_last(config, most):
                picks = yield from stream.store.picking(config.filters)
            if stream.leading:
                yield from stream.store.preparing(config.filters)
            stream.states[entry.name] = state = ReplicatedConsumerState(entry.name, entry.created, config)
            state.begin(choose(config, stream.store, most, picks))
            if stream.leading:
                stream.start_consumer(state)
            return True
        state.configure(config)
        stream.states.refiltered(entry.name, stream.store.last_seq)
        consumer = stream.consumers.get(entry.name)
        if consumer is not None:
            consumer.update(config)
        self._removal.begin(self._removal.sweeping())
        return True

    def _remove_consumer(self, entry: entries.RemoveConsumer) -> Outcome:
        state = self._stream.states.pop(entry.name, None)
        if state is None:
            return False
        consumer = self._stream.consumers.pop(entry.name, None)
        if consumer is not None:
            consumer.delete()
        self._removal.release([state.state.pending, state.state.redelivered])
        self._removal.begin(self._removal.sweeping())
        return True

    def _change(self, entry: entries.ConsumerDelta) -> Steps[Outcome]:
        stream = self._stream
        state = stream.states.get(entry.name)
        if state is None or (not entry.whole and entry.base != state.version):
            return False
        retention = stream.retention
        store = stream.store if retention.by_interest or retention.by_work else None
        acked = yield from state.changing(entry.change, store, entry.time, whole=entry.whole)
        yield from retention.all_acked(acked, state)
        return True


def _whole(
    apply: Callable[[EntryApplier, Any], Outcome],
) -> Callable[[EntryApplier, Any], Steps[Outcome]]:
    """Return `apply` as a generator without pauses, for entries that take little time."""

    def steps(applier: EntryApplier, entry: Any) -> Steps[Outcome]:
        yield from ()
        return apply(applier, entry)

    return steps


_APPLY: dict[type[Any], Callable[[EntryApplier, Any], Steps[Outcome]]] = {
    entries.Publishes: EntryApplier._publishes,
    entries.PublishBatch: _whole(EntryApplier._publish_batch),
    entries.DeleteMsg: _whole(EntryApplier._delete),
    entries.Purge: EntryApplier._purge,
    entries.Expire: EntryApplier._expiry,
    entries.FireSchedules: EntryApplier._fire,
    entries.Configure: EntryApplier._configure,
    entries.AddConsumer: EntryApplier._add_consumer,
    entries.RemoveConsumer: _whole(EntryApplier._remove_consumer),
    entries.ConsumerDelta: EntryApplier._change,
    entries.MirroredMsgs: lambda applier, entry: applier._sources.mirrored(entry),
    entries.SourcedMsgs: lambda applier, entry: applier._sources.copied(entry),
    entries.Skip: _whole(lambda applier, entry: applier._sources.skip(entry)),
    entries.ForgetSource: _whole(lambda applier, entry: applier._sources.forget(entry)),
}
