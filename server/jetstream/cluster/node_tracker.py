"""NodeTracker: publishes this server's report, receives those of the others, and, on the meta leader, admits
servers to the meta group.

Every server publishes its report every few seconds, and within a second when its usage has changed; a server
that starts asks for those of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.errors import ApiError
from ...clock import SECOND
from ..meta.node_info import NodeInfo, node_of
from .node_report import PREFIX, NodeReport, NodeReportError
from .node_status import EVERY, NodeStatuses
from .usage import count, lags, used

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ...accounts.subscription import Message, Subscription
    from ...clock import Timer
    from ..engine import JetStream
    from ..meta.effect import Effect
    from ..meta.usage import TierUsage
    from .cluster import JetStreamCluster

LOOK = SECOND  # between two looks at what is used here
GATHERED = 3 * SECOND  # after which a new leader takes a member without a report for offline


class NodeTracker:
    """One per server. node_statuses: by the reports that were received and published."""

    def __init__(self, cluster: JetStreamCluster, engine: JetStream, system: Account) -> None:
        self.node_statuses = NodeStatuses()
        self._cluster = cluster
        self._engine = engine
        self._system = system
        self._clock = cluster.environment.clock
        self._process = cluster.environment.server
        self._admitting: set[str] = set()
        self._removed: dict[str, str] = {}
        self._timer: Timer | None = None
        self._looking: Timer | None = None
        self._published: dict[str, dict[str, TierUsage]] = {}
        self._subscription: Subscription | None = None
        self._led_from = -GATHERED
        self._unnamed = ""  # the leader, while it is not known which server that is

    def start(self) -> None:
        """Receive the reports of the others, and begin to publish."""
        self._subscription = self._system.subscribe(PREFIX + "*", self._received)
        self._looking = self._clock.call_later(LOOK, self._look)
        self._beat()

    def stop(self) -> None:
        """Neither publish nor receive any more."""
        for timer in (self._timer, self._looking):
            if timer is not None:
                timer.cancel()
        if self._subscription is not None:
            self._system.unsubscribe(self._subscription)
            self._subscription = None

    def node_info(self) -> NodeInfo:
        """This server as the meta group is to know it."""
        engine = self._engine
        assert engine.host is not None
        return NodeInfo(
            self._cluster.me,
            engine.host.server_name,
            engine.host.cluster_name,
            engine.domain,
            tuple(tag.lower() for tag in engine.options.server_tags),
            engine.memory.limit,
            engine.files.limit,
        )

    def lead(self) -> None:
        """This server leads the meta group from now on: it needs to know of the others."""
        self._led_from = self._clock.now()
        self.publish(ask=True)

    @property
    def gathering(self) -> bool:
        """Whether this server leads since a moment ago and has no reports of all members yet."""
        group = self._cluster.group
        if group is None or self._clock.now() - self._led_from > GATHERED:
            return False
        known, node_statuses = self._cluster.state.servers, self._cluster.node_statuses
        return any(member not in known or member not in node_statuses for member in group.members.all)

    def publish(self, *, ask: bool = False) -> None:
        """Publish this server's report. ask: have the others publish theirs."""
        cluster = self._cluster
        group = cluster.group
        if not cluster.me or group is None or self._subscription is None:
            return
        self._published = used(self._engine.accounts)
        node_report = NodeReport(
            self.node_info(),
            self._process,
            self._published,
            lags(cluster.local_streams),
            cluster.term if cluster.is_leader else 0,
            group.applied,
            ask,
            {
                name: (account.api_total, account.api_errors)
                for name, account in self._engine.accounts.items()
            },
        )
        self._take(node_report)
        self._system.publish(PREFIX + cluster.node, node_report.encode())

    def _look(self) -> None:
        """Publish soon what accounts use now: their limits are for all servers together."""
        self._looking = self._clock.call_later(LOOK, self._look)
        if used(self._engine.accounts) != self._published:
            self.publish()

    def _beat(self) -> None:
        self._timer = self._clock.call_later(EVERY, self._beat)
        self._cluster.heal()
        self.publish(ask=not self._cluster.served)

    def log_leader(self, leader: str) -> None:
        """Log who leads, as soon as that server's name is known."""
        server = self.node_statuses.server(leader) or self._cluster.state.servers.get(leader)
        named = server is not None and bool(server.name)
        self._unnamed = "" if named else leader
        if server is not None and named:
            log = self._cluster.environment.log
            log.info(f"JetStream cluster new metadata leader: {server.name}/{server.cluster}")

    # --- who belongs here

    def removed(self, server: NodeInfo) -> None:
        """A server was removed for good: as long as it is the same process it is not let in again."""
        self._removed[server.node] = self.node_statuses.process(server.id)

    def returned(self, server: NodeInfo) -> None:
        """A server was let in."""
        self._removed.pop(server.node, None)

    def wanted(self) -> frozenset[str] | None:
        """The nodes that shall be members of the meta group, None for everyone who comes."""
        group = self._cluster.group
        if not self._removed or group is None:
            return None
        there = {node_of(member) for member in group.members.all}
        there.update(node_report.server.node for node_report in self.node_statuses.reports(self._clock.now()))
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
        self.node_statuses.update(node_report, now)
        if self._unnamed and self._unnamed == node_report.server.id:
            self.log_leader(self._unnamed)
        for name, account in self._engine.accounts.items():
            count(account, self.node_statuses.usage(name), self._cluster.me)
        if self._removed.get(node, node_report.process) != node_report.process:
            del self._removed[node]  # it was started again: it may ask to be let in
        if node_report.term:
            self._cluster.leader_is_at(node_report.server.id, node_report.term, node_report.index)
        if self._cluster.is_leader:
            self._admit(node_report.server)

    def _admit(self, server: NodeInfo) -> None:
        """Admit a server, or take over what it reports anew."""
        if server.id in self._admitting or server.node in self._removed:
            return
        try:
            command = self._cluster.planner().admit(server)
        except ApiError:
            return  # another incarnation took its place
        if command is None:
            return
        self._admitting.add(server.id)

        def done(outcome: list[Effect] | ApiError) -> None:
            del outcome  # what failed is proposed again at the next report
            self._admitting.discard(server.id)

        self._cluster.propose(command, done)
