"""NodeTracker: what this server tells the others of itself, what it hears of them, and, of who leads the meta
group, who is let in.

Every server says its report every few seconds, and within one when what it holds has changed; who starts asks
for those of the others.
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
    from ...accounts.message import Message
    from ...accounts.subscription import Subscription
    from ...clock import Timer
    from ..engine import JetStream
    from ..meta.effect import Effect
    from ..meta.usage import TierUsage
    from .cluster import JetStreamCluster

LOOK = SECOND  # between two looks at what is used here
GATHERED = 3 * SECOND  # from when on a leader takes who is not there for away


class NodeTracker:
    """One per domain. seen: what was heard, and said."""

    def __init__(self, domain: JetStreamCluster, engine: JetStream, carrier: Account) -> None:
        self.seen = NodeStatuses()
        self._domain = domain
        self._engine = engine
        self._carrier = carrier
        self._clock = domain.surroundings.clock
        self._process = domain.surroundings.server
        self._greeting: set[str] = set()
        self._removed: dict[str, str] = {}
        self._timer: Timer | None = None
        self._looking: Timer | None = None
        self._said: dict[str, dict[str, TierUsage]] = {}
        self._subscription: Subscription | None = None
        self._led_from = -GATHERED
        self._unnamed = ""  # the leader, while it is not known which server that is

    def start(self) -> None:
        """Hear the others, and begin to speak."""
        self._subscription = self._carrier.subscribe(PREFIX + "*", self._heard)
        self._looking = self._clock.call_later(LOOK, self._look)
        self._beat()

    def stop(self) -> None:
        """Be silent."""
        for timer in (self._timer, self._looking):
            if timer is not None:
                timer.cancel()
        if self._subscription is not None:
            self._carrier.unsubscribe(self._subscription)
            self._subscription = None

    def record(self) -> NodeInfo:
        """This server as the meta group is to know it."""
        engine = self._engine
        assert engine.host is not None
        return NodeInfo(
            self._domain.me,
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
        self.say(ask=True)

    @property
    def gathering(self) -> bool:
        """Whether this server leads since a moment ago and has not heard of all members yet."""
        group = self._domain.group
        if group is None or self._clock.now() - self._led_from > GATHERED:
            return False
        known, sights = self._domain.state.servers, self._domain.sights
        return any(member not in known or member not in sights for member in group.members.all)

    def say(self, *, ask: bool = False) -> None:
        """Tell all servers of this one. ask: have them tell of themselves."""
        domain = self._domain
        group = domain.group
        if not domain.me or group is None or self._subscription is None:
            return
        self._said = used(self._engine.accounts)
        report = NodeReport(
            self.record(),
            self._process,
            self._said,
            lags(domain.assets),
            domain.term if domain.is_leader else 0,
            group.applied,
            ask,
            {name: (held.api_total, held.api_errors) for name, held in self._engine.accounts.items()},
        )
        self._take(report)
        self._carrier.publish(PREFIX + domain.node, report.encode())

    def _look(self) -> None:
        """Tell soon of what accounts use now: their limits are for all servers together."""
        self._looking = self._clock.call_later(LOOK, self._look)
        if used(self._engine.accounts) != self._said:
            self.say()

    def _beat(self) -> None:
        self._timer = self._clock.call_later(EVERY, self._beat)
        self._domain.heal()
        self.say(ask=not self._domain.served)

    def introduce(self, leader: str) -> None:
        """Tell the log who leads, as soon as that server's name is known."""
        server = self.seen.server(leader) or self._domain.state.servers.get(leader)
        named = server is not None and bool(server.name)
        self._unnamed = "" if named else leader
        if server is not None and named:
            log = self._domain.surroundings.log
            log.info(f"JetStream cluster new metadata leader: {server.name}/{server.cluster}")

    # --- who belongs here

    def removed(self, server: NodeInfo) -> None:
        """A server was removed for good: as long as it is the same process it is not let in again."""
        self._removed[server.node] = self.seen.process(server.id)

    def returned(self, server: NodeInfo) -> None:
        """A server was let in."""
        self._removed.pop(server.node, None)

    def wanted(self) -> frozenset[str] | None:
        """The nodes that shall be members of the meta group, None for everyone who comes."""
        group = self._domain.group
        if not self._removed or group is None:
            return None
        there = {node_of(member) for member in group.members.all}
        there.update(report.server.node for report in self.seen.reports(self._clock.now()))
        return frozenset(there - self._removed.keys())

    # --- what others say

    def _heard(self, message: Message) -> None:
        try:
            report = NodeReport.decode(message.body)
        except NodeReportError:
            return
        if report.process == self._process:
            return
        self._take(report)
        if report.ask:
            self.say()

    def _take(self, report: NodeReport) -> None:
        node, now = report.server.node, self._clock.now()
        self.seen.hear(report, now)
        if self._unnamed and self._unnamed == report.server.id:
            self.introduce(self._unnamed)
        for name, held in self._engine.accounts.items():
            count(held, self.seen.usage(name), self._domain.me)
        if self._removed.get(node, report.process) != report.process:
            del self._removed[node]  # it was started again: it may ask to be let in
        if report.term:
            self._domain.leader_is_at(report.server.id, report.term, report.index)
        if self._domain.is_leader:
            self._greet(report.server)

    def _greet(self, server: NodeInfo) -> None:
        """Let a server in, or take over what it says anew."""
        if server.id in self._greeting or server.node in self._removed:
            return
        try:
            command = self._domain.desk().greet(server)
        except ApiError:
            return  # another life took its place
        if command is None:
            return
        self._greeting.add(server.id)

        def done(outcome: list[Effect] | ApiError) -> None:
            del outcome  # what came to nothing is judged anew when the server says it again
            self._greeting.discard(server.id)

        self._domain.propose(command, done)
