"""NodeTracker: publishes this server's report, receives those of the others, and admits servers.

Every server publishes its report every few seconds, and within a second when its usage has changed; a server
that starts asks for those of the others. The meta leader admits the servers that report to the meta group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.errors import ApiError
from ...clock import SECOND
from ..meta.node_info import node_of
from .node_status import EVERY, PREFIX, NodeReport, NodeReportError, NodeStatuses
from .usage import count, lags, used

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...accounts.subscription import Message, Subscription
    from ...clock import Timer
    from ...cluster.environment import GroupEnvironment
    from ..account.account import JetStreamAccount
    from ..meta.effect import Effect
    from ..meta.node_info import NodeInfo
    from ..meta.usage import TierUsage
    from .proposer import Proposer
    from .view import ClusterView

USAGE_INTERVAL = SECOND  # ns between two checks whether the usage has changed


class NodeTracker:
    """Exchanges reports with the other servers; a server has one. Only it changes `node_statuses`.

    node_info: returns this server as the meta group should know it.
    leader_is_at: is called with the meta leader's member id, its term, and the index that it has applied.
    """

    def __init__(
        self,
        environment: GroupEnvironment,
        view: ClusterView,
        proposer: Proposer,
        node_statuses: NodeStatuses,
        accounts: Mapping[str, JetStreamAccount],
        node_info: Callable[[], NodeInfo],
        leader_is_at: Callable[[str, int, int], None],
    ) -> None:
        self._node_statuses = node_statuses
        self._view = view
        self._proposer = proposer
        self._accounts = accounts
        self._node_info = node_info
        self._leader_is_at = leader_is_at
        self._system = view.system
        self._clock = environment.clock
        self._log = environment.log
        self._process = environment.server
        self._admitting: set[str] = set()
        self._removed: dict[str, str] = {}
        self._timer: Timer | None = None
        self._usage_timer: Timer | None = None
        self._published: dict[str, dict[str, TierUsage]] = {}
        self._subscription: Subscription | None = None
        self._unnamed = ""  # the leader, while its server is unknown

    def start(self) -> None:
        """Receive the reports of the others, and begin to publish."""
        self._subscription = self._system.subscribe(PREFIX + "*", self._received)
        self._usage_timer = self._clock.call_later(USAGE_INTERVAL, self._check_usage)
        self._beat()

    def stop(self) -> None:
        """Stop publishing and receiving."""
        for timer in (self._timer, self._usage_timer):
            if timer is not None:
                timer.cancel()
        if self._subscription is not None:
            self._system.unsubscribe(self._subscription)
            self._subscription = None

    def publish(self, *, ask: bool = False) -> None:
        """Publish this server's report. ask: have the others publish theirs."""
        view = self._view
        group = view.group
        if not view.me or group is None or self._subscription is None:
            return
        self._published = used(self._accounts)
        node_report = NodeReport(
            self._node_info(),
            self._process,
            self._published,
            lags(view.local_streams),
            view.term if view.is_leader else 0,
            group.applied,
            ask,
            {name: (account.api_total, account.api_errors) for name, account in self._accounts.items()},
        )
        self._take(node_report)
        self._system.publish(PREFIX + view.node, node_report.encode())

    def _check_usage(self) -> None:
        """Publish the usage of accounts if it has changed: their limits apply to all servers together."""
        self._usage_timer = self._clock.call_later(USAGE_INTERVAL, self._check_usage)
        if used(self._accounts) != self._published:
            self.publish()

    def _beat(self) -> None:
        self._timer = self._clock.call_later(EVERY, self._beat)
        self._proposer.heal()
        self.publish(ask=not self._view.served)

    def log_leader(self, leader: str) -> None:
        """Log who leads, as soon as that server's name is known."""
        known = self._view.state.servers
        server = self._node_statuses.server(leader) or known.get(leader)
        named = server is not None and bool(server.name)
        self._unnamed = "" if named else leader
        if server is not None and named:
            self._log.info(f"JetStream cluster new metadata leader: {server.name}/{server.cluster}")

    def server_lost(self, server_id: str) -> None:
        """Note that there is no route to the server of that id any more."""
        self._node_statuses.lost(server_id)

    # --- who belongs here

    def removed(self, server: NodeInfo) -> None:
        """Note that a server was removed: it is not admitted again before it is restarted."""
        self._removed[server.node] = self._node_statuses.process(server.id)

    def returned(self, server: NodeInfo) -> None:
        """Note that a server was admitted."""
        self._removed.pop(server.node, None)

    def wanted(self) -> frozenset[str] | None:
        """Return the nodes that should be members of the meta group, None for all that come."""
        group = self._view.group
        if not self._removed or group is None:
            return None
        there = {node_of(member) for member in group.members.all}
        there.update(
            node_report.server.node for node_report in self._node_statuses.reports(self._clock.now())
        )
        return frozenset(there - self._removed.keys())

    # --- reports of the others

    def _received(self, message: Message) -> None:
        try:
            node_report = NodeReport.decode(message.body)
        except NodeReportError:
            return
        if node_report.process == self._process:
            return
        self._take(node_report)
        if node_report.ask:
            self.publish()

    def _take(self, node_report: NodeReport) -> None:
        node, now = node_report.server.node, self._clock.now()
        self._node_statuses.update(node_report, now)
        if self._unnamed and self._unnamed == node_report.server.id:
            self.log_leader(self._unnamed)
        for name, account in self._accounts.items():
            count(account, self._node_statuses.usage(name), self._view.me)
        if self._removed.get(node, node_report.process) != node_report.process:
            del self._removed[node]  # it was restarted: it may be admitted again
        if node_report.term:
            self._leader_is_at(node_report.server.id, node_report.term, node_report.index)
        if self._view.is_leader:
            self._admit(node_report.server)

    def _admit(self, server: NodeInfo) -> None:
        """Admit a server, or take over what it newly reports."""
        if server.id in self._admitting or server.node in self._removed:
            return
        try:
            command = self._proposer.planner().admit(server)
        except ApiError:
            return  # another incarnation took its place
        if command is None:
            return
        self._admitting.add(server.id)

        def done(outcome: list[Effect] | ApiError) -> None:
            del outcome  # a failed command is proposed again at the next report
            self._admitting.discard(server.id)

        self._proposer.propose(command, done)
