"""JetStreamCluster: this server as one of those that together are one JetStream.

It puts the parts together: this server's member of the meta group, the parts that carry out what the group
decides, and those that inform the other servers.

Promises:
- Nothing is served here before this server is as current as the group was when it started, so that what was
  deleted meanwhile does not come back.
- `stop` leaves nothing running.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from ....protocol.identifier import name_hash
from ...cluster.announce import node_of
from ...cluster.bootstrap import BootstrapExpect
from ...cluster.environment import CompactionThreshold, GroupEnvironment
from ...cluster.read_turn import ReadTurn
from ...cluster.ticker import Ticker
from ...cluster.transport import RaftTransport
from ..meta.effect import Effect, ServerRemoved, ServerReplaced, ServerUpdated
from ..meta.node_info import NodeInfo
from ..meta.placement import PlacementPolicy
from . import advisories, monitoring
from .context import ClusterContext
from .leader_queries import LeaderQueries
from .leaf_links import LeafLinks
from .local_info import LocalStreamContext
from .meta_group import MetaExtension, MetaGroup
from .node_status import NodeStatuses
from .node_tracker import NodeTracker
from .proposer import Proposer
from .reconciler import Reconciler, key_of
from .reply_router import ReplyRouter
from .served_requests import ServedRequests
from .view import ClusterView

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ...config.options import Options
    from ...task_executor import TaskExecutor
    from ..account.account import JetStreamAccount
    from ..host import JetStreamHost
    from ..meta.reconcile import ReconcileAction
    from ..quota import Quota
    from .local_stream import LocalStream


class ClusterService(Protocol):
    """A service that runs while this server is a member of the cluster."""

    def start(self) -> None:
        """Begin to serve."""

    def stop(self) -> None:
        """Stop serving; a second call does nothing."""


class JetStreamCluster:
    """This server's part in the cluster.

    view: what this server knows of the cluster.
    context: what the API's handlers get.
    leaf_links: is told of leaf connections that are lost.

    To be set before the start:

    expected: returns which servers must be there before the meta group may be bootstrapped.
    system_api: the API of the system account.
    on_effect: is called with each effect of what the group decides.
    migrates: returns whether the streams of an account should not be led here now.

    Arguments:

    accounts: those that have JetStream here, by name.
    options: returns the present options.
    quotas: the server's, for memory and for files.
    read_executor: reads files of streams.
    leave: is called to stop everything that is served here.
    """

    expected: Callable[[], BootstrapExpect]
    system_api: ClusterService
    on_effect: Callable[[Effect], None]

    def __init__(
        self,
        host: JetStreamHost,
        system: Account,
        accounts: dict[str, JetStreamAccount],
        *,
        options: Callable[[], Options],
        quotas: tuple[Quota, Quota],
        read_executor: TaskExecutor,
        leave: Callable[[], None],
    ) -> None:
        self._host = host
        self._system = system
        self._accounts = accounts
        self._options = options
        self._memory, self._files = quotas
        self._leave = leave
        self.migrates: Callable[[str], bool] = lambda account: False
        self._halting = False  # what an earlier incarnation served is being stopped
        self._observes: Callable[[], bool] = lambda: False
        self._served = ServedRequests(system, host.clock)
        self._environment = environment = _make_environment(
            host, system, options().jetstream.store_dir, read_executor, self._served.tell
        )
        self._ticker = environment.ticker
        local_streams: dict[tuple[str, str], LocalStream] = {}
        failures: dict[tuple[str, str], str] = {}
        node_statuses, random = NodeStatuses(), environment.random()
        self._compaction = CompactionThreshold()
        self._meta_group = MetaGroup(replace(environment, compaction=self._compaction), self)
        self.view = view = ClusterView(
            environment.node, system, host, self._meta_group, node_statuses, local_streams, failures
        )
        self._proposer = Proposer(self._meta_group, view, random, self._policy)
        self._queries = LeaderQueries(view.node, system, host.clock, host.executor, local_streams)
        self._replies = ReplyRouter(view.node, system, accounts, host.clock)
        forward, announce = self._proposer.forward, self._queries.announce_served
        context = LocalStreamContext(environment, system, view, forward, announce, self._may_not_lead)
        self._reconciler = Reconciler(context, accounts, local_streams, failures)
        self._node_tracker = NodeTracker(
            environment,
            view,
            self._proposer,
            node_statuses,
            accounts,
            self._node_info,
            self._meta_group.leader_is_at,
        )
        self.leaf_links = LeafLinks(system, host, node_statuses, self.route_left, self.route_joined)
        self.context = ClusterContext(
            view,
            self._proposer,
            self._queries,
            self._replies,
            self._served,
            host.clock,
            host.executor,
            self._ticker,
            random,
        )

    def _node_info(self) -> NodeInfo:
        """Return this server as the meta group should know it."""
        return NodeInfo(
            self.view.me,
            self._host.server_name,
            self._host.cluster_name,
            self._host.domain,
            tuple(tag.lower() for tag in self._options().server_tags),
            self._memory.limit,
            self._files.limit,
        )

    def _may_not_lead(self, account: str) -> bool:
        """Return whether the streams of an account should not be led here now."""
        return self.migrates(account)

    def _policy(self) -> PlacementPolicy:
        """Return the rules by which streams are placed."""
        options = self._options().jetstream
        return PlacementPolicy(options.unique_tag, options.limits.max_ha_assets)

    def follow_options(self) -> None:
        """Apply the present options."""
        options = self._options().jetstream
        self._compaction.entries, self._compaction.bytes = options.meta_compact, options.meta_compact_size

    # --- start and stop

    def extend(self, hubs: Callable[[], Collection[str]]) -> None:
        """Join a hub's JetStream if the hub has this server's domain.

        hubs: returns the domains of the hubs that are joined now.
        """
        environment, options = self._environment, self._options().jetstream
        self._observes = MetaExtension(
            options.domain, hubs, path=options.store_dir, fs=environment.fs, log=environment.log
        ).observes

    async def start(self) -> None:
        """Join the meta group."""
        self.follow_options()
        self._environment.transport.start()
        self._queries.start()
        self._replies.start()
        self._served.start()
        self._proposer.start()
        self._meta_group.start(self.expected, self._node_tracker.wanted, self._observes)
        self._node_tracker.start()
        self.leaf_links.start()
        self.system_api.start()

    async def stop(self) -> None:
        """Leave the meta group, and stop serving; everything stored is on disk afterwards."""
        self.system_api.stop()
        self._node_tracker.stop()
        self.leaf_links.stop()
        over = asyncio.Event()
        self._meta_group.stop(over.set)
        await over.wait()
        over.clear()
        self._reconciler.stop(over.set)
        await over.wait()
        self._ticker.remove(self._serve)
        self._queries.stop()
        self._replies.stop()
        self._served.stop()
        self._environment.transport.stop()
        self._proposer.stop()

    def hand_over(self) -> None:
        """Let other servers lead everything that is led here, because this server is about to stop."""
        for local in list(self.view.local_streams.values()):
            if local.membership is not None and local.leads():
                local.step_down("", _nothing)
        self._proposer.step_down("")

    def join_clusters(self, others: Callable[[], Sequence[str]]) -> None:
        """Be one JetStream with the clusters that gateways join to this one.

        others: returns their names, the nearest one first.
        """
        self.view.other_clusters = others

    # --- accounts and connections to other servers

    def account_added(self, account: JetStreamAccount) -> None:
        """Open what is assigned here of an account that has JetStream from now on."""
        if self._meta_group.served:
            actions = self._meta_group.begin(self._reconciler.inventory([account]))
            self._reconciler.begin(action for action in actions if key_of(action)[0] == account.name)

    def account_removed(self, name: str, done: Callable[[], None]) -> None:
        """Close the streams of an account that lost JetStream, then call `done`; their files stay."""
        self._reconciler.stop(done, name)

    def route_left(self, server_id: str) -> None:
        """Note that there is no route to that server any more."""
        self._node_tracker.server_lost(server_id)
        self._meta_group.server_lost(server_id)
        for local in list(self.view.local_streams.values()):
            local.server_lost(server_id)

    def route_joined(self) -> None:
        """Exchange reports with a server to which there is a new route or gateway."""
        self._node_tracker.publish(ask=True)

    # --- MetaGroupListener

    def restarted(self) -> None:
        """See MetaGroupListener."""
        self._halt(self._serve)

    def act(self, action: ReconcileAction) -> None:
        """See MetaGroupListener."""
        self._reconciler.do(action)

    def decided(self, effect: Effect) -> None:
        """See MetaGroupListener."""
        self.on_effect(effect)
        soon = self._host.executor.soon
        if isinstance(effect, ServerUpdated | ServerReplaced):
            self._node_tracker.returned(effect.server)
            if effect.server.id == self.view.me:
                soon(self._serve)
        elif isinstance(effect, ServerRemoved):
            if effect.server.id != self.view.me:
                self._node_tracker.removed(effect.server)
            elif self.view.served:  # otherwise the log repeats what happened before this server started
                soon(self._expelled)
        if isinstance(effect, ServerUpdated | ServerReplaced | ServerRemoved):
            soon(self._proposer.heal)

    def leading(self) -> None:
        """See MetaGroupListener."""
        self._host.log.info("Self is new JetStream cluster metadata leader")
        self._serve()
        self._node_tracker.publish(ask=True)
        others = monitoring.meta_cluster(self.view).get("replicas", [])
        advisories.meta_leader_elected(self._system, self._host, node_of(self.view.me), others)

    def leader_changed(self) -> None:
        """See MetaGroupListener."""
        leader = self._meta_group.leader
        if not leader:
            self._host.log.info("JetStream cluster no metadata leader")
            return
        if leader != self.view.me:
            self._node_tracker.log_leader(leader)
        self._node_tracker.publish(ask=not self.view.served)

    # --- what is served here

    def _serve(self) -> None:
        """Open what is assigned here, once this server is current enough to know it."""
        if self._meta_group.served or self._halting or not self._meta_group.current:
            return
        self._ticker.remove(self._serve)
        inventory = self._reconciler.inventory(self._accounts.values())
        self._reconciler.sweep()
        self._reconciler.begin(self._meta_group.begin(inventory))

    def _halt(self, then: Callable[[], None]) -> None:
        """Stop serving, until it is known again what is assigned here; call `then` when that is done."""
        self._meta_group.suspend()
        self._halting = True
        self._ticker.remove(self._serve)
        self._ticker.add(self._serve)  # tried again at each tick until it succeeds

        def halted() -> None:
            self._halting = False
            then()

        self._reconciler.stop(halted)

    def _expelled(self) -> None:
        """Stop serving until the next start, because this server was removed from the cluster."""
        self._host.log.error("JetStream being DISABLED, our server was removed from the cluster")
        advisories.server_removed(self._system, self._host)
        self._node_tracker.stop()
        self.system_api.stop()
        self._meta_group.stop(_nothing)
        self._halt(self._leave)
        self._ticker.remove(self._serve)


def _make_environment(
    host: JetStreamHost,
    system: Account,
    store_dir: str,
    read_executor: TaskExecutor,
    handing_over: Callable[[], None],
) -> GroupEnvironment:
    """Return the environment of this server's Raft groups."""
    node, ticker = name_hash(host.server_name), Ticker(host.clock)
    return GroupEnvironment(
        name=host.server_name,
        server=host.server_id,
        node=node,
        domain=host.domain,
        path=f"{store_dir}/cluster",
        transport=RaftTransport(
            node, system, host.executor, ticker, turn=ReadTurn(host.executor, system.flusher)
        ),
        executor=host.executor,
        ticker=ticker,
        clock=host.clock,
        fs=host.disk.prompt(),
        log=host.log,
        random_bytes=os.urandom,
        read_executor=read_executor,
        handing_over=handing_over,
    )


def _nothing(*_: object) -> None:
    """Do nothing: nobody waits for the result."""
