"""Messages of a stream in bulk, from a sequence on: by a consumer that acknowledges nothing.

It takes a connection of its own, which gives header blocks as they are stored. Promises: messages come in
their order, each once, and none is skipped: the consumer numbers what it delivers, and a gap is an error.
Memory is bounded by `MOST_BYTES` in a request, or one message.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Generator
from contextlib import suppress
from typing import Any

from ...client import BlockingConnection, ClientError, ConnectionLost, Message, NoResponders
from ...protocol.archive.entries import ArchiveEntry

MOST, MOST_BYTES = 5000, 8 * 1024 * 1024  # of one request
KEPT = 5 * 1_000_000_000  # ns until a server removes a consumer that nobody asks
UNAVAILABLE = 503
NAME = "pyjs-backup-"  # what the names of these consumers begin with


class ConsumerRefusedError(Exception):
    """The server makes no such consumer: its messages have to be fetched in another way."""


def read(
    connection: BlockingConnection, prefix: str, stream: str, first: int
) -> Generator[list[ArchiveEntry]]:
    """Yield the messages from `first` on, to those that there are now, in lists that are not empty.

    prefix: of the JetStream API's subjects.

    Raises ConsumerRefusedError, and ClientError for what may pass.
    """
    name = NAME + secrets.token_hex(6)
    config = {
        "name": name,
        "deliver_policy": "by_start_sequence",
        "opt_start_seq": first,
        "ack_policy": "none",
        "inactive_threshold": KEPT,
        "mem_storage": True,
        "num_replicas": 1,
    }
    asked = {"stream_name": stream, "config": config}
    made = _asked(connection, f"{prefix}.CONSUMER.CREATE.{stream}.{name}", asked)
    try:
        yield from _delivered(
            connection, f"{prefix}.CONSUMER.MSG.NEXT.{stream}.{name}", int(made["num_pending"])
        )
    finally:
        with suppress(ClientError, ConsumerRefusedError):  # the server removes it by itself, too
            _asked(connection, f"{prefix}.CONSUMER.DELETE.{stream}.{name}", {})


def _delivered(connection: BlockingConnection, subject: str, pending: int) -> Generator[list[ArchiveEntry]]:
    """Yield what a consumer has. subject: of requests for messages. pending: how many it has."""
    inbox = connection.new_inbox()
    connection.subscribe(inbox)
    number, large = 0, False
    while pending:
        # A message that is larger than the limit comes by itself.
        wanted = {"batch": 1} if large else {"batch": MOST, "max_bytes": MOST_BYTES}
        ask = json.dumps({**wanted, "no_wait": True}).encode()
        connection.publish(subject, ask, reply=inbox)
        left, before = wanted["batch"], number
        while left:
            found = []
            frames = connection.take()
            for row in range(len(frames)):
                message = frames.message(row)
                if message.status:
                    left = _ended(message)
                    break
                entry, place, pending = _entry(message)
                if place != number + 1:
                    raise ConnectionLost(f"message {number + 1} of the consumer is missing")
                number, left = place, left - 1
                found.append(entry)
            if found:
                yield found
        if large and number == before:
            return
        large = number == before


def _asked(connection: BlockingConnection, subject: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return an answer of the API. Raises ConsumerRefusedError, and ClientError for what may pass."""
    answer: dict[str, Any] = json.loads(connection.request(subject, json.dumps(body).encode()).payload)
    error = answer.get("error")
    if error and error.get("code") == UNAVAILABLE:
        raise ConnectionLost(str(error.get("description")))
    if error:
        raise ConsumerRefusedError(str(error.get("description")))
    return answer


def _ended(message: Message) -> int:
    """Return 0 if a request ended as it should. Raises ConnectionLost if the consumer is gone."""
    said = message.header.partition(b"\r\n")[0].decode(errors="replace")
    if message.status == UNAVAILABLE:
        raise NoResponders("the consumer is gone")
    if message.status not in (404, 408) and "MaxBytes" not in said and "Batch Completed" not in said:
        raise ConnectionLost(f"the consumer ended: {said}")
    return 0


def _entry(message: Message) -> tuple[ArchiveEntry, int, int]:
    """Return a message, its number of the consumer, and how many are behind it."""
    tokens = message.reply.split(".")
    try:
        sequence, number, time, pending = map(int, tokens[5:9] if len(tokens) == 9 else tokens[7:11])
    except ValueError:
        raise ClientError("a message came that its consumer did not send") from None
    return ArchiveEntry(message.subject, time, sequence, message.header, message.payload), number, pending
