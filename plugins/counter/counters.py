"""The counters of a stream: found by a subject, read and changed.

Source: ADR-49. A publish with the header `Nats-Incr` adds to the counter of its subject; the stream stores
the sum as `{"val":"42"}`, with what each source has added. Values are whole numbers of any size, as text.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from ...cli import messages
from ...cli.connection import NatsConnection
from ...cli.errors import CliError, NotFoundError, RefusedError, UsageError
from ...cli.proposal import in_hint
from ...protocol.subject import is_literal

INCREMENT, SOURCES = "Nats-Incr", "Nats-Counter-Sources"
LEVEL, RELEASE = 2, "2.12"  # of the JetStream API, and of the first nats-server, that have counters
WHOLE = re.compile(r"[+-]?[0-9]{1,1000}")  # a header line holds at most 4 KiB


class CounterValue(NamedTuple):
    """The last value of a counter.

    increment: what the last message added.
    sources: by source stream and subject, what came from there.
    """

    value: str
    increment: str
    sources: dict[str, dict[str, str]]


def whole(text: str) -> str:
    """Return a whole number as servers write it, with its sign first. Raises UsageError for anything else."""
    if not WHOLE.fullmatch(text):
        raise UsageError(f'"{text}" is no whole number of at most 1,000 digits')
    sign = "-" if text.startswith("-") else ""
    return sign + text.lstrip("+-")


def check_subject(subject: str) -> None:
    """Raise UsageError unless `subject` can name a counter."""
    if not is_literal(subject):
        raise UsageError(
            f'"{subject}" names no counter', "a counter is one subject; 'counter list' takes wildcards"
        )


async def counter_stream(connection: NatsConnection, stream: str, subject: str) -> dict[str, Any]:
    """Return the information of the stream with the counters of `subject`; without `stream` it is looked up.

    Raises RefusedError if that stream has no counters.
    """
    name = stream or await connection.js.stream_of(subject)
    info = await connection.js.stream_info(name)
    config = info["config"]
    if config.get("allow_msg_counter") and config.get("allow_direct"):
        return info
    await connection.js.require_level(LEVEL, "counters", RELEASE)
    if config.get("allow_msg_counter"):
        raise RefusedError(
            f'"{name}" is not a valid counter stream',
            f"{in_hint(f'stream edit {name} --allow-direct')} makes it one",
        )
    raise RefusedError(
        f'"{name}" is not a valid counter stream',
        "'stream add --allow-counter' makes one; a Stream that exists cannot become one",
    )


async def read(connection: NatsConnection, stream: str, subject: str) -> CounterValue:
    """Return the last value of a counter. Raises NotFoundError if nothing was ever added to it."""
    found = await messages.last_of(connection, stream, subject, direct=True)
    if found is None:
        raise NotFoundError(
            f"counter not initialized for subject: {subject}",
            f"{in_hint(f'counter increment {subject} 1')} starts it",
        )
    try:
        value = str(json.loads(found.data)["val"])
        sources = json.loads(found.headers.get(SOURCES) or "{}")
        by_source = {
            str(name): {str(at): str(added) for at, added in each.items()} for name, each in sources.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CliError(
            f"message {found.sequence} of {stream} is no counter's: {found.data[:100]!r}"
        ) from None
    return CounterValue(value, found.headers.get(INCREMENT, ""), by_source)


async def add(connection: NatsConnection, subject: str, increment: str) -> messages.PublishAck:
    """Add to a counter; the acknowledgement has its new value. Raises CliError if it did not happen."""
    ack = await messages.publish(connection, subject, b"", {INCREMENT: increment})
    if not ack.value:
        raise CliError(
            f"{subject} is no counter: {ack.stream} stored a message without a value",
            f"{in_hint(f'stream rmm {ack.stream} {ack.sequence}')} removes it",
        )
    return ack
