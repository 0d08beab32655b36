"""Delivery to a push consumer's deliver subject, and the flow control of it.

Promises: nothing is sent while nobody listens, while paused, or while the flow control window is full; a
heartbeat goes out after each idle interval while somebody listens; the loop is given back after
`slices.SECONDS` or `BYTES_BUDGET`, and consumers with more to deliver take turns.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from ....protocol import headers
from ...clock import DeadlineTimer
from ...slices import ReentrantRunner
from . import statuses
from .acks import FLOW_PREFIX
from .delivery_rate import DeliveryRate

if TYPE_CHECKING:
    from ...accounts.space import InterestWatch
    from ...accounts.subscription import InterestChange, Message
    from .core import Consumer

BYTES_BUDGET = 4 << 20
FLOW_LIMIT = 32 * 1024 * 1024


class FlowWindow:
    """Bytes sent and not yet known to be received: how much may be under way.

    The window grows from a sixteenth of its limit, doubling with each answered request. The consumer asks
    when more than half of it is outstanding, and stops when all of it is. Arithmetic: no clock, no sending.
    """

    __slots__ = ("asked", "covered", "limit", "outstanding", "size")

    def __init__(self, limit: int = FLOW_LIMIT) -> None:
        self.limit = limit
        self.size = max(limit // 16, 1)
        self.outstanding = 0
        self.covered = 0  # how much of it the open request covers
        self.asked = ""  # the reply subject of the open request

    def full(self) -> bool:
        """Whether nothing more may be sent."""
        return self.outstanding > self.size

    def sent(self, size: int) -> bool:
        """Count a message of `size` bytes; True if a request is due."""
        self.outstanding += size
        if not self.asked:
            return self.outstanding > self.size // 2
        if self.outstanding - self.covered >= self.size:
            self.covered += size
        return False

    def ask(self, reply: str) -> None:
        """Remember the request just sent."""
        self.asked, self.covered = reply, self.outstanding

    def answered(self, reply: str) -> bool:
        """Take the answer to a request; False if it is not the open one."""
        if reply != self.asked:
            return False
        self.size = min(self.size * 2, self.limit)
        self.outstanding = max(self.outstanding - self.covered, 0)
        self.asked, self.covered = "", 0
        return True


class PushDelivery:
    """The receiver of a push consumer, and what is delivered to it."""

    __slots__ = (
        "_account",
        "_consumer",
        "_heartbeat",
        "_not_before",
        "_runner",
        "_subject",
        "_timer",
        "_watch",
        "active",
        "flow",
        "rate",
    )

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._account = consumer.account
        self._subject = ""
        self._watch: InterestWatch | None = None
        self.active = False
        self.flow = FlowWindow() if consumer.config.flow_control else None
        self.rate = DeliveryRate(0, None)
        self._timer = DeadlineTimer(consumer.clock, self.run)
        self._heartbeat = DeadlineTimer(consumer.clock, self._beat)
        self._not_before = 0
        self._runner = ReentrantRunner(self._deliver, consumer.host.deliveries)

    @property
    def ready(self) -> bool:
        """Whether somebody listens."""
        return self.active

    # -- the receiver

    def listen(self) -> None:
        """Watch who subscribes to the deliver subject, and begin when somebody does."""
        self.stop(b"")
        self._subject = self._consumer.config.deliver_subject
        self._watch = self._account.watch_interest(self._changed, self._subject)
        if self._consumer.config.idle_heartbeat:
            self._rest()
        self._look()

    def _changed(self, _change: InterestChange) -> None:
        self._look()

    def _look(self) -> None:
        """See whether anybody listens now; begin to deliver, or to count the time without listeners."""
        active = self._has_listener()
        if active == self.active:
            return
        self.active = active
        self._consumer.inactivity.changed()
        if active:
            # Not at once: whoever subscribes has just begun, and its own answer goes first.
            self._runner.later()

    def _has_listener(self) -> bool:
        """Whether anybody listens; for a deliver group, only its members count."""
        group = self._consumer.config.deliver_group
        if not group:
            return self._account.has_interest(self._subject)
        return group in self._account.sublist.match(self._subject)[1]

    def stop(self, _status: bytes) -> None:
        """Unsubscribe, and send nothing more."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        self.active = False
        self._timer.clear()
        self._heartbeat.clear()

    # -- delivery

    def run(self) -> None:
        """Deliver what can be delivered now."""
        self._runner.run()

    def _deliver(self) -> None:
        consumer, flow, rate = self._consumer, self.flow, self.rate
        now = consumer.clock.now()
        if not self.active or consumer.paused(now):
            return
        if now < self._not_before:
            self._timer.at(self._not_before)
            return
        selector, sender = consumer.selector, consumer.sender
        consumer.num_pending.grow()
        spent, until = 0, self._consumer.host.deliveries.until()
        while True:
            if (flow is not None and flow.full()) or (taken := selector.take()) is None:
                break
            message, count = taken
            out = sender.trim(message) if sender.headers_only else message
            ack_subject = sender.ack_subject(message, count)
            size = sender.size(out, ack_subject)
            if not rate.free and (wait := rate.delay(message, size, now)):
                selector.give_back(message, count)
                self._not_before = now + wait
                self._timer.at(self._not_before)
                break
            if not sender.send(out, count, self._subject, ack_subject, out.header, now):
                selector.give_back(message, count)
                self._look()
                break
            consumer.sent(message.seq)
            spent += size
            if flow is not None and self._wants_answer(flow, size + len(self._subject)):
                self._ask(flow)
            if spent > BYTES_BUDGET or perf_counter() >= until:
                self._runner.later()
                break
        consumer.delivered()

    # -- flow control

    def _wants_answer(self, flow: FlowWindow, size: int) -> bool:
        due = flow.sent(size)
        consumer = self._consumer
        if not due and not flow.asked and consumer.config.ack_policy == "flow_control":
            return consumer.selector.stalled()
        return due

    def _ask(self, flow: FlowWindow) -> None:
        consumer = self._consumer
        reply = f"{FLOW_PREFIX}.{consumer.stream.name}.{consumer.name}.{consumer.host.new_id(4)}"
        flow.ask(reply)
        self._account.publish(self._subject, reply=reply, header=statuses.FLOW_CONTROL)

    def answered(self, message: Message) -> None:
        """Take the answer to a flow control request."""
        flow, consumer = self.flow, self._consumer
        if flow is None or not flow.answered(message.subject):
            return
        if consumer.config.ack_policy == "flow_control" and message.header:
            number = _number(headers.get(message.header, b"Nats-Last-Consumer"))
            seq = _number(headers.get(message.header, b"Nats-Last-Stream"))
            if seq > 0:
                consumer.ack_handler.ack_through(number, seq)
        self._runner.later()  # many may be answered at the same moment

    # -- heartbeats

    def _rest(self) -> None:
        self._heartbeat.again(self._consumer.clock.now() + self._consumer.config.idle_heartbeat)

    def _beat(self) -> None:
        consumer, flow = self._consumer, self.flow
        interval = consumer.config.idle_heartbeat
        now = consumer.clock.now()
        silent_until = consumer.sender.delivered_at + interval
        if silent_until > now:
            self._heartbeat.at(silent_until)
            return
        if self.active:
            delivery_state, last = consumer.delivery_state, consumer.selector.next_seq - 1
            stalled = flow.asked if flow is not None else ""
            status = statuses.idle_heartbeat(delivery_state.consumer_seq, last, stalled)
            self._account.publish(self._subject, header=status)
            # At the end of the stream nothing else would ever make the receiver acknowledge.
            wants = consumer.config.ack_policy == "flow_control" and delivery_state.outstanding
            if flow is not None and wants and not flow.asked:
                self._ask(flow)
        self._rest()


def _number(value: bytes | None) -> int:
    return int(value) if value and value.isdigit() else 0
