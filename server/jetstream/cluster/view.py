"""ClusterView: what this server knows of the cluster, for the API, placement and monitoring.

Promises: nothing here changes anything, and nothing is cached: each answer is what is known at that moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..meta import placement
from ..meta.responder import LeaderStatus, MetaRole, ResponderState, meta_role, stream_role

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ...cluster.raft_node import RaftNode
    from ..host import JetStreamHost
    from ..meta.node_info import NodeStatus
    from ..meta.state import MetaState
    from ..meta.usage import Reports
    from .local_stream import LocalStream
    from .meta_group import MetaGroup
    from .node_status import NodeStatuses

Key = tuple[str, str]  # account, stream


class ClusterView:
    """What one server knows of the cluster.

    node: this server's.
    cluster_name: the name of the cluster that its routes form.
    other_clusters: returns the names of the clusters that gateways join to this one, the nearest one first.
    system: the system account.
    clock: the server's.
    local_streams: the streams that this server holds, by (account, stream).
    failures: (account, stream) -> why it could not be opened.
    """

    def __init__(
        self,
        node: str,
        system: Account,
        host: JetStreamHost,
        meta_group: MetaGroup,
        node_statuses: NodeStatuses,
        local_streams: Mapping[Key, LocalStream],
        failures: Mapping[Key, str],
    ) -> None:
        self.node = node
        self.cluster_name = host.cluster_name
        self.system = system
        self.local_streams = local_streams
        self.failures = failures
        self.clock = host.clock
        self.other_clusters: Callable[[], Sequence[str]] = tuple
        self._meta_group = meta_group
        self._node_statuses = node_statuses

    # --- the meta group

    @property
    def me(self) -> str:
        """This server's id in the meta group; "" before the disk was read."""
        return self._meta_group.me

    @property
    def state(self) -> MetaState:
        """What the meta group has decided, as far as it is known here."""
        return self._meta_group.state

    @property
    def group(self) -> RaftNode | None:
        """The meta group's member here, None until it has started."""
        return self._meta_group.group

    @property
    def term(self) -> int:
        """The meta group's term as it is known here."""
        return self._meta_group.term

    @property
    def is_leader(self) -> bool:
        """Whether this server leads, has applied all that was decided before, and a majority follows it."""
        return self._meta_group.is_leader

    @property
    def leader_status(self) -> LeaderStatus:
        """The leader of the meta group, as known here."""
        return self._meta_group.leader_status

    @property
    def served(self) -> bool:
        """Whether the streams that are assigned to this server were opened."""
        return self._meta_group.served

    @property
    def failure(self) -> str:
        """Why this server cannot join the meta group, "" for nothing."""
        return self._meta_group.failure

    @property
    def quorum_diagnosis(self) -> str:
        """Why nobody can lead the meta group, "" while somebody does or may."""
        return self._meta_group.quorum_diagnosis

    @property
    def gathering(self) -> bool:
        """Whether this server began to lead a moment ago and has not got the reports of all members yet."""
        return self._meta_group.new_leader and self._misses_reports

    @property
    def settling(self) -> bool:
        """Whether a member does not vote yet, or has not reported."""
        group = self.group
        return group is not None and (bool(group.members.learners) or self._misses_reports)

    @property
    def _misses_reports(self) -> bool:
        group = self.group
        if group is None:
            return False
        known, node_statuses = self.state.servers, self.node_statuses
        return any(member not in known or member not in node_statuses for member in group.members.all)

    def subjects_of(self, account: str, stream: str) -> Sequence[str]:
        """Return the subjects of a stream, none if no such stream is assigned."""
        assignment = self.state.stream(account, stream)
        return () if assignment is None else assignment.subjects

    # --- the servers, by their reports

    @property
    def node_statuses(self) -> Mapping[str, NodeStatus]:
        """The status of each member, by id."""
        return self._node_statuses.view(self.clock.now())

    def names(self) -> Mapping[str, str]:
        """Return the names of the servers, by member."""
        return self._node_statuses.names()

    def member(self, node: str) -> str:
        """Return the meta group's member of a node; "" for an unknown node."""
        found = self.state.named(node)
        return self._node_statuses.member(node) if found is None else found.id

    def process(self, member: str) -> str:
        """Return the id of the server from which a member last reported; "" if it never did."""
        return self._node_statuses.process(member)

    def usage(self, account: str) -> Reports:
        """Return what the servers use of an account: member -> tier -> bytes."""
        return self._node_statuses.usage(account)

    def api_elsewhere(self, account: str) -> tuple[int, int]:
        """Return how many requests of an account the other servers have answered, and with an error."""
        return self._node_statuses.api(account, self.me)

    def lags(self, account: str, stream: str) -> tuple[str, dict[str, int]]:
        """Return (leader, lags by member) of a stream's group, as its leader last reported."""
        return self._node_statuses.lags(account, stream)

    # --- this server

    @property
    def ha_assets(self) -> int:
        """How many replicated streams and consumers this server holds, plus one for the meta group."""
        load = placement.loads(self.state).get(self.me)
        return 1 + (0 if load is None else load.ha_assets)

    def responder_state(self, account: str, stream: str = "", consumer: str = "") -> ResponderState:
        """Return this server's part in answering a request about a stream or consumer; "" for none."""
        state, me = self.state, self.me
        meta = meta_role(me, self.leader_status)
        if meta is MetaRole.LEADER and not self.is_leader:
            meta = MetaRole.FOLLOWER
        system = account == self.system.name
        if not stream:
            return ResponderState(meta, system=system)
        local = self.local_streams.get((account, stream))
        leader = None if local is None else local.leader_status()
        where = stream_role(state.stream(account, stream), self.node_statuses, me, leader)
        exists = not consumer or state.consumer(account, stream, consumer) is not None
        return ResponderState(meta, where, exists, system)
