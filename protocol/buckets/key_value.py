"""Key-value buckets: the stream behind a bucket, the subjects of its keys, and what a message means (ADR-8).

The bucket ``B`` is the stream ``KV_B`` with the subjects ``$KV.B.>``; a key is the rest of the subject, and
its revision the sequence of the message. A message with an operation in its headers is a marker: the key is
deleted. A server that removes a key by itself (its time to live) writes such a marker, too.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import duration
from ..api.cluster import Placement
from ..api.stream import ExternalStream, RePublish, StreamConfig, StreamSource, SubjectTransformConfig
from .naming import BucketError, check_bucket, check_span

STREAM_PREFIX = "KV_"
MAX_HISTORY = 64
OPERATION_HEADER = "KV-Operation"
MARKER_REASON_HEADER = "Nats-Marker-Reason"
ROLLUP_HEADER = "Nats-Rollup"
EXPECTED_REVISION_HEADER = "Nats-Expected-Last-Subject-Sequence"
TTL_HEADER = "Nats-TTL"
DUPLICATE_WINDOW = 2 * duration.MINUTE
DEFAULT_API_PREFIX = "$JS.API"


class Operation(enum.Enum):
    """What a message does to its key."""

    PUT = "PUT"
    DELETE = "DELETE"
    PURGE = "PURGE"


_BY_HEADER = {"DEL": Operation.DELETE, "PURGE": Operation.PURGE}
_BY_REASON = {"MaxAge": Operation.PURGE, "Purge": Operation.PURGE, "Remove": Operation.DELETE}


def operation(headers: Mapping[str, str]) -> Operation:
    """Return what a message with these headers does."""
    if headers.get(OPERATION_HEADER):
        return _BY_HEADER.get(headers[OPERATION_HEADER], Operation.PUT)
    return _BY_REASON.get(headers.get(MARKER_REASON_HEADER, ""), Operation.PUT)


def delete_headers() -> dict[str, str]:
    """Return the headers of the message that deletes a key and keeps its history."""
    return {OPERATION_HEADER: "DEL"}


def purge_headers(ttl: int = 0) -> dict[str, str]:
    """Return the headers of the message that deletes a key with its history.

    ttl: nanoseconds until the marker itself goes, 0 for never.
    """
    return {OPERATION_HEADER: "PURGE", ROLLUP_HEADER: "sub", **ttl_header(ttl)}


def update_headers(revision: int, ttl: int = 0) -> dict[str, str]:
    """Return the headers of a value that is stored only if `revision` is its key's last one.

    revision: 0 if the key must not exist.
    ttl: nanoseconds until the value expires, 0 for never.
    """
    return {EXPECTED_REVISION_HEADER: str(revision), **ttl_header(ttl)}


def ttl_header(ttl: int) -> dict[str, str]:
    """Return the header with a time to live in nanoseconds; none for 0. Raises BucketError."""
    check_span(ttl, "TTL")
    return {TTL_HEADER: duration.format_go(ttl)} if ttl else {}


def stream_name(bucket: str) -> str:
    """Return the name of the stream of a bucket. A name that begins with ``KV_`` is such a name already."""
    return bucket if bucket.startswith(STREAM_PREFIX) else STREAM_PREFIX + bucket


def bucket_name(stream: str) -> str:
    """Return the name of the bucket of a stream."""
    return stream.removeprefix(STREAM_PREFIX)


def subjects(bucket: str) -> str:
    """Return the pattern of all subjects of a bucket."""
    return f"$KV.{bucket}.>"


@dataclass(frozen=True)
class KeySubjects:
    """The subjects of a bucket's keys: each prefix with a key behind it.

    read: of the messages in the stream.
    write: to publish to.
    """

    read: str
    write: str

    @classmethod
    def of(cls, stream: StreamConfig, api_prefix: str = DEFAULT_API_PREFIX) -> "KeySubjects":
        """Return those of a bucket with this stream, for a client that uses `api_prefix`.

        A mirror has the messages of its origin under the origin's subjects, and writes go to the origin.
        """
        bucket = bucket_name(stream.name)
        prefix = "" if api_prefix == DEFAULT_API_PREFIX else f"{api_prefix}."
        if stream.mirror is None:
            return cls(f"$KV.{bucket}.", f"{prefix}$KV.{bucket}.")
        origin = bucket_name(stream.mirror.name)
        if stream.mirror.external is not None and stream.mirror.external.api:
            prefix = f"{stream.mirror.external.api}."
        return cls(f"$KV.{origin}.", f"{prefix}$KV.{origin}.")


@dataclass(kw_only=True)
class KeyValueConfig:
    """The settings of a bucket. Times are in nanoseconds, sizes in bytes.

    history: revisions that are kept of each key, 1 to 64.
    ttl: how long values are kept, 0 for ever.
    marker_ttl: how long the marker of an expired key stays; if it is not 0, keys may have a TTL of their own.
    max_value_size, max_bytes: -1 for no limit.
    mirror, sources: other buckets; their `name` is that of a bucket or of its stream.
    """

    bucket: str
    description: str = ""
    history: int = 1
    ttl: int = 0
    marker_ttl: int = 0
    max_value_size: int = -1
    max_bytes: int = -1
    storage: str = "file"
    replicas: int = 1
    placement: Placement | None = None
    compression: bool = False
    metadata: dict[str, str] = field(default_factory=dict)
    republish: RePublish | None = None
    mirror: StreamSource | None = None
    sources: list[StreamSource] = field(default_factory=list)

    @classmethod
    def of(cls, stream: StreamConfig) -> "KeyValueConfig":
        """Return the settings of the bucket that a stream is. Raises BucketError if it is none."""
        if not stream.name.startswith(STREAM_PREFIX) or stream.max_msgs_per_subject < 1:
            raise BucketError("bucket not valid key-value store", f"{stream.name} is another kind of stream")
        return cls(
            bucket=bucket_name(stream.name),
            description=stream.description,
            history=stream.max_msgs_per_subject,
            ttl=stream.max_age,
            marker_ttl=stream.subject_delete_marker_ttl,
            max_value_size=stream.max_msg_size or -1,
            max_bytes=stream.max_bytes or -1,
            storage=stream.storage,
            replicas=stream.num_replicas,
            placement=stream.placement,
            compression=stream.compression != "none",
            metadata=dict(stream.metadata),
            republish=stream.republish,
            mirror=stream.mirror,
            sources=list(stream.sources),
        )

    def check(self) -> None:
        """Raise BucketError for settings that no server takes."""
        check_bucket(self.bucket)
        if not 1 <= self.history <= MAX_HISTORY:
            raise BucketError("invalid history", f"{self.history} is not between 1 and {MAX_HISTORY}")
        check_span(self.marker_ttl, "marker TTL")
        if self.ttl < 0:
            raise BucketError("invalid TTL", "it is negative; 0 is none")
        if self.mirror is not None and self.sources:
            raise BucketError("invalid sources", "a mirror has one origin and no sources")

    def stream(self, base: StreamConfig | None = None) -> StreamConfig:
        """Return the configuration of the bucket's stream. Raises BucketError for invalid settings.

        base: the configuration that is changed; what is no setting of a bucket stays as it is there.
        """
        self.check()
        made = StreamConfig() if base is None else base.replace()
        made.name = stream_name(self.bucket) if base is None else base.name
        made.description = self.description
        made.max_msgs_per_subject = self.history
        made.max_bytes = self.max_bytes if self.max_bytes > 0 else -1
        made.max_msg_size = self.max_value_size if self.max_value_size > 0 else -1
        made.max_age = self.ttl
        made.duplicate_window = min(DUPLICATE_WINDOW, self.ttl or DUPLICATE_WINDOW)
        made.storage = self.storage
        made.num_replicas = max(1, self.replicas)
        made.placement = self.placement
        made.compression = "s2" if self.compression else "none"
        made.metadata = dict(self.metadata)
        made.republish = self.republish
        made.subject_delete_marker_ttl = self.marker_ttl
        made.allow_msg_ttl = made.allow_msg_ttl or self.marker_ttl > 0
        if base is None:
            made.max_msgs = made.max_consumers = -1
            made.discard = "new"
            made.allow_rollup_hdrs = made.deny_delete = made.allow_direct = True
        self._origins(made)
        return made

    def _origins(self, made: StreamConfig) -> None:
        """Put the mirror, or the sources and the subjects, into a stream's configuration."""
        made.mirror_direct = self.mirror is not None
        if self.mirror is not None:
            made.mirror = self.mirror.replace(name=stream_name(self.mirror.name))
            made.sources, made.subjects = [], []
            return
        made.mirror = None
        made.sources = [self._source(each) for each in self.sources]
        if not made.subjects:
            made.subjects = [subjects(self.bucket)]

    def _source(self, source: StreamSource) -> StreamSource:
        """Return a source whose keys become keys of this bucket. Transforms that it has already stay."""
        made = source.replace(name=stream_name(source.name))
        origin = bucket_name(made.name)
        if not made.subject_transforms and (made.external is None or origin != self.bucket):
            made.subject_transforms = [
                SubjectTransformConfig(src=subjects(origin), dest=subjects(self.bucket))
            ]
        return made


def origin(bucket: str, domain: str = "") -> StreamSource:
    """Return a bucket as a mirror or source, in another JetStream domain if one is named."""
    external = ExternalStream(api=f"$JS.{domain}.API") if domain else None
    return StreamSource(name=stream_name(bucket), external=external)
