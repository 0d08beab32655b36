"""Dead letters: the names, subjects and headers of messages that a consumer has given up.

The dead letters of the stream ``S`` are in the stream ``DLQ_S``. It takes two kinds of messages:

- advisories of the consumers of ``S``, which every server publishes: they name the message, and lack it;
- on ``$PYJS.DLQ.S.<consumer>.<origin>.<sequence>`` the messages themselves, which pyjs-server stores. Fields
  ``Pyjs-Dead-Letter-*`` of the header say what happened.

A field of the message's own header that a server would obey (``Nats-TTL``, ``Nats-Rollup``) has a prefix
there, and gets its name back in `restored_header`. The functions are pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from . import headers
from .identifier import name_hash
from .subject import is_subset
from .timestamp import format_exact, parse_rfc3339

if TYPE_CHECKING:
    from collections.abc import Sequence

STREAM_PREFIX: Final = "DLQ_"
COPY_PREFIX: Final = "DLQCOPY_"  # of a mirror that keeps the messages themselves
SUBJECT_PREFIX: Final = "$PYJS.DLQ."
ADVISORY_PREFIX: Final = "$JS.EVENT.ADVISORY.CONSUMER."
MAX_DELIVERIES: Final = "max_deliveries"
TERMINATED: Final = "terminated"
REASONS: Final = (MAX_DELIVERIES, TERMINATED)
EVERY: Final = "*"  # stands for every consumer
MAX_DETAIL: Final = 1024  # bytes of the text that comes with a +TERM

_FIELD = b"Pyjs-Dead-Letter-"
_KEPT = _FIELD + b"Header-"
_TAKEN = (b"nats-", _FIELD.lower())
_ADVISORIES = {MAX_DELIVERIES: "MAX_DELIVERIES", TERMINATED: "MSG_TERMINATED"}
_TYPES = {
    "io.nats.jetstream.advisory.v1.max_deliver": MAX_DELIVERIES,
    "io.nats.jetstream.advisory.v1.terminated": TERMINATED,
}


class DeadLetterEvent(NamedTuple):
    """What happened to a message.

    reason: MAX_DELIVERIES or TERMINATED.
    detail: the text that came with the +TERM, "" for none.
    sequence: of the message in its stream.
    deliveries: how often the consumer got it.
    subject, time: of the message, time in ns; "" and 0 if they are unknown.
    """

    reason: str
    stream: str
    consumer: str
    sequence: int
    deliveries: int
    detail: str = ""
    subject: str = ""
    time: int = 0


def queue_name(stream: str) -> str:
    """Return the name of the stream with the dead letters of `stream`."""
    return STREAM_PREFIX + stream


def source_of(name: str, subjects: Sequence[str]) -> str:
    """Return the stream whose dead letters a stream with this name and these subjects takes; "" for none."""
    source = name.removeprefix(STREAM_PREFIX)
    taken = f"{SUBJECT_PREFIX}{source}."
    return source if source != name and any(subject.startswith(taken) for subject in subjects) else ""


def queue_subjects(stream: str, consumer: str = EVERY) -> list[str]:
    """Return the subjects of the dead letters of one consumer, or of all of them."""
    advisories = [f"{ADVISORY_PREFIX}{name}.{stream}.{consumer}" for name in _ADVISORIES.values()]
    return [*advisories, f"{SUBJECT_PREFIX}{stream}.{consumer}.>"]


def advisory_filters(stream: str, consumer: str = EVERY) -> list[str]:
    """Return the subjects of the advisories about one consumer, or about all of them."""
    return queue_subjects(stream, consumer)[:-1]


def message_filter(stream: str, consumer: str = EVERY) -> str:
    """Return the subjects of the messages that one consumer, or any of them, has given up."""
    return queue_subjects(stream, consumer)[-1]


def takes(subjects: Sequence[str], stream: str, consumer: str) -> bool:
    """Return whether a stream with these subjects takes the dead letters of a consumer."""
    wanted = message_filter(stream, consumer)
    return any(is_subset(wanted, subject) for subject in subjects)


def is_for_consumer(subject: str, stream: str, consumer: str) -> bool:
    """Return whether a subject takes dead letters of a consumer, alone or with those of others."""
    return any(is_subset(wanted, subject) for wanted in queue_subjects(stream, consumer))


def is_for_letters(subject: str, stream: str) -> bool:
    """Return whether a subject is there for the dead letters of a stream's consumers."""
    starts = [each.removesuffix(".>").removesuffix(EVERY) for each in queue_subjects(stream)]
    return subject.startswith(tuple(starts))


