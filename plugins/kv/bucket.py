"""A key-value bucket of a server: open it, read, write and follow its keys.

Promises: a name or key that no server takes is refused before anything is sent; errors name the cause and
what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ...cli import messages, render
from ...cli.connection import NatsConnection
from ...cli.errors import CliError, RemoteError, warn
from ...cli.loop import need_loop
from ...cli.messages import StoredMessage
from ...cli.proposal import in_hint
from ...protocol.buckets import key_value
from ...protocol.buckets.key_value import KeySubjects, Operation
from ...protocol.buckets.naming import check_key, check_pattern
from .lookup import BucketKind, stream_of, validated

if TYPE_CHECKING:
    from ...cli.ordered_consumer import OrderedConsumer

Info = dict[str, Any]

WRONG_REVISION, NO_TTL, TOO_LARGE, BUCKET_FULL = 10071, 10166, 10054, 10077
WATCH_ALL = ">"
HEARTBEAT = 1.0  # seconds: a bucket that is deleted while it is watched is missed after three
KEY_VALUE = BucketKind(key_value.STREAM_PREFIX, "KV", "Key-Value", "kv")
LAST = {"deliver_policy": "last_per_subject"}
EVERYTHING = {"deliver_policy": "all"}


class KeyValueEntry(NamedTuple):
    """A revision of a key.

    created: nanoseconds since the epoch.
    pending: how many more messages were waiting behind it when it was read.
    """

    key: str
    value: bytes
    revision: int
    created: int
    operation: Operation
    pending: int = 0


class KeyValueBucket:
    """An open bucket; make it with `open_bucket`.

    info: the STREAM.INFO of its stream.
    """

    def __init__(self, connection: NatsConnection, info: Info) -> None:
        self.connection = connection
        self.info = info
        self.config: Info = info["config"]
        self.stream = str(self.config["name"])
        self.name = key_value.bucket_name(self.stream)
        self.subjects = KeySubjects.of(self.config, connection.js.prefix)

    async def last(self, key: str) -> KeyValueEntry | None:
        """Return the last revision of a key, which may be a deletion; None if there is none."""
        subject = self._subject(key)
        found = await messages.last_of(
            self.connection, self.stream, subject, direct=bool(self.config.get("allow_direct"))
        )
        return None if found is None else self.entry(found)

    async def at(self, key: str, revision: int) -> KeyValueEntry | None:
        """Return a revision of a key; None if it is gone or of another key."""
        subject = self._subject(key)
        found = await messages.at_sequence(
            self.connection, self.stream, revision, direct=bool(self.config.get("allow_direct"))
        )
        return None if found is None or found.subject != subject else self.entry(found)

    def _subject(self, key: str) -> str:
        with validated():
            check_key(key)
        return self.subjects.read + key

    def entry(self, message: StoredMessage) -> KeyValueEntry:
        """Return a message of the bucket's stream as a revision of its key."""
        return KeyValueEntry(
            message.subject.removeprefix(self.subjects.read),
            message.data,
            message.sequence,
            message.time,
            key_value.operation(message.headers),
            message.pending,
        )

    async def publish(self, key: str, value: bytes, headers: Mapping[str, str] | None = None) -> int:
        """Store a value or a marker; return its revision. Raises RemoteError with hints."""
        with validated():
            check_key(key)
        try:
            ack = await messages.publish(self.connection, self.subjects.write + key, value, headers)
        except RemoteError as error:
            raise self._explained(error, key) from None
        self._check(ack)
        return ack.sequence

    def _check(self, ack: messages.PublishAck) -> None:
        """Raise CliError if another stream than the bucket's, or than its mirror's origin, took the value."""
        mirror = self.config.get("mirror")
        wanted = mirror["name"] if mirror else self.stream
        domain = ack.domain if mirror else str(self.info.get("domain", ""))
        if ack.stream != wanted or ack.domain != domain:
            raise CliError(
                f"the stream {ack.stream} of the domain {ack.domain!r} stored the value, not {wanted}",
                f"whether {wanted} has it too is unknown: their subjects overlap",
            )

    async def create(self, key: str, value: bytes, ttl: int = 0) -> int:
        """Store a value if the key does not exist or is deleted; return its revision."""
        self._check_ttl(ttl)
        try:
            return await self.publish(key, value, key_value.update_headers(0, ttl))
        except RemoteError as error:
            if error.err_code != WRONG_REVISION:
                raise
            last = await self.last(key)
            if last is None or last.operation is Operation.PUT:
                raise error.while_doing(
                    "nats: key exists",
                    f"{key} has revision {last.revision}; 'kv update' or 'kv put' replace it"
                    if last is not None
                    else "",
                ) from None
        return await self.publish(key, value, key_value.update_headers(last.revision, ttl))

    async def purge(self, key: str, ttl: int = 0) -> int:
        """Delete a key with its history; return the revision of the marker, which lives for `ttl`."""
        self._check_ttl(ttl)
        return await self.publish(key, b"", key_value.purge_headers(ttl))

    def _check_ttl(self, ttl: int) -> None:
        """Raise CliError for a time to live that no server takes; warn of one that a server will raise."""
        with validated():
            key_value.ttl_header(ttl)
        least = int(self.config.get("subject_delete_marker_ttl", 0))
        if 0 < ttl < least:
            warn(f"the server keeps it for {render.go_span(least)}: no TTL is shorter than the marker TTL")

    def reader(
        self,
        pattern: str,
        *,
        start: dict[str, Any],
        headers_only: bool = False,
        outage_seconds: float | None = 30.0,
    ) -> OrderedConsumer:
        """Return a reader of the keys that match `pattern`, from `start` on."""
        need_loop()
        from ...cli.ordered_consumer import OrderedConsumer

        with validated():
            check_pattern(pattern)
        if any("*" in each and each != "*" for each in pattern.split(".")):
            warn(f"{pattern} matches no key: * stands for a whole part of a key between dots")
        return OrderedConsumer(
            self.connection,
            self.stream,
            filters=[self.subjects.read + pattern],
            start=start,
            headers_only=headers_only,
            heartbeat=HEARTBEAT,
            outage_seconds=outage_seconds,
        )

    async def entries(
        self, pattern: str, *, start: dict[str, Any], headers_only: bool = False
    ) -> list[KeyValueEntry]:
        """Return what the bucket holds now of the keys that match `pattern`, in the order of revisions."""
        async with self.reader(pattern, start=start, headers_only=headers_only) as reader:
            return [self.entry(message) async for message in reader.until_end()]

    def _explained(self, error: RemoteError, key: str) -> RemoteError:
        """Return a refused publish with what to do."""
        limit, largest = self.config.get("max_bytes"), self.config.get("max_msg_size")
        shown, changed = f"kv get {self.name} {key}", f"kv edit {self.name} --marker-ttl"
        hint = {
            WRONG_REVISION: f"somebody else has changed {key}: {in_hint(shown)} shows its revision",
            NO_TTL: f"keys of this bucket have no TTL of their own: see {in_hint(changed)}",
            TOO_LARGE: f"{largest} bytes are the most for key and value (--max-value-size)",
            BUCKET_FULL: f"the bucket is full: {limit} bytes are its limit (--max-bucket-size)",
        }.get(error.err_code, "")
        return error.while_doing(f"could not write {self.name} > {key}", hint)


async def open_bucket(connection: NatsConnection, name: str) -> KeyValueBucket:
    """Open a bucket; without a name it is chosen on the terminal. Raises CliError if there is none."""
    info = await stream_of(connection, name, KEY_VALUE)
    with validated():
        key_value.check_stream(info["config"])
    return KeyValueBucket(connection, info)
