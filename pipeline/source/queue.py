"""Work-queue and interest streams: a query acknowledges finished batches through a durable of its own.

The query reads by sequence, as from any stream, and removes nothing. Only when Spark reports that a batch is
done is the durable asked for its messages up to there, and these are acknowledged. So a message leaves the
stream after its row was written; a query that ends between the two reads it again only with a new checkpoint.
"""

from __future__ import annotations

import json
from typing import Any

from ...client import BlockingConnection, TimedOut
from ...protocol.errors import ApiError
from ..jetstream import JetStreamRequests, StreamStatus
from ..jetstream.errors import CONSUMER_NOT_FOUND
from ..options import OptionError
from .directory import LIMITS

PULL = 500  # messages requested at once
ACK, NAK = b"+ACK", b"-NAK"
END = frozenset({404, 408, 409})  # no messages, none in time, the request ended


def ensure(api: JetStreamRequests, stream: StreamStatus, durable: str, subjects: tuple[str, ...]) -> None:
    """Create the durable if it is missing, else check it. Raises OptionError, ApiError."""
    if stream.retention == LIMITS:
        return
    try:
        config = api.call(f"CONSUMER.INFO.{stream.name}.{durable}")["config"]
    except ApiError as error:
        if error.err_code != CONSUMER_NOT_FOUND:
            raise
        config = _create(api, stream.name, durable, subjects)
    filters = config.get("filter_subjects") or [one for one in (config.get("filter_subject"),) if one]
    wrong = ""
    if config.get("deliver_subject"):
        wrong = "pushes its messages to a subject"
    elif config.get("ack_policy") != "explicit":
        wrong = f"has the ack policy {config.get('ack_policy')}"
    elif sorted(filters) != sorted(subjects):
        wrong = f"filters {', '.join(filters) or 'nothing'}, this query {', '.join(subjects) or 'nothing'}"
    if wrong:
        raise OptionError(
            "consumerDurable",
            f'"{durable}" of stream {stream.name} {wrong}',
            "name another one; a missing one is made as it must be",
        )


def _create(api: JetStreamRequests, stream: str, durable: str, subjects: tuple[str, ...]) -> dict[str, Any]:
    config: dict[str, Any] = {
        "durable_name": durable,
        "description": "acknowledges what a Spark query has done with",
        "ack_policy": "explicit",
        "deliver_policy": "all",
        "headers_only": True,
    }
    if len(subjects) == 1:
        config["filter_subject"] = subjects[0]
    elif subjects:
        config["filter_subjects"] = list(subjects)
    answer = api.call(
        f"CONSUMER.DURABLE.CREATE.{stream}.{durable}", {"stream_name": stream, "config": config}
    )
    return dict(answer["config"])


def acknowledge(api: JetStreamRequests, stream: str, durable: str, end: int) -> int:
    """Acknowledge all messages that the durable has below sequence `end`, and return how many these were.

    Messages that it delivers from `end` on are rejected, so that they are delivered again.
    """
    connection, done = api.connection, 0
    inbox = connection.new_inbox()
    sid = connection.subscribe(inbox)
    try:
        while True:
            count, beyond = _pull(
                connection, f"{api.prefix}.CONSUMER.MSG.NEXT.{stream}.{durable}", inbox, end
            )
            done += count
            if beyond or not count:
                return done
    finally:
        connection.unsubscribe(sid)
        connection.flush()


def _pull(connection: BlockingConnection, subject: str, inbox: str, end: int) -> tuple[int, bool]:
    """Send one pull request; return how many messages it acknowledged, and whether any were from `end` on."""
    connection.publish(subject, json.dumps({"batch": PULL, "no_wait": True}).encode(), reply=inbox)
    count, beyond = 0, False
    for _ in range(PULL):
        try:
            message = connection.receive()
        except TimedOut:
            break
        if message.status in END:
            break
        if _sequence(message.reply) < end:
            connection.publish(message.reply, ACK)
            count += 1
        else:
            connection.publish(message.reply, NAK)
            beyond = True
    return count, beyond


def _sequence(reply: str) -> int:
    """Return the stream sequence in an ack subject, of nine tokens or with domain and account."""
    tokens = reply.split(".")
    return int(tokens[5] if len(tokens) == 9 else tokens[7])
