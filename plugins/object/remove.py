"""`pyjs object del` and `pyjs object seal`: objects and buckets deleted, buckets made read-only."""

from __future__ import annotations

import click

from ...cli import output, prompt, render
from ...cli.command import FORCE, Command
from ...cli.connection import connect
from ...cli.errors import RemoteError, UsageError
from ...cli.output.cells import clean
from . import page
from .bucket import BUCKET, ObjectBucket, open_bucket


@click.command("del", cls=Command)
@output.showing("object_bucket")
@BUCKET
@click.argument("name", metavar="[FILE]", required=False)
@FORCE
async def delete(bucket: str, name: str | None, force: bool) -> None:
    """Delete an object; without one, delete the whole bucket."""
    if name == "":
        raise UsageError("the name of the object is empty", "to delete the whole bucket, leave it out")
    async with connect() as connection:
        store = await open_bucket(connection, bucket)
        if name is not None:
            await _delete_object(store, name, force)
        elif await prompt.sure(f"Delete bucket {bucket} and all its files?", forced=force):
            await connection.js.request(f"STREAM.DELETE.{store.stream}")
        else:
            render.show("Skipping delete")


async def _delete_object(store: ObjectBucket, name: str, force: bool) -> None:
    entry = await store.existing(name, deleted=force)
    question = f"Delete {render.size(entry.size)} byte file {store.name} > {clean(name)}?"
    if not await prompt.sure(question, forced=force):
        render.show("Skipping delete")
        return
    await store.write_entry(entry.as_deleted())
    if entry.nuid:
        await store.purge(entry.nuid)
    info = await store.connection.js.stream_info(store.stream)
    page.show_bucket(info, before=f"Removed {store.name} > {clean(name)}\n")


@click.command(cls=Command)
@output.showing("object_bucket")
@BUCKET
@FORCE
async def seal(bucket: str, force: bool) -> None:
    """Make a bucket read-only for good."""
    async with connect() as connection:
        store = await open_bucket(connection, bucket)
        question = f"Really seal Bucket {bucket}, sealed buckets can not be unsealed or modified"
        if not await prompt.sure(question, forced=force):
            return
        try:
            await connection.js.request(
                f"STREAM.UPDATE.{store.stream}", {**store.info["config"], "sealed": True}
            )
        except RemoteError as error:
            raise error.while_doing(f"could not seal {bucket}") from None
        info = await connection.js.stream_info(store.stream)
    page.show_bucket(info, before=f"{bucket} has been sealed\n")
