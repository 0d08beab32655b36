"""MetaGroup: this server's membership of the meta group, and how far it has followed the group.

It owns the member of the group and the state machine that applies what the group decides.

Promises:
- It calls its listener in the order of the log.
- `served` becomes false with each new state machine, as it is not known then what is assigned to this server.

`MetaExtension` decides whether the servers of a hub lead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from ....store.fs import write_file
from ...clock import SECOND
from ...cluster.bootstrap import BootstrapExpect
from ...cluster.environment import GroupEnvironment
from ...cluster.member import RaftMember
from ...cluster.membership_policy import MembershipPolicy
from ..meta.responder import LeaderStatus
from ..meta.state import MetaState
from ..meta.state_machine import MetaStateMachine

if TYPE_CHECKING:
    from ....store.fs import FileSystem
    from ...cluster.raft_node import RaftNode
    from ...logging import Logger
    from ..meta.effect import Effect
    from ..meta.reconcile import ReconcileAction, ReplicaOnDisk, StartupAction

META = "meta"  # the meta group's name
_FILE = "hub-apart"
GATHERED = 3 * SECOND  # ns after which a new leader takes a member without a report for offline


class MetaGroupListener(Protocol):
    """Is called with what happens in the meta group."""

    def restarted(self) -> None:
        """There is a new state machine: nothing may be served before it is current."""

    def act(self, action: ReconcileAction) -> None:
        """This server has to carry out the action now."""

    def decided(self, effect: Effect) -> None:
        """The group has decided this; every server gets the same calls."""

    def leading(self) -> None:
        """This server leads the group, and has applied all that was decided before."""

    def leader_changed(self) -> None:
        """Another leader is known, or none."""


class MetaGroup:
    """The `GroupListener` of the meta group.

    state_machine: applies what the group decides; None before the disk was read.
    leader: a member's id; "" while none is known.
    served: whether the streams that are assigned to this server were opened.
    """

    def __init__(self, environment: GroupEnvironment, listener: MetaGroupListener) -> None:
        self.state_machine: MetaStateMachine | None = None
        self.leader = ""
        self.served = False
        self._environment = environment
        self._clock = environment.clock
        self._listener = listener
        self._member: RaftMember | None = None
        self._leaderless_since = self._clock.now()
        self._ever_led = False
        self._led_from = -GATHERED
        self._goal = -1  # the index at which this server is current; -1 while unknown

    # --- start and stop

    def start(
        self,
        expected: Callable[[], BootstrapExpect],
        wanted: Callable[[], frozenset[str] | None],
        observes: Callable[[], bool],
    ) -> None:
        """Join the group; for the arguments see `MembershipPolicy`."""
        policy = MembershipPolicy(
            lambda: BootstrapExpect() if observes() else expected(), wanted, observes=observes
        )
        self._member = RaftMember(META, self._environment, self._make, self, policy)
        self._member.start()

    def stop(self, done: Callable[[], None]) -> None:
        """Leave the group; `done` is called when nothing is under way."""
        member, self._member = self._member, None
        if member is None:
            done()
        else:
            member.stop(done)

    def _make(self) -> MetaStateMachine:
        """Return the state machine of a new incarnation, or of the same one after its group was restarted."""
        assert self._member is not None
        self.suspend()
        self._listener.restarted()
        self.state_machine = made = MetaStateMachine(
            self._member.member, self._listener.act, self._listener.decided
        )
        return made

    def server_lost(self, server_id: str) -> None:
        """Note that there is no route to the server of that id any more."""
        if self._member is not None:
            self._member.server_lost(server_id)

    # --- how current it is

    def suspend(self) -> None:
        """Note that nothing is served, until it is known again what is assigned to this server."""
        self.served, self._goal = False, -1

    def leader_is_at(self, member: str, term: int, index: int) -> None:
        """Note the index that the leader of that term announced: a server that has applied it is current."""
        group = self.group
        if group is not None and member == group.leader and term == self.term and self._goal < 0:
            self._goal = index

    @property
    def current(self) -> bool:
        """Whether this server has applied what was decided before it joined, and is admitted to the group."""
        group = self.group
        return group is not None and 0 <= self._goal <= group.applied and self.me in self.state.servers

    def begin(self, on_disk: Mapping[tuple[str, str], ReplicaOnDisk]) -> Iterable[StartupAction]:
        """Return what this server has to do with what is on its disk; later actions go to the listener."""
        assert self.state_machine is not None
        self.served = True
        return list(self.state_machine.begin(on_disk))

    # --- what is known of the group

    @property
    def group(self) -> RaftNode | None:
        """The group's member here, None until it has started."""
        return None if self._member is None else self._member.group

    @property
    def me(self) -> str:
        """This server's id in the group; "" before the disk was read."""
        return "" if self.state_machine is None else self.state_machine.me

    @property
    def state(self) -> MetaState:
        """What the group has decided, as far as it is known here."""
        return MetaState() if self.state_machine is None else self.state_machine.state

    @property
    def term(self) -> int:
        """The group's term as it is known here."""
        group = self.group
        return 0 if group is None or group.node is None else group.node.term

    @property
    def is_leader(self) -> bool:
        """Whether this server leads, has applied all that was decided before, and a majority follows it."""
        group = self.group
        return group is not None and group.ready and group.node is not None and group.node.accepts_proposals

    @property
    def leader_status(self) -> LeaderStatus:
        """The leader of the group, as known here."""
        since = 0 if self.leader else self._clock.now() - self._leaderless_since
        return LeaderStatus(self.leader, since, self._ever_led)

    @property
    def new_leader(self) -> bool:
        """Whether this server has led for less than GATHERED."""
        return self._clock.now() - self._led_from <= GATHERED

    @property
    def failure(self) -> str:
        """Why this server cannot join the group, "" for nothing."""
        group = self.group
        if group is not None and group.failure:
            return group.failure
        return "" if self._member is None else self._member.failure

    @property
    def quorum_diagnosis(self) -> str:
        """Why nobody can lead the group, "" while somebody does or may."""
        return "" if self._member is None else self._member.quorum_diagnosis()

    # --- GroupListener

    def leading(self, applied: int) -> None:
        """See GroupListener."""
        assert self.state_machine is not None
        self.state_machine.lead()
        self._goal = applied
        self._led_from = self._clock.now()
        self._listener.leading()

    def following(self) -> None:
        """See GroupListener."""
        if self.state_machine is not None:
            self.state_machine.follow()

    def leader_changed(self, leader: str) -> None:
        """See GroupListener."""
        if self.leader and not leader:
            self._leaderless_since = self._clock.now()
        self.leader = leader
        self._ever_led = self._ever_led or bool(leader)
        self._listener.leader_changed()

    def failed(self, why: str, *, restarts: bool) -> None:
        """See GroupListener. Does nothing, as `failure` shows it to `/healthz`."""


