"""Where a stream or consumer is placed: its Raft group, leader and replicas."""

from ..lazy_dataclass import dataclass
from .fields import duration, flag, number, record, records, text, texts, time
from .record import Record


@dataclass(slots=True)
class Placement(Record):
    """Where to put a stream or consumer. `preferred`, the name of a server, is for leader step-downs only."""

    cluster: str = text()
    tags: list[str] = texts()
    preferred: str = text()


@dataclass(slots=True)
class PeerInfo(Record):
    """One replica. `active` is the time since it was last seen, in nanoseconds."""

    name: str = text(keep=True)
    current: bool = flag(keep=True)
    offline: bool = flag()
    active: int = duration(keep=True)
    lag: int = number(go_type="uint64")
    peer: str = text(keep=True)
    pending: bool = flag()


@dataclass(slots=True)
class DesiredCluster(Record):
    """Where a stream or consumer that is being moved will be. Its origin and status stay in `extra`."""

    name: str = text()
    replicas: list[PeerInfo] = records(PeerInfo)


@dataclass(slots=True)
class ClusterInfo(Record):
    """The group of a stream or consumer. A single server sets only the leader, to its own name."""

    name: str = text()
    raft_group: str = text()
    leader: str = text()
    leader_since: int = time()
    system_account: bool = flag()
    traffic_account: str = text()
    replicas: list[PeerInfo] = records(PeerInfo)
    desired: DesiredCluster | None = record(DesiredCluster)
