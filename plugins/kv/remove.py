"""`pyjs kv del`, `purge` and `compact`: deleting keys, their history, and whole buckets."""

from __future__ import annotations

import time

import click

from ...cli import prompt, render
from ...cli.command import FORCE, RequestCommand
from ...cli.connection import NatsConnection, connect
from ...cli.errors import UsageError
from ...cli.param import DURATION
from ...protocol import duration
from ...protocol.buckets import key_value
from ...protocol.buckets.key_value import Operation
from .bucket import KEY_VALUE, LAST, WATCH_ALL, open_bucket
from .lookup import stream_of
from .values import BUCKET, KEY

MARKERS_KEPT = 30 * duration.MINUTE  # of this age: watchers that are away for a moment still see them


@click.command("del", cls=RequestCommand)
@BUCKET
@click.argument("key", required=False)
@FORCE
async def delete(bucket: str, key: str | None, force: bool) -> None:
    """Delete a key and keep its history; without a key, delete the whole bucket."""
    if key == "":
        raise UsageError("the key is empty", "to delete the whole bucket, leave the key out")
    async with connect() as connection:
        if key is None:
            await _delete_bucket(connection, bucket, force)
            return
        store = await open_bucket(connection, bucket)
        if not await prompt.sure(f"Delete key {store.name} > {key}?", forced=force):
            render.show("Skipping delete")
            return
        await store.publish(key, b"", key_value.delete_headers())


async def _delete_bucket(connection: NatsConnection, bucket: str, force: bool) -> None:
    await stream_of(connection, bucket, KEY_VALUE)
    if not await prompt.sure(f"Delete bucket {bucket}?", forced=force):
        render.show("Skipping delete")
        return
    await connection.js.request(f"STREAM.DELETE.{key_value.stream_name(bucket)}")


@click.command(cls=RequestCommand)
@BUCKET
@KEY
@FORCE
@click.option(
    "--ttl", type=DURATION, default=0, metavar="DURATION", help="How long the marker of the deletion stays."
)
async def purge(bucket: str, key: str, force: bool, ttl: int) -> None:
    """Delete a key with its history; only the marker of the deletion stays."""
    async with connect() as connection:
        store = await open_bucket(connection, bucket)
        if not await prompt.sure(f"Purge key {store.name} > {key}?", forced=force):
            render.show("Skipping purge")
            return
        await store.purge(key, ttl)


@click.command(cls=RequestCommand)
@BUCKET
@FORCE
async def compact(bucket: str, force: bool) -> None:
    """Remove the history of deleted keys, and markers of deletions older than 30 minutes."""
    async with connect() as connection:
        store = await open_bucket(connection, bucket)
        question = f"Purge all historic values and audit trails for deleted keys in bucket {store.name}?"
        if not await prompt.sure(question, forced=force):
            render.show("Skipping delete")
            return
        newest = time.time_ns() - MARKERS_KEPT
        for entry in await store.entries(WATCH_ALL, start=LAST, headers_only=True):
            if entry.operation is Operation.PUT:
                continue
            request: dict[str, object] = {"filter": store.subjects.read + entry.key}
            # A value that came in the meantime has a higher sequence, and must stay.
            if entry.created > newest:
                request["seq"] = entry.revision
            else:
                request["seq"] = entry.revision + 1
            await connection.js.request(f"STREAM.PURGE.{store.stream}", request)
