"""A meta group of one: servers, a planner, and a log that applies what is proposed."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from pyjs.protocol.errors import ApiError
from pyjs.server.jetstream.meta.apply import apply
from pyjs.server.jetstream.meta.assignment import ConsumerAssignment, StreamAssignment
from pyjs.server.jetstream.meta.command import Command, PutServer, encode
from pyjs.server.jetstream.meta.effect import (
    AlreadyExists,
    CommandRejected,
    ConsumerCreated,
    ConsumerUpdated,
    Effect,
    StreamCreated,
    StreamUpdated,
)
from pyjs.server.jetstream.meta.node_info import NodeInfo, NodeStatus
from pyjs.server.jetstream.meta.placement import PlacementPolicy
from pyjs.server.jetstream.meta.planner import ApiClient, MetaPlanner
from pyjs.server.jetstream.meta.state import MetaState
from pyjs.server.jetstream.meta.tier_limits import UNLIMITED, TierLimits

MIB = 1024 * 1024


def server(number: int, incarnation: str = "1", **more: Any) -> NodeInfo:
    """Return the server `n<number>` of cluster C."""
    return NodeInfo(f"NODE{number:04}-{incarnation}", f"n{number}", **{"cluster": "C", **more})


def config(name: str = "S", replicas: int = 3, **more: Any) -> dict[str, Any]:
    """Return a stream's configuration, complete enough for the meta layer."""
    return {
        "name": name,
        "subjects": [f"{name}.>"],
        "retention": "limits",
        "storage": "file",
        "num_replicas": replicas,
        "max_bytes": -1,
        "max_consumers": -1,
        **more,
    }


@dataclass
class MetaFixture:
    """Servers `n1`… in cluster C.

    count: how many servers
    log: every entry so far, from index 1
    """

    count: int = 3
    seed: int = 7
    policy: PlacementPolicy = field(default_factory=PlacementPolicy)
    state: MetaState = field(default_factory=MetaState)
    log: list[bytes] = field(default_factory=list)
    node_statuses: dict[str, NodeStatus] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        for number in range(1, self.count + 1):
            self.join(server(number))

    def join(self, one: NodeInfo, node_status: NodeStatus | None = None) -> list[Effect]:
        self.node_statuses[one.id] = node_status or NodeStatus()
        return self.put(PutServer(one))

    def put(self, command: Command) -> list[Effect]:
        """Propose a command and apply it; return its effects."""
        self.log.append(encode(command))
        return apply(self.state, len(self.log), self.log[-1])

    @property
    def planner(self) -> MetaPlanner:
        return MetaPlanner(self.state, self.node_statuses, self.random, self.policy)

    def reincarnate(self, one: NodeInfo) -> list[Effect]:
        """Bring a server back as another incarnation, and admit it."""
        for member in self.node_statuses:
            if member.partition("-")[0] == one.node:
                self.node_statuses[member] = NodeStatus(online=False)
        command = self.planner.admit(one)
        assert command is not None
        self.node_statuses[one.id] = NodeStatus()
        return self.put(command)

    requester = ApiClient({"acc": "A"}, ["C"])

    def create(
        self, account: str = "A", tier_limits: TierLimits = UNLIMITED, created: int = 1, **asked: Any
    ) -> StreamAssignment:
        """Create a stream. Raises ApiError if that is refused."""
        wanted = config(**asked)
        view = self.state.view(account)
        return stream_of(
            self.put(
                self.planner.create_stream(view, wanted, self.requester, created + len(self.log), tier_limits)
            )
        )

    def update(
        self, account: str = "A", tier_limits: TierLimits = UNLIMITED, leader: str = "", **asked: Any
    ) -> StreamAssignment:
        wanted = config(**asked)
        view = self.state.view(account)
        return stream_of(
            self.put(self.planner.update_stream(view, wanted, self.requester, tier_limits, leader=leader))
        )

    def consume(
        self,
        stream: str = "S",
        name: str = "c",
        tier_limits: TierLimits = UNLIMITED,
        action: str = "",
        **more: Any,
    ) -> ConsumerAssignment:
        wanted = {"durable_name": name, "name": name, "num_replicas": 0, **more}
        view = self.state.view("A")
        command = self.planner.put_consumer(
            view, stream, wanted, self.requester, len(self.log), action=action, tier_limits=tier_limits
        )
        [effect] = self.put(command)
        if isinstance(effect, CommandRejected):
            raise effect.error
        if isinstance(effect, AlreadyExists):
            assert isinstance(effect.assignment, ConsumerAssignment)
            return effect.assignment
        assert isinstance(effect, ConsumerCreated | ConsumerUpdated)
        return effect.consumer


def stream_of(effects: list[Effect]) -> StreamAssignment:
    """Return the stream that the only effect is about. Raises ApiError if it is a refusal."""
    [effect] = effects
    if isinstance(effect, CommandRejected):
        raise effect.error
    if isinstance(effect, AlreadyExists):
        assert isinstance(effect.assignment, StreamAssignment)
        return effect.assignment
    assert isinstance(effect, StreamCreated | StreamUpdated), effect
    return effect.stream


def code(error: ApiError) -> int:
    return error.err_code


def refusal(effects: list[Effect]) -> int:
    """Return the error code of the only effect, a refusal."""
    [effect] = effects
    assert isinstance(effect, CommandRejected)
    return effect.error.err_code


def check(state: MetaState) -> None:
    """Check the invariants of `assignment`. Raises AssertionError."""
    groups = set()
    for stream in state.every_stream():
        where = (stream.account, stream.name)
        assert 1 <= len(stream.peers) <= stream.replicas, where
        assert len(set(stream.members)) == len(stream.members), where
        assert stream.preferred in ("", *stream.members), where
        assert stream.group not in groups, where
        assert stream.placed <= stream.revision <= state.index, where
        assert set(stream.holders) | set(stream.seeds) <= set(stream.members), where
        unknown = [peer for peer in stream.peers if peer not in state.servers]
        whole = any(holder in state.servers for holder in stream.holders)
        assert not unknown or not whole, where  # it waits for a holder that was removed
        assert stream.change or not stream.leaving, where
        groups.add(stream.group)
        assert not state.overlap(stream.account, stream.subjects, stream.name), where
    for (account, name), consumers in state.consumers.items():
        assert state.stream(account, name) is not None and consumers
        for key, consumer in consumers.items():
            assert (consumer.account, consumer.stream, consumer.name) == (account, name, key)
    for changed in state.consumer_changes:
        assert state.stream(*changed) is not None
    assert not state.retired & set(state.servers)
    nodes = [one.node for one in state.servers.values()]
    assert len(set(nodes)) == len(nodes)
