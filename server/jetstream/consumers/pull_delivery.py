"""PullDelivery: delivers a consumer's messages to pull requests.

Promises:
- A request gets what it asked for, or a status that says why not.
- No request outlives its time.
- One run ends after `slices.SECONDS` or `BYTES_BUDGET`, and consumers with more to deliver take turns.
- One timer serves all requests.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING

from ....protocol import headers
from ...clock import DeadlineTimer
from ...slices import ReentrantRunner
from ..host import serves_level
from . import statuses
from .batch_delivery import LEAST, MOST_PULLS, BatchDelivery
from .delivery_rate import DeliveryRate
from .pull import PinnedClient, PriorityDecision, Pull, WaitQueue, overflow_decision, parse_and_validate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....protocol.api.consumer import ConsumerConfig
    from ....protocol.api.messages import PullRequest
    from ....store.message import StoredMessage
    from ...accounts.subscription import Message, Publish
    from .delivery_parts import DeliveryParts

BYTES_BUDGET = 4 << 20  # bytes delivered in one run
AHEAD = 128  # messages read ahead at most
SLICE = 150  # requests answered or checked in one turn of the loop
KNOWN = 32  # bodies of requests that are remembered, of at most `KNOWN_SIZE` bytes each
KNOWN_SIZE = 512
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
        "_known",
        "_not_before",
        "_parts",
        "_pin_timer",
        "_runner",
        "_timer",
        "_turns",
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
        # What `parse_and_validate` returned, by the bodies of requests, which a client sends again and again.
        self._known: dict[bytes, tuple[PullRequest, bytes]] = {}
        self.queue = WaitQueue(config.max_waiting, prioritized=config.priority_policy == "prioritized")
        self.pin = PinnedClient()
        self.rate = DeliveryRate(0, None)
        self.last_request = clock.now()
        self._turns = turns = parts.host.deliveries
        self._runner = ReentrantRunner(self._serve, turns)
        self.run = self._runner.run
        self._timer = DeadlineTimer(clock, self._tick)
        self._due = False
        self._pin_timer = DeadlineTimer(clock, partial(self.unpin, "timeout"))
        self._checked_at = 0
        self._not_before = 0
        self._unswept: Iterator[Pull] | None = None
        self._batch = BatchDelivery(parts)

    def on_append(self, _last_seq: int) -> None:
        """Deliver new messages if a request waits for them."""
        if self.queue.live > 0:
            self.run()

    def configure(self, config: ConsumerConfig) -> None:
        """Take over a new configuration."""
        self._config = config
        self._known.clear()

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

    def receive_batch(self, run: list[Publish]) -> None:
        """Take requests that came together. The result is that of `receive` for each, but for the time.

        When they have taken their share of the turn, the rest is only queued.
        """
        until = self._turns.until() if len(run) > 1 else 0.0
        for _, reply, header_size, size, tail in run:
            start = len(tail) - 2 - size
            body_at = start + header_size
            self.request(tail[body_at:-2], reply.decode("utf-8", "surrogateescape"), tail[start:body_at])
            if until and perf_counter() >= until:
                self._runner.later()

    def receive(self, message: Message) -> None:
        """Take a request."""
        self.request(message.body, message.reply, message.header)

    def request(self, body: bytes, reply: str, header: bytes = b"") -> None:
        """Take a pull request: queue it, or answer it at once with a status. Without reply it is ignored."""
        if not reply:
            return
        if header and not serves_level(header):
            self._send_status(reply, statuses.API_LEVEL)
            return
        asked, refusal = self._known.get(body) or self._judge(body)
        if refusal:
            self._send_status(reply, refusal)
            return
        now = self._clock.now()
        pull = Pull.of(asked, reply, now)
        if pull.pin and pull.pin == self.pin.identifier:
            self._rest_pin(now)
        elif pull.pin and self.pin.identifier:
            self._send_status(reply, statuses.PIN_MISMATCH)
            return
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

    def _judge(self, body: bytes) -> tuple[PullRequest, bytes]:
        """Return what `parse_and_validate` returns, and remember it."""
        parsed = parse_and_validate(body, self._config)
        if len(body) <= KNOWN_SIZE:
            if len(self._known) >= KNOWN:
                self._known.clear()
            self._known[body] = parsed
        return parsed

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
                number = parts.delivery_state.consumer_seq
                at_end = self._deliver(now)
                if parts.selector.ahead > 1:
                    parts.selector.rest()
                if parts.delivery_state.consumer_seq != number:
                    parts.sender.flush()
                    parts.ack_waits.delivered()
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
        policy, tracked = self._config.priority_policy, parts.delivery_state.track
        trusted: set[Pull] = set()  # requests whose client listened when this run checked
        free = rate.free
        pull = queue.head()
        # Roughly what the waiting requests can take now.
        selector.ahead = min(pull.left * queue.live, AHEAD) if pull is not None and free else 1
        many = min(selector.ahead, parts.num_pending.count) >= LEAST and queue.live <= MOST_PULLS
        if many and policy == "none" and self._deliver_run(now):
            if queue.live:
                self._runner.later()
            return not queue.live
        spent, until = 0, 0.0
        while True:  # at least once, so that a machine that is slow for a moment gets on
            taken = selector.take(stream.committed_seq)
            if taken is None:
                return not parts.delivery_state.stalled
            message, count = taken
            out = sender.trim(message) if sender.headers_only else message
            if not free and (wait := rate.delay(message, sender.size(out, count), now)):
                selector.give_back(message, count)
                self._not_before = now + wait
                self._timer.at(self._not_before)
                return False
            if pull is None or pull.over or queue.live > 1:
                pull = queue.head()
            if pull not in trusted or policy != "none" or pull.max_bytes:
                pull = self._choose(pull, out, count, now, trusted)
                if pull is None:
                    selector.give_back(message, count)
                    return True
                trusted.add(pull)
            header = out.header
            if policy == "pinned_client":
                header = headers.add(header, b"Nats-Pin-Id", self.pin.identifier.encode())
            if sender.send(out, count, pull.reply, header, now):
                if not tracked and parts.releases:
                    parts.remove_acked(message.seq)
                queue.served(pull, now)
                if pull.max_bytes > 0 and pull.left <= 0:
                    self._completed(pull)
                if not queue.live:
                    return True
            else:
                selector.give_back(message, count)
                queue.drop_head()
                trusted.clear()
            spent += len(out.header) + len(out.body)
            until = until or self._turns.until()
            if spent > BYTES_BUDGET or perf_counter() >= until:
                self._runner.later()
                return False

    def _deliver_run(self, now: int) -> bool:
        """Deliver many messages at once, if that is possible now; return whether it was."""
        parts, queue = self._parts, self.queue
        if parts.sender.headers_only or not (parts.delivery_state.track or not parts.releases):
            return False
        if not self._batch.serve(pulls := list(queue), now):
            return False
        for pull in pulls:
            if pull.left > 0:
                queue.got(pull)
                continue
            queue.remove(pull)
            if pull.max_bytes > 0:
                self._completed(pull)
        return True

    def _completed(self, pull: Pull) -> None:
        """Tell a client with a limit of bytes that it got all the messages that it asked for."""
        status = statuses.with_pending(statuses.BATCH_COMPLETED, pull.left, pull.max_bytes)
        self._send_status(pull.reply, status)

    def _choose(
        self, head: Pull | None, message: StoredMessage, count: int, now: int, trusted: set[Pull]
    ) -> Pull | None:
        """Return the request that gets delivery `count` of this message; None if no request can have it.

        head: the head of the queue. Requests that are over, or too small for it, are refused on the way.
        """
        queue, sender = self.queue, self._parts.sender
        policy = self._config.priority_policy
        passed = 0
        while (pull := head or queue.head()) is not None:
            head = None
            if pull.expires and now >= pull.expires:
                self._refuse(pull, statuses.REQUEST_TIMEOUT)
                continue
            decision = PriorityDecision.SERVE if policy == "none" else self._decide(pull, policy)
            if decision is PriorityDecision.WRONG_PIN:
                self._refuse(pull, statuses.WRONG_PIN)
                continue
            if decision is PriorityDecision.PASS:
                queue.cycle()
                passed += 1
                if passed >= queue.live:
                    return None
                continue
            size = sender.size(message, count) if pull.max_bytes > 0 else 0
            if size > pull.max_bytes > 0:
                self._refuse(pull, statuses.MAX_BYTES)
                continue
            if not (pull in trusted or sender.client(pull.reply) or self._account.has_interest(pull.reply)):
                queue.drop_head()
                continue
            if decision is PriorityDecision.PIN:
                self._pin(pull, now)
            if pull.max_bytes > 0:
                pull.max_bytes -= size
                if not pull.max_bytes:
                    pull.left = 1
            return pull
        return None

    def _decide(self, pull: Pull, policy: str) -> PriorityDecision:
        if policy == "pinned_client":
            return self.pin.decide(pull)
        if policy == "overflow":
            parts = self._parts
            return overflow_decision(pull, parts.num_pending.count, parts.delivery_state.outstanding)
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
        self._turns.soon(self._tick)

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
            self._turns.soon(self._sweep_on)
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

        def report(first: int) -> None:
            for reply in leaving[first : first + SLICE]:
                self._send_status(reply, status)
            if first + SLICE < len(leaving):
                self._turns.soon(lambda: report(first + SLICE))

        report(0)

    # -- the pinned client

    def _pin(self, pull: Pull, now: int) -> None:
        self.pin.set(self._parts.host.new_id(), now)
        pull.pin = self.pin.identifier
        self._rest_pin(now)
        self._parts.advisories.pinned(pull.group, self.pin.identifier)

    def _rest_pin(self, now: int) -> None:
        self._pin_timer.again(now + self._config.priority_timeout)

    def unpin(self, reason: str) -> None:
        """Unpin the client, so that another one can be pinned. reason: "timeout" or "admin"."""
        self._pin_timer.clear()
        if not self.pin.identifier:
            return
        self.pin.clear()
        self._parts.advisories.unpinned(self._config.priority_groups[0], reason)
        self.run()
