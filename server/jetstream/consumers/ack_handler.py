"""AckHandler: applies the acks, naks and other replies of receivers to the delivery state.

Promises:
- An ack that asks for an answer gets it when the ack is durable (file consumers) or done (memory).
- Only a message that was delivered can be acked.
- The stream is notified of each ack, if its retention depends on them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ....protocol.dead_letters import TERMINATED
from ...accounts.subscription import message_of
from . import acks
from .acks import AckReplyInfo, AckType
from .advisories import chosen
from .config import sample_percentage
from .delivery_state import STEP

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....protocol.api.consumer import ConsumerConfig
    from ...accounts.subscription import Message, Publish
    from ...slices import Steps
    from .ackwaits import Deliverer
    from .delivery_parts import DeliveryParts

_PLAIN = (b"+ACK", b"+OK")
FEW = 16  # messages that one ack acknowledges at once; a read may bring hundreds of acks


class AckHandler:
    """The acks of one consumer.

    request: called with (body, reply) of a pull request that came with an ack (+NXT).
    acked_at: the time of the last ack, ns; 0 for never.
    """

    __slots__ = (
        "_ack_waits",
        "_clock",
        "_confirms",
        "_deliverer",
        "_delivery_state",
        "_parts",
        "_persistence",
        "_policy",
        "_request",
        "_sampling",
        "_through",
        "acked_at",
    )

    def __init__(
        self,
        parts: DeliveryParts,
        config: ConsumerConfig,
        deliverer: Deliverer,
        request: Callable[[bytes, str], None],
    ) -> None:
        self._parts = parts
        self._clock = parts.host.clock
        self._delivery_state = parts.delivery_state
        self._persistence = parts.persistence
        self._ack_waits = parts.ack_waits
        self._deliverer = deliverer
        self._request = request
        # An ack of very many messages that goes on in slices: its (consumer sequence, stream sequence), and
        # the reply subjects to answer at its end.
        self._through: tuple[int, int] | None = None
        self._confirms: list[tuple[bytes, bytes]] = []
        self.acked_at = 0
        self.configure(config)

    def configure(self, config: ConsumerConfig) -> None:
        """Take over a new configuration."""
        self._policy = config.ack_policy
        self._sampling = sample_percentage(config.sample_freq)  # percentage of acks that make a metric

    def receive_batch(self, run: list[Publish]) -> None:
        """Take messages on the ack subject that came together. The result is that of `receive` for each."""
        if self._policy != "explicit" or self._sampling:
            for publish in run:
                self.receive(message_of(publish))
            return
        known = max(self._parts.selector.next_seq - 1, self._delivery_state.stream_seq)
        acked: list[int] = []
        confirms: list[tuple[bytes, bytes]] = []
        for publish in run:
            subject, reply, header_size, size, tail = publish
            if header_size or (size and tail[-size - 2 : -2] not in _PLAIN):
                if acked:
                    self._ack_run(acked, confirms)
                    acked, confirms = [], []
                self.receive(message_of(publish))
                known = max(self._parts.selector.next_seq - 1, self._delivery_state.stream_seq)
            elif 0 < (seq := acks.stream_sequence(subject)) <= known:
                acked.append(seq)
                if reply:
                    confirms.append((reply, b""))
        if acked:
            self._ack_run(acked, confirms)

    def receive_plain(self, acked: list[int], replies: list[tuple[int, bytes]]) -> bool:
        """Take acks that say no more than these sequences. The result is that of `receive` for each.

        replies: (sequence, reply subject) of those that are to be answered. Returns False, and does nothing,
            if each ack has to be looked at.
        """
        if self._policy != "explicit" or self._sampling:
            return False
        known = max(self._parts.selector.next_seq - 1, self._delivery_state.stream_seq)
        if max(acked) > known:  # such a message was never delivered
            acked = [seq for seq in acked if seq <= known]
            replies = [(seq, reply) for seq, reply in replies if seq <= known]
        if acked:
            self._ack_run(acked, [(reply, b"") for _, reply in replies])
        return True

    def _ack_run(self, acked: list[int], confirms: list[tuple[bytes, bytes]]) -> None:
        """Acknowledge each of these messages (explicit ack policy), and send the answers to that."""
        parts, delivery_state = self._parts, self._delivery_state
        stalled = delivery_state.stalled
        if delivery_state.ack_run(acked):
            self.acked_at = self._clock.now()
            if not confirms:
                self._persistence.changed()
        if parts.stream.config.retention != "limits":
            for seq in acked:
                parts.remove_acked(seq)
        if stalled:
            self._deliverer.deliver()
        if confirms:
            self._confirm(confirms)

    def receive(self, message: Message) -> None:
        """Take a message on the ack subject."""
        delivery = acks.parse_subject(message.subject)
        if delivery is None or not delivery.stream_seq:
            return
        body = message.body
        verb, rest = acks.parse_body(body) if body else (AckType.ACK, b"")
        if verb is AckType.ACK:
            if not self._known(delivery):
                return
            self._ack(delivery, sample=True)
        elif verb is AckType.NEXT:
            if self._known(delivery):
                self._ack(delivery, sample=True)
            self._request(rest, message.reply)
            return
        elif verb is AckType.NAK:
            self._nak(delivery, rest)
        elif verb is AckType.PROGRESS:
            if self._delivery_state.touch(delivery.stream_seq, self._clock.now()):
                self._ack_waits.arm()  # the new wait may end before the delay of an earlier -NAK
                self._persistence.changed()
        elif verb is AckType.TERM:
            if self._known(delivery):
                self._term(delivery, rest.decode("utf-8", "replace"), message.reply)
            return
        self._answer(message.reply)

    def _answer(self, reply: str) -> None:
        """Confirm what was done, if there is a reply subject."""
        if reply:
            self._confirm([(reply.encode("utf-8", "surrogateescape"), b"")])

    def _term(self, delivery: AckReplyInfo, reason: str, reply: str) -> None:
        """Give up a message; keep it as a dead letter first, if that is wanted."""

        def given_up() -> None:
            self._ack(delivery, sample=False)
            advisories = self._parts.advisories
            advisories.terminated(delivery.consumer_seq, delivery.stream_seq, delivery.deliveries, reason)
            self._answer(reply)

        letters, seq, count = self._parts.dead_letters, delivery.stream_seq, delivery.deliveries
        if not letters.take(seq, TERMINATED, count, given_up, reason):
            given_up()

    def _known(self, delivery: AckReplyInfo) -> bool:
        """Return whether the message was ever delivered; an ack of any other is ignored.

        That its ack wait is over does not matter: a late ack counts as long as the message is pending.
        """
        return (
            delivery.stream_seq < self._parts.selector.next_seq
            or delivery.stream_seq <= self._delivery_state.stream_seq
        )

    def _confirm(self, answers: list[tuple[bytes, bytes]]) -> None:
        """Send these answers, which are empty, by their subjects, when all changes so far are safe."""
        if self._through is not None:
            self._confirms += answers
        else:
            self._persistence.after(partial(self._parts.account.publish_each, answers))

    def _ack(self, delivery: AckReplyInfo, *, sample: bool) -> None:
        if self._policy == "all":
            self.ack_through(delivery.consumer_seq, delivery.stream_seq)
            return
        delivery_state, seq = self._delivery_state, delivery.stream_seq
        stalled = delivery_state.stalled
        if sample and self._sampling:
            self._sample(delivery)
        if delivery_state.ack(seq):
            self.acked_at = self._clock.now()
            self._persistence.changed()
        if self._parts.releases:
            self._parts.remove_acked(seq)
        if stalled:
            self._deliverer.deliver()

    def ack_through(self, number: int, seq: int) -> None:
        """Acknowledge all up to stream sequence `seq`, delivered as `number`; in slices if there are many."""
        seq = min(seq, self._delivery_state.stream_seq)
        if self._through is not None:
            self._through = max(self._through, (number, seq))
        elif not self._acked_through(number, seq, FEW):
            self._through = (number, seq)
            self._deliverer.spread(self._acking(), self._all_acked)

    def _acking(self) -> Steps[None]:
        while self._through is not None and not self._acked_through(*self._through, STEP):
            yield

    def _acked_through(self, number: int, seq: int, most: int) -> bool:
        """Acknowledge about `most` messages, oldest first; return whether those are all up to `seq`."""
        delivery_state = self._delivery_state
        stalled, floor = delivery_state.stalled, delivery_state.floor_consumer
        acked, over = delivery_state.ack_through(number, seq, most)
        if not acked and delivery_state.floor_consumer == floor:
            return over
        self.acked_at = self._clock.now()
        self._persistence.changed()
        if self._parts.releases:
            self._parts.remove_all_acked(acked)
        if stalled:
            self._deliverer.deliver()
        return over

    def _all_acked(self) -> None:
        self._through = None
        confirms, self._confirms = self._confirms, []
        if confirms:
            self._confirm(confirms)

    def restart(self) -> None:
        """Drop the ack that is going on in slices, because the consumer starts over."""
        self._through = None

    def _sample(self, delivery: AckReplyInfo) -> None:
        entry = self._delivery_state.entry(delivery.stream_seq)
        if entry is not None and chosen(self._sampling):
            waited = self._clock.now() - entry[1]
            advisories = self._parts.advisories
            advisories.sample(delivery.consumer_seq, delivery.stream_seq, waited, delivery.deliveries)

    def _nak(self, delivery: AckReplyInfo, argument: bytes) -> None:
        parts, delivery_state, seq = self._parts, self._delivery_state, delivery.stream_seq
        if not delivery_state.floor_consumer < delivery.consumer_seq <= delivery_state.consumer_seq:
            return
        if delivery_state.entry(seq) is None:
            return
        parts.advisories.naked(delivery.consumer_seq, seq, delivery.deliveries)
        try:
            delay = acks.nak_delay(argument)
        except ValueError:
            parts.host.log.warning(f"{parts.label}: bad NAK delay value: {argument!r}")
            delay = 0
        self._persistence.changed()
        if delay > 0:
            delivery_state.delay(seq, self._clock.now(), delay)
            self._ack_waits.arm()
            return
        delivery_state.queue(seq)
        self._deliverer.deliver()
