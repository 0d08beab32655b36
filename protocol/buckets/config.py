"""The settings of buckets, and the configurations of the streams behind them (ADR-8, ADR-20)."""

from dataclasses import field

from .. import duration
from ..api.cluster import Placement
from ..api.stream import ExternalStream, RePublish, StreamConfig, StreamSource, SubjectTransformConfig
from ..lazy_dataclass import dataclass
from . import key_value, object_store
from .naming import BucketError, check_bucket, check_span

DUPLICATE_WINDOW = 2 * duration.MINUTE


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
        key_value.check_stream(stream.to_json())
        return cls(
            bucket=key_value.bucket_name(stream.name),
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
        if not 1 <= self.history <= key_value.MAX_HISTORY:
            raise BucketError(
                "invalid history", f"{self.history} is not between 1 and {key_value.MAX_HISTORY}"
            )
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
        made.name = key_value.stream_name(self.bucket) if base is None else base.name
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
            made.mirror = self.mirror.replace(name=key_value.stream_name(self.mirror.name))
            made.sources, made.subjects = [], []
            return
        made.mirror = None
        made.sources = [self._source(each) for each in self.sources]
        if not made.subjects:
            made.subjects = [key_value.subjects(self.bucket)]

    def _source(self, source: StreamSource) -> StreamSource:
        """Return a source whose keys become keys of this bucket. Transforms that it has already stay."""
        made = source.replace(name=key_value.stream_name(source.name))
        origin = key_value.bucket_name(made.name)
        if not made.subject_transforms and (made.external is None or origin != self.bucket):
            made.subject_transforms = [
                SubjectTransformConfig(src=key_value.subjects(origin), dest=key_value.subjects(self.bucket))
            ]
        return made


def origin(bucket: str, domain: str = "") -> StreamSource:
    """Return a bucket as a mirror or source, in another JetStream domain if one is named."""
    external = ExternalStream(api=f"$JS.{domain}.API") if domain else None
    return StreamSource(name=key_value.stream_name(bucket), external=external)


@dataclass(kw_only=True)
class ObjectStoreConfig:
    """The settings of a bucket.

    ttl: nanoseconds that objects are kept, 0 for ever.
    max_bytes: -1 for no limit.
    """

    bucket: str
    description: str = ""
    ttl: int = 0
    max_bytes: int = -1
    storage: str = "file"
    replicas: int = 1
    placement: Placement | None = None
    compression: bool = False
    metadata: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, stream: StreamConfig) -> "ObjectStoreConfig":
        """Return the settings of the bucket that a stream is. Raises BucketError if it is none."""
        if not stream.name.startswith(object_store.STREAM_PREFIX):
            raise BucketError("bucket not valid object store", f"{stream.name} is another kind of stream")
        return cls(
            bucket=object_store.bucket_name(stream.name),
            description=stream.description,
            ttl=stream.max_age,
            max_bytes=stream.max_bytes or -1,
            storage=stream.storage,
            replicas=stream.num_replicas,
            placement=stream.placement,
            compression=stream.compression != "none",
            metadata=dict(stream.metadata),
        )

    def stream(self, base: StreamConfig | None = None) -> StreamConfig:
        """Return the configuration of the bucket's stream. Raises BucketError for invalid settings.

        base: the configuration that is changed; what is no setting of a bucket stays as it is there.
        """
        check_bucket(self.bucket)
        if self.ttl < 0:
            raise BucketError("invalid TTL", "it is negative; 0 is none")
        made = StreamConfig() if base is None else base.replace()
        made.description = self.description
        made.max_age = self.ttl
        made.max_bytes = self.max_bytes if self.max_bytes > 0 else -1
        made.storage = self.storage
        made.num_replicas = max(1, self.replicas)
        made.placement = self.placement
        made.compression = "s2" if self.compression else "none"
        made.metadata = dict(self.metadata)
        if base is None:
            made.name = object_store.stream_name(self.bucket)
            made.subjects = [f"$O.{self.bucket}.C.>", f"$O.{self.bucket}.M.>"]
            made.discard = "new"
            made.allow_rollup_hdrs = made.allow_direct = True
            made.max_msgs = made.max_consumers = made.max_msgs_per_subject = made.max_msg_size = -1
        elif made.duplicate_window and self.ttl:
            made.duplicate_window = min(made.duplicate_window, self.ttl)
        return made
