"""`pyjs dlq stop`: end the keeping of dead letters, of one consumer or of all. Those that are kept stay."""

from __future__ import annotations

from typing import Any

import click

from ...cli import complete, output
from ...cli.command import RequestCommand
from ...cli.connection import NatsConnection, connect
from ...cli.errors import NotFoundError, RemoteError, warn
from ...cli.proposal import in_hint
from ...protocol import dead_letters
from . import page
from .queue import STREAM, Queue, open_queue

Info = dict[str, Any]


@click.command(cls=RequestCommand)
@output.showing("dead_letter_queue")
@STREAM
@click.argument("consumer", required=False, default="", shell_complete=complete.consumers)
async def stop(stream: str, consumer: str) -> None:
    """Keep no more of what the consumers of a Stream, or one of them, give up.

    The dead letters that are kept stay, and `dlq add` begins again. `dlq rm --all` deletes them.
    """
    async with connect() as connection:
        queue = await open_queue(connection, stream)
        taken = list(queue.info["config"].get("subjects") or [])
        if consumer:
            subjects = _without(consumer, taken, queue.source, await _names(connection, queue.source))
        else:
            subjects = [each for each in taken if not dead_letters.is_for_letters(each, queue.source)]
        info = await _updated(connection, queue, subjects)
        copied = await page.has_copy(connection, queue.source)
    page.show(info, queue.source, copied=copied)
    if consumer and dead_letters.takes(taken, queue.source, dead_letters.EVERY):
        warn(
            f"the consumers of {queue.source} are named one by one now: "
            f"{in_hint(f'dlq add {queue.source} NAME')} keeps what a new one gives up"
        )


async def _names(connection: NatsConnection, stream: str) -> list[str]:
    """Return the consumers of a stream; none if it is gone."""
    if stream not in await connection.js.stream_names():
        return []
    return [str(info["name"]) for info in await connection.js.consumers(stream)]


def _without(consumer: str, taken: list[str], stream: str, names: list[str]) -> list[str]:
    """Return the subjects of a queue that takes no letters of a consumer, and all the others that it took.

    names: the consumers of the stream. Raises NotFoundError if it takes none of the consumer.
    """
    every = dead_letters.takes(taken, stream, dead_letters.EVERY)
    if not dead_letters.takes(taken, stream, consumer) or (every and consumer not in names):
        known = names if every else page.consumers_of(taken, stream)
        hint = f"they are kept of {', '.join(sorted(known))}" if known else ""
        raise NotFoundError(f"no dead letters of the consumer {stream} > {consumer} are kept", hint)
    left = [each for each in taken if not dead_letters.is_for_consumer(each, stream, consumer)]
    for name in names:
        if name != consumer and dead_letters.takes(taken, stream, name):
            left += [each for each in dead_letters.queue_subjects(stream, name) if each not in left]
    return left


async def _updated(connection: NatsConnection, queue: Queue, subjects: list[str]) -> Info:
    """Give the queue its subjects; one without any gets a subject that no letter has."""
    if dead_letters.source_of(queue.name, subjects) != queue.source:
        subjects = [*subjects, dead_letters.stopped_subject(queue.source)]
    try:
        await connection.js.request(
            f"STREAM.UPDATE.{queue.name}", {**queue.info["config"], "subjects": subjects}
        )
    except RemoteError as error:
        raise error.while_doing(f"could not change the subjects of {queue.name}") from None
    return await connection.js.request(f"STREAM.INFO.{queue.name}")
