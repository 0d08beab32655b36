"""The documents: streams, consumers and buckets as pydantic models.

A field has the name and the meaning that it has in the JetStream API. What a document leaves out is what the
server makes of a configuration without it: an omitted field is the default, and not "as it is now". Spans of
time are a text such as ``2h30m`` or nanoseconds, sizes a text such as ``10MiB`` or bytes; a limit of -1 is no
limit. Unknown fields are mistakes. The models check the form; what goes with what is the server's to judge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from .identity.model import AccountLimitsSection, AccountSection, ExportSection, ResponseSection, UserSection
from .sections import Count, Instant, Limit, Name, ProvisionSection, Size, Span, read_size, read_span


class PlacementSection(ProvisionSection):
    """Where servers put it."""

    cluster: str = ""
    """The name of a cluster."""
    tags: list[str] = Field(default_factory=list)
    """Tags that each of the servers has."""


class SubjectTransformSection(ProvisionSection):
    """How subjects are changed."""

    src: str = ""
    """A pattern of subjects; empty is all of them."""
    dest: str = ""
    """The new subject; {{wildcard(1)}} is the first token that a wildcard stands for."""


class ExternalSection(ProvisionSection):
    """Another domain or account."""

    api: str
    """Where its JetStream API is reached, such as $JS.hub.API."""
    deliver: str = ""
    """A prefix of the subjects that messages are delivered on."""


class OriginConsumerSection(ProvisionSection):
    """An existing consumer of the origin."""

    name: Name
    deliver_subject: str = ""


class OriginSection(ProvisionSection):
    """A stream that messages are copied from."""

    name: Name
    """The name of the stream, or of the bucket."""
    domain: Name | None = None
    """Its JetStream domain, if it is another one: short for `external` with the API of that domain."""
    opt_start_seq: Count = 0
    """The first sequence that is copied."""
    opt_start_time: Instant | None = None
    """The time from which on messages are copied."""
    filter_subject: str = ""
    """Only messages of these subjects are copied."""
    subject_transforms: list[SubjectTransformSection] = Field(default_factory=list)
    external: ExternalSection | None = None
    consumer: OriginConsumerSection | None = None


def _origin(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class _NameOrSection:
    """Says in the JSON Schema that a name alone will do."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, handler(core)]}


Origin = Annotated[OriginSection, BeforeValidator(_origin), _NameOrSection]


class RepublishSection(ProvisionSection):
    """Each stored message is published again."""

    src: str = ""
    """A pattern of subjects; empty is all of them."""
    dest: str
    """The subject it is published to."""
    headers_only: bool = False
    """Leave out the data."""


class ConsumerLimitsSection(ProvisionSection):
    """Defaults and upper bounds for the stream's consumers."""

    inactive_threshold: Span = 0
    max_ack_pending: Limit = 0


class ConsumerSection(ProvisionSection):
    """A durable consumer: a client's place in a stream, kept by the server."""

    description: str = ""
    deliver_policy: Literal[
        "all", "last", "new", "by_start_sequence", "by_start_time", "last_per_subject"
    ] = "all"
    """Where it starts."""
    opt_start_seq: Count = 0
    """The sequence that `by_start_sequence` starts with."""
    opt_start_time: Instant | None = None
    """The time that `by_start_time` starts at."""
    ack_policy: Literal["none", "all", "explicit", "flow_control"] = "none"
    """Which messages a client acknowledges."""
    ack_wait: Span = 0
    """How long the server waits for an acknowledgement before it delivers a message again."""
    max_deliver: Limit = -1
    """How often a message is delivered at most."""
    backoff: list[Span] = Field(default_factory=list)
    """How long to wait before each delivery of the same message, instead of `ack_wait`."""
    filter_subject: str = ""
    """Deliver only messages of these subjects."""
    filter_subjects: list[str] = Field(default_factory=list)
    """Several of them."""
    replay_policy: Literal["instant", "original"] = "instant"
    """Whether old messages come as fast as possible or as fast as they were stored."""
    rate_limit_bps: Count = 0
    """The highest rate, in bits per second, of a push consumer."""
    sample_freq: str = ""
    """For how many percent of the acknowledgements the server publishes a metric, such as 30%."""
    max_waiting: Count = 0
    """How many pull requests may wait."""
    max_ack_pending: Limit = 0
    """How many messages may be delivered and not yet acknowledged."""
    flow_control: bool = False
    headers_only: bool = False
    """Deliver no data, only headers."""
    max_batch: Count = 0
    """The largest batch of a pull request."""
    max_expires: Span = 0
    """The longest time that a pull request may wait."""
    max_bytes: Size = 0
    """The largest number of bytes of a pull request."""
    deliver_subject: str = ""
    """Where messages are pushed to; without it clients pull them."""
    deliver_group: str = ""
    """The queue group of the receivers of a push consumer."""
    idle_heartbeat: Span = 0
    inactive_threshold: Span = 0
    """How long it exists without a client; 0 is for ever."""
    num_replicas: Annotated[int, Field(strict=True, ge=0, le=5)] = 0
    """0: as many as the stream has."""
    mem_storage: bool = False
    """Keep its state in memory."""
    metadata: dict[str, str] = Field(default_factory=dict)
    priority_groups: list[str] = Field(default_factory=list)
    priority_policy: Literal["none", "overflow", "pinned_client", "prioritized"] = "none"
    priority_timeout: Span = 0


