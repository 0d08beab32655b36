"""Requests of the JetStream API, the stored message it gives back, and the names of its response types."""

# ruff: noqa: RUF009 - the functions of `fields` are dataclasses.field, each for one JSON kind

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final

from ..errors import ApiError
from .cluster import Placement
from .consumer import ConsumerConfig
from .fields import blob, choice, duration, flag, number, part, record, text, texts, time
from .record import Record
from .stream import StreamConfig, StreamState

TYPE_PREFIX: Final = "io.nats.jetstream.api.v1."


def response(kind: str, *bodies: Record, **fields: Any) -> dict[str, Any]:
    """Give the JSON of a successful answer: ``type`` (of e.g. ``stream_create``), bodies, then `fields`."""
    out: dict[str, Any] = {"type": f"{TYPE_PREFIX}{kind}_response"}
    for body in bodies:
        out.update(body.to_json())
    out.update(fields)
    return out


def error_response(kind: str, error: ApiError, **fields: Any) -> dict[str, Any]:
    """Give the JSON of a refusal; some kinds have `fields` even then (total, streams...)."""
    return {"type": f"{TYPE_PREFIX}{kind}_response", "error": error.to_json(), **fields}


@dataclass(slots=True)
class StreamRequest(StreamConfig):
    """Create or update a stream: its config, and `pedantic` (defaults are errors, not filled in)."""

    go_name: ClassVar[str] = "StreamConfigRequest"

    pedantic: bool = flag()

    def config(self) -> StreamConfig:
        """Give the configuration alone; lists and parts are the same objects."""
        return StreamConfig(**{field.name: getattr(self, field.name) for field in fields(StreamConfig)})


@dataclass(slots=True)
class CreateConsumerRequest(Record):
    """Create or update a consumer. `action`: "" is create or update."""

    stream_name: str = text(keep=True)
    config: ConsumerConfig = part(ConsumerConfig)
    action: str = choice("", "", "create", "update", keep=True, refusal="unknown consumer action")
    pedantic: bool = flag()


@dataclass(slots=True)
class PageRequest(Record):
    """Which part of a list, from `offset`; `subject` keeps streams whose subjects collide with it."""

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
    """What to purge: up to `seq` (exclusive), of subject `filter`, keeping the newest `keep`."""

    go_name: ClassVar[str] = "JSApiStreamPurgeRequest"

    seq: int = number(go_type="uint64")
    filter: str = text()
    keep: int = number(go_type="uint64")


@dataclass(slots=True)
class MsgGetRequest(Record):
    """Which message of STREAM.MSG.GET or DIRECT.GET."""

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
    """Which message to delete; `no_erase` leaves its bytes on disk."""

    go_name: ClassVar[str] = "JSApiMsgDeleteRequest"

    seq: int = number(keep=True, go_type="uint64")
    no_erase: bool = flag()


@dataclass(slots=True)
class StoredMsg(Record):
    """A message as STREAM.MSG.GET gives it."""

    subject: str = text(keep=True)
    seq: int = number(keep=True, go_type="uint64")
    hdrs: bytes = blob()
    data: bytes = blob()
    time: int = time(keep=True)


@dataclass(slots=True)
class PullRequest(Record):
    """Body of CONSUMER.MSG.NEXT. Durations in nanoseconds; batch 0 means 1."""

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
    """Until when a consumer rests; zero or past resumes it."""

    go_name: ClassVar[str] = "JSApiConsumerPauseRequest"

    pause_until: int = time(keep=True)


@dataclass(slots=True)
class ConsumerUnpinRequest(Record):
    """Which priority group to unpin."""

    go_name: ClassVar[str] = "JSApiConsumerUnpinRequest"

    group: str = text(keep=True)


@dataclass(slots=True)
class ConsumerResetRequest(Record):
    """Where a consumer starts again; 0 is its ack floor."""

    go_name: ClassVar[str] = "JSApiConsumerResetRequest"

    seq: int = number(go_type="uint64")


@dataclass(slots=True)
class LeaderStepDownRequest(Record):
    """Placement: where the new leader should be."""

    go_name: ClassVar[str] = "JSApiLeaderStepdownRequest"

    placement: Placement | None = record(Placement)


@dataclass(slots=True)
class RemovePeerRequest(Record):
    """Which replica, by server name or peer id, leaves a stream."""

    go_name: ClassVar[str] = "JSApiStreamRemovePeerRequest"

    peer: str = text(keep=True)


@dataclass(slots=True)
class MetaRemoveRequest(Record):
    """Which server leaves the meta group."""

    go_name: ClassVar[str] = "JSApiMetaServerRemoveRequest"

    peer: str = text(keep=True)
    peer_id: str = text()


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
    """What a restore will bring."""

    go_name: ClassVar[str] = "JSApiStreamRestoreRequest"

    config: StreamConfig = part(StreamConfig)
    state: StreamState = part(StreamState)