def stopped_subject(stream: str) -> str:
    """Return a subject that no letter has: with it alone, a stream is one for dead letters and takes none."""
    return f"{SUBJECT_PREFIX}{stream}._"


def message_subject(event: DeadLetterEvent, origin: str) -> str:
    """Return the subject of a dead letter; origin: see `origin_of`."""
    return f"{SUBJECT_PREFIX}{event.stream}.{event.consumer}.{origin}.{event.sequence}"


def origin_of(stream_created: int, consumer_created: int) -> str:
    """Return a token that tells a stream and consumer, by their times of creation (ns), from later ones."""
    return name_hash(f"{stream_created}.{consumer_created}")


# -- the header of a dead letter


def letter_header(event: DeadLetterEvent, header: bytes) -> bytes:
    """Return the header block of a dead letter: what happened, and the message's own header."""
    fields = {
        b"Reason": event.reason.encode(),
        b"Stream": event.stream.encode(),
        b"Consumer": event.consumer.encode(),
        b"Deliveries": b"%d" % event.deliveries,
        b"Sequence": b"%d" % event.sequence,
        b"Time": format_exact(event.time).encode(),
        b"Subject": event.subject.encode("utf-8", "surrogateescape"),
        b"Detail": b" ".join(event.detail.encode("utf-8", "replace")[:MAX_DETAIL].split()),
    }
    lines = [_FIELD + name + b": " + value for name, value in fields.items() if value]
    lines += [_KEPT + line if line.lower().startswith(_TAKEN) else line for line in _lines(header)]
    return b"\r\n".join([headers.VERSION, *lines, b"", b""])


def restored_header(header: bytes) -> bytes:
    """Return the header block that the message of a dead letter had; b"" if it had none."""
    kept = []
    for line in _lines(header):
        if line.startswith(_KEPT):
            kept.append(line.removeprefix(_KEPT))
        elif not line.lower().startswith(_TAKEN):
            kept.append(line)
    return b"\r\n".join([headers.VERSION, *kept, b"", b""]) if kept else b""


def _lines(header: bytes) -> list[bytes]:
    return [line for line in header.split(b"\r\n")[1:] if line]


def read_letter(values: dict[str, str]) -> DeadLetterEvent:
    """Return what the header fields of a dead letter say. Raises ValueError if they are not those of one."""
    name = _FIELD.decode()
    try:
        event = DeadLetterEvent(
            reason=values[name + "Reason"],
            stream=values[name + "Stream"],
            consumer=values[name + "Consumer"],
            sequence=int(values[name + "Sequence"]),
            deliveries=int(values[name + "Deliveries"]),
            detail=values.get(name + "Detail", ""),
            subject=values[name + "Subject"],
            time=parse_rfc3339(values[name + "Time"]),
        )
    except KeyError as missing:
        raise ValueError(f"a dead letter without {missing}") from None
    if event.reason not in REASONS:
        raise ValueError(f"a dead letter for the reason {event.reason!r}")
    return event


def read_advisory(document: Any) -> DeadLetterEvent:
    """Return what an advisory says. Raises ValueError if it is not about a message that was given up."""
    try:
        return DeadLetterEvent(
            reason=_TYPES[document["type"]],
            stream=str(document["stream"]),
            consumer=str(document["consumer"]),
            sequence=int(document["stream_seq"]),
            deliveries=int(document["deliveries"]),
            detail=str(document.get("reason", "")),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not an advisory about a message that was given up: {error}") from None
