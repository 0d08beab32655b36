"""An object bucket of a server: open it, and read and write the entries of its objects.

Promises: an entry replaces exactly the one that it was meant to replace (the server checks its sequence), so
of two that are written at the same time one comes after the other, and the chunks of the earlier are removed.
"""

from __future__ import annotations

import json
from typing import Any

import click

from ...cli import complete, messages
from ...cli.connection import NatsConnection
from ...cli.errors import CliError, NotFoundError, RemoteError, close_matches, warn
from ...cli.messages import StoredMessage
from ...cli.ordered_consumer import OrderedConsumer
from ...cli.proposal import in_hint
from ...protocol.buckets import object_store
from ...protocol.buckets.key_value import update_headers
from ...protocol.buckets.object_store import ObjectInfo
from ...protocol.errors import ApiError
from ..kv.bucket import BUCKET_FULL, HEARTBEAT, LAST, WRONG_REVISION
from ..kv.lookup import BucketKind, stream_of, validated, while_looking_around

Info = dict[str, Any]

OBJECT_STORE = BucketKind(object_store.STREAM_PREFIX, "Object", "Object Store", "object")
BUCKET = click.argument("bucket", shell_complete=complete.object_buckets)
SEALED = 10109
ATTEMPTS = 5  # to replace an entry that others replace, too
LINKS = 8  # that are followed, one to the next


class ObjectBucket:
    """An open bucket; make it with `open_bucket`.

    info: the STREAM.INFO of its stream.
    """

    def __init__(self, connection: NatsConnection, info: Info) -> None:
        self.connection = connection
        self.info = info
        self.config: Info = info["config"]
        self.stream = str(self.config["name"])
        self._warned = False  # of another stream that takes the same subjects
        self.name = object_store.bucket_name(self.stream)

    async def entry(self, name: str, *, from_leader: bool = False) -> tuple[ObjectInfo | None, int]:
        """Return the entry of an object, be it deleted, and its sequence; (None, 0) if there is none."""
        direct = bool(self.config.get("allow_direct")) and not from_leader
        found = await messages.last_of(self.connection, self.stream, self._subject(name), direct=direct)
        return (None, 0) if found is None else (read_entry(found), found.sequence)

    def _subject(self, name: str) -> str:
        with validated():
            return object_store.entry_subject(self.name, name)

    async def existing(self, name: str, *, deleted: bool = False) -> ObjectInfo:
        """Return the entry of an object. Raises CliError with the reason if there is none.

        deleted: whether the entry of a deleted object will do.
        """
        found, _ = await self.entry(name)
        if found is not None and (deleted or not found.deleted):
            return found
        if found is not None:
            raise NotFoundError("nats: object not found", f"{name} was deleted")
        near = ""
        if self.info["state"].get("num_subjects", 0) <= 2000:  # more take longer than the hint is worth
            async with while_looking_around():
                near = close_matches(name, [each.name for each in await self.entries() if not each.deleted])
        raise NotFoundError(
            "nats: object not found", near, f"{in_hint(f'object ls {self.name}')} shows those there are"
        )

    async def entries(self) -> list[ObjectInfo]:
        """Return all entries, also those of deleted objects, in the order in which they were written.

        Warns of messages that are no entries.
        """
        found = []
        async with self.reader(LAST) as reader:
            async for message in reader.until_end():
                try:
                    found.append(read_entry(message))
                except CliError as error:
                    warn(" ".join((error.message, *error.hints)))
        return found

    def reader(self, start: dict[str, Any], outage_seconds: float | None = 30.0) -> OrderedConsumer:
        """Return a reader of the entries, from `start` on."""
        return OrderedConsumer(
            self.connection,
            self.stream,
            filters=[object_store.entry_subjects(self.name)],
            start=start,
            heartbeat=HEARTBEAT,
            outage_seconds=outage_seconds,
        )

    async def write_entry(self, entry: ObjectInfo) -> None:
        """Store an entry in place of the one there is, and remove the chunks of the replaced object.

        Raises RemoteError if the server refuses the entry; any other error leaves open whether it was stored.
        """
        name = entry.name
        replaced, sequence = await self.entry(name)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                if await self._publish_entry(entry, sequence):
                    break
            except RemoteError as error:
                if error.err_code != WRONG_REVISION or attempt == ATTEMPTS:
                    raise
            # Somebody else was faster, or another stream answered first.
            found, sequence = await self.entry(name, from_leader=True)
            if found is not None and (found.nuid, found.deleted) == (entry.nuid, entry.deleted):
                break
            replaced = found
        else:
            raise CliError(f"{name} was not stored: another stream than {self.stream} takes it")
        if replaced is None or replaced.nuid == entry.nuid or not replaced.nuid:
            return
        try:
            await self.purge(replaced.nuid)
        except CliError as error:
            warn(f"the chunks of the replaced {name} could not be removed: {error.message}")

    async def _publish_entry(self, entry: ObjectInfo, sequence: int) -> bool:
        """Store an entry if the last one of that name has the given sequence (0: there is none).

        Return whether the bucket's stream has answered.
        """
        document = object_document(entry)
        headers = {**object_store.ROLLUP, **update_headers(sequence)}
        try:
            ack = await messages.publish(self.connection, self._subject(entry.name), document, headers)
        except RemoteError as error:
            raise self.explained(error) from None
        return self.is_ours(ack)

    def is_ours(self, ack: messages.PublishAck) -> bool:
        """Return whether the bucket's stream has taken what was published. Warns of another one, once."""
        if (ack.stream, ack.domain) == (self.stream, str(self.info.get("domain", ""))):
            return True
        if not self._warned:
            warn(f"the stream {ack.stream} of domain {ack.domain!r} takes what is stored in {self.name}, too")
        self._warned = True
        return False

    def explained(self, error: RemoteError) -> RemoteError:
        """Return a refused publish with what to do."""
        limit = self.config.get("max_bytes")
        hint = {
            BUCKET_FULL: f"the bucket is full: {limit} bytes are its limit (--max-bucket-size)",
            SEALED: f"the bucket {self.name} is sealed: nothing in it can be changed any more",
        }.get(error.err_code, "")
        return error.while_doing(f"could not write to {self.name}", hint)

    async def purge(self, nuid: str) -> None:
        """Remove the chunks of an object."""
        request = {"filter": object_store.chunk_subject(self.name, nuid)}
        await self.connection.js.request(f"STREAM.PURGE.{self.stream}", request)


