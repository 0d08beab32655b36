"""PullDelivery: delivers a consumer's messages to pull requests.

Promises:
- A request gets what it asked for, or a status that says why not.
- No request outlives its time.
- One run ends after `slices.SECONDS` or `BYTES_BUDGET`, and consumers with more to deliver take turns.
- One timer serves all requests.
"""

from __future__ import annotations

from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING

from ....protocol import headers
from ....protocol.limits import KNOWN_API_LEVEL
from ...clock import DeadlineTimer
from ...slices import ReentrantRunner
from ..host import serves_level
from . import statuses
from .batch_delivery import BatchDelivery
from .delivery_rate import DeliveryRate
from .pull import PinnedClient, PriorityDecision, Pull, PullError, WaitQueue, overflow_turn, parse, refuse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....protocol.api.consumer import ConsumerConfig
    from .delivery_parts import DeliveryParts

BYTES_BUDGET = 4 << 20  # bytes delivered in one run
AHEAD = 128  # messages read ahead at most
SLICE = 150  # requests answered or checked in one turn of the loop
FULL_CHECK_EVERY = 1_000_000_000  # ns between two checks for clients that are gone while the queue is full


class PullDelivery:
    """The waiting pull requests of a consumer, and what is delivered to them.

    pin: the pinned client of the priority group.
    queue: the requests that wait.
    rate: how fast messages may follow each other.
    last_request: when the last request came, ns.
    run: delivers what can be delivered now, answers requests that are over, and sets the timer.
    """

    __slots__ = (
        "_account",
        "_batch",
        "_checked_at",
        "_clock",
        "_config",
        "_due",
        "_not_before",
        "_parts",
        "_pin_timer",
        "_runner",
        "_timer",
        "_unswept",
        "last_request",
        "pin",
        "queue",
        "rate",
        "run",
    )

    bound = False  # only `used_until` says whether the consumer is in use

    def __init__(self, parts: DeliveryParts, config: ConsumerConfig) -> None:
        self._parts = parts
        self._account = parts.account
        self._clock = clock = parts.host.clock
        self._config = config
        self.queue = WaitQueue(config.max_waiting, prioritized=config.priority_policy == "prioritized")
        self.pin = PinnedClient()
        self.rate = DeliveryRate(0, None)
        self.last_request = clock.now()
        self._runner = ReentrantRunner(self._serve, parts.host.deliveries)
        self.run = self._runner.run
        self._timer = DeadlineTimer(clock, self._tick)
        self._due = False
        self._pin_timer = DeadlineTimer(clock, self._pin_expired)
        self._checked_at = 0
        self._not_before = 0
        self._unswept: Iterator[Pull] | None = None
        self._batch = BatchDelivery(parts) if config.ack_policy == "none" else None

    @property
    def ready(self) -> bool:
        """Whether a request waits for a message."""
        return self.queue.live > 0

    def configure(self, config: ConsumerConfig) -> None:
        """Take over a new configuration."""
        self._config = config

    def used_until(self, now: int, threshold: int) -> int:
        """Return the time of the last request, delivery or ack deadline; see `inactivity.Usage`."""
        used = max(self.last_request, self._parts.sender.delivered_at)
        if now - used < threshold:
            return used
        if self.waiting():
            return now
        delivery_state = self._parts.delivery_state
        return delivery_state.last_deadline() if delivery_state.outstanding else used

    # -- requests

    def request(self, body: bytes, reply: str, header: bytes = b"") -> None:
        """Take a pull request: queue it, or answer it at once with a status. Without reply it is ignored."""
        if not reply:
            return
        if header and not serves_level(header, KNOWN_API_LEVEL):
            self._send_status(reply, statuses.API_LEVEL)
            return
        now = self._clock.now()
        try:
            pull = parse(body, reply, now)
        except PullError as error:
            self._send_status(reply, statuses.error(400, f"Bad Request - {error}"))
            return
        refusal = refuse(pull, self._config, self.pin.identifier)
        if refusal:
            self._send_status(reply, refusal)
            return
        if self.pin.identifier and pull.pin == self.pin.identifier:
            self._rest_pin(now)
        if self.queue.live >= self.queue.limit and now - self._checked_at > FULL_CHECK_EVERY:
            self._sweep(now)
        if pull.no_wait and self._answered(pull, now):
            return
        if not self.queue.add(pull):
            # A client that expects heartbeats asks again when none come. A refusal would make it ask at once.
            if not pull.heartbeat:
                self._send_status(reply, statuses.MAX_WAITING)
            return
        self.last_request = now
        if self.queue.prioritized:
            self._runner.later()  # not now, so that requests that come together are ordered by priority
        else:
            self.run()
        if self.queue.live and (deadline := pull.deadline()):
            self._timer.at(deadline)

    def _answered(self, pull: Pull, now: int) -> bool:
        """Answer a no_wait request that can get nothing; return False if it may wait for its turn."""
        parts, selector = self._parts, self._parts.selector
        pending = parts.num_pending.left(selector.next_seq, selector.picked)
        pending += len(parts.delivery_state.queued)
        if not pending:
            if pull.expires:
                return False
            self.last_request = now
            self._send_status(pull.reply, statuses.NO_MESSAGES)
            return True
        self._sweep(now)
        if pending < self.queue.wanted():
            self.last_request = now
            self._send_status(pull.reply, statuses.REQUESTS_PENDING)
            return True
        return False

    def _send_status(self, reply: str, status: bytes) -> None:
        self._account.publish(reply, header=status)

    def _refuse(self, pull: Pull, status: str) -> None:
        self._send_status(pull.reply, statuses.with_pending(status, pull.left, pull.max_bytes))
        self.queue.remove(pull)

    # -- delivery

    def _serve(self) -> None:
        parts, queue = self._parts, self.queue
        now = self._clock.now()
        at_end = True
        if queue.live and self._config.pause_until <= now:
            at_end = False
            if now >= self._not_before:
                at_end = self._deliver(now)
                parts.selector.rest()
                parts.sender.done()
            else:
                self._timer.at(self._not_before)
        due, self._due = self._due, False
        # A no_wait request of a stalled consumer can get nothing more, and is answered when the timer fires.
        if queue.ending and (at_end or (due and parts.delivery_state.stalled)):
            self._end_no_wait(now)
        if due:
            self._answer_due(now)
            if deadline := queue.deadline():
                self._timer.at(max(deadline, now))

    def _tick(self) -> None:
        deadline, now = self.queue.deadline(), self._clock.now()
        if deadline > now:  # a delivery has moved the next heartbeat to later
            self._timer.at(deadline)
            self.run()
        else:
            self._go_on()

    def _go_on(self) -> None:
        self._due = True
        self.run()

    def _deliver(self, now: int) -> bool:
        """Deliver until no message or no request is left, or the budget is used.

        Returns whether nothing is left for the requests that still wait: False if only pending acks, the rate
        limit or the budget hold messages back.
        """
        parts, queue, rate = self._parts, self.queue, self.rate
        selector, sender, stream = parts.selector, parts.sender, parts.stream
        parts.num_pending.grow()
        trusted: set[Pull] = set()  # requests whose client listened when this run checked
        policy = self._config.priority_policy
        pinned, in_turn = policy == "pinned_client", policy == "none"
        tracked, free = parts.delivery_state.track, rate.free
        head = queue.head()
        # Roughly what the waiting requests can take now.
        selector.ahead = min(head.left * queue.live, AHEAD) if head is not None and free else 1
        if in_turn and self._batch is not None and self._deliver_run(now):
            if queue.live:
                self._runner.later()
            return not queue.live
        spent, until = 0, parts.host.deliveries.until()
        while True:  # at least once, so that a machine that is slow for a moment gets on
            taken = selector.take(stream.committed_seq)
            if taken is None:
                return not parts.delivery_state.stalled
            message, count = taken
            out = sender.trim(message) if sender.headers_only else message
            ack_subject = sender.ack_subject(message, count)
            size = sender.size(out, ack_subject)
            if not free and (wait := rate.delay(message, size, now)):
                selector.give_back(message, count)
                self._not_before = now + wait
                self._timer.at(self._not_before)
                return False
            pull = queue.head()
            if pull is None or not in_turn or pull.max_bytes or pull not in trusted:
                pull = self._choose(pull, size, now, trusted)
                if pull is None:
                    selector.give_back(message, count)
                    return True
                trusted.add(pull)
            header = out.header
            if pinned:
                header = headers.add(header, b"Nats-Pin-Id", self.pin.identifier.encode())
            if sender.send(out, count, pull.reply, ack_subject, header, now):
                spent += size
                if not tracked and parts.releases:
                    parts.remove_acked(message.seq)
                self._served(pull, now)
                if not queue.live:
                    return True
            else:
                selector.give_back(message, count)
                queue.drop_head()
                trusted.clear()
            if spent > BYTES_BUDGET or perf_counter() >= until:
                self._runner.later()
                return False

    def _deliver_run(self, now: int) -> bool:
        """Deliver many messages at once, if that is possible now; return whether it was."""
        parts, queue, batch = self._parts, self.queue, self._batch
        plain = self.rate.free and not parts.sender.headers_only and not parts.releases
        if batch is None or not plain or not batch.serve(pulls := list(queue), now):
            return False
        for pull in pulls:
            if pull.left > 0:
                queue.got(pull)
                continue
            queue.remove(pull)
            if pull.max_bytes > 0:
                self._send_status(
                    pull.reply, statuses.with_pending(statuses.BATCH_COMPLETED, 0, pull.max_bytes)
                )
        return True

    def _served(self, pull: Pull, now: int) -> None:
        self.queue.served(pull)
        if pull.left > 0:
            if pull.heartbeat:
                pull.heartbeat_at = now + pull.heartbeat
        elif pull.max_bytes > 0:
            self._send_status(
                pull.reply, statuses.with_pending(statuses.BATCH_COMPLETED, pull.left, pull.max_bytes)
            )

    def _choose(self, head: Pull | None, size: int, now: int, trusted: set[Pull]) -> Pull | None:
        """Return the request that gets the next message, of `size` bytes; None if no request can have it.

        head: the head of the queue. Requests that are over, or too small for it, are refused on the way.
        """
        queue = self.queue
        policy, client = self._config.priority_policy, self._parts.sender.client
        passed = 0
        while (pull := head or queue.head()) is not None:
            head = None
            if pull.expires and now >= pull.expires:
                self._refuse(pull, statuses.REQUEST_TIMEOUT)
                continue
            turn = PriorityDecision.SERVE if policy == "none" else self._turn(pull, policy)
            if turn is PriorityDecision.WRONG_PIN:
                self._refuse(pull, statuses.WRONG_PIN)
                continue
            if turn is PriorityDecision.PASS:
                queue.cycle()
                passed += 1
                if passed >= queue.live:
                    return None
                continue
            if pull.max_bytes > 0 and size > pull.max_bytes:
                self._refuse(pull, statuses.MAX_BYTES)
                continue
            if pull not in trusted and not client(pull.reply) and not self._account.has_interest(pull.reply):
                queue.drop_head()
                continue
            if turn is PriorityDecision.PIN:
                self._pin(pull, now)
            if pull.max_bytes > 0:
                pull.max_bytes -= size
                if not pull.max_bytes:
                    pull.left = 1
            return pull
        return None

    def _turn(self, pull: Pull, policy: str) -> PriorityDecision:
        if policy == "pinned_client":
            return self.pin.turn(pull)
        if policy == "overflow":
            parts = self._parts
            return overflow_turn(pull, parts.num_pending.count, parts.delivery_state.outstanding)
        return PriorityDecision.SERVE

    # -- the end of requests

    def _end_no_wait(self, now: int) -> None:
        """Answer no_wait requests, as there is nothing more for them; at most `SLICE` in this turn."""
        for pull in list(islice(self.queue.ending, SLICE)):
            if pull.expires and now >= pull.expires:
                self._is_over(pull, now)
            else:
                self._send_status(pull.reply, statuses.NO_MESSAGES)
                self.queue.remove(pull)
        if self.queue.ending:
            self._due = True
            self._runner.later()

    def _answer_due(self, now: int) -> None:
        """End requests that are over and send due heartbeats to the others; at most `SLICE` in this turn."""
        queue = self.queue
        for _ in range(SLICE):
            pull = queue.due(now)
            if pull is None:
                return
            if self._is_over(pull, now):
                continue
            delivery_state, selector = self._parts.delivery_state, self._parts.selector
            self._send_status(
                pull.reply, statuses.idle_heartbeat(delivery_state.consumer_seq, selector.next_seq - 1)
            )
            pull.heartbeat_at = now + pull.heartbeat
            queue.watch(pull)
        self._parts.host.deliveries.soon(self._tick)

    def _is_over(self, pull: Pull, now: int) -> bool:
        """Remove a request whose time is over, or that nobody listens for; return whether it was removed."""
        if pull.expires and now >= pull.expires:
            self._send_status(
                pull.reply, statuses.with_pending(statuses.REQUEST_TIMEOUT, pull.left, pull.max_bytes)
            )
        elif self._account.has_interest(pull.reply):
            return False
        self.queue.remove(pull)
        return True

    def _sweep(self, now: int) -> None:
        """Check for each request whether somebody still listens, for `SLICE` requests in each turn."""
        self._checked_at = now
        if self._unswept is None:
            self._unswept = iter(self.queue)
            self._sweep_on()

    def _sweep_on(self) -> None:
        if self._unswept is None:
            return  # stopped meanwhile
        now, looked = self._clock.now(), 0
        for pull in islice(self._unswept, SLICE):
            looked += 1
            self._is_over(pull, now)
        if looked == SLICE:
            self._parts.host.deliveries.soon(self._sweep_on)
        else:
            self._unswept = None

    def waiting(self) -> int:
        """Return how many requests wait, and check (in slices) whether their clients still listen."""
        self._sweep(self._clock.now())
        return self.queue.live

    def dismiss(self) -> None:
        """End all requests with a status, because the server shuts down."""
        while (pull := self.queue.head()) is not None:
            self._refuse(pull, statuses.SERVER_SHUTDOWN)

    def stop(self, status: bytes) -> None:
        """End all requests with `status`, in slices if there are many, and cancel the timers."""
        self._timer.clear()
        self._pin_timer.clear()
        self._unswept = None
        leaving = [pull.reply for pull in self.queue]
        self.queue = WaitQueue(self.queue.limit, prioritized=self.queue.prioritized)

        def tell(first: int) -> None:
            for reply in leaving[first : first + SLICE]:
                self._send_status(reply, status)
            if first + SLICE < len(leaving):
                self._parts.host.deliveries.soon(lambda: tell(first + SLICE))

        tell(0)

    # -- the pinned client

    def _pin(self, pull: Pull, now: int) -> None:
        self.pin.set(self._parts.host.new_id(), now)
        pull.pin = self.pin.identifier
        self._rest_pin(now)
        self._parts.advisories.pinned(pull.group, self.pin.identifier)

    def _rest_pin(self, now: int) -> None:
        self._pin_timer.again(now + self._config.priority_timeout)

    def _pin_expired(self) -> None:
        self.unpin("timeout")

    def unpin(self, reason: str) -> None:
        """Unpin the client, so that another one can be pinned. reason: "timeout" or "admin"."""
        self._pin_timer.clear()
        if not self.pin.identifier:
            return
        self.pin.clear()
        self._parts.advisories.unpinned(self._config.priority_groups[0], reason)
        self.run()
