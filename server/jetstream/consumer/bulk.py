"""Bulk: a run of messages at once for the pull requests of a consumer that asks for no acks.

Promises the frames, counts and order that one by one would give, and does it only where nothing can
come between: one client that takes messages as they are hears all requests, none of them ends within the run,
and the run is plainly what comes next in the stream. Everything else is left to the patient way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .acks import ack_prefix

if TYPE_CHECKING:
    from ....store.message import StoredMessage
    from ...accounts.plan import Target
    from .core import Consumer
    from .pull import Pull

RUN = 512  # messages
_LEAST = 4  # messages for each request; fewer are not worth the trouble
_MOST_PULLS = 8
UNBOUNDED = 1 << 62  # bytes


class Bulk:
    """The bulk deliveries of one consumer."""

    __slots__ = ("_ack_prefix", "_consumer")

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._ack_prefix = ack_prefix(consumer.stream.name, consumer.name) + "1."

    def serve(self, pulls: list[Pull], now: int) -> bool:
        """Deliver a run to these requests, in turn, one message each. False if it is not for this way.

        Their figures are brought up to date; those that are done have nothing left.
        """
        consumer = self._consumer
        if len(pulls) > _MOST_PULLS or any(pull.expires and now >= pull.expires for pull in pulls):
            return False
        most = min(min([pull.left for pull in pulls]) * len(pulls), RUN, consumer.backlog.count)
        if most < _LEAST * len(pulls) or (target := self._listener(pulls)) is None:
            return False
        messages = consumer.feed.peek(most)
        room = min([pull.max_bytes for pull in pulls if pull.max_bytes], default=0)
        frames, sizes = self._frames(messages, target[0].sid.decode(), room)
        count = len(sizes) - len(sizes) % len(pulls)
        if count < _LEAST * len(pulls):
            return False
        del messages[count:], frames[2 * count :]
        headed = sum([len(message.header) for message in messages])
        if headed and not target[1].headers:
            return False
        payloads = headed + sum(map(len, frames[1::2]))
        frames[0] = frames[0][2:]
        frames.append(b"\r\n")
        self._send(messages, b"".join(frames), payloads, target, now)
        for place, pull in enumerate(pulls):
            pull.left -= count // len(pulls)
            pull.delivered += count // len(pulls)
            if pull.max_bytes:
                pull.max_bytes -= sum(sizes[place : count : len(pulls)])
            if pull.heartbeat:
                pull.heartbeat_at = now + pull.heartbeat
        return True

    def _listener(self, pulls: list[Pull]) -> Target | None:
        """The one client that hears all these requests, through one subscription."""
        listener: Target | None = None
        for pull in pulls:
            found = self._consumer.sender.outlet.client(pull.reply)
            if found is None or (listener is not None and found[0] is not listener[0]):
                return None
            listener = found
        return listener

    def _frames(self, messages: list[StoredMessage], sid: str, room: int) -> tuple[list[bytes], list[int]]:
        """Line and body of each message, and what it counts; as many as count less than `room`, if given.

        Each line begins with what ends the message before it.
        """
        number, pending = self._consumer.ledger.consumer_seq, self._consumer.backlog.count
        leads: dict[str, tuple[str, int]] = {}
        frames: list[bytes] = []
        sizes: list[int] = []
        add, add_size, left = frames.append, sizes.append, room or UNBOUNDED
        for seq, subject, header, body, time in messages:
            if subject in leads:
                lead, fixed = leads[subject]
            else:
                lead = f"{subject} {sid} {self._ack_prefix}"
                fixed = len(subject.encode("utf-8", "surrogateescape")) + len(self._ack_prefix)
                leads[subject] = lead, fixed
            number += 1
            pending -= 1
            figures = f"{seq}.{number}.{time}.{pending}"
            length = len(header) + len(body)
            size = fixed + len(figures) + length
            left -= size
            if left <= 0:
                break
            if header:
                line = f"\r\nHMSG {lead}{figures} {len(header)} {length}\r\n"
                add(line.encode("utf-8", "surrogateescape") + header)
            else:
                add(f"\r\nMSG {lead}{figures} {length}\r\n".encode("utf-8", "surrogateescape"))
            add(body)
            add_size(size)
        return frames, sizes

    def _send(
        self, messages: list[StoredMessage], data: bytes, payloads: int, target: Target, now: int
    ) -> None:
        """Write these messages, as `data`, down as delivered and send them; `payloads` bytes of it count."""
        consumer, count = self._consumer, len(messages)
        consumer.feed.skip(count)
        consumer.ledger.deliver_run(messages[-1].seq, count)
        consumer.backlog.count -= count
        consumer.sender.delivered_at = now
        target[0].delivered += count
        target[1].send_run(data, count, payloads)
