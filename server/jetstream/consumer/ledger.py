"""A consumer's ledger: what was delivered, what is acknowledged, what waits for an ack, what is due again.

Promises (the numbers are used in the tests):
 1. the ack floor never passes the lowest pending message, and never the last delivered one;
 2. a message is pending from its first delivery until it is acked, terminated, gone, or out of deliveries;
 3. a message keeps the consumer sequence of its first delivery while it is pending;
 4. nothing is offered for redelivery that is not pending.
Costs: each operation is O(1) amortized; `expire` is O(what expired). No per-message timer or object: an entry
is a tuple in a dict. Never reads a clock, a stream or a store: times (ns) and sequences are arguments.
"""

import heapq
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator

from ....store.consumer import ConsumerState

# The reference lets the timer come a little late, so that a burst expires in one go.
_GRACE = 1_000_000
_PARKED = 0  # the deadline of what is queued: it has passed, or does not matter


class Ledger:
    """The delivery and ack state of one consumer.

    `ack_wait` and `backoff` in ns (ack_wait 0: nothing expires), `max_deliver` < 1 for no limit.
    """

    __slots__ = (
        "_due",
        "_special",
        "_window",
        "ack_wait",
        "backoff",
        "consumer_seq",
        "floor_consumer",
        "floor_stream",
        "max_deliver",
        "pending",
        "queued",
        "redelivered",
        "stream_seq",
        "track",
    )

    def __init__(
        self, *, track: bool, ack_wait: int = 0, backoff: tuple[int, ...] = (), max_deliver: int = -1
    ) -> None:
        self.track = track
        self.ack_wait = ack_wait
        self.backoff = backoff
        self.max_deliver = max_deliver
        self.consumer_seq = 0
        self.stream_seq = 0
        self.floor_consumer = 0
        self.floor_stream = 0
        # stream seq -> (consumer seq of the first delivery, time of the last one); in order of that time,
        # save for those in _special
        self.pending: dict[int, tuple[int, int]] = {}
        # stream seq -> how often it was delivered again
        self.redelivered: dict[int, int] = {}
        # offered for redelivery, in that order
        self.queued: OrderedDict[int, None] = OrderedDict()
        # pending and delivered sequences in stream order; may hold what `pending` has dropped
        self._window: deque[int] = deque()
        # deadlines that do not follow from the order of `pending` (backoff, delayed NAK), and their heap,
        # which may hold what _special has dropped
        self._special: dict[int, int] = {}
        self._due: list[tuple[int, int]] = []

    # -- position ---------------------------------------------------------------------------------

    def start(self, stream_seq: int) -> None:
        """Begin after `stream_seq`: nothing is delivered, the next delivery is number 1."""
        self.consumer_seq = self.floor_consumer = 0
        self.stream_seq = self.floor_stream = stream_seq
        self._drop_all()

    def pass_by(self, stream_seq: int) -> None:
        """Move on to after `stream_seq` with nothing pending: what was up to there is gone."""
        self.stream_seq = stream_seq
        self._settle()

    def _drop_all(self) -> None:
        self.pending.clear()
        self.redelivered.clear()
        self._clear_queues()

    def _clear_queues(self) -> None:
        self.queued.clear()
        self._window.clear()
        self._special.clear()
        self._due.clear()

    def restore(self, state: ConsumerState) -> None:
        """Take over a saved state; all pending messages keep the time of their last delivery."""
        self._drop_all()
        self.consumer_seq, self.stream_seq = state.delivered
        self.floor_consumer, self.floor_stream = state.ack_floor
        self.redelivered.update(state.redelivered)
        for seq, entry in sorted(state.pending.items(), key=lambda item: item[1][1]):
            self.pending[seq] = (entry[0], entry[1])
            if self.backoff:
                self._set_deadline(seq, entry[1] + self.wait(seq))
        self._window.extend(sorted(self.pending))

    def state(self) -> ConsumerState:
        """Give the state to be saved; it shares nothing with the ledger."""
        return ConsumerState(
            (self.consumer_seq, self.stream_seq),
            (self.floor_consumer, self.floor_stream),
            dict(self.pending),
            dict(self.redelivered),
        )

    def repair(self, first_seq: int, last_seq: int) -> list[str]:
        """Bring a restored state in line with its stream (`last_seq` its last message, `first_seq` its
        first).

        Gives a line for each thing that had to be changed, for the log.
        """
        said: list[str] = []
        if self.stream_seq > last_seq:
            said.append(f"delivered sequence {self.stream_seq} is past the stream's last {last_seq}")
            for seq in [seq for seq in self.pending if seq > last_seq]:
                self._forget(seq)
            for seq in [seq for seq in self.redelivered if seq > last_seq]:
                del self.redelivered[seq]
            self.stream_seq = last_seq
            self.consumer_seq = max((entry[0] for entry in self.pending.values()), default=self.consumer_seq)
        if self.floor_stream > self.stream_seq:
            said.append(f"ack floor {self.floor_stream} is past the delivered sequence {self.stream_seq}")
            self.floor_stream = self.stream_seq
            self.floor_consumer = min(self.floor_consumer, self.consumer_seq)
        below = [seq for seq in self.pending if seq < first_seq or seq <= self.floor_stream]
        if below:
            said.append(f"{len(below)} pending messages are below the ack floor or gone from the stream")
            for seq in below:
                self._forget(seq)
                self.redelivered.pop(seq, None)
        above = [seq for seq in self.pending if seq > self.stream_seq]
        if above:
            said.append(f"{len(above)} pending messages are past the delivered sequence {self.stream_seq}")
            for seq in above:
                self._forget(seq)
        for seq in [seq for seq in self.redelivered if seq < first_seq]:
            del self.redelivered[seq]
        self._settle()
        return said

    # -- delivery ---------------------------------------------------------------------------------

    def deliver(self, seq: int, now: int) -> int:
        """Record the first delivery of `seq`, which is above all before; gives its consumer sequence."""
        self.consumer_seq = number = self.consumer_seq + 1
        self.stream_seq = seq
        if self.track:
            self.pending[seq] = (number, now)
            self._window.append(seq)
            if self.backoff:
                self._set_deadline(seq, now + self.backoff[0] + _GRACE)
        else:
            self.floor_consumer, self.floor_stream = number, seq
        return number

    def deliver_run(self, last_seq: int, count: int) -> None:
        """Record first deliveries that ask for no acks, up to `last_seq`."""
        assert not self.track
        self.consumer_seq += count
        self.floor_consumer = self.consumer_seq
        self.stream_seq = self.floor_stream = last_seq

    def redeliver(self, seq: int, now: int) -> int:
        """Record one more delivery of the pending `seq`; gives the consumer sequence of this delivery."""
        self.consumer_seq = number = self.consumer_seq + 1
        self.redelivered[seq] = self.redelivered.get(seq, 0) + 1
        self._stamp(seq, now)
        if self.backoff:
            self._set_deadline(seq, now + self.wait(seq))
        elif self._special:
            self._special.pop(seq, None)
        return number

    def undo(self, seq: int, count: int, before: tuple[int, int]) -> None:
        """Take back the last delivery, which reached nobody. `before` is (consumer_seq, stream_seq) then."""
        self.consumer_seq, self.stream_seq = before
        if count > 1:
            left = self.redelivered.get(seq, 1) - 1
            if left > 0:
                self.redelivered[seq] = left
            else:
                self.redelivered.pop(seq, None)
            if seq in self.pending:
                self.queue_first(seq)
        elif self.track:
            self._forget(seq)
            if self._window and self._window[-1] == seq:
                self._window.pop()
        else:
            self.floor_consumer, self.floor_stream = before

    def deliveries(self, seq: int) -> int:
        """Tell how often the pending `seq` was delivered."""
        return self.redelivered.get(seq, 0) + 1

    def _stamp(self, seq: int, now: int) -> None:
        """Set the time of the last delivery and move the entry to the end of the order."""
        entry = self.pending.pop(seq)
        self.pending[seq] = (entry[0], now)

    # -- acknowledgement --------------------------------------------------------------------------

    def ack(self, seq: int) -> bool:
        """Acknowledge one message. False if it was not pending (acked before, gone, or never delivered)."""
        if self.redelivered:
            self.redelivered.pop(seq, None)
        if self.pending.pop(seq, None) is None:
            return False
        if self.queued:
            self.queued.pop(seq, None)
        if self._special:
            self._special.pop(seq, None)
        self._settle(seq)
        return True

    def ack_through(self, number: int, seq: int) -> list[int] | None:
        """Acknowledge all up to stream sequence `seq`, whose delivery was `number`.

        Gives the sequences that were pending or given up until now; None if the floor is already there.
        """
        if number <= self.floor_consumer or seq <= self.floor_stream:
            return None
        acked = []
        window = self._window
        while window and window[0] <= seq:
            one = window.popleft()
            if one in self.pending:
                self._forget(one)
                acked.append(one)
        again = [one for one in self.redelivered if one <= seq]
        for one in again:
            del self.redelivered[one]
        acked += set(again).difference(acked)
        self.floor_consumer, self.floor_stream = number, seq
        return acked

    def touch(self, seq: int, now: int) -> bool:
        """Start the ack wait of a pending message anew (+WPI)."""
        if seq not in self.pending:
            return False
        self._stamp(seq, now)
        if seq not in self.queued and (self.backoff or seq in self._special):
            self._set_deadline(seq, now + self.wait(seq))
        return True

    def delay(self, seq: int, now: int, delay: int) -> None:
        """Let a pending message come again after `delay` ns (-NAK with a delay)."""
        self.queued.pop(seq, None)
        # so that a restart finds the same deadline in the saved state
        self._stamp(seq, now + delay - self.wait(seq))
        self._set_deadline(seq, now + delay)

    def gone(self, seq: int) -> tuple[int, int] | None:
        """Drop a message that left the stream; gives (consumer seq, deliveries) if it was pending."""
        entry = self.pending.get(seq)
        if entry is None:
            self.redelivered.pop(seq, None)
            return None
        count = self.deliveries(seq)
        self.ack(seq)
        return entry[0], count

    def purged(self, first_seq: int, gone: Iterable[int] | None) -> None:
        """Drop messages that left the stream: these, or (None) all below `first_seq`."""
        if gone is None and first_seq > self.stream_seq:
            self._drop_all()
            self._settle()
        elif gone is None:
            for seq in [seq for seq in (*self.pending, *self.redelivered) if seq < first_seq]:
                self.gone(seq)
        elif self.pending or self.redelivered:
            for seq in gone:
                self.gone(seq)

    def give_up(self, seq: int) -> int:
        """Stop delivering a pending message that is out of deliveries; gives how often it was delivered.

        Its count is kept: a stream that keeps messages for its consumers keeps this one. The floor stays
        until the next ack, as the reference tells it.
        """
        count = self.deliveries(seq)
        self.redelivered[seq] = count
        self._forget(seq)
        return count

    def _forget(self, seq: int) -> None:
        self.pending.pop(seq, None)
        self.queued.pop(seq, None)
        self._special.pop(seq, None)

    def _settle(self, done: int = 0) -> None:
        """Move the floor up to just below the lowest pending message.

        As on the reference, only when `done` was the lowest one (0: whatever it was).
        """
        pending = self.pending
        if not pending:
            self.floor_consumer, self.floor_stream = self.consumer_seq, self.stream_seq
            if self._window:
                self._clear_queues()
            return
        window = self._window
        while window[0] not in pending:
            window.popleft()
        lowest = window[0]
        if done < lowest and lowest - 1 > self.floor_stream:
            self.floor_consumer, self.floor_stream = pending[lowest][0] - 1, lowest - 1
        if len(window) > 2 * len(pending) + 1024:
            self._window = deque(sorted(pending))

    # -- redelivery -------------------------------------------------------------------------------

    def wait(self, seq: int) -> int:
        """Tell how long (ns) the last delivery of `seq` may go without an ack."""
        if self.backoff:
            return self.backoff[min(self.redelivered.get(seq, 0), len(self.backoff) - 1)] + _GRACE
        return self.ack_wait + _GRACE

    def _set_deadline(self, seq: int, deadline: int) -> None:
        self._special[seq] = deadline
        heapq.heappush(self._due, (deadline, seq))
        if len(self._due) > 2 * len(self._special) + 1024:
            self._due = [(at, seq) for seq, at in self._special.items() if at != _PARKED]
            heapq.heapify(self._due)

    def queue(self, seq: int) -> None:
        """Offer a pending message for redelivery, if it is not yet."""
        self.queued[seq] = None
        self._special[seq] = _PARKED

    def queue_first(self, seq: int) -> None:
        """Offer a message before all others: it was taken and could not be sent."""
        self.queue(seq)
        self.queued.move_to_end(seq, last=False)

    def take(self) -> int:
        """Take the next message to be delivered again; 0 if there is none."""
        return self.queued.popitem(last=False)[0] if self.queued else 0

    def unqueue(self) -> None:
        """Take all offers back: the messages wait for their acks again."""
        for seq in self.queued:
            self._set_deadline(seq, self.pending[seq][1] + self.wait(seq))
        self.queued.clear()

    def exhausted(self, seq: int) -> bool:
        """Tell whether a pending message has been delivered as often as it may be."""
        return self.max_deliver > 0 and self.deliveries(seq) >= self.max_deliver

    def expire(self, now: int) -> list[int]:
        """Queue all pending messages whose wait is over; gives those that are out of deliveries instead.

        The caller gives those up one by one (`give_up`), each with its advisory.
        """
        expired = list(self._expired(now))
        expired.sort()
        exhausted = []
        for seq in expired:
            if self.exhausted(seq):
                exhausted.append(seq)
            else:
                self._stamp(seq, now)
                self.queue(seq)
        return exhausted

    def _expired(self, now: int) -> Iterator[int]:
        special = self._special
        if not self.backoff:
            limit = now - self.ack_wait - _GRACE
            for seq, entry in self.pending.items():
                if seq in special:
                    continue
                if entry[1] > limit:
                    break
                yield seq
        due = self._due
        while due and due[0][0] <= now:
            deadline, seq = heapq.heappop(due)
            if special.get(seq) == deadline:
                del special[seq]
                yield seq

    def retime(self) -> None:
        """Work all deadlines out anew: the waits have changed."""
        self._special.clear()
        self._due.clear()
        in_order = sorted(self.pending.items(), key=lambda item: item[1][1])
        self.pending.clear()
        self.pending.update(in_order)
        for seq, entry in self.pending.items():
            if seq in self.queued:
                self._special[seq] = _PARKED
            elif self.backoff:
                self._set_deadline(seq, entry[1] + self.wait(seq))

    def expire_all(self) -> list[int]:
        """As `expire`, with every wait over (the delivery subject changed)."""
        exhausted = []
        for seq in sorted(self.pending):
            if seq in self.queued:
                continue
            if self.exhausted(seq):
                exhausted.append(seq)
            else:
                self.queue(seq)
        return exhausted

    def next_deadline(self) -> int | None:
        """Tell when `expire` will next find something; None if nothing waits."""
        if not self.ack_wait and not self.backoff:
            return None
        nearest: int | None = None
        special, due = self._special, self._due
        if not self.backoff:
            for seq, entry in self.pending.items():
                if seq not in special:
                    nearest = entry[1] + self.ack_wait + _GRACE
                    break
        while due and special.get(due[0][1]) != due[0][0]:
            heapq.heappop(due)
        if due and (nearest is None or due[0][0] < nearest):
            nearest = due[0][0]
        return nearest

    @property
    def irregular(self) -> bool:
        """Whether a later delivery may be due before an earlier one."""
        return bool(self._special) or bool(self.backoff)

    def last_deadline(self) -> int:
        """Tell when the last of the pending waits is over; 0 if nothing waits."""
        return max((entry[1] + self.wait(seq) for seq, entry in self.pending.items()), default=0)

    # -- questions --------------------------------------------------------------------------------

    def needs(self, seq: int) -> bool:
        """Tell whether this consumer still wants the message `seq` kept (interest and work queue streams)."""
        if seq in self.redelivered:
            return True
        if seq > self.stream_seq:
            return True
        return seq in self.pending
