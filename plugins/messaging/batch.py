"""An atomic batch of `pyjs publish --atomic`: a stream stores all its messages, or none.

Source: ADR-50. Each message has the batch's id and its own place in it; the last one commits. Promises:
nothing is sent before the whole batch is known, so that a cut input stores nothing; the batch counts as
stored only with the acknowledgement that names it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from ...cli import messages, render
from ...cli.blocking import BadSubjectError, send
from ...cli.connection import NatsConnection
from ...cli.errors import CliError, RefusedError, UsageError
from ...cli.proposal import in_hint
from ...client import ClientError
from .body import Publication

LEVEL, RELEASE = 2, "2.12"  # of the JetStream API, and of the first nats-server, that have atomic batches
MOST = 100_000  # messages; nats-server takes 1,000 by default
NO_SUCH_STREAM = "no stream listens to it, or the one that does has no leader"


async def publish_batch(
    connection: NatsConnection, publications: Iterable[Publication], *, quiet: bool
) -> None:
    """Publish messages as one batch, and log where they are stored. Raises CliError if none is."""
    await connection.js.require_level(LEVEL, "atomic batches", RELEASE)
    batch: list[Publication] = []
    for publication in publications:
        batch.append(publication)
        if len(batch) > MOST:
            raise UsageError(f"an atomic batch has at most {render.number(MOST)} messages")
        if not quiet:
            render.log(f'Adding {len(publication.data)} bytes to batch on subject "{publication.subject}"')
    if not batch:
        raise UsageError("no messages to publish in atomic batch", "stdin was empty")
    await _require_batches(connection, batch[0].subject)
    ack = await _publish(connection, batch)
    if not quiet:
        domain = f' Domain: "{ack.domain}"' if ack.domain else ""
        counted = f" Counter Value: {ack.value}" if ack.value else ""
        render.log(
            f"Wrote batch ID: {ack.batch} Messages: {render.number(ack.batch_size)} "
            f"Sequence: {render.number(ack.sequence)}{domain}{counted}"
        )


async def _require_batches(connection: NatsConnection, subject: str) -> None:
    stream = await connection.js.stream_of(subject)
    if not (await connection.js.stream_info(stream))["config"].get("allow_atomic"):
        raise RefusedError(
            f"atomic publishing is not allowed for stream {stream} with subject {subject}",
            f"{in_hint(f'stream edit {stream} --allow-batch')} allows it",
        )


async def _publish(connection: NatsConnection, batch: list[Publication]) -> messages.PublishAck:
    batch_id = secrets.token_hex(11)
    for place, (subject, data, given) in enumerate(batch, 1):
        headers = {**given, "Nats-Batch-Id": batch_id, "Nats-Batch-Sequence": str(place)}
        if place == len(batch):
            headers["Nats-Batch-Commit"] = "1"
        elif place > 1:
            try:
                await send(connection.nc, subject, data, "", headers)
            except (BadSubjectError, ValueError, ClientError) as error:
                raise CliError(f"could not publish to {subject}: {error}") from None
            continue
        answer = await messages.asked(connection, subject, data, headers, nobody=NO_SUCH_STREAM)
        if place < len(batch) and answer.data:  # the first one is only confirmed, without a body
            ack = messages.parse_ack(answer.data)
            raise CliError(f"message {ack.sequence} was stored in {ack.stream} by itself, without its batch")
    ack = messages.parse_ack(answer.data)
    if ack.batch != batch_id or ack.batch_size != len(batch):
        raise CliError(f"this acknowledges another batch: {answer.data[:200]!r}")
    return ack
