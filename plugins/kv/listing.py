"""`pyjs kv ls`: the buckets, or the keys of one."""

from __future__ import annotations

import click

from ...cli import complete, output, render
from ...cli.command import RequestCommand
from ...cli.connection import connect
from ...cli.output import NAME, NUMBER, TEXT, TIME, WORD, Column, Table
from ...protocol.buckets.key_value import Operation
from ...protocol.timestamp import format_exact
from .bucket import KEY_VALUE, LAST, WATCH_ALL, KeyValueBucket, open_bucket
from .bucket_list import show_list, table_of
from .text import encoding, printable

AT_ONCE = 500  # keys that are printed together: one by one would take as long as receiving them
BUCKETS = table_of(
    KEY_VALUE, Column("values", "Values", NUMBER), Column("history", "History", NUMBER, wide=True)
)
KEYS = Table(
    "kv_keys",
    "Contents for bucket",
    (
        Column("key", "Key", NAME),
        Column("created", "Created", TIME),
        Column("delta", "Delta", NUMBER),
        Column("revision", "Revision", NUMBER, show=lambda each: str(each["revision"])),
        Column("value", "Value", TEXT, optional=True, nullable=True),
        Column("encoding", "Encoding", WORD, wide=True, optional=True, nullable=True),
    ),
    key="key",
    empty="No keys found in bucket",
    spare=("delta", "created", "revision"),
)


@click.command(cls=RequestCommand, needs_loop=lambda given: bool(given["bucket"]))
@output.listing(BUCKETS, alternative=(KEYS,))
@click.argument("bucket", required=False, default="", shell_complete=complete.key_value_buckets)
@click.argument("key", required=False, default="")
@click.option("-n", "--names", is_flag=True, help="Only the names.")
@click.option("-v", "--verbose", is_flag=True, help="When each key was stored, and its revision.")
@click.option("--display-value", is_flag=True, help="With --verbose or --output: the values, too.")
async def ls(bucket: str, key: str, names: bool, verbose: bool, display_value: bool) -> None:
    """List the buckets; or the keys of a bucket, all or those that match a pattern."""
    async with connect() as connection:
        if not bucket:
            await show_list(connection, KEY_VALUE, BUCKETS, only_names=names)
            return
        store = await open_bucket(connection, bucket)
        if (verbose or not output.is_for_people()) and not names:
            await _show_keys(store, key or WATCH_ALL, display_value)
        elif not await _print_keys(store, key or WATCH_ALL) and not names:
            render.show("No keys found in bucket")


async def _print_keys(store: KeyValueBucket, pattern: str) -> bool:
    """Print the keys that match as they arrive, in the order of their last change; return whether any did."""
    found = False
    keys: list[str] = []
    async with store.reader(pattern, start=LAST, headers_only=True) as reader:
        async for message in reader.until_end():
            entry = store.entry(message)
            if entry.operation is Operation.PUT:
                keys.append(entry.key)
            if len(keys) == AT_ONCE:
                render.show("\n".join(keys))
                found, keys = True, []
    if keys:
        render.show("\n".join(keys))
    return found or bool(keys)


async def _show_keys(store: KeyValueBucket, pattern: str, with_value: bool) -> None:
    entries = await store.entries(pattern, start=LAST, headers_only=not with_value)
    records = [
        {
            "key": entry.key,
            "created": format_exact(entry.created),
            "delta": 0,  # the distance from the key's last revision, which this is
            "revision": entry.revision,
            **({"value": printable(entry.value), "encoding": encoding(entry.value)} if with_value else {}),
        }
        for entry in entries
        if entry.operation is Operation.PUT
    ]
    output.show(KEYS.of(records, title=f"Contents for bucket '{store.name}'"))
