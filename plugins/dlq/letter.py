"""A dead letter, as it is read from what the queue holds.

That is the message itself, which pyjs-server stores, or an advisory, which only names it. The advisory about
a message that is stored as well belongs to it, and makes no letter of its own. The functions are pure.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ...protocol import dead_letters
from ...protocol.dead_letters import DeadLetterEvent
from ...protocol.timestamp import format_exact

if TYPE_CHECKING:
    from ...cli.messages import StoredMessage

Info = dict[str, Any]

STORED, IN_STREAM, IN_COPY, GONE = "stored", "in stream", "in copy", "gone"


class DeadLetter(NamedTuple):
    """A dead letter.

    id: its sequence in the queue.
    time: when the consumer gave the message up, ns.
    where: where the message is: STORED (in the queue), IN_STREAM, IN_COPY or GONE.
    size: bytes of the message's body.
    related: the sequences of the advisories about it, which are removed with it.
    """

    id: int
    time: int
    event: DeadLetterEvent
    where: str = GONE
    size: int = 0
    related: tuple[int, ...] = ()


def merged(copies: list[StoredMessage], advisories: list[StoredMessage]) -> list[DeadLetter]:
    """Return letters in the order of the queue. What is neither a dead letter nor an advisory is left out."""
    letters: list[DeadLetter] = []
    stored: dict[tuple[str, str, int], int] = {}  # reason, consumer, sequence -> place in `letters`
    for message in sorted([*copies, *advisories], key=lambda message: message.sequence):
        if message.subject.startswith(dead_letters.SUBJECT_PREFIX):
            with suppress(ValueError):
                event = dead_letters.read_letter(dict(message.headers))
                stored[event.reason, event.consumer, event.sequence] = len(letters)
                size = int(message.headers.get("Nats-Msg-Size", 0))
                letters.append(DeadLetter(message.sequence, message.time, event, STORED, size))
            continue
        with suppress(ValueError):
            event = dead_letters.read_advisory(json.loads(message.data))
            place = stored.get((event.reason, event.consumer, event.sequence))
            if place is None:
                letters.append(DeadLetter(message.sequence, message.time, event))
            else:
                related = (*letters[place].related, message.sequence)
                letters[place] = letters[place]._replace(related=related)
    return letters


def document(letter: DeadLetter) -> Info:
    """Return a letter as a record of lists and pages."""
    event = letter.event
    return {
        "id": letter.id,
        "time": format_exact(letter.time),
        "stream": event.stream,
        "consumer": event.consumer,
        "reason": event.reason,
        "detail": event.detail,
        "deliveries": event.deliveries,
        "subject": event.subject,
        "sequence": event.sequence,
        "published": format_exact(event.time) if event.time else "",
        "bytes": letter.size,
        "message": letter.where,
    }
