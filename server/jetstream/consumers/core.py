"""Consumer: a stateful view of a stream, from its creation to its end.

Promises: only committed messages are delivered; an answered ack survives a crash (file streams); the ack
floor never passes the stream's last message; everything runs on the loop's thread, and only the write of the
configuration blocks it. It does not use asyncio: it subscribes through its account, takes the time from its
clock, and the state is written where the host's executor runs its work.

Invariant: `selector.next_seq` is above every sequence in the delivery state; `num_pending.count` counts what
is at or after it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ....protocol.api.consumer import ConsumerConfig
from ....protocol.dead_letters import origin_of
from ....protocol.errors import api_error
from ....protocol.identifier import name_hash
from ....store.consumer import ConsumerStore
from ....store.consumer_state import ConsumerState
from ...config.feature_flags import JS_ACK_FC_V2
from . import acks, statuses
from .ack_handler import AckHandler
from .ackwaits import AckWaits
from .advisories import ConsumerAdvisories
from .dead_letters import DeadLetters, LetterSource
from .delivery_parts import DeliveryParts
from .delivery_rate import DeliveryRate, rate_limit
from .delivery_state import DeliveryState
from .delivery_turns import DeliveryTurns
from .inactivity import Inactivity
from .message_selector import MessageSelector, NumPending
from .pause import ConsumerPause
from .persistence import (
    ConsumerPersistence,
    ConsumerReplication,
    ConsumerStateWriter,
    NotPersisted,
    repair,
)
from .pull_delivery import PullDelivery
from .push_delivery import PushDelivery
from .removed_messages import RemovedMessages
from .sender import MessageSender
from .start import Picks, check_reset, choose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...accounts.account import Account
    from ...accounts.subscription import Subscription
    from ...clock import Clock
    from ..host import JetStreamHost
    from ..streams.core import Stream

NEXT = "$JS.API.CONSUMER.MSG.NEXT"


class Consumer:
    """One consumer.

    store: keeps its state on the disk; None if the state ends with the server.
    replication: what the replicas agree on; None if the consumer is on this server alone.
    turns: lets it deliver, and runs what takes several turns of the loop.
    pause: no deliveries until a given time.
    on_append, on_removed, on_purging, after_purge: see `ContentsObserver`.
    needs, selects: see `RetainingConsumer`.
    """

    def __init__(
        self,
        stream: Stream[Consumer],
        name: str,
        config: ConsumerConfig,
        created: int,
        store: ConsumerStore | None = None,
        replication: ConsumerReplication | None = None,
    ) -> None:
        self.stream = stream
        self.name = name
        self.config = config
        self.created = created
        self.host: JetStreamHost = stream.host
        self.clock: Clock = stream.clock
        self.account: Account = stream.account
        self.label = f"JetStream consumer '{stream.label} > {self.name}'"
        self.stopped = False
        self.turns = DeliveryTurns(self.host, self.label)
        self._store = store
        self._replication = replication
        self.delivery_state = DeliveryState(track=config.ack_policy != "none")
        self.num_pending = NumPending(stream.store, config.filters)
        self.advisories = ConsumerAdvisories(self.account, self.host, stream.name, name)
        self._persistence = self._new_persistence()
        self.dead_letters = self._new_dead_letters()
        self.ack_waits = AckWaits(
            self.clock,
            self.delivery_state,
            self._persistence,
            self.advisories,
            self.dead_letters,
            deliverer=self.turns,
        )
        parts = self._new_parts()
        self.selector, self.sender = parts.selector, parts.sender
        self.ack_handler = AckHandler(parts, config, self.turns, self._next_request)
        self.delivery: PullDelivery | PushDelivery
        if config.deliver_subject:
            self.delivery = PushDelivery(parts, config, self.ack_handler.ack_through, self._bound_changed)
        else:
            self.delivery = PullDelivery(parts, config)
        self.turns.delivery = self.delivery
        removed = RemovedMessages(parts, stream.store, self.delivery.run, self._release)
        self.on_append = self.delivery.on_append
        self.on_removed, self.on_purging = removed.on_removed, removed.on_purging
        self.after_purge = removed.after_purge
        self.needs, self.selects = self.delivery_state.needs, self.num_pending.selects
        self.inactivity = Inactivity(self.clock, self.delivery, self.delete)
        self.pause = ConsumerPause(self.clock, self.advisories, config.pause_until, self.delivery.run)
        self._subscriptions: list[Subscription] = []
        self._removed_by: Callable[[Consumer], None] | None = None
        self._apply(config)

    def _new_persistence(self) -> ConsumerPersistence:
        """Return what saves its delivery state: the replicas, the disk or nothing."""
        if self._replication is not None:
            return self._replication.persistence(self.delivery_state)
        if self._store is not None:
            return ConsumerStateWriter(self._store, self.delivery_state, self.host, self.label)
        return NotPersisted()

    def _new_dead_letters(self) -> DeadLetters:
        """Return what stores messages before they are given up."""
        stream, origin = self.stream, origin_of(self.stream.created, self.created)
        source = LetterSource(stream.name, self.name, origin, self.label, stream.context.subjects_of)
        return DeadLetters(source, self.account, self.host, stream.store, self.delivery_state)

    def _new_parts(self) -> DeliveryParts:
        """Return what the parts that deliver and take acks share."""
        stream, state, waits = self.stream, self.delivery_state, self.ack_waits
        filters = self.config.filters
        selector = MessageSelector(
            stream.store, state, filters, lost=self._lost, dropped=waits.dropped, exhausted=waits.give_up
        )
        scope = acks.scope_of(stream.domain, name_hash(self.account.name))
        scope = scope if JS_ACK_FC_V2 in self.host.features else ""
        prefix = acks.ack_prefix(stream.name, self.name, scope)
        return DeliveryParts(
            host=self.host,
            account=self.account,
            stream=stream,
            remove_acked=partial(stream.removal.remove_acked, consumer=self),
            remove_all_acked=partial(stream.removal.remove_all_acked, consumer=self),
            name=self.name,
            label=self.label,
            delivery_state=state,
            selector=selector,
            num_pending=self.num_pending,
            sender=MessageSender(self.account, prefix, state, self.num_pending),
            ack_waits=waits,
            advisories=self.advisories,
            dead_letters=self.dead_letters,
            persistence=self._persistence,
        )

    def _bound_changed(self) -> None:
        self.inactivity.changed()

    # -- lifecycle

    def start(
        self,
        removed: Callable[[Consumer], None] | None = None,
        state: ConsumerState | None = None,
        picks: Picks | None = None,
    ) -> None:
        """Find the start in the stream, by the saved `state` if there is one, and subscribe.

        removed: called when the consumer was deleted, also by itself. picks: see `choose`.
        """
        self._removed_by = removed
        self._find_start(state, picks)
        self.num_pending.recount(self.selector.tail, self.selector.picked)
        restored = state is not None or self._replication is not None
        known = self.delivery_state.outstanding or self.delivery_state.redelivered or self.selector.picked
        if known and restored:  # perhaps delivered under other filters
            self.stream.consumers.strays = self.stream.store.last_seq
        config = self.config
        until = self.stream.store.last_seq if config.replay_policy == "original" else 0
        self.delivery.rate = DeliveryRate(
            until, rate_limit(config, self.stream.config, self.account, self.clock.now())
        )
        self._listen()
        self.inactivity.configure(config)
        self.pause.start()
        self.ack_waits.arm()
        if isinstance(self.delivery, PushDelivery):
            self.delivery.listen()

    def _find_start(self, state: ConsumerState | None, picks: Picks | None) -> None:
        store = self.stream.store
        if self._replication is not None:
            self._take_over(self._replication)
            return
        if state is None:
            start = choose(self.config, store, self.stream.config.max_msgs_per_subject, picks)
            self.selector.start(start)
            self.delivery_state.start(start.next_seq - 1)
            self._persistence.changed()
            return
        self.delivery_state.restore(state, self.clock.now())
        for line in repair(self.delivery_state, store.first_seq, store.last_seq):
            self.host.log.warning(f"{self.label}: repaired its state: {line}")
            self._persistence.changed()
        self.selector.next_seq = self.delivery_state.stream_seq + 1

    def _take_over(self, replication: ConsumerReplication) -> None:
        """Continue where another server stopped, as far as the replicas agree on it."""
        store, delivery_state = self.stream.store, self.delivery_state
        delivery_state.restore(replication.state(), self.clock.now())
        delivery_state.saved()
        # A pending message may have left the stream meanwhile: that is no damage, and nothing is logged.
        if repair(delivery_state, store.first_seq, store.last_seq):
            self._persistence.changed()
        self.selector.start(replication.start())
        self.last_active = replication.last_active()

    def _listen(self) -> None:
        config, account, stream = self.config, self.account, self.stream
        names = (stream.name, self.name, self.host.domain, name_hash(account.name))
        if config.ack_policy in ("explicit", "all"):
            for subject in acks.ack_filters(*names):
                handler = self.ack_handler
                callbacks = handler.receive, handler.receive_batch, handler.receive_plain
                self._subscriptions.append(account.subscribe_to_acks(subject, *callbacks))
        if isinstance(self.delivery, PushDelivery) and self.delivery.flow is not None:
            for subject in acks.flow_filters(*names):
                self._subscriptions.append(account.subscribe(subject, self.delivery.answered))
        subject = f"{NEXT}.{stream.name}.{self.name}"
        batch_callback = self.delivery.receive_batch if isinstance(self.delivery, PullDelivery) else None
        self._subscriptions.append(
            account.subscribe(subject, self.delivery.receive, batch_callback=batch_callback)
        )

    def _next_request(self, body: bytes, reply: str) -> None:
        self.delivery.request(body, reply)

    def dismiss(self) -> None:
        """End all waiting requests with a status, because the server shuts down."""
        if isinstance(self.delivery, PullDelivery):
            self.delivery.dismiss()

    def _halt(self, status: bytes = b"") -> None:
        self.stopped = self.turns.stopped = True
        for subscription in self._subscriptions:
            self.account.unsubscribe(subscription)
        self._subscriptions.clear()
        self.inactivity.stop()
        self.ack_waits.stop()
        self.dead_letters.clear()
        self.pause.stop()
        self.delivery.stop(status)

    def stop(self) -> None:
        """Stop with the server, with all state on disk afterwards. Blocks."""
        if not self.stopped:
            self.halt()
            self.write_out()

    def halt(self) -> None:
        """Unsubscribe, and send nothing more. `write_out` completes the stop."""
        self.dismiss()
        self._halt()
        self._persistence.halt()

    def write_out(self) -> None:
        """Write the state to disk. Blocks; may run in any thread."""
        self._persistence.write_out()

    def retire(self) -> None:
        """Stop because another server leads the stream. The replicated state stays as it is."""
        if not self.stopped:
            self._halt(statuses.LEADERSHIP_CHANGE)
            self._persistence.close()

    def delete(self, _reason: str = "") -> None:
        """End, because it is deleted or expired. `removed`, which `start` was given, removes the files."""
        if self.stopped:
            return
        self._halt(statuses.CONSUMER_DELETED)
        self._persistence.abandon()
        self.delivery_state.drop_all()
        self._release()
        if not self.config.direct:
            self.advisories.deleted()
        if self._removed_by is not None:
            self._removed_by(self)

    @property
    def damage(self) -> str:
        """What part of its state was lost to damage, "" if nothing was."""
        return "" if self._store is None else self._store.damage

    # -- configuration

    def _apply(self, config: ConsumerConfig) -> None:
        """Pass on the values that the parts take over at once."""
        self.direct = config.direct
        self.delivery_state.ack_wait = config.ack_wait
        self.delivery_state.backoff = tuple(config.backoff)
        self.delivery_state.max_deliver = config.max_deliver
        self.delivery_state.max_ack_pending = config.max_ack_pending if config.ack_policy != "none" else 0
        self.sender.headers_only = config.headers_only
        self.ack_handler.configure(config)
        self.delivery.configure(config)

    def update(self, config: ConsumerConfig) -> None:
        """Take over a configuration that `check` and `check_update` allowed."""
        old, self.config = self.config, config
        self._apply(config)
        if config.rate_limit_bps != old.rate_limit_bps:
            limit = rate_limit(config, self.stream.config, self.account, self.clock.now())
            self.delivery.rate.limit(limit)
        if config.ack_wait != old.ack_wait or config.backoff != old.backoff:
            self.ack_waits.retime()
        if config.inactive_threshold != old.inactive_threshold:
            self.inactivity.configure(config)
        if config.pause_until != old.pause_until:
            self.pause.change(config.pause_until)
        if set(config.filters) != set(old.filters):
            self.selector.refilter(config.filters)
            self.num_pending.recount(self.selector.tail, self.selector.picked, config.filters)
            self.stream.consumers.refiltered(self.name, self.stream.store.last_seq)
            self.stream.removal.consumer_changed()
        if config.deliver_subject != old.deliver_subject and isinstance(self.delivery, PushDelivery):
            self.delivery.stop(b"")
            self.ack_waits.end_all(self._listen_again)
        self.delivery.run()

    def _listen_again(self) -> None:
        if isinstance(self.delivery, PushDelivery):
            self.delivery.listen()

    # -- as its stream sees it

    @property
    def filters(self) -> Sequence[str]:
        """The subjects it selects; empty for all."""
        return self.config.filters

    @property
    def passed(self) -> int:
        """The last stream sequence that was delivered."""
        return self.delivery_state.stream_seq

    # -- messages that need no ack any more

    def _lost(self, seq: int, where: str) -> None:
        self.host.log.error(f"{self.label}: message {seq} can not be delivered: {where}")

    def _release(self) -> None:
        if remains := self.delivery_state.remains():
            self.stream.removal.release(remains)

    # -- for the API

    def after_save(self, done: Callable[[], None]) -> None:
        """Call `done` when all changes so far are durable (at once if the consumer saves nothing)."""
        self._persistence.after(done)

    @property
    def last_active(self) -> tuple[int, int]:
        """The times of the last delivery and of the last ack, ns; 0 for never."""
        return self.sender.delivered_at, self.ack_handler.acked_at

    @last_active.setter
    def last_active(self, times: tuple[int, int]) -> None:
        self.sender.delivered_at, self.ack_handler.acked_at = times

    def pending_messages(self) -> int:
        """Return how many messages are not delivered yet."""
        return self.num_pending.left(self.selector.next_seq, self.selector.picked)

    def unpin(self, group: str) -> None:
        """Unpin the group's client. Raises ApiError 10160 for a group that is not the consumer's."""
        if group not in self.config.priority_groups or not isinstance(self.delivery, PullDelivery):
            raise api_error("JSConsumerInvalidPriorityGroupErr")
        self.delivery.unpin("admin")

    def reset(self, seq: int) -> int:
        """Start over at `seq`, or (0) just after the ack floor; return that sequence.

        Raises ApiError 10204 if the deliver policy does not allow it.
        """
        if seq == 0:
            seq = self.delivery_state.floor_stream + 1
        else:
            check_reset(self.config, self.stream.store, seq)
        self.ack_handler.restart()
        self.dead_letters.clear()
        self.delivery_state.start(seq - 1)
        self._release()
        self.selector.restart(seq)
        self.num_pending.recount(seq)
        self.last_active = 0, 0
        self.ack_waits.stop()
        self._persistence.changed()
        self.stream.removal.consumer_changed()
        self.turns.deliver_later()
        return seq