class StreamSection(ProvisionSection):
    """A stream, and its consumers by name."""

    description: str = ""
    subjects: list[str] = Field(default_factory=list)
    """What it stores; without any, without mirror and sources, the subject of its own name."""
    retention: Literal["limits", "interest", "workqueue"] = "limits"
    """Why messages are kept: until a limit, while a consumer wants them, until one has taken them."""
    max_consumers: Limit = -1
    max_msgs: Limit = -1
    max_bytes: Size = -1
    max_age: Span = 0
    """How long messages are kept; 0 is for ever."""
    max_msgs_per_subject: Limit = -1
    max_msg_size: Size = -1
    discard: Literal["old", "new"] = "old"
    """What goes when a limit is reached: the oldest messages, or the new one."""
    storage: Literal["file", "memory"] = "file"
    num_replicas: Annotated[int, Field(strict=True, ge=0, le=5)] = 1
    no_ack: bool = False
    """Acknowledge no publish."""
    duplicate_window: Span = 0
    """How long a message id is remembered; usually 2m, or max_age if that is shorter."""
    placement: PlacementSection | None = None
    mirror: Origin | None = None
    """The stream that this is a copy of."""
    sources: list[Origin] = Field(default_factory=list)
    """Streams whose messages are copied into this one."""
    compression: Literal["none", "s2"] = "none"
    first_seq: Count = 0
    """The sequence of the first message."""
    subject_transform: SubjectTransformSection | None = None
    republish: RepublishSection | None = None
    allow_direct: bool = False
    """Let all replicas answer reads."""
    mirror_direct: bool = False
    """Let a mirror answer reads of its origin; a mirror in the same account has what its origin has."""
    discard_new_per_subject: bool = False
    sealed: bool = False
    """Read-only, for good."""
    deny_delete: bool = False
    """Refuse to delete messages, for good."""
    deny_purge: bool = False
    """Refuse to purge, for good."""
    allow_rollup_hdrs: bool = False
    consumer_limits: ConsumerLimitsSection | None = None
    allow_msg_ttl: bool = False
    """Let messages have a time to live, for good."""
    subject_delete_marker_ttl: Span = 0
    allow_msg_counter: bool = False
    allow_atomic: bool = False
    allow_msg_schedules: bool = False
    persist_mode: Literal["default", "async"] = "default"
    allow_batched: bool = False
    metadata: dict[str, str] = Field(default_factory=dict)
    consumers: dict[Name, ConsumerSection] = Field(default_factory=dict)
    """Its durable consumers by name."""


class KeyValueSection(ProvisionSection):
    """A key-value bucket."""

    description: str = ""
    history: Annotated[int, Field(strict=True, ge=1, le=64)] = 1
    """How many revisions of each key are kept."""
    ttl: Span = 0
    """How long values are kept; 0 is for ever."""
    marker_ttl: Span = 0
    """How long the marker of an expired key stays; with it, keys may have a time to live of their own."""
    max_value_size: Size = -1
    max_bytes: Size = -1
    storage: Literal["file", "memory"] = "file"
    replicas: Annotated[int, Field(strict=True, ge=1, le=5)] = 1
    placement: PlacementSection | None = None
    compression: bool = False
    metadata: dict[str, str] = Field(default_factory=dict)
    republish: RepublishSection | None = None
    mirror: Origin | None = None
    """The bucket that this is a copy of."""
    sources: list[Origin] = Field(default_factory=list)
    """Buckets whose keys are copied into this one."""


class ObjectStoreSection(ProvisionSection):
    """An object bucket."""

    description: str = ""
    ttl: Span = 0
    """How long objects are kept; 0 is for ever."""
    max_bytes: Size = -1
    storage: Literal["file", "memory"] = "file"
    replicas: Annotated[int, Field(strict=True, ge=1, le=5)] = 1
    placement: PlacementSection | None = None
    compression: bool = False
    metadata: dict[str, str] = Field(default_factory=dict)


class DomainDocument(ProvisionSection):
    """What one JetStream domain should have."""

    domain: Name | None = None
    """The JetStream domain; without it the one that the connection uses."""
    owner: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    """Who looks after all of this. Others do not change it, and only what an owner has is ever pruned."""
    streams: dict[Name, StreamSection] = Field(default_factory=dict)
    consumers: dict[Name, dict[Name, ConsumerSection]] = Field(default_factory=dict)
    """Consumers of streams that are not in the document, by the names of stream and consumer."""
    kv: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")], KeyValueSection] = Field(
        default_factory=dict
    )
    """Key-value buckets by name."""
    operator: Name | None = None
    """The operator in the folders of nsc; without it the current one."""
    accounts: dict[Name, AccountSection] = Field(default_factory=dict)
    """Accounts of the operator by name."""
    objects: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")], ObjectStoreSection] = Field(
        default_factory=dict
    )
    """Object buckets by name."""


SECTIONS: tuple[type[ProvisionSection], ...] = (
    ConsumerSection,
    ConsumerLimitsSection,
    StreamSection,
    KeyValueSection,
    ObjectStoreSection,
    AccountLimitsSection,
    ExportSection,
    ResponseSection,
    UserSection,
)


def _fields_read_by(read: Callable[[Any], Any]) -> frozenset[str]:
    """Return the names of the fields whose values one of the functions above reads."""
    found = set()
    for section in SECTIONS:
        for name, field in section.model_fields.items():
            items = [
                each for item in get_args(field.annotation) for each in getattr(item, "__metadata__", ())
            ]
            if any(getattr(each, "func", None) is read for each in [*field.metadata, *items]):
                found.add(name)
    return frozenset(found)


SPANS = _fields_read_by(read_span)  # fields with a span of time, in nanoseconds
SIZES = _fields_read_by(read_size)  # fields with a number of bytes


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a document, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **DomainDocument.model_json_schema()}
