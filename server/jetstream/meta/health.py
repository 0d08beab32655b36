"""Health: what is wrong with this server's part of the cluster, in the words of `/healthz`.

Promises: the worst problem is named first, and "" means that nothing is wrong. The functions work on plain
data.
"""

from __future__ import annotations

from ....protocol.lazy_dataclass import dataclass

HOPELESS = (
    "no server has the stream whole, so that nobody serves it; what was damaged is kept: put a copy of one "
    "server's directory back, or save what can be read by `pyjs stream cluster rescue`"
)


@dataclass(frozen=True, slots=True)
class HealthzError:
    """One problem that `/healthz` reports.

    kind: as `/healthz` calls it, such as "STREAM".
    error: the text.
    account, stream, consumer: which one has the problem; "" where that does not apply.
    """

    kind: str
    error: str
    account: str = ""
    stream: str = ""
    consumer: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the problem as `/healthz` shows it with details."""
        named = {"type": self.kind, "account": self.account, "stream": self.stream}
        found = {**named, "consumer": self.consumer, "error": self.error}
        return {key: value for key, value in found.items() if value}


@dataclass(frozen=True, slots=True)
class MetaHealth:
    """The state of this server's member of the meta group.

    member: whether this server is a member.
    leader: the leader's id, "" while none is known.
    running: whether the member runs.
    failure: why it cannot write, "" if it can.
    apply_failure: why it cannot apply, "" if it can.
    recovering: whether it has not caught up since it started.
    current: whether it had contact with the leader lately and has what was decided.
    quorum_diagnosis: why nobody can lead, "" if somebody does or may.
    """

    member: bool = True
    leader: str = ""
    running: bool = True
    failure: str = ""
    apply_failure: str = ""
    recovering: bool = False
    current: bool = True
    quorum_diagnosis: str = ""


def meta_problem(health: MetaHealth) -> str:
    """Return what is wrong with the meta group here, "" for nothing."""
    if health.failure:
        return f"JetStream meta layer write error: {health.failure}"
    if health.apply_failure:
        return f"JetStream meta layer apply error: {health.apply_failure}"
    if not health.running:
        return "JetStream meta layer is not running"
    if health.quorum_diagnosis:
        return f"JetStream has not established contact with a meta leader: {health.quorum_diagnosis}"
    if health.member and health.recovering:
        return "JetStream is still recovering meta layer"
    if not health.member or not health.leader:
        return "JetStream has not established contact with a meta leader"
    if not health.current:
        return "JetStream is not current with the meta leader"
    return ""


@dataclass(frozen=True, slots=True)
class StreamHealth:
    """The state of one stream that is assigned to this server.

    found: whether the stream is here.
    error: why it could not be opened.
    replicated: whether it has a group.
    running: whether the group's member here runs.
    failure: why the member cannot write.
    store_failure: why the stream cannot write.
    damage: what was found damaged, and will be fetched from the others.
    hopeless: whether none of the others has the whole stream.
    quorum_diagnosis: why nobody can lead.
    catching_up: whether messages and state are still on their way.
    healthy: whether the group has a leader and the member is level with it.
    """

    found: bool = True
    error: str = ""
    replicated: bool = False
    running: bool = True
    failure: str = ""
    store_failure: str = ""
    damage: str = ""
    hopeless: bool = False
    quorum_diagnosis: str = ""
    catching_up: bool = False
    healthy: bool = True


def stream_problem(account: str, stream: str, health: StreamHealth) -> str:
    """Return what is wrong with a stream's replica here, "" for nothing."""
    why = _why(health)
    return f"JetStream stream '{account} > {stream}' is not current: {why}" if why else ""


def _why(health: StreamHealth) -> str:
    if health.error:
        return f"stream assignment error: {health.error}"
    if not health.found:
        return "stream not found"
    if not health.replicated:
        return f"stream write error: {health.store_failure}" if health.store_failure else ""
    for wrong, text in (
        (not health.running, "group node missing"),
        (bool(health.failure), f"node write error: {health.failure}"),
        (bool(health.store_failure), f"stream write error: {health.store_failure}"),
        (bool(health.quorum_diagnosis), f"stream has no leader: {health.quorum_diagnosis}"),
        (health.hopeless, f"{HOPELESS}{f' (here: {health.damage})' if health.damage else ''}"),
        (bool(health.damage), f"stream damaged, fetched from the other servers: {health.damage}"),
        (health.catching_up, "stream catching up"),
        (not health.healthy, "group node unhealthy"),
    ):
        if wrong:
            return text
    return ""


def consumer_problem(account: str, stream: str, consumer: str, *, found: bool, age: int) -> str:
    """Return what is wrong with a consumer here, "" for nothing, also in the first 5 seconds.

    age: the ns since it was created.
    """
    if found or age < 5_000_000_000:
        return ""
    return f"JetStream consumer '{account} > {stream} > {consumer}' is not current: consumer not found"
