"""`pyjs kv get`, `put`, `create` and `update`: the value of one key."""

from __future__ import annotations

import sys

import click

from ...cli import complete, messages, output, render
from ...cli.command import RequestCommand
from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, NotFoundError, close_matches
from ...cli.param import DURATION
from ...cli.proposal import in_hint
from ...protocol.buckets import key_value
from ...protocol.buckets.key_value import Operation
from ...protocol.timestamp import format_exact
from .bucket import LAST, WATCH_ALL, KeyValueBucket, KeyValueEntry, open_bucket
from .lookup import while_looking_around
from .text import encoding, moment, printable

SHOWN = 120  # bytes of a value without --raw

BUCKET = click.argument("bucket", shell_complete=complete.key_value_buckets)
KEY = click.argument("key")
VALUE = click.argument("value", required=False, default="")


def value_of(connection: NatsConnection, argument: str) -> bytes:
    """Return the value to store: the argument, or what stdin holds if that is no terminal.

    Raises CliError for more than a message can hold, without reading all of it.
    """
    if argument or sys.stdin.isatty():
        return argument.encode("utf-8", "surrogateescape")
    limit: int = connection.nc.max_payload
    value = sys.stdin.buffer.read(limit + 1)
    if len(value) > limit:
        raise messages.too_large(len(value), limit)
    return value


@click.command(cls=RequestCommand)
@output.showing("kv_entry")
@BUCKET
@KEY
@click.option("--revision", type=click.IntRange(min=0), help="Show this revision.")
@click.option("--raw", is_flag=True, help="Write only the value, unchanged.")
async def get(bucket: str, key: str, revision: int | None, raw: bool) -> None:
    """Show the value of a key: the last one, or a revision."""
    async with connect() as connection:
        store = await open_bucket(connection, bucket)
        entry = await (store.at(key, revision) if revision else store.last(key))
        if entry is None or entry.operation is not Operation.PUT:
            raise await not_found(store, key, entry, revision or 0)
    if raw:
        sys.stdout.buffer.write(entry.value)
        sys.stdout.buffer.flush()
        return
    document = {
        "bucket": store.name,
        "key": key,
        "revision": entry.revision,
        "created": format_exact(entry.created),
        "value": printable(entry.value),
        "encoding": encoding(entry.value),
    }
    output.show_page(document, _page(store, entry), name=key)


def _page(store: KeyValueBucket, entry: KeyValueEntry) -> str:
    text = printable(entry.value)
    lines = [f"{store.name} > {entry.key} revision: {entry.revision} created @ {moment(entry.created)}", ""]
    if len(text) > SHOWN:
        lines += [f"Showing first {SHOWN} bytes of {render.number(len(text))}, use --raw for full data", ""]
    return "\n".join([*lines, text[:SHOWN], ""])


async def not_found(store: KeyValueBucket, key: str, found: KeyValueEntry | None, revision: int) -> CliError:
    """Return the error for a key without a value, with the reason: deleted, not this revision, misspelled."""
    hint, near = "", ""
    if found is not None:
        how = "was deleted" if found.operation is Operation.DELETE else "was purged or has expired"
        hint = f"{key} {how} by revision {found.revision} at {moment(found.created)}"
    elif revision:
        line = in_hint(f"kv history {store.name} {key}")
        hint = f"{key} has no revision {revision} (any more): {line} shows those it has"
    elif store.info["state"].get("num_subjects", 0) <= 1000:  # more would take longer than the hint is worth
        async with while_looking_around():
            known = {entry.key for entry in await store.entries(WATCH_ALL, start=LAST, headers_only=True)}
            near = close_matches(key, known)
    return NotFoundError("nats: key not found", near or hint)


def _stored(store: KeyValueBucket, key: str, revision: int, argument: str) -> None:
    """Show what was stored: for people the value that was given as an argument, as `nats` does."""
    output.show_page({"bucket": store.name, "key": key, "revision": revision}, argument, name=str(revision))


@click.command(cls=RequestCommand)
@output.showing("kv_revision")
@BUCKET
@KEY
@VALUE
async def put(bucket: str, key: str, value: str) -> None:
    """Store a value. Without one, it is read from stdin."""
    async with connect() as connection:
        store = await open_bucket(connection, bucket)
        revision = await store.publish(key, value_of(connection, value))
    _stored(store, key, revision, value)


@click.command(cls=RequestCommand)
@output.showing("kv_revision")
@BUCKET
@KEY
@VALUE
@click.option("--ttl", type=DURATION, default=0, metavar="DURATION", help="How long the key lives.")
async def create(bucket: str, key: str, value: str, ttl: int) -> None:
    """Store a value only if the key does not exist or was deleted."""
    async with connect() as connection:
        store = await open_bucket(connection, bucket)
        revision = await store.create(key, value_of(connection, value), ttl)
    _stored(store, key, revision, value)


@click.command(cls=RequestCommand)
@output.showing("kv_revision")
@BUCKET
@KEY
@click.argument("value")
@click.argument("revision", type=click.IntRange(min=0))
async def update(bucket: str, key: str, value: str, revision: int) -> None:
    """Store a value only if the key's last revision is the given one (0: the key must not exist)."""
    async with connect() as connection:
        store = await open_bucket(connection, bucket)
        headers = key_value.update_headers(revision)
        revision = await store.publish(key, value_of(connection, value), headers)
    _stored(store, key, revision, value)
