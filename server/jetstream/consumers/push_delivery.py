"""PushDelivery: delivers a push consumer's messages to its deliver subject, with flow control.

Promises:
- Nothing is sent while nobody listens, while the consumer is paused or while the flow control window is full.
- A heartbeat goes out after each idle interval while somebody listens.
- One run ends after `slices.SECONDS` or `BYTES_BUDGET`, and consumers with more to deliver take turns.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from ....protocol import headers
from ...clock import DeadlineTimer
from ...slices import ReentrantRunner
from . import statuses
from .acks import flow_subject
from .delivery_rate import DeliveryRate
from .flow_window import FlowWindow
from .push_runs import PushRuns

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....protocol.api.consumer import ConsumerConfig
    from ...accounts.space import InterestWatch
    from ...accounts.subscription import InterestChange, Message
    from .delivery_parts import DeliveryParts

BYTES_BUDGET = 4 << 20  # bytes delivered in one run


class PushDelivery:
    """The receiver of a push consumer, and what is delivered to it.

    ack_through: acknowledges all up to (consumer sequence, stream sequence), see `AckHandler`.
    on_bound: called when `bound` has changed.
    bound: whether somebody listens.
    flow: the flow control window; None without flow control.
    rate: how fast messages may follow each other.
    run: delivers what can be delivered now.
    """

    __slots__ = (
        "_account",
        "_ack_through",
        "_clock",
        "_config",
        "_heartbeat",
        "_not_before",
        "_on_bound",
        "_parts",
        "_runner",
        "_runs",
        "_subject",
        "_timer",
        "_watch",
        "bound",
        "flow",
        "rate",
        "run",
    )

    def __init__(
        self,
        parts: DeliveryParts,
        config: ConsumerConfig,
        ack_through: Callable[[int, int], None],
        on_bound: Callable[[], None],
    ) -> None:
        self._parts = parts
        self._account = parts.account
        self._clock = clock = parts.host.clock
        self._ack_through = ack_through
        self._on_bound = on_bound
        self._config = config
        self._subject = ""
        self._watch: InterestWatch | None = None
        self.bound = False
        self.flow = FlowWindow() if config.flow_control else None
        self.rate = DeliveryRate(0, None)
        self._runs = PushRuns(parts)
        self._runner = ReentrantRunner(self._deliver, parts.host.deliveries)
        self.run = self._runner.run
        self._timer = DeadlineTimer(clock, self.run)
        self._heartbeat = DeadlineTimer(clock, self._beat)
        self._not_before = 0

    def on_append(self, _last_seq: int) -> None:
        """Deliver new messages if somebody listens."""
        if self.bound:
            self.run()

    def used_until(self, _now: int, _threshold: int) -> int:
        """Return 0, as only `bound` counts; see `inactivity.Usage`."""
        return 0

    def configure(self, config: ConsumerConfig) -> None:
        """Take over a new configuration. A new deliver subject takes effect with `listen`."""
        self._config = config

    def receive(self, message: Message) -> None:
        """Refuse a pull request."""
        self.request(message.body, message.reply)

    def request(self, _body: bytes, reply: str) -> None:
        """Refuse a pull request with a status."""
        if reply:
            self._account.publish(reply, header=statuses.PUSH_BASED)

    # -- the receiver

    def listen(self) -> None:
        """Watch for subscriptions to the deliver subject, and deliver when there is one."""
        self.stop(b"")
        self._subject = self._config.deliver_subject
        self._watch = self._account.watch_interest(self._changed, self._subject)
        if self._config.idle_heartbeat:
            self._rest()
        self._check_interest()

    def _changed(self, _change: InterestChange) -> None:
        self._check_interest()

    def _check_interest(self) -> None:
        """Check whether somebody listens now, and begin or stop to deliver."""
        bound = self._has_listener()
        if bound == self.bound:
            return
        self.bound = bound
        self._on_bound()
        if bound:
            # Not at once: the client is just subscribing, and the answer to that goes first.
            self._runner.later()

    def _has_listener(self) -> bool:
        """Return whether somebody listens; with a deliver group, only its members count."""
        group = self._config.deliver_group
        if not group:
            return self._account.has_interest(self._subject)
        return group in self._account.sublist.match(self._subject)[1]

    def stop(self, _status: bytes) -> None:
        """Unsubscribe, and send nothing more."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        self.bound = False
        self._timer.clear()
        self._heartbeat.clear()

    # -- delivery

    def _deliver(self) -> None:
        parts, now = self._parts, self._clock.now()
        if not self.bound or self._config.pause_until > now:
            return
        if now < self._not_before:
            self._timer.at(self._not_before)
            return
        number = parts.delivery_state.consumer_seq
        parts.num_pending.grow()
        if self._send_more(now):
            self._runner.later()
        else:
            parts.selector.rest()  # nobody knows when this goes on
        if parts.delivery_state.consumer_seq != number:
            parts.sender.flush()
            parts.ack_waits.delivered()

    def _send_more(self, now: int) -> bool:
        """Send what may be sent now. Return whether there may be more, and only the time for it is over."""
        parts, flow, rate, subject = self._parts, self.flow, self.rate, self._subject
        selector, sender, stream = parts.selector, parts.sender, parts.stream
        free, tracked = rate.free, parts.delivery_state.track
        together = free and not sender.headers_only and self._config.ack_policy != "flow_control"
        spent, until = 0, 0.0
        while spent <= BYTES_BUDGET and (not until or perf_counter() < until):
            if flow is not None and flow.full():
                return False
            until = until or parts.host.deliveries.until()
            if together and self.bound and (size := self._runs.serve(subject, flow, now)):
                spent += size
                continue
            if (taken := selector.take(stream.committed_seq)) is None:
                return False
            message, count = taken
            out = sender.trim(message) if sender.headers_only else message
            size = len(out.header) + len(out.body) if free and flow is None else sender.size(out, count)
            if not free and (wait := rate.delay(message, size, now)):
                selector.give_back(message, count)
                self._not_before = now + wait
                self._timer.at(self._not_before)
                return False
            if not sender.send(out, count, subject, out.header, now):
                selector.give_back(message, count)
                self._check_interest()
                return False
            if not tracked and parts.releases:
                parts.remove_acked(message.seq)
            spent += size
            if flow is not None and self._wants_answer(flow, size + len(subject)):
                self._ask(flow)
        return True

    # -- flow control

    def _wants_answer(self, flow: FlowWindow, size: int) -> bool:
        due = flow.sent(size)
        if not due and not flow.asked and self._config.ack_policy == "flow_control":
            return self._parts.delivery_state.stalled
        return due

    def _ask(self, flow: FlowWindow) -> None:
        parts = self._parts
        reply = flow_subject(parts.sender.ack_prefix, parts.host.new_id(4))
        flow.ask(reply)
        self._account.publish(self._subject, reply=reply, header=statuses.FLOW_CONTROL)

    def answered(self, message: Message) -> None:
        """Take the answer to a flow control request, which may also acknowledge messages."""
        flow = self.flow
        if flow is None or not flow.answered(message.subject):
            return
        if self._config.ack_policy == "flow_control" and message.header:
            number = _number(headers.get(message.header, b"Nats-Last-Consumer"))
            seq = _number(headers.get(message.header, b"Nats-Last-Stream"))
            if seq > 0:
                self._ack_through(number, seq)
        self._runner.later()  # not now, as many consumers may be answered at the same moment

    # -- heartbeats

    def _rest(self) -> None:
        self._heartbeat.again(self._clock.now() + self._config.idle_heartbeat)

    def _beat(self) -> None:
        parts, flow = self._parts, self.flow
        silent_until = parts.sender.delivered_at + self._config.idle_heartbeat
        if silent_until > self._clock.now():
            self._heartbeat.at(silent_until)
            return
        if self.bound:
            delivery_state, last = parts.delivery_state, parts.selector.next_seq - 1
            stalled = flow.asked if flow is not None else ""
            status = statuses.idle_heartbeat(delivery_state.consumer_seq, last, stalled)
            self._account.publish(self._subject, header=status)
            # At the end of the stream nothing else makes the receiver acknowledge what it got.
            wants = self._config.ack_policy == "flow_control" and delivery_state.outstanding
            if flow is not None and wants and not flow.asked:
                self._ask(flow)
        self._rest()


def _number(value: bytes | None) -> int:
    return int(value) if value and value.isdigit() else 0