class MetaExtension:
    """Decides whether this server belongs to the JetStream of the hub that it joins as a leaf node.

    It may belong to it if it joins the hub's system account, and does if the hub has the same domain. Then
    the hub's servers bootstrap the meta group and lead it. This server waits for them while it is not known
    whether that is so. The last answer is kept in a file, so that a leaf node that starts while its hub is
    away goes on as before.

    domain: this server's.
    joined: returns the domains of the hubs whose system account is joined now.
    """

    def __init__(
        self, domain: str, joined: Callable[[], Collection[str]], *, path: str, fs: FileSystem, log: Logger
    ) -> None:
        self._domain = domain
        self._joined = joined
        self._path = path
        self._fs = fs
        self._log = log
        self._apart = fs.exists(f"{path}/{_FILE}")

    def observes(self) -> bool:
        """Return whether the hub leads, or may turn out to."""
        joined = self._joined()
        apart = self._domain not in joined if joined else self._apart
        if apart != self._apart:
            self._apart = apart
            self._keep()
        return not apart

    def _keep(self) -> None:
        try:
            if self._apart:
                self._fs.make_directory(self._path)
                write_file(self._fs, f"{self._path}/{_FILE}", b"")
            else:
                self._fs.remove(f"{self._path}/{_FILE}")
        except OSError as error:
            self._log.error(f"It is not noted whose JetStream this is: {error}")
