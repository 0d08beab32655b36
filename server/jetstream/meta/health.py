"""Health: what is wrong with this server's part of the cluster, in the words of `/healthz`.

Promises: the worst is named first, and "" means that nothing is wrong. Works on plain data.
"""

from __future__ import annotations

from dataclasses import dataclass

HOPELESS = (
    "no server has the stream whole, so that nobody serves it; what was damaged is kept: put a copy of one "
    "server's directory back, or save what can be read by `pyjs stream cluster rescue`"
)


@dataclass(frozen=True, slots=True)
class HealthzError:
    """What is wrong, and with what. kind: as `/healthz` calls it, such as "STREAM"."""

    kind: str
    error: str
    account: str = ""
    stream: str = ""
    consumer: str = ""

    def to_json(self) -> dict[str, str]:
        """As `/healthz` shows it with details."""
        named = {"type": self.kind, "account": self.account, "stream": self.stream}
        found = {**named, "consumer": self.consumer, "error": self.error}
        return {key: value for key, value in found.items() if value}


@dataclass(frozen=True, slots=True)
class MetaHealth:
    """This server in the meta group. failure: why it cannot write, or not apply.

    recovering: it has not caught up since it started. member: it is one. current: it had contact with the
    leader lately and has what was decided. quorum_diagnosis: why nobody can lead.
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
    """What is wrong with the meta group here."""
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
    """One stream that is assigned to this server. error: why it could not be opened.

    Of a group: running, failure (it cannot write), store_failure, damage (what was found to be damaged, and
    is to come from the others), hopeless (none of them has the stream whole), catching_up, quorum_diagnosis
    (why nobody can lead), healthy (led, and level).
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
    """What is wrong with a stream's replica here."""
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
    """What is wrong with a consumer here; it rides on its stream. age: ns since it was made."""
    if found or age < 5_000_000_000:
        return ""
    return f"JetStream consumer '{account} > {stream} > {consumer}' is not current: consumer not found"