def read_entry(message: StoredMessage) -> ObjectInfo:
    """Return the entry that a message is. Raises CliError if it is none."""
    try:
        entry = ObjectInfo.parse(message.data)
    except ApiError as error:
        raise CliError(
            "nats: object-store meta information invalid", f"{message.subject}: {error.description}"
        ) from None
    entry.mtime = message.time
    return entry


def object_document(entry: ObjectInfo) -> bytes:
    """Return the JSON text of an entry, as it is stored."""
    return json.dumps(entry.replace(mtime=0).to_json(), separators=(",", ":"), ensure_ascii=False).encode()


async def open_bucket(connection: NatsConnection, name: str) -> ObjectBucket:
    """Open a bucket; without a name it is chosen on the terminal. Raises CliError if there is none."""
    return ObjectBucket(connection, await stream_of(connection, name, OBJECT_STORE))


async def linked(bucket: ObjectBucket, name: str) -> tuple[ObjectBucket, ObjectInfo]:
    """Return the object of a name and its bucket; links are followed to the object they point to."""
    for _ in range(LINKS):
        found = await bucket.existing(name)
        link = found.link
        if link is None:
            return bucket, found
        if not link.name:
            raise CliError(f"nats: invalid Get, {name} is a link to the bucket {link.bucket}")
        name = link.name
        if link.bucket != bucket.name:
            bucket = await open_bucket(bucket.connection, link.bucket)
    raise CliError(f"{name} is a link to a link, and so on {LINKS} times")
