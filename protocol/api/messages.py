"""Requests of the JetStream API, the stored message in its answers, and the names of its response types."""

from dataclasses import fields
from typing import Any, ClassVar, Final

from ..errors import ApiError
from ..lazy_dataclass import dataclass
from .cluster import Placement
from .consumer import ConsumerConfig
from .fields import blob, choice, duration, flag, number, part, record, text, texts, time
from .record import Record
from .stream import StreamConfig, StreamState

TYPE_PREFIX: Final = "io.nats.jetstream.api.v1."


def response(kind: str, *bodies: Record, **fields: Any) -> dict[str, Any]:
    """Return the JSON of a successful answer: ``type`` (``stream_create``...), the bodies, then `fields`."""
    out: dict[str, Any] = {"type": f"{TYPE_PREFIX}{kind}_response"}
    for body in bodies:
        out.update(body.to_json())
    out.update(fields)
    return out


def error_response(kind: str, error: ApiError, **fields: Any) -> dict[str, Any]:
    """Return the JSON of a refusal. Some kinds have `fields` even then (total, streams...)."""
    return {"type": f"{TYPE_PREFIX}{kind}_response", "error": error.to_json(), **fields}


@dataclass(slots=True)
class StreamRequest(StreamConfig):
    """A request to create or update a stream. If `pedantic`, defaults are not filled in but are errors."""

    go_name: ClassVar[str] = "StreamConfigRequest"

    pedantic: bool = flag()

    def config(self) -> StreamConfig:
        """Return the configuration alone. Lists and nested records are shared, not copied."""
        return StreamConfig(**{field.name: getattr(self, field.name) for field in fields(StreamConfig)})


@dataclass(slots=True)
class CreateConsumerRequest(Record):
    """A request to create or update a consumer. An empty `action` allows both."""

    stream_name: str = text(keep=True)
    config: ConsumerConfig = part(ConsumerConfig)
    action: str = choice("", "", "create", "update", keep=True, refusal="unknown consumer action")
    pedantic: bool = flag()


@dataclass(slots=True)
class PageRequest(Record):
    """Which page of a list is wanted.

    offset: the position of the first entry.
    subject: only streams with subjects that collide with it are listed.
    """

    go_name: ClassVar[str] = "JSApiStreamListRequest"

    offset: int = number(keep=True, go_type="int")
    subject: str = text()


@dataclass(slots=True)
class StreamInfoRequest(Record):
    """Options of STREAM.INFO."""

    go_name: ClassVar[str] = "JSApiStreamInfoRequest"

    offset: int = number(keep=True, go_type="int")
    deleted_details: bool = flag()
    subjects_filter: str = text()


@dataclass(slots=True)
class PurgeRequest(Record):
    """What to purge.

    filter: only messages of this subject.
    seq: only messages below this sequence.
    keep: the number of newest messages that stay.
    """

    go_name: ClassVar[str] = "JSApiStreamPurgeRequest"

    seq: int = number(go_type="uint64")
    filter: str = text()
    keep: int = number(go_type="uint64")


@dataclass(slots=True)
class MsgGetRequest(Record):
    """The message that STREAM.MSG.GET or DIRECT.GET asks for."""

    go_name: ClassVar[str] = "JSApiMsgGetRequest"

    seq: int = number(go_type="uint64")
    last_by_subj: str = text()
    next_by_subj: str = text()
    batch: int = number(go_type="int")
    max_bytes: int = number(go_type="int")
    start_time: int = time()
    multi_last: list[str] = texts()
    up_to_seq: int = number(go_type="uint64")
    up_to_time: int = time()
    no_hdr: bool = flag()


@dataclass(slots=True)
class MsgDeleteRequest(Record):
    """The message to delete. With `no_erase` its bytes stay on the disk."""

    go_name: ClassVar[str] = "JSApiMsgDeleteRequest"

    seq: int = number(keep=True, go_type="uint64")
    no_erase: bool = flag()


@dataclass(slots=True)
class StoredMsg(Record):
    """A message as STREAM.MSG.GET returns it."""

    subject: str = text(keep=True)
    seq: int = number(keep=True, go_type="uint64")
    hdrs: bytes = blob()
    data: bytes = blob()
    time: int = time(keep=True)


@dataclass(slots=True)
class PullRequest(Record):
    """The body of CONSUMER.MSG.NEXT. Durations are in nanoseconds. A batch of 0 means 1."""

    go_name: ClassVar[str] = "JSApiConsumerGetNextRequest"

    expires: int = duration()
    batch: int = number(go_type="int")
    max_bytes: int = number(go_type="int")
    no_wait: bool = flag()
    idle_heartbeat: int = duration()
    group: str = text()
    min_pending: int = number()
    min_ack_pending: int = number()
    id: str = text()
    priority: int = number(go_type="int")


@dataclass(slots=True)
class ConsumerPauseRequest(Record):
    """Until when a consumer is paused. Zero or a time in the past resumes it."""

    go_name: ClassVar[str] = "JSApiConsumerPauseRequest"

    pause_until: int = time(keep=True)


@dataclass(slots=True)
class ConsumerUnpinRequest(Record):
    """The priority group to unpin."""

    go_name: ClassVar[str] = "JSApiConsumerUnpinRequest"

    group: str = text(keep=True)


@dataclass(slots=True)
class ConsumerResetRequest(Record):
    """The sequence where a consumer starts again. 0 means its ack floor."""

    go_name: ClassVar[str] = "JSApiConsumerResetRequest"

    seq: int = number(go_type="uint64")


@dataclass(slots=True)
class LeaderStepDownRequest(Record):
    """A request to elect another leader. `placement` says where the new one should be."""

    go_name: ClassVar[str] = "JSApiLeaderStepdownRequest"

    placement: Placement | None = record(Placement)


@dataclass(slots=True)
class RemovePeerRequest(Record):
    """The replica that leaves a stream, by server name or peer id."""

    go_name: ClassVar[str] = "JSApiStreamRemovePeerRequest"

    peer: str = text(keep=True)


@dataclass(slots=True)
class MetaRemoveRequest(Record):
    """The server that leaves the meta group."""

    go_name: ClassVar[str] = "JSApiMetaServerRemoveRequest"

    peer: str = text(keep=True)
    peer_id: str = text()


@dataclass(slots=True)
class MetaRescueRequest(Record):
    """How many servers suffice for decisions of the meta group, for a while."""

    go_name: ClassVar[str] = "JSApiMetaRescueRequest"

    quorum_needed: int = number(keep=True, go_type="int")


@dataclass(slots=True)
class MoveStreamRequest(Record):
    """Which peer of a stream moves to another server, and tags that the other server must have."""

    go_name: ClassVar[str] = "JSApiMetaServerStreamMoveRequest"

    server: str = text()
    cluster: str = text()
    domain: str = text()
    tags: list[str] = texts()


@dataclass(slots=True)
class SnapshotRequest(Record):
    """Where and how to send a snapshot."""

    go_name: ClassVar[str] = "JSApiStreamSnapshotRequest"

    deliver_subject: str = text(keep=True)
    no_consumers: bool = flag()
    chunk_size: int = number(go_type="int")
    window_size: int = number(go_type="int")
    jsck: bool = flag()


@dataclass(slots=True)
class RestoreRequest(Record):
    """The stream that a restore will bring."""

    go_name: ClassVar[str] = "JSApiStreamRestoreRequest"

    config: StreamConfig = part(StreamConfig)
    state: StreamState = part(StreamState)
