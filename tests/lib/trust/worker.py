"""A worker of the durable consumer: pulls, acknowledges each message and waits until the ack is confirmed."""

from __future__ import annotations

import time

from lib.jetstream import SECOND
from lib.process import ServerProcess
from lib.wire import Msg, Wire

from .publishers import Client, waits
from .values import CONSUMER, Value, Values

BATCH = 25
EXPIRES_SECONDS = 1.0
LATE_SECONDS = 3.0


class Handled:
    """What all workers of a stream's consumer have seen.

    seen: messages by sequence
    confirmed: acks, and since when they are confirmed
    """

    def __init__(self, values: Values, stream: str) -> None:
        self.values = values
        self.stream = stream
        self.seen: dict[int, Value | None] = {}
        self.confirmed: dict[int, float] = {}
        self.changed: list[str] = []  # a sequence that had another body before
        self.again: list[
            tuple[int, float]
        ] = []  # delivered for a pull that came after the ack's confirmation
        self.deliveries = 0


class Worker(Client):
    """One connection that works."""

    def __init__(self, name: str, server: ServerProcess, handled: Handled) -> None:
        super().__init__(name, server)
        self.handled = handled

    def session(self, wire: Wire) -> None:
        while not self.ending.is_set():
            self.pull(wire)

    def pull(self, wire: Wire, batch: int = BATCH, seconds: float = EXPIRES_SECONDS) -> int:
        """Make one pull, send its acks and wait for their confirmations; return how many messages came."""
        asked = time.monotonic()
        inbox = wire.inbox()
        request = f'{{"batch": {batch}, "expires": {int(seconds * SECOND)}}}'
        wire.pub(f"$JS.API.CONSUMER.MSG.NEXT.{self.handled.stream}.{CONSUMER}", request, inbox)
        acks: dict[str, int] = {}
        got, over = 0, False
        deadline = asked + seconds + LATE_SECONDS
        while not (over and not acks):
            left = deadline - time.monotonic()
            if left <= 0 or not waits(wire, left):
                break
            frame = wire.next()
            if not isinstance(frame, Msg):
                continue
            if frame.subject in acks:
                sequence = acks.pop(frame.subject)
                if not frame.status:
                    self.handled.confirmed.setdefault(sequence, time.monotonic())
            elif frame.reply.startswith("$JS.ACK."):
                sequence = self._delivered(frame, asked)
                reply = wire.inbox()
                acks[reply] = sequence
                wire.pub(frame.reply, "+ACK", reply)
                got += 1
                over = over or got >= batch
            elif frame.subject == inbox and frame.status and not frame.status.startswith("100"):
                over = True
        return got

    def _delivered(self, message: Msg, asked: float) -> int:
        """Note a delivery; return its stream sequence."""
        handled = self.handled
        handled.deliveries += 1
        parts = message.reply.split(".")
        sequence = int(parts[5] if len(parts) == 9 else parts[7])
        value = handled.values.of(message.body)
        if sequence in handled.seen and handled.seen[sequence] is not value:
            handled.changed.append(f"{sequence}: another body than before: {message.body[:40]!r}")
        handled.seen[sequence] = value
        if handled.confirmed.get(sequence, asked) < asked:
            handled.again.append((sequence, asked))
        return sequence
