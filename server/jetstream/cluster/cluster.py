"""JetStreamCluster: this server among those that together are one JetStream.

It is a member of the meta group, applies what that decides, and does this server's part of it. While it
leads, it admits servers, places streams, and queries stream leaders to answer requests. Promises: nothing is
served here before this server is as current as the group was when it started, so that what was deleted
meanwhile does not come back; `stop` leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from ....protocol.errors import ApiError, api_error
from ....protocol.identifier import name_hash
from ....store.fs import Disk
from ...cluster.bootstrap import BootstrapExpect
from ...cluster.member import GroupEnvironment, RaftMember
from ...cluster.proposals import Outcome, ProposalError
from ...cluster.ticker import Ticker
from ...cluster.transport import RaftTransport
from ..api.cluster.router import ClusterApiRouter
from ..api.cluster.system_api import ClusterApi
from ..meta import placement
from ..meta.command import (
    Command,
    DeleteConsumer,
    GroupStarted,
    MetaCommandError,
    PeersConfirmed,
    PreferLeader,
    decode,
    encode,
)
from ..meta.effect import Effect, ServerRemoved, ServerReplaced, ServerUpdated
from ..meta.node_info import NodeStatus
from ..meta.placement import PlacementPolicy
from ..meta.planner import MetaPlanner
from ..meta.responder import LeaderStatus, MetaRole, ResponderState, meta_role, stream_role
from ..meta.state import MetaState
from ..meta.state_machine import MetaStateMachine
from . import advisories, monitoring, step_down
from .leader_queries import Json, Kind, LeaderQueries, Take
from .meta_extension import MetaExtension
from .node_tracker import NodeTracker
from .reconciler import META, Reconciler, key_of
from .reply_router import ReplyRouter

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ...accounts.subscription import Message, Subscription
    from ...cluster.raft_node import RaftNode
    from ..account.account import JetStreamAccount
    from ..engine import JetStream
    from ..meta.usage import Reports
    from .local_stream import LocalStream

TELL = "$JSC.META"
Decided = Callable[[list[Effect] | ApiError], None]


class JetStreamCluster:
    """environment: for the Raft groups of streams.

    expected: which servers must be there before the meta group may be bootstrapped; to be set before the
    start. served: whether what is assigned here is opened.
    """

    expected: Callable[[], BootstrapExpect]

    def __init__(self, engine: JetStream, system: Account) -> None:
        assert engine.host is not None
        self._engine = engine
        self._host = host = engine.host
        self._system = system
        options = engine.options.jetstream
        self.node = name_hash(host.server_name)
        ticker = Ticker(host.clock)
        self.environment = GroupEnvironment(
            name=host.server_name,
            server=host.server_id,
            node=self.node,
            domain=options.domain,
            path=f"{options.store_dir}/cluster",
            transport=RaftTransport(self.node, system, host.executor, ticker),
            executor=host.executor,
            ticker=ticker,
            clock=host.clock,
            fs=Disk(),
            log=host.log,
            random_bytes=os.urandom,
            reader=engine.reader,
        )
        self._random = self.environment.random()
        self._reconciler = Reconciler(self, engine.accounts)
        self.api_router = ClusterApiRouter(self)
        self._system_api = ClusterApi(self, system, host)
        self.reply_router = ReplyRouter(self.node, system, engine.accounts, host.clock)
        self._leader_queries = LeaderQueries(self.node, system, host.clock, host.executor, self.local_streams)
        self.node_tracker = NodeTracker(self, engine, system)
        self._state_machine: MetaStateMachine | None = None
        self._member: RaftMember | None = None
        self._leader = ""
        self._leaderless_since = host.clock.now()
        self._ever_led = False
        self._observes: Callable[[], bool] = lambda: False
        self._halting = False  # what an earlier incarnation served is being stopped
        self.served = False
        self._goal = -1  # the index from which on this server is current; -1: not known yet
        self._subscription: Subscription | None = None

    # --- start and stop

    def extend(self, hubs: Callable[[], Collection[str]]) -> None:
        """Belong to a hub's JetStream if that has this domain. hubs: the domains of those that are joined."""
        environment, options = self.environment, self._engine.options.jetstream
        self._observes = MetaExtension(
            options.domain, hubs, path=options.store_dir, fs=environment.fs, log=environment.log
        ).observes

    async def start(self) -> None:
        """Join the meta group."""
        self.environment.transport.start()
        self._leader_queries.start()
        self.reply_router.start()
        self._subscription = self._system.subscribe(TELL, self._received)
        self._member = RaftMember(
            META,
            self.environment,
            self._make,
            self,
            expected=lambda: BootstrapExpect() if self._observes() else self.expected(),
            wanted=self.node_tracker.wanted,
            observes=self._observes,
        )
        self._member.start()
        self.node_tracker.start()
        self._system_api.start()

    async def stop(self) -> None:
        """Leave it; everything stored is on disk afterwards."""
        self._system_api.stop()
        self.node_tracker.stop()
        over = asyncio.Event()
        member, self._member = self._member, None
        if member is not None:
            member.stop(over.set)
            await over.wait()
            over.clear()
        self._reconciler.stop(over.set)
        await over.wait()
        self.environment.ticker.remove(self._serve)
        self._leader_queries.stop()
        self.reply_router.stop()
        self.environment.transport.stop()
        if self._subscription is not None:
            self._system.unsubscribe(self._subscription)

    def hand_over(self) -> None:
        """This server is going to go away: let others lead."""
        for local in list(self.local_streams.values()):
            if local.membership is not None and local.leads():
                local.step_down("", _nothing)
        step_down.step_down(self, self._random, "")

    def account_came(self, account: JetStreamAccount) -> None:
        """An account has JetStream here from now on: what is assigned of it is opened."""
        if self.served and self._state_machine is not None:
            inventory = self._reconciler.inventory([account])
            actions = list(self._state_machine.begin(inventory))
            self._reconciler.begin(action for action in actions if key_of(action)[0] == account.name)

    def account_left(self, name: str, done: Callable[[], None]) -> None:
        """An account has it no more: `done` is called when its streams are closed, their files stay."""
        self._reconciler.stop(done, name)

    def route_left(self, server_id: str) -> None:
        """There is no route to that server any more."""
        self.node_tracker.node_statuses.lost(server_id)
        if self._member is not None:
            self._member.server_lost(server_id)
        for local in list(self.local_streams.values()):
            local.server_lost(server_id)

    def route_joined(self) -> None:
        """There is a route to one more server."""
        self.node_tracker.publish(ask=True)

    # --- what it is

    @property
    def me(self) -> str:
        """This server's id in the meta group; "" before the disk was asked."""
        return "" if self._state_machine is None else self._state_machine.me

    @property
    def system(self) -> Account:
        """The system account."""
        return self._system

    @property
    def state(self) -> MetaState:
        """What the meta group has decided, as far as it is known here."""
        return MetaState() if self._state_machine is None else self._state_machine.state

    @property
    def group(self) -> RaftNode | None:
        """The meta group's member here, once it has begun."""
        return None if self._member is None else self._member.group

    @property
    def local_streams(self) -> dict[tuple[str, str], LocalStream]:
        """This server's replicas by (account, stream)."""
        return self._reconciler.local_streams

    @property
    def failures(self) -> Mapping[tuple[str, str], str]:
        """Why a replica could not be opened, by (account, stream)."""
        return self._reconciler.failures

    @property
    def node_statuses(self) -> Mapping[str, NodeStatus]:
        """The status of each member, by id."""
        return self.node_tracker.node_statuses.view(self._host.clock.now())

    @property
    def leader_status(self) -> LeaderStatus:
        """Who leads the meta group."""
        since = 0 if self._leader else self._host.clock.now() - self._leaderless_since
        return LeaderStatus(self._leader, since, self._ever_led)

    @property
    def term(self) -> int:
        """The meta group's term as it is known here."""
        group = self.group
        return 0 if group is None or group.node is None else group.node.term

    @property
    def is_leader(self) -> bool:
        """Whether it leads, has applied all that was decided before, and a majority follows it."""
        group = self.group
        return group is not None and group.ready and group.node is not None and group.node.accepts

    @property
    def policy(self) -> PlacementPolicy:
        """By which rules streams are placed."""
        options = self._engine.options.jetstream
        return PlacementPolicy(options.unique_tag, options.limits.max_ha_assets)

    @property
    def ha_assets(self) -> int:
        """How many replicated streams and consumers this server holds, and the meta group."""
        load = placement.loads(self.state).get(self.me)
        return 1 + (0 if load is None else load.ha_assets)

    def member(self, node: str) -> str:
        """The meta member of a node; "" for an unknown node."""
        found = self.state.named(node)
        return self.node_tracker.node_statuses.member(node) if found is None else found.id

    def responder_state(self, account: str, stream: str = "", consumer: str = "") -> ResponderState:
        """This server's part in answering a request about this."""
        state, me = self.state, self.me
        meta = meta_role(me, self.leader_status)
        if meta is MetaRole.LEADER and not self.is_leader:
            meta = MetaRole.FOLLOWER
        system = self._engine.registry.system is not None and account == self._engine.registry.system.name
        if not stream:
            return ResponderState(meta, system=system)
        local = self.local_streams.get((account, stream))
        leader = None if local is None else local.leader_status()
        where = stream_role(state.stream(account, stream), self.node_statuses, me, leader)
        exists = not consumer or state.consumer(account, stream, consumer) is not None
        return ResponderState(meta, where, exists, system)

    def usage(self, account: str) -> Reports:
        """What the servers use of an account."""
        return self.node_tracker.node_statuses.usage(account)

    def lags(self, account: str, stream: str) -> tuple[str, dict[str, int]]:
        """(leader, operations each member is behind) of a stream's group, as its leader last reported."""
        return self.node_tracker.node_statuses.lags(account, stream)

    # --- decisions

    def planner(self) -> MetaPlanner:
        """What turns requests into commands, by what is known now."""
        return MetaPlanner(self.state, self.node_statuses, self._random, self.policy)

    def propose(self, command: Command, done: Decided) -> None:
        """Have the meta group decide; `done` is given what became of it, or error 10008.

        Only a leader gets an answer other than the error; after it the command may still be applied.
        """
        group, state_machine = self.group, self._state_machine
        if group is None or state_machine is None or not self.is_leader:
            done(api_error("JSClusterNotAvailErr"))
            return

        def decided(outcome: Outcome) -> None:
            if isinstance(outcome, ProposalError):
                done(api_error("JSClusterNotAvailErr"))
            else:
                done(state_machine.outcome(outcome))

        group.propose([encode(command)], decided)

    def forward_proposal(
        self, command: PeersConfirmed | GroupStarted | DeleteConsumer | PreferLeader
    ) -> None:
        """Let whoever leads the meta group propose this; nothing is promised of it."""
        if self.is_leader:
            self.propose(command, _ignore)
        else:
            self._system.publish(TELL, encode(command))

    def _received(self, message: Message) -> None:
        if not self.is_leader:
            return
        try:
            command = decode(message.body)
        except MetaCommandError:
            return
        if isinstance(command, PeersConfirmed | GroupStarted | DeleteConsumer | PreferLeader):
            self.propose(command, _ignore)

    def step_down(self, preferred: str, done: Callable[[ApiError | None], None]) -> None:
        """Hand the lead of the meta group over, to `preferred` (a member's id) or whoever can take it."""
        done(step_down.step_down(self, self._random, preferred))

    def successor(self, server: str = "", cluster: str = "", tags: Collection[str] = ()) -> str:
        """Whom the leader would hand over to. Raises ApiError 10005."""
        return step_down.successor(self, self._random, server=server, cluster=cluster, tags=tags)

    def remove_server(self, name: str, peer: str, done: Decided) -> None:
        """Remove a server for good, by name or by peer; only a leader can. Raises ApiError 10044."""
        self.propose(self.planner().remove_server(name, peer), done)

    # --- monitoring

    def meta_cluster(self) -> Json:
        """The `meta_cluster` of jsz."""
        return monitoring.meta_cluster(self)

    @property
    def failure(self) -> str:
        """Why this server cannot join the meta group, "" for nothing."""
        group = self.group
        if group is not None and group.failure:
            return group.failure
        return "" if self._member is None else self._member.failure

    @property
    def quorum_diagnosis(self) -> str:
        """Why nobody can lead the meta group, "" while somebody does or may."""
        return "" if self._member is None else self._member.quorum_diagnosis()

    # --- queries to leaders

    def when_served(
        self, account: str, stream: str, consumer: str, done: Callable[[Json | None], None]
    ) -> Callable[[], None]:
        """Call `done` once: with what the leader of a new or changed one announces, or None after 4 s.

        Gives what ends the waiting without a call.
        """
        return self._leader_queries.when_served((account, stream, consumer), done)

    def announce_served(self, account: str, stream: str, consumer: str, info: Json) -> None:
        """A new stream or consumer is served by this server, which leads it."""
        self._leader_queries.announce_served((account, stream, consumer), info)

    def ask_all(
        self, kind: Kind, account: str, stream: str, consumer: str, take: Take, names: Collection[str] = ()
    ) -> Callable[[], None]:
        """Ask the leaders for infos: of an account's streams ("SI"), or of a stream's consumers ("CI").

        stream, consumer: "" for all; names: only those of them. take: is given (name, info) of each that
        comes within 4 s; what this gives ends it earlier.
        """
        return self._leader_queries.ask(kind, account, stream, consumer, take, names)

    # --- the meta group

    def _make(self) -> MetaStateMachine:
        """The state machine of a new incarnation, or of the same one after its group was restarted."""
        assert self._member is not None
        self._halt(self._serve)
        self._state_machine = MetaStateMachine(self._member.member, self._reconciler.do, self._effect)
        return self._state_machine

    def _halt(self, then: Callable[[], None]) -> None:
        """Serve nothing until it is known anew what is assigned here."""
        self.served, self._goal, self._halting = False, -1, True
        self.environment.ticker.remove(self._serve)
        self.environment.ticker.add(self._serve)  # until it is done

        def halted() -> None:
            self._halting = False
            then()

        self._reconciler.stop(halted)

    def leading(self, group: RaftNode) -> None:
        """See GroupListener."""
        assert self._state_machine is not None
        self._state_machine.lead()
        self._goal = group.applied
        self._host.log.info("Self is new JetStream cluster metadata leader")
        self._serve()
        self.node_tracker.lead()
        advisories.meta_leader_elected(self, self._host)

    def following(self, group: RaftNode) -> None:
        """See GroupListener."""
        del group
        if self._state_machine is not None:
            self._state_machine.follow()

    def leader_changed(self, group: RaftNode) -> None:
        """See GroupListener."""
        if self._leader and not group.leader:
            self._leaderless_since = self._host.clock.now()
        self._leader = group.leader
        if not group.leader:
            self._host.log.info("JetStream cluster no metadata leader")
            return
        self._ever_led = True
        if group.leader != self.me:
            self.node_tracker.log_leader(group.leader)
        self.node_tracker.publish(ask=not self.served)

    def failed(self, group: RaftNode) -> None:
        """See GroupListener: healthz reports it."""

    def _effect(self, effect: Effect) -> None:
        """Something was decided, on all servers."""
        self.api_router.decided(effect)
        if isinstance(effect, ServerUpdated | ServerReplaced):
            self.node_tracker.returned(effect.server)
            if effect.server.id == self.me:
                self._host.executor.soon(self._serve)
        elif isinstance(effect, ServerRemoved):
            if effect.server.id != self.me:
                self.node_tracker.removed(effect.server)
            elif self.served:  # else the log replays what was before it started
                self._host.executor.soon(self._expelled)
        if isinstance(effect, ServerUpdated | ServerReplaced | ServerRemoved):
            self._host.executor.soon(self.heal)

    def _expelled(self) -> None:
        """This server was removed from the cluster: it serves nothing more before it is started again."""
        self._host.log.error("JetStream being DISABLED, our server was removed from the cluster")
        advisories.server_removed(self._system, self._host)
        self.node_tracker.stop()
        self._system_api.stop()
        member, self._member = self._member, None
        if member is not None:
            member.stop(_nothing)
        self._halt(self._engine.leave)
        self.environment.ticker.remove(self._serve)

    # --- as time passes

    def leader_is_at(self, member: str, term: int, index: int) -> None:
        """The leader of that term has announced its index: who has applied as much is as current."""
        group = self.group
        if group is not None and member == group.leader and term == self.term and self._goal < 0:
            self._goal = index

    def _serve(self) -> None:
        """Open what is assigned here, once that is known to be so."""
        group, state_machine = self.group, self._state_machine
        if self.served or self._halting or group is None or state_machine is None:
            return
        if not 0 <= self._goal <= group.applied or state_machine.me not in state_machine.state.servers:
            return
        self.served = True
        self.environment.ticker.remove(self._serve)
        inventory = self._reconciler.inventory(self._engine.accounts.values())
        self._reconciler.sweep()
        self._reconciler.begin(list(state_machine.begin(inventory)))

    def heal(self) -> None:
        """Give streams that lack peers some, now that there may be servers."""
        if self.is_leader:
            for command in self.planner().heal():
                self.propose(command, _ignore)


def _nothing(*_: object) -> None:
    """Nobody waits for it."""


def _ignore(_outcome: list[Effect] | ApiError) -> None:
    """Nobody waits for it."""
