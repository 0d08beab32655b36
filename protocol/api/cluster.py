"""Where a stream or consumer is: its Raft group, leader and replicas."""

# ruff: noqa: RUF009 - the functions of `fields` are dataclasses.field, each for one JSON kind

from dataclasses import dataclass

from .fields import duration, flag, number, record, records, text, texts, time
from .record import Record


@dataclass(slots=True)
class Placement(Record):
    """Placement: where to put a stream or consumer. `preferred` (a server) is for leader step-downs only."""

    cluster: str = text()
    tags: list[str] = texts()
    preferred: str = text()


@dataclass(slots=True)
class PeerInfo(Record):
    """One replica. `active`: nanoseconds since it was last seen."""

    name: str = text(keep=True)
    current: bool = flag(keep=True)
    offline: bool = flag()
    active: int = duration(keep=True)
    lag: int = number(go_type="uint64")
    peer: str = text(keep=True)
    pending: bool = flag()


@dataclass(slots=True)
class DesiredCluster(Record):
    """Where a stream or consumer that moves is going; its origin and status stay in `extra`."""

    name: str = text()
    replicas: list[PeerInfo] = records(PeerInfo)


@dataclass(slots=True)
class ClusterInfo(Record):
    """The group of a stream or consumer; on a single server only its leader (this server's name) is set."""

    name: str = text()
    raft_group: str = text()
    leader: str = text()
    leader_since: int = time()
    system_account: bool = flag()
    traffic_account: str = text()
    replicas: list[PeerInfo] = records(PeerInfo)
    desired: DesiredCluster | None = record(DesiredCluster)
