"""Consumers: configuration, state and info. The rules are those of `stream`."""

from ..lazy_dataclass import dataclass
from .cluster import ClusterInfo
from .fields import (
    choice,
    duration,
    flag,
    instant,
    number,
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
class ConsumerConfig(Record):
    """Configuration of a consumer. Durations are in nanoseconds, `rate_limit_bps` is in bits per second."""

    durable_name: str = text()
    name: str = text()
    description: str = text()
    deliver_policy: str = choice(
        "all",
        "all",
        "last",
        "new",
        "by_start_sequence",
        "by_start_time",
        "last_per_subject",
        keep=True,
        alias="undefined",
    )
    opt_start_seq: int = number(go_type="uint64")
    opt_start_time: int | None = instant()
    ack_policy: str = choice("none", "none", "all", "explicit", "flow_control", keep=True)
    ack_wait: int = duration()
    max_deliver: int = number(go_type="int")
    backoff: list[int] = numbers(go_type="time.Duration")
    filter_subject: str = text()
    filter_subjects: list[str] = texts()
    replay_policy: str = choice("instant", "instant", "original", keep=True)
    rate_limit_bps: int = number(go_type="uint64")
    sample_freq: str = text()
    max_waiting: int = number(go_type="int")
    max_ack_pending: int = number(go_type="int")
    flow_control: bool = flag()
    headers_only: bool = flag()
    max_batch: int = number(go_type="int")
    max_expires: int = duration()
    max_bytes: int = number(go_type="int")
    deliver_subject: str = text()
    deliver_group: str = text()
    idle_heartbeat: int = duration()
    inactive_threshold: int = duration()
    num_replicas: int = number(keep=True, go_type="int")
    mem_storage: bool = flag()
    direct: bool = flag()
    sourcing: bool = flag()
    metadata: dict[str, str] = text_map()
    pause_until: int = time()
    priority_groups: list[str] = texts()
    priority_policy: str = choice(
        "none",
        "none",
        "overflow",
        "pinned_client",
        "prioritized",
        refusal="unknown priority policy",
    )
    priority_timeout: int = duration()

    @property
    def filters(self) -> list[str]:
        """The subject filters, whichever field they are in. Empty means all messages."""
        return [self.filter_subject] if self.filter_subject else self.filter_subjects


@dataclass(slots=True)
class SequenceInfo(Record):
    """A consumer sequence with its stream sequence, and when they last moved."""

    consumer_seq: int = number(keep=True, go_type="uint64")
    stream_seq: int = number(keep=True, go_type="uint64")
    last_active: int = time()


@dataclass(slots=True)
class PriorityGroupState(Record):
    """The client that a priority group is pinned to."""

    group: str = text(keep=True)
    pinned_client_id: str = text()
    pinned_ts: int = time(keep=True)


@dataclass(slots=True)
class ConsumerInfo(Record):
    """The answer to CONSUMER.INFO, and the info in other answers about a consumer."""

    stream_name: str = text(keep=True)
    name: str = text(keep=True)
    created: int = time(keep=True)
    config: ConsumerConfig | None = record(ConsumerConfig)
    delivered: SequenceInfo = part(SequenceInfo)
    ack_floor: SequenceInfo = part(SequenceInfo)
    num_ack_pending: int = number(keep=True, go_type="int")
    num_redelivered: int = number(keep=True, go_type="int")
    num_waiting: int = number(keep=True, go_type="int")
    num_pending: int = number(keep=True, go_type="uint64")
    cluster: ClusterInfo | None = record(ClusterInfo)
    push_bound: bool = flag()
    paused: bool = flag()
    pause_remaining: int = duration()
    ts: int = time(keep=True)
    priority_groups: list[PriorityGroupState] = records(PriorityGroupState)
