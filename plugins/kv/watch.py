"""`pyjs kv watch`: the changes of a bucket as they come."""

from __future__ import annotations

from typing import Any

import click

from ...cli import output
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.errors import UsageError
from ...cli.messages import StoredMessage
from ...cli.ordered_consumer import OrderedConsumer
from ...cli.output import NAME, NUMBER, TEXT, TIME, WORD, Column, Table
from ...cli.output.terminal import styled
from ...protocol.buckets.key_value import Operation
from ...protocol.timestamp import format_exact
from .bucket import EVERYTHING, LAST, WATCH_ALL, KeyValueBucket, KeyValueEntry, open_bucket
from .following import Show, follow, one_by_one, show_change
from .text import encoding, moment, printable
from .values import BUCKET

CHANGES = Table(
    "kv_changes",
    "Changes",
    (
        Column("bucket", "Bucket", NAME),
        Column("key", "Key", NAME),
        Column("revision", "Revision", NUMBER, show=lambda each: str(each["revision"])),
        Column("operation", "Op", WORD),
        Column("created", "Created", TIME),
        Column("value", "Value", TEXT),
        Column("encoding", "Encoding", WORD),
    ),
    key="key",
)


@click.command(cls=Command)
@output.listing(CHANGES)
@BUCKET
@click.argument("key", required=False, default=WATCH_ALL)
@click.option("--history", "with_history", is_flag=True, help="Begin with all revisions that are kept.")
@click.option("--deletes/--no-deletes", default=True, help="Show deletions, too.")
@click.option("--updates", "only_updates", is_flag=True, help="Show only changes from now on.")
@click.option("--revision", type=click.IntRange(min=0), default=0, help="Begin with this revision.")
async def watch(
    bucket: str, key: str, with_history: bool, deletes: bool, only_updates: bool, revision: int
) -> None:
    """Show the values of the keys that match, and then each change, until Ctrl-C."""
    if with_history and only_updates:
        raise UsageError(
            "nats: invalid jetstream option: updates only cannot be used with include history",
            "give --history or --updates, not both",
        )
    one_by_one()
    start: dict[str, Any] = EVERYTHING if with_history else LAST
    if only_updates:
        start = {"deliver_policy": "new"}
    if revision:
        start = {"deliver_policy": "by_start_sequence", "opt_start_seq": revision}
    async with connect() as connection:

        async def opened(again: bool) -> tuple[OrderedConsumer, Show]:
            store = await open_bucket(connection, bucket)

            def show(message: StoredMessage) -> None:
                entry = store.entry(message)
                if deletes or entry.operation is Operation.PUT:
                    show_change(CHANGES, _record(store, entry), _line(store, entry))

            # Of a bucket that was made again everything is new.
            begin = (EVERYTHING if with_history else LAST) if again else start
            return store.reader(key, start=begin, outage_seconds=None), show

        await follow(connection, bucket, opened)


def _record(store: KeyValueBucket, entry: KeyValueEntry) -> dict[str, Any]:
    return {
        "bucket": store.name,
        "key": entry.key,
        "revision": entry.revision,
        "operation": entry.operation.value,
        "created": format_exact(entry.created),
        "value": printable(entry.value),
        "encoding": encoding(entry.value),
    }


def _line(store: KeyValueBucket, entry: KeyValueEntry) -> str:
    put = entry.operation is Operation.PUT
    word = styled(entry.operation.value, "green" if put else "red")
    line = f"[{moment(entry.created)}] {word} {store.name} > {entry.key}"
    return f"{line}: {printable(entry.value)}" if put else line
