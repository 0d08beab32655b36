"""`pyjs kv history` and `pyjs kv revert`: the revisions of a key."""

from __future__ import annotations

import click

from ...cli import output, prompt, render
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.errors import RefusedError
from ...cli.output import NAME, NUMBER, TEXT, TIME, WORD, Column, Table
from ...cli.proposal import in_hint
from ...protocol.buckets import key_value
from ...protocol.buckets.key_value import Operation
from ...protocol.timestamp import format_exact
from .bucket import EVERYTHING, KeyValueBucket, KeyValueEntry, open_bucket
from .text import encoding, printable, shortened
from .values import BUCKET, KEY, not_found

HISTORY = Table(
    "kv_history",
    "History",
    (
        Column("key", "Key", NAME),
        Column("revision", "Revision", NUMBER, show=lambda each: str(each["revision"])),
        Column("operation", "Op", WORD),
        Column("created", "Created", TIME),
        Column("length", "Length", NUMBER),
        Column("value", "Value", TEXT, show=lambda record: str(record["short"])),
        Column("encoding", "Encoding", WORD, wide=True),
    ),
    key="revision",
    spare=("length", "created"),
)


@click.command(cls=Command)
@output.listing(HISTORY)
@BUCKET
@KEY
async def history(bucket: str, key: str) -> None:
    """Show the revisions that a bucket keeps of a key, oldest first."""
    async with connect() as connection:
        store = await open_bucket(connection, bucket)
        entries = await _revisions(store, key)
    _show(store, key, entries)


async def _revisions(store: KeyValueBucket, key: str) -> list[KeyValueEntry]:
    entries = await store.entries(key, start=EVERYTHING)
    if not entries:
        raise await not_found(store, key, None, 0)
    return entries


def _show(store: KeyValueBucket, key: str, entries: list[KeyValueEntry]) -> None:
    records = [
        {
            "key": entry.key,
            "revision": entry.revision,
            "operation": entry.operation.value,
            "created": format_exact(entry.created),
            "length": len(entry.value),
            "value": printable(entry.value),
            "encoding": encoding(entry.value),
            "short": shortened(entry.value),
        }
        for entry in entries
    ]
    output.show(HISTORY.of(records, title=f"History for {store.name} > {key}"))


@click.command(cls=Command)
@output.listing(HISTORY)
@BUCKET
@KEY
@click.argument("revision", type=click.IntRange(min=1))
@click.option("--force/--no-force", default=False, help="Revert without asking.")
async def revert(bucket: str, key: str, revision: int, force: bool) -> None:
    """Store the value of an earlier revision again, as a new one."""
    async with connect() as connection:
        store = await open_bucket(connection, bucket)
        entries = await _revisions(store, key)
        if len(entries) <= 1:
            raise RefusedError(
                "cannot revert key in a bucket where history=1"
                if store.config["max_msgs_per_subject"] == 1
                else f"{key} has only one revision",
                f"{in_hint(f'kv edit {store.name} --history 5')} keeps more revisions from now on"
                if store.config["max_msgs_per_subject"] == 1
                else "",
            )
        wanted = next((entry for entry in entries if entry.revision == revision), None)
        if wanted is None or wanted.operation is not Operation.PUT:
            raise await not_found(store, key, wanted, revision)
        if not force and output.is_for_people():
            render.show(f"Revision: {revision}\n\n{shortened(wanted.value)}\n")
        if not await prompt.sure(f"Really revert to revision {revision}", forced=force):
            return
        # Only over the revision that was shown last: a change in the meantime is not overwritten.
        await store.publish(key, wanted.value, key_value.update_headers(entries[-1].revision))
        _show(store, key, await _revisions(store, key))
