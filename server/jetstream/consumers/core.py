"""Consumer: one reader of a stream, from its creation to its end.

Promises: only committed messages are delivered; an answered ack survives a crash (file streams); the ack
floor never passes the stream's last message; everything runs on the loop's thread and nothing blocks it
but the write of the configuration. Knows no asyncio: it hears through its account, tells time by its
clock, and the saver's writes run where the host's runner takes them.

Invariant: `feed.next_seq` is above every sequence in the ledger; `backlog.count` counts what is at or
after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api.consumer import ConsumerConfig, ConsumerInfo
from ....protocol.errors import api_error
from ....protocol.identifier import name_hash
from ....store.consumer import ConsumerStore
from ....store.consumer_state import ConsumerState
from ...slices import Slices
from . import acks, statuses
from .ack_handler import AckHandler
from .ackwaits import AckWaits
from .advisories import ConsumerAdvisories
from .config import sample_percentage
from .deadline_timer import DeadlineTimer
from .delivery_rate import DeliveryRate, RateLimit
from .delivery_state import DeliveryState
from .inactivity import Inactivity
from .info import describe
from .message_selector import MessageSelector
from .num_pending import NumPending
from .pull_delivery import PullDelivery
from .push_delivery import PushDelivery
from .repair import repair
from .sender import MessageSender
from .start import Picks, choose
from .state_writer import ConsumerPersistence, ConsumerStateWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ...accounts.account import Account
    from ...accounts.message import Message
    from ...accounts.subscription import Subscription
    from ...clock import Clock
    from ...slices import Steps
    from ..host import JetStreamHost
    from ..streams.core import Stream
    from .replication import ConsumerReplication

DEFAULT_BURST = 1 << 20
NEXT = "$JS.API.CONSUMER.MSG.NEXT"


class Consumer:
    """One consumer. `store` is None when nothing of it outlives the server; `post` keeps it on several."""

    def __init__(
        self,
        stream: Stream,
        name: str,
        config: ConsumerConfig,
        created: int,
        store: ConsumerStore | None = None,
        post: ConsumerReplication | None = None,
    ) -> None:
        self.stream = stream
        self.name = name
        self.config = config
        self.created = created
        self.host: JetStreamHost = stream.host
        self.clock: Clock = stream.clock
        self.account: Account = stream.account.account
        self.label = f"JetStream consumer '{self.account.name} > {stream.name} > {self.name}'"
        self.stopped = False
        ledger = DeliveryState(track=config.ack_policy != "none")
        self.ledger: DeliveryState = ledger
        self.backlog = NumPending(stream.store, config.filters)
        self.ack_waits = waits = AckWaits(self)
        self.feed = MessageSelector(
            stream, ledger, config.filters, lost=self._lost, dropped=waits.dropped, exhausted=waits.give_up
        )
        self.sender = MessageSender(self.account, stream.name, self.name, self.ledger, self.backlog)
        self.notices = ConsumerAdvisories(self.account, self.host, stream.name, self.name)
        self.intake = AckHandler(self)
        kind = PushDelivery if config.deliver_subject else PullDelivery
        self.delivery: PullDelivery | PushDelivery = kind(self)
        self.inactivity = Inactivity(self)
        self._store = store
        self._post = post
        self._saver: ConsumerPersistence | None = None
        if post is not None:
            self._saver = post.keeper(self.ledger)
        elif store is not None:
            self._saver = ConsumerStateWriter(store, self.ledger, self.host, self.label)
        self._pause = DeadlineTimer(self.clock, self._unpause)
        self._subscriptions: list[Subscription] = []
        self._removed_by: Callable[[Consumer], None] | None = None
        self._apply(config)

    # -- life

    def start(
        self,
        removed: Callable[[Consumer], None] | None = None,
        state: ConsumerState | None = None,
        picks: Picks | None = None,
    ) -> None:
        """Find the place in the stream (anew, or where the saved `state` says) and begin to listen.

        `removed` is called when the consumer deletes itself. picks: see `choose`.
        """
        self._removed_by = removed
        self._find_place(state, picks)
        self.backlog.recount(self.feed.tail, self.feed.picked)
        held = self.ledger.outstanding or self.ledger.redelivered or self.feed.picked
        if held and (state is not None or self._post is not None):  # perhaps given under other filters
            self.stream.consumers.strays = self.stream.store.last_seq
        config = self.config
        until = self.stream.store.last_seq if config.replay_policy == "original" else 0
        self.delivery.pace = DeliveryRate(until, self._rate_limit())
        self._listen()
        self.inactivity.configure()
        if self.paused(self.clock.now()):
            self._pause.at(config.pause_until)
        self.ack_waits.arm()
        if isinstance(self.delivery, PushDelivery):
            self.delivery.listen()

    def _find_place(self, state: ConsumerState | None, picks: Picks | None) -> None:
        store = self.stream.store
        if self._post is not None:
            self._take_over(self._post)
            return
        if state is None:
            start = choose(self.config, store, self.stream.config.max_msgs_per_subject, picks)
            self.feed.start(start)
            self.ledger.start(start.next_seq - 1)
            self.changed()
            return
        self.ledger.restore(state, self.clock.now())
        for line in repair(self.ledger, store.first_seq, store.last_seq):
            self.host.log.warning(f"{self.label}: repaired its state: {line}")
            self.changed()
        self.feed.next_seq = self.ledger.stream_seq + 1

    def _take_over(self, post: ConsumerReplication) -> None:
        """Go on where another server was, as far as that is agreed on."""
        store, ledger = self.stream.store, self.ledger
        ledger.restore(post.state(), self.clock.now())
        ledger.saved()
        # What was pending and left the stream meanwhile is no fault here.
        if repair(ledger, store.first_seq, store.last_seq):
            self.changed()
        self.feed.start(post.start())
        self.last_active = post.last_active()

    def _listen(self) -> None:
        config, account, stream = self.config, self.account, self.stream
        place = (stream.name, self.name, self.host.domain, name_hash(account.name))
        if config.ack_policy in ("explicit", "all"):
            for subject in acks.ack_filters(*place):
                self._subscriptions.append(
                    account.subscribe(subject, self.intake.receive, reader=self.intake.read)
                )
        if isinstance(self.delivery, PushDelivery) and self.delivery.flow is not None:
            for subject in acks.flow_filters(*place):
                self._subscriptions.append(account.subscribe(subject, self.delivery.answered))
        subject = f"{NEXT}.{stream.name}.{self.name}"
        self._subscriptions.append(account.subscribe(subject, self._next_message))

    def _next_message(self, message: Message) -> None:
        if isinstance(self.delivery, PullDelivery):
            self.delivery.request(message.body, message.reply, message.header)
        elif message.reply:
            self.account.publish(message.reply, header=statuses.PUSH_BASED)

    def next_request(self, body: bytes, reply: str) -> None:
        """Take the pull request that came with an ack (+NXT)."""
        if not reply:
            return
        if isinstance(self.delivery, PullDelivery):
            self.delivery.request(body, reply)
        else:
            self.account.publish(reply, header=statuses.PUSH_BASED)

    def dismiss(self) -> None:
        """Send away who waits for messages: the server shuts down."""
        if isinstance(self.delivery, PullDelivery):
            self.delivery.dismiss()

    def _halt(self, status: bytes = b"") -> None:
        self.stopped = True
        for subscription in self._subscriptions:
            self.account.unsubscribe(subscription)
        self._subscriptions.clear()
        self.inactivity.stop()
        self.ack_waits.stop()
        self._pause.clear()
        self.delivery.stop(status)

    def stop(self) -> None:
        """Stop with the server: what is known is on disk afterwards. Blocks."""
        if not self.stopped:
            self.halt()
            self.write_out()

    def halt(self) -> None:
        """Hear and send nothing more; `write_out` ends it."""
        self.dismiss()
        self._halt()
        if self._saver is not None:
            self._saver.halt()

    def write_out(self) -> None:
        """Put on the disk what is known; in any thread."""
        if self._saver is not None:
            self._saver.write_out()

    def retire(self) -> None:
        """Stop because another server leads; what is agreed on stays as it is."""
        if not self.stopped:
            self._halt(statuses.LEADERSHIP_CHANGE)
            if self._saver is not None:
                self._saver.close()

    def delete(self, _reason: str = "") -> None:
        """End for good. The files are the caller's to remove, through `removed` of `start`."""
        if self.stopped:
            return
        self._halt(statuses.CONSUMER_DELETED)
        if self._saver is not None:
            self._saver.abandon()
        self.ledger.drop_all()
        self._release()
        if not self.config.direct:
            self.notices.deleted()
        if self._removed_by is not None:
            self._removed_by(self)

    @property
    def fault(self) -> str:
        """What of its state was lost to damage, "" for nothing."""
        return "" if self._store is None else self._store.fault

    # -- configuration

    def _apply(self, config: ConsumerConfig) -> None:
        """Let the parts that need no more than a new value have it."""
        self.ledger.ack_wait = config.ack_wait
        self.ledger.backoff = tuple(config.backoff)
        self.ledger.max_deliver = config.max_deliver
        self.feed.limit = max(config.max_ack_pending, 0) if config.ack_policy != "none" else 0
        self.sender.headers_only = config.headers_only
        self.intake.sampling = sample_percentage(config.sample_freq)

    def _rate_limit(self) -> RateLimit | None:
        if not self.config.rate_limit_bps:
            return None
        burst = self.stream.config.max_msg_size
        if burst <= 0:
            burst = self.account.limits.payload if self.account.limits.payload > 0 else DEFAULT_BURST
        return RateLimit(self.config.rate_limit_bps, burst, self.clock.now())

    def update(self, config: ConsumerConfig) -> None:
        """Take over a configuration that `check` and `check_update` allowed."""
        old, self.config = self.config, config
        self._apply(config)
        if config.rate_limit_bps != old.rate_limit_bps:
            self.delivery.pace.rate = self._rate_limit()
        if config.ack_wait != old.ack_wait or config.backoff != old.backoff:
            self.ack_waits.retime()
        if config.inactive_threshold != old.inactive_threshold:
            self.inactivity.configure()
        if config.pause_until != old.pause_until:
            self._pause_changed()
        if set(config.filters) != set(old.filters):
            self.feed.refilter(config.filters)
            self.backlog.recount(self.feed.tail, self.feed.picked, config.filters)
            self.stream.consumers.refiltered(self.name, self.stream.store.last_seq)
            self.stream.consumer_changed()
        if config.deliver_subject != old.deliver_subject and isinstance(self.delivery, PushDelivery):
            self.delivery.stop(b"")
            self.ack_waits.end_all(self._listen_anew)
        self.delivery.run()

    def _listen_anew(self) -> None:
        if isinstance(self.delivery, PushDelivery):
            self.delivery.listen()

    # -- pause

    def paused(self, now: int) -> bool:
        """Tell whether nothing is delivered for now."""
        return self.config.pause_until > now

    def _pause_changed(self) -> None:
        self._pause.clear()
        paused = self.paused(self.clock.now())
        if paused:
            self._pause.at(self.config.pause_until)
        self.notices.paused(paused, self.config.pause_until)

    def _unpause(self) -> None:
        if self.paused(self.clock.now()):
            self._pause.at(self.config.pause_until)
            return
        self.notices.paused(False, self.config.pause_until)
        self.delivery.run()

    # -- what the stream tells

    def on_append(self, _last_seq: int) -> None:
        """Hear that there are new messages."""
        if self.delivery.ready:
            self.delivery.run()

    def on_removed(self, seq: int, subject: str) -> None:
        """Hear that a message left the stream: it is not waited for any more."""
        picked = self.feed.removed(seq)
        if picked:
            self.backlog.count -= 1
        else:
            self.backlog.removed(seq, subject, self.feed.tail)
        if self.ledger.entry(seq) is not None:
            self.ack_waits.dropped(seq)
        elif seq in self.ledger.redelivered:
            self.ledger.gone(seq)
            self.changed()

    def on_purging(self, gone: Sequence[int] | None) -> Steps[None]:
        """Hear that these left the stream, as a part of what is purged; None: all below its first."""
        first = self.stream.store.first_seq
        stalled = self.feed.stalled()
        self.feed.purged(first, gone or ())
        self.backlog.recount(self.feed.tail, self.feed.picked)
        yield from self.ledger.purging(first, gone)
        self._release()
        self.changed()
        if stalled and not self.feed.stalled():
            self.delivery.run()

    def after_purge(self) -> Steps[None]:
        """Hear that all that was to be purged has left the stream."""
        ledger, first = self.ledger, self.stream.store.first_seq
        if not ledger.outstanding and ledger.stream_seq < first - 1:
            ledger.pass_by(first - 1)
        # What was about to come again waits for its ack once more, as on the reference.
        yield from ledger.unqueueing()
        self.ack_waits.arm()
        self.backlog.recount(self.feed.tail, self.feed.picked)
        self.changed()

    @property
    def filters(self) -> Sequence[str]:
        """The subjects it selects."""
        return self.config.filters

    @property
    def passed(self) -> int:
        """The last stream sequence delivered."""
        return self.ledger.stream_seq

    def needs(self, seq: int) -> bool:
        """Tell whether a message that it selects has to be kept for it."""
        return self.ledger.needs(seq)

    def selects(self, subject: str) -> bool:
        """Tell whether its filters match the subject."""
        return self.backlog.selects(subject)

    # -- messages that need no ack any more

    def _lost(self, seq: int, where: str) -> None:
        self.host.log.error(f"{self.label}: message {seq} can not be delivered: {where}")

    def run_later(self) -> None:
        """Deliver what can be, in the loop's next turn."""
        self.clock.call_later(0, self._run)

    def _run(self) -> None:
        if not self.stopped:
            self.delivery.run()

    # -- what takes several turns of the loop

    def spread(self, steps: Iterator[None], then: Callable[[], None]) -> None:
        """Do the steps in slices, as long as the consumer lives, and then call `then`."""
        Slices(self.host.runner, self._while_served(steps, then), lambda _: None, self._failed)

    def _while_served(self, steps: Iterator[None], then: Callable[[], None]) -> Steps[None]:
        for _ in steps:
            yield
            if self.stopped:
                return
        then()

    def _failed(self, fault: Exception) -> None:
        self.host.log.error(f"{self.label}: {type(fault).__name__}: {fault}")

    def _release(self) -> None:
        if remains := self.ledger.remains():
            self.stream.removal.release(remains)

    # -- what the parts tell

    def sent(self, seq: int) -> None:
        """Hear that a message was delivered."""
        if not self.ledger.track and self.intake.releases:
            self.stream.remove_acked(seq, self)

    def delivered(self) -> None:
        """Hear that a round of deliveries is over."""
        self.sender.outlet.done()
        self.ack_waits.delivered()
        self.changed()

    def changed(self) -> None:
        """Save the state soon."""
        if self._saver is not None:
            self._saver.changed()

    def after_save(self, done: Callable[[], None]) -> None:
        """Call `done` when all that has happened is durable (at once where nothing is)."""
        if self._saver is None:
            done()
        else:
            self._saver.after(done)

    # -- questions and orders of the API

    @property
    def last_active(self) -> tuple[int, int]:
        """When the last message was delivered and acknowledged, ns; 0 for never."""
        return self.sender.delivered_at, self.intake.acked_at

    @last_active.setter
    def last_active(self, times: tuple[int, int]) -> None:
        self.sender.delivered_at, self.intake.acked_at = times

    def waiting_messages(self) -> int:
        """Count what could be delivered: not delivered yet, or due again."""
        return self.pending_messages() + len(self.ledger.queued)

    def pending_messages(self) -> int:
        """Count what has not been delivered yet."""
        backlog, feed = self.backlog, self.feed
        backlog.grow()
        if feed.next_seq > self.stream.store.last_seq and not feed.picked:
            backlog.count = 0  # whatever was counted and lost to damage is behind us
        return max(backlog.count, 0)

    def info(self) -> ConsumerInfo:
        """Say everything about the consumer."""
        return describe(self)

    def unpin(self, group: str) -> None:
        """Let go of the pinned client. Raises ApiError 10160 for a group that is not the consumer's."""
        if group not in self.config.priority_groups or not isinstance(self.delivery, PullDelivery):
            raise api_error("JSConsumerInvalidPriorityGroupErr")
        self.delivery.unpin("admin")

    def reset(self, seq: int) -> int:
        """Start over at `seq`, 0 for just after the ack floor; gives the sequence.

        Raises ApiError 10204 where the deliver policy does not allow it.
        """
        if seq == 0:
            seq = self.ledger.floor_stream + 1
        else:
            self._check_reset(seq)
        self.intake.restart()
        self.ledger.start(seq - 1)
        self._release()
        self.feed.restart(seq)
        self.backlog.recount(seq)
        self.last_active = 0, 0
        self.ack_waits.stop()
        self.changed()
        self.stream.consumer_changed()
        self.run_later()
        return seq

    def _check_reset(self, seq: int) -> None:
        policy = self.config.deliver_policy
        reason = ""
        if policy == "by_start_sequence":
            reason = "below start seq" if seq < self.config.opt_start_seq else ""
        elif self.config.opt_start_time is not None:
            first = self.stream.store.seq_at(self.config.opt_start_time)
            reason = "below start time" if seq < first else ""
        elif policy != "all":
            reason = "not allowed"
        if reason:
            raise api_error("JSConsumerInvalidResetErr", err=reason)
