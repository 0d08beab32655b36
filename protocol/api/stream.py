"""Streams: configuration, state, info and publish acknowledgements.

The order of the fields, their names and what is left out when empty are the reference's (2.15). The defaults
of the classes stand for fields that are absent from the JSON, not for what a server fills in: a configuration
read from ``{"name": "S"}`` has `max_msgs` 0, not -1.
"""

from typing import ClassVar

from ..errors import ApiError
from ..lazy_dataclass import dataclass
from .cluster import ClusterInfo, Placement
from .fields import (
    choice,
    duration,
    error,
    flag,
    instant,
    number,
    number_map,
    numbers,
    part,
    record,
    records,
    text,
    text_map,
    texts,
    time,
)
from .record import Record


@dataclass(slots=True)
class SubjectTransformConfig(Record):
    """Source pattern and destination of a subject transform."""

    src: str = text(keep=True)
    dest: str = text(keep=True)


@dataclass(slots=True)
class ExternalStream(Record):
    """How to reach a stream in another account or domain: API prefix and delivery prefix."""

    api: str = text(keep=True)
    deliver: str = text(keep=True)


@dataclass(slots=True)
class StreamConsumerSource(Record):
    """An existing consumer of the origin that a mirror or source reads from."""

    name: str = text()
    deliver_subject: str = text()


@dataclass(slots=True)
class StreamSource(Record):
    """The origin of a mirror, or one of the sources of a stream."""

    name: str = text(keep=True)
    opt_start_seq: int = number(go_type="uint64")
    opt_start_time: int | None = instant()
    filter_subject: str = text()
    subject_transforms: list[SubjectTransformConfig] = records(SubjectTransformConfig)
    external: ExternalStream | None = record(ExternalStream)
    consumer: StreamConsumerSource | None = record(StreamConsumerSource)


@dataclass(slots=True)
class RePublish(Record):
    """A rule that publishes each stored message again, under another subject."""

    src: str = text()
    dest: str = text(keep=True)
    headers_only: bool = flag()


@dataclass(slots=True)
class ConsumerLimits(Record):
    """Defaults and upper bounds for the consumers of the stream. 0 means none."""

    go_name: ClassVar[str] = "StreamConsumerLimits"

    inactive_threshold: int = duration()
    max_ack_pending: int = number(go_type="int")


@dataclass(slots=True)
class StreamConfig(Record):
    """Configuration of a stream. Durations are in nanoseconds, sizes in bytes."""

    name: str = text(keep=True)
    description: str = text()
    subjects: list[str] = texts()
    retention: str = choice("limits", "limits", "interest", "workqueue", keep=True)
    max_consumers: int = number(keep=True, go_type="int")
    max_msgs: int = number(keep=True)
    max_bytes: int = number(keep=True)
    max_age: int = duration(keep=True)
    max_msgs_per_subject: int = number(keep=True)
    max_msg_size: int = number(go_type="int32")
    discard: str = choice("old", "old", "new", keep=True)
    storage: str = choice("file", "file", "memory", keep=True)
    num_replicas: int = number(keep=True, go_type="int")
    no_ack: bool = flag()
    duplicate_window: int = duration()
    placement: Placement | None = record(Placement)
    mirror: StreamSource | None = record(StreamSource)
    sources: list[StreamSource] = records(StreamSource, pointers=True)
    compression: str = choice("none", "none", "s2", keep=True)
    first_seq: int = number(go_type="uint64")
    subject_transform: SubjectTransformConfig | None = record(SubjectTransformConfig)
    republish: RePublish | None = record(RePublish)
    allow_direct: bool = flag(keep=True)
    mirror_direct: bool = flag(keep=True)
    discard_new_per_subject: bool = flag()
    sealed: bool = flag(keep=True)
    deny_delete: bool = flag(keep=True)
    deny_purge: bool = flag(keep=True)
    allow_rollup_hdrs: bool = flag(keep=True)
    consumer_limits: ConsumerLimits = part(ConsumerLimits)
    allow_msg_ttl: bool = flag(keep=True)
    subject_delete_marker_ttl: int = duration()
    allow_msg_counter: bool = flag()
    allow_atomic: bool = flag()
    allow_msg_schedules: bool = flag()
    persist_mode: str = choice("default", "default", "async", alias="")
    allow_batched: bool = flag()
    metadata: dict[str, str] = text_map()


@dataclass(slots=True)
class LostStreamData(Record):
    """Sequences that are damaged on the disk, and their size in bytes where it is known."""

    msgs: list[int] = numbers(keep=True)
    bytes: int = number(keep=True, go_type="uint64")


@dataclass(slots=True)
class StreamState(Record):
    """What a stream holds. `subjects` and `deleted` are set only on request."""

    messages: int = number(keep=True, go_type="uint64")
    bytes: int = number(keep=True, go_type="uint64")
    first_seq: int = number(keep=True, go_type="uint64")
    first_ts: int = time(keep=True)
    last_seq: int = number(keep=True, go_type="uint64")
    last_ts: int = time(keep=True)
    num_subjects: int = number(go_type="int")
    subjects: dict[str, int] = number_map()
    num_deleted: int = number(go_type="int")
    deleted: list[int] = numbers()
    lost: LostStreamData | None = record(LostStreamData)
    consumer_count: int = number(keep=True, go_type="int")


@dataclass(slots=True)
class StreamSourceInfo(Record):
    """The progress of a mirror or source.

    active: nanoseconds since the last message, -1 if there never was one.
    seq: the origin's sequence that a source has reached (nats-server 2.15).
    """

    name: str = text(keep=True)
    external: ExternalStream | None = record(ExternalStream)
    lag: int = number(keep=True, go_type="uint64")
    seq: int = number(go_type="uint64")
    active: int = duration(keep=True)
    error: ApiError | None = error()
    filter_subject: str = text()
    subject_transforms: list[SubjectTransformConfig] = records(SubjectTransformConfig)


@dataclass(slots=True)
class StreamAlternate(Record):
    """A stream with the same content. In a list of them, the nearest comes first."""

    name: str = text(keep=True)
    domain: str = text()
    cluster: str = text(keep=True)


@dataclass(slots=True)
class StreamInfo(Record):
    """The answer to STREAM.INFO, and the info in other answers about a stream.

    `ts` is when it was gathered.
    """

    config: StreamConfig = part(StreamConfig)
    created: int = time(keep=True)
    state: StreamState = part(StreamState)
    domain: str = text()
    cluster: ClusterInfo | None = record(ClusterInfo)
    mirror: StreamSourceInfo | None = record(StreamSourceInfo)
    sources: list[StreamSourceInfo] = records(StreamSourceInfo)
    alternates: list[StreamAlternate] = records(StreamAlternate)
    ts: int = time(keep=True)
