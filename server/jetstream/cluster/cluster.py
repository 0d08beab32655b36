"""JetStreamCluster: this server among those that together are one JetStream.

It has a seat in the meta group, applies what that decides, and does this server's part of it; while it leads,
it lets servers in, places streams, and asks stream leaders for what it is asked. Promises: nothing is served
here before this server is as current as the group was when it started, so that what was deleted meanwhile
does not come back; `stop` leaves nothing behind.
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
from ..api.cluster.api_router import ClusterApiRouter
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
from ..meta.responder import LeaderStatus, MetaRole, ResponderState, asset_of, meta_of
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
    from ...accounts.message import Message
    from ...accounts.subscription import Subscription
    from ...cluster.raft_node import RaftNode
    from ..account.account import JetStreamAccount
    from ..engine import JetStream
    from ..meta.usage import Reports
    from .local_stream import LocalStream

TELL = "$JSC.META"
Decided = Callable[[list[Effect] | ApiError], None]


class JetStreamCluster:
    """surroundings: for the seats of streams.

    expected: who must be there before the meta group may be founded; to be set before the start. served:
    whether what is assigned here is opened.
    """

    expected: Callable[[], BootstrapExpect]

    def __init__(self, engine: JetStream, carrier: Account) -> None:
        assert engine.host is not None
        self._engine = engine
        self._host = host = engine.host
        self._carrier = carrier
        options = engine.options.jetstream
        self.node = name_hash(host.server_name)
        pacemaker = Ticker(host.clock)
        self.surroundings = GroupEnvironment(
            name=host.server_name,
            server=host.server_id,
            node=self.node,
            domain=options.domain,
            path=f"{options.store_dir}/cluster",
            mailbox=RaftTransport(self.node, carrier, host.runner, pacemaker),
            runner=host.runner,
            pacemaker=pacemaker,
            clock=host.clock,
            fs=Disk(),
            log=host.log,
            random_bytes=os.urandom,
            reader=engine.reader,
        )
        self._dice = self.surroundings.random()
        self._dispatch = Reconciler(self, engine.accounts)
        self.gate = ClusterApiRouter(self)
        self._system_api = ClusterApi(self, carrier, host)
        self.answers = ReplyRouter(self.node, carrier, engine.accounts, host.clock)
        self._questions = LeaderQueries(self.node, carrier, host.clock, host.runner, self.assets)
        self.servers = NodeTracker(self, engine, carrier)
        self._machine: MetaStateMachine | None = None
        self._seat: RaftMember | None = None
        self._leader = ""
        self._leaderless_since = host.clock.now()
        self._ever_led = False
        self._observes: Callable[[], bool] = lambda: False
        self._halting = False  # what was served by a former life is being stopped
        self.served = False
        self._goal = -1  # the index from which on this server is current; -1: not known yet
        self._subscription: Subscription | None = None

    # --- life

    def extend(self, hubs: Callable[[], Collection[str]]) -> None:
        """Belong to a hub's JetStream if that has this domain. hubs: the domains of those that are joined."""
        around, options = self.surroundings, self._engine.options.jetstream
        self._observes = MetaExtension(
            options.domain, hubs, path=options.store_dir, fs=around.fs, log=around.log
        ).observes

    async def start(self) -> None:
        """Take the seat."""
        self.surroundings.mailbox.start()
        self._questions.start()
        self.answers.start()
        self._subscription = self._carrier.subscribe(TELL, self._told)
        self._seat = RaftMember(
            META,
            self.surroundings,
            self._make,
            self,
            expected=lambda: BootstrapExpect() if self._observes() else self.expected(),
            wanted=self.servers.wanted,
            observes=self._observes,
        )
        self._seat.start()
        self.servers.start()
        self._system_api.start()

    async def stop(self) -> None:
        """Leave it; everything stored is on disk afterwards."""
        self._system_api.stop()
        self.servers.stop()
        over = asyncio.Event()
        seat, self._seat = self._seat, None
        if seat is not None:
            seat.stop(over.set)
            await over.wait()
            over.clear()
        self._dispatch.stop(over.set)
        await over.wait()
        self.surroundings.pacemaker.remove(self._serve)
        self._questions.stop()
        self.answers.stop()
        self.surroundings.mailbox.stop()
        if self._subscription is not None:
            self._carrier.unsubscribe(self._subscription)

    def hand_over(self) -> None:
        """This server is going to go away: let others lead."""
        for asset in list(self.assets.values()):
            if asset.membership is not None and asset.leads():
                asset.step_down("", _nothing)
        step_down.step_down(self, self._dice, "")

    def account_came(self, held: JetStreamAccount) -> None:
        """An account has JetStream here from now on: what is assigned of it is opened."""
        if self.served and self._machine is not None:
            inventory = self._dispatch.inventory([held])
            duties = list(self._machine.begin(inventory))
            self._dispatch.begin(duty for duty in duties if key_of(duty)[0] == held.name)

    def account_left(self, name: str, done: Callable[[], None]) -> None:
        """An account has it no more: `done` is called when its streams are closed, their files stay."""
        self._dispatch.stop(done, name)

    def route_left(self, server_id: str) -> None:
        """There is no route to that server any more."""
        self.servers.seen.lost(server_id)
        if self._seat is not None:
            self._seat.server_lost(server_id)
        for asset in list(self.assets.values()):
            asset.server_lost(server_id)

    def route_joined(self) -> None:
        """There is a route to one more server."""
        self.servers.say(ask=True)

    # --- what it is

    @property
    def me(self) -> str:
        """This server's id in the meta group; "" before the disk was asked."""
        return "" if self._machine is None else self._machine.me

    @property
    def system(self) -> Account:
        """The system account."""
        return self._carrier

    @property
    def state(self) -> MetaState:
        """What the meta group has decided, as far as it is known here."""
        return MetaState() if self._machine is None else self._machine.state

    @property
    def group(self) -> RaftNode | None:
        """The meta group's member here, once it has begun."""
        return None if self._seat is None else self._seat.group

    @property
    def assets(self) -> dict[tuple[str, str], LocalStream]:
        """This server's replicas by (account, stream)."""
        return self._dispatch.assets

    @property
    def failures(self) -> Mapping[tuple[str, str], str]:
        """Why a replica could not be opened, by (account, stream)."""
        return self._dispatch.failures

    @property
    def sights(self) -> Mapping[str, NodeStatus]:
        """What is seen of the members, by id."""
        return self.servers.seen.view(self._host.clock.now())

    @property
    def led(self) -> LeaderStatus:
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
        """Whether it leads, knows all that was decided before, and is heard by a majority."""
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
        """The meta member of a node; "" for one that was never heard of."""
        found = self.state.named(node)
        return self.servers.seen.member(node) if found is None else found.id

    def standing(self, account: str, stream: str = "", consumer: str = "") -> ResponderState:
        """Where this server stands with a request about this."""
        state, me = self.state, self.me
        meta = meta_of(me, self.led)
        if meta is MetaRole.LEADER and not self.is_leader:
            meta = MetaRole.FOLLOWER
        system = self._engine.registry.system is not None and account == self._engine.registry.system.name
        if not stream:
            return ResponderState(meta, system=system)
        asset = self.assets.get((account, stream))
        where = asset_of(
            state.stream(account, stream), self.sights, me, None if asset is None else asset.led()
        )
        exists = not consumer or state.consumer(account, stream, consumer) is not None
        return ResponderState(meta, where, exists, system)

    def usage(self, account: str) -> Reports:
        """What the servers use of an account."""
        return self.servers.seen.usage(account)

    def lags(self, account: str, stream: str) -> tuple[str, dict[str, int]]:
        """(leader, operations that each member is behind) of a stream's group, as its leader said last."""
        return self.servers.seen.lags(account, stream)

    # --- decisions

    def desk(self) -> MetaPlanner:
        """Where wishes become commands, by what is known now."""
        return MetaPlanner(self.state, self.sights, self._dice, self.policy)

    def propose(self, command: Command, done: Decided) -> None:
        """Have the meta group decide; `done` is given what became of it, or error 10008.

        Only a leader gets an answer other than the error; after it the command may still have its way.
        """
        group, machine = self.group, self._machine
        if group is None or machine is None or not self.is_leader:
            done(api_error("JSClusterNotAvailErr"))
            return

        def decided(outcome: Outcome) -> None:
            if isinstance(outcome, ProposalError):
                done(api_error("JSClusterNotAvailErr"))
            else:
                done(machine.outcome(outcome))

        group.propose([encode(command)], decided)

    def tell(self, command: PeersConfirmed | GroupStarted | DeleteConsumer | PreferLeader) -> None:
        """Let whoever leads the meta group propose this; nothing is promised of it."""
        if self.is_leader:
            self.propose(command, _ignore)
        else:
            self._carrier.publish(TELL, encode(command))

    def _told(self, message: Message) -> None:
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
        done(step_down.step_down(self, self._dice, preferred))

    def successor(self, server: str = "", cluster: str = "", tags: Collection[str] = ()) -> str:
        """Whom the leader would hand over to. Raises ApiError 10005."""
        return step_down.successor(self, self._dice, server=server, cluster=cluster, tags=tags)

    def remove_server(self, name: str, peer: str, done: Decided) -> None:
        """Remove a server for good, by name or by peer; only a leader can. Raises ApiError 10044."""
        self.propose(self.desk().remove_server(name, peer), done)

    # --- monitoring

    def meta_cluster(self) -> Json:
        """The `meta_cluster` of jsz."""
        return monitoring.meta_cluster(self)

    @property
    def failure(self) -> str:
        """Why the seat in the meta group cannot be taken, "" for nothing."""
        group = self.group
        if group is not None and group.failure:
            return group.failure
        return "" if self._seat is None else self._seat.failure

    @property
    def stalemate(self) -> str:
        """Why nobody can lead the meta group, "" while somebody does or may."""
        return "" if self._seat is None else self._seat.stalemate()

    # --- questions

    def when_up(
        self, account: str, stream: str, consumer: str, done: Callable[[Json | None], None]
    ) -> Callable[[], None]:
        """Call `done` once: with what the leader of a new or changed one tells now, or None after 4 s.

        Gives what ends the waiting without a call.
        """
        return self._questions.when_up((account, stream, consumer), done)

    def say_up(self, account: str, stream: str, consumer: str, info: Json) -> None:
        """A new stream or consumer is served by this server, which leads it."""
        self._questions.say_up((account, stream, consumer), info)

    def ask_all(
        self, kind: Kind, account: str, stream: str, consumer: str, take: Take, names: Collection[str] = ()
    ) -> Callable[[], None]:
        """Ask the leaders for infos: of an account's streams ("SI"), or of a stream's consumers ("CI").

        stream, consumer: "" for all; names: only those of them. take: is given (name, info) of each that
        comes within 4 s; what this gives ends it earlier.
        """
        return self._questions.ask(kind, account, stream, consumer, take, names)

    # --- the meta group

    def _make(self) -> MetaStateMachine:
        """The application of a new life, or of the same after its group was started again."""
        assert self._seat is not None
        self._halt(self._serve)
        self._machine = MetaStateMachine(self._seat.member, self._dispatch.do, self._effect)
        return self._machine

    def _halt(self, then: Callable[[], None]) -> None:
        """Serve nothing until it is known anew what is assigned here."""
        self.served, self._goal, self._halting = False, -1, True
        self.surroundings.pacemaker.remove(self._serve)
        self.surroundings.pacemaker.add(self._serve)  # until it is done

        def halted() -> None:
            self._halting = False
            then()

        self._dispatch.stop(halted)

    def leading(self, group: RaftNode) -> None:
        """See cluster.Owner."""
        assert self._machine is not None
        self._machine.lead()
        self._goal = group.applied
        self._host.log.info("Self is new JetStream cluster metadata leader")
        self._serve()
        self.servers.lead()
        advisories.meta_leader_elected(self, self._host)

    def following(self, group: RaftNode) -> None:
        """See cluster.Owner."""
        del group
        if self._machine is not None:
            self._machine.follow()

    def leader_changed(self, group: RaftNode) -> None:
        """See cluster.Owner."""
        if self._leader and not group.leader:
            self._leaderless_since = self._host.clock.now()
        self._leader = group.leader
        if not group.leader:
            self._host.log.info("JetStream cluster no metadata leader")
            return
        self._ever_led = True
        if group.leader != self.me:
            self.servers.introduce(group.leader)
        self.servers.say(ask=not self.served)

    def failed(self, group: RaftNode) -> None:
        """See cluster.Owner: healthz tells."""

    def _effect(self, effect: Effect) -> None:
        """Something was decided, on all servers."""
        self.gate.decided(effect)
        if isinstance(effect, ServerUpdated | ServerReplaced):
            self.servers.returned(effect.server)
            if effect.server.id == self.me:
                self._host.runner.soon(self._serve)
        elif isinstance(effect, ServerRemoved):
            if effect.server.id != self.me:
                self.servers.removed(effect.server)
            elif self.served:  # else it is told of what it was before it started
                self._host.runner.soon(self._expelled)
        if isinstance(effect, ServerUpdated | ServerReplaced | ServerRemoved):
            self._host.runner.soon(self.heal)

    def _expelled(self) -> None:
        """This server was removed from the cluster: it serves nothing more before it is started again."""
        self._host.log.error("JetStream being DISABLED, our server was removed from the cluster")
        advisories.server_removed(self._carrier, self._host)
        self.servers.stop()
        self._system_api.stop()
        seat, self._seat = self._seat, None
        if seat is not None:
            seat.stop(_nothing)
        self._halt(self._engine.leave)
        self.surroundings.pacemaker.remove(self._serve)

    # --- as time passes

    def leader_is_at(self, member: str, term: int, index: int) -> None:
        """The leader of that term says how far it is: who is as far is as current as it was."""
        group = self.group
        if group is not None and member == group.leader and term == self.term and self._goal < 0:
            self._goal = index

    def _serve(self) -> None:
        """Open what is assigned here, once that is known to be so."""
        group, machine = self.group, self._machine
        if self.served or self._halting or group is None or machine is None:
            return
        if not 0 <= self._goal <= group.applied or machine.me not in machine.state.servers:
            return
        self.served = True
        self.surroundings.pacemaker.remove(self._serve)
        inventory = self._dispatch.inventory(self._engine.accounts.values())
        self._dispatch.sweep()
        self._dispatch.begin(list(machine.begin(inventory)))

    def heal(self) -> None:
        """Give streams that lack peers some, now that there may be servers."""
        if self.is_leader:
            for command in self.desk().heal():
                self.propose(command, _ignore)


def _nothing(*_: object) -> None:
    """Nobody waits for it."""


def _ignore(_outcome: list[Effect] | ApiError) -> None:
    """Nobody waits for it."""
