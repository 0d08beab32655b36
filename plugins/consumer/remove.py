"""`pyjs consumer rm`: deletes a consumer, which cannot be undone. Asks first unless `--force` is given."""

from __future__ import annotations

import click

from ...cli import prompt
from ...cli.command import FORCE, RequestCommand
from ...cli.connection import connect
from ...cli.errors import RemoteError, UsageError
from ..stream.info import ALL, STREAM
from .info import CONSUMER, chosen


@click.command(cls=RequestCommand)
@STREAM
@CONSUMER
@FORCE
@ALL
async def rm(stream: str, consumer: str, force: bool, all_streams: bool) -> None:
    """Delete a Consumer."""
    if force and not (stream and consumer):
        raise UsageError("--force requires a stream and consumer name", "give them as <STREAM> <CONSUMER>")
    async with connect() as connection:
        stream, consumer = await chosen(connection, stream, consumer, everything=all_streams)
        if not force:
            await connection.js.consumer_info(stream, consumer)
        if not await prompt.sure(f"Really delete Consumer {stream} > {consumer}", forced=force):
            return
        try:
            await connection.js.request(f"CONSUMER.DELETE.{stream}.{consumer}")
        except RemoteError as error:
            explained = await connection.js.explained(error, stream=stream, consumer=consumer)
            raise explained.while_doing("could not remove Consumer") from None
