"""RaftMember: a server's membership in one group. It joins or bootstraps the group, then runs `RaftNode`.

It announces itself, decides by `Bootstrap`, begins and ends incarnations, and restarts a group whose disk
failed. While it leads, it changes the members as wanted (`member_changes`). Promises: after `stop`
nothing is left behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ...raft import Members
from . import quorum_diagnosis
from .announce import Announce, founders_hash, node_of
from .bootstrap import Bootstrap, JoinGroup, LeaveGroup, StartGroup
from .incarnations import Incarnation
from .member_changes import MemberChanges
from .membership_policy import is_stable
from .raft_node import RaftNode

if TYPE_CHECKING:
    from ..task_executor import TaskExecutor
    from .environment import GroupEnvironment
    from .membership_policy import MembershipPolicy
    from .state_machine import GroupListener, StateMachine

_FRESH = 2  # ticks between two announcements of a server that has no group yet
_LEADERLESS = 8  # ticks between two announcements of a member without a leader
_WARN_TICKS = 20  # ticks after which the log names again the servers that are missing
_AGAIN = 20  # ticks until a group whose disk failed is started again


class RaftMember:
    """One server's membership in one group.

    make: returns the application with the state that it has made durable itself; called for each incarnation
        and at each start.
    prepare: reads what `make` needs; called on a worker thread, must not raise.
    """

    def __init__(
        self,
        name: str,
        environment: GroupEnvironment,
        make: Callable[[], StateMachine],
        listener: GroupListener,
        policy: MembershipPolicy,
        *,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self.group: RaftNode | None = None
        self.failure = ""
        self._environment = environment
        self._make = make
        self._listener = listener
        self._policy = policy
        self._changes = MemberChanges(name, policy, environment.log)
        self._prepare = prepare
        self._incarnations = environment.incarnations(name)
        self._incarnation: Incarnation | None = None
        self._bootstrap: Bootstrap | None = None
        self._now = 0  # ticks
        self._busy = False
        self._again = -1  # the tick at which to retry what failed
        self._last_warning = ""
        self._creating: Members | None = None  # set until its Raft state is known to have begun
        self._campaign_soon = False  # it has just begun, and there may be no leader
        self._stopped: Callable[[], None] | None = None

    # --- lifecycle

    def start(self) -> None:
        """Join or bootstrap the group."""
        self._environment.ticker.add(self._tick)
        self._environment.transport.subscribe_announcements(self.name, self._on_announce)
        self._open(renew=False)

    def stop(self, done: Callable[[], None]) -> None:
        """Stop the member and call `done` when nothing is under way any more."""
        self._environment.ticker.remove(self._tick)
        self._environment.transport.unsubscribe_announcements(self.name)
        self._stopped = done
        if not self._busy:
            self._end()

    def erase(self) -> None:
        """Remove the files of the group after the member has left it. Blocks. Raises OSError."""
        self._incarnations.remove()

    def health(self) -> str:
        """Return what is wrong, "" if nothing is."""
        if self.failure:
            return self.failure
        return (
            self.group.health() if self.group is not None else self._last_warning or "it looks for the others"
        )

    def quorum_diagnosis(self) -> str:
        """Return why nobody can lead the group; "" while somebody leads or may be elected."""
        group, bootstrap = self.group, self._bootstrap
        if bootstrap is None or (group is not None and (group.leader or group.failure or group.node is None)):
            return ""
        members = Members.of(()) if group is None else group.members
        return quorum_diagnosis.why(self._me(), members, bootstrap.present(self._environment.clock.now()))

    @property
    def member(self) -> str:
        """The id of this incarnation; "" until the disk has been read."""
        return self._incarnation.member if self._incarnation is not None else ""

    def renew(self) -> None:
        """Begin another incarnation: what this one promised can no longer be read, here or elsewhere."""
        if not self._busy and self._stopped is None:
            self._leave(lambda: self._open(renew=True))

    def server_lost(self, server: str) -> None:
        """Call an election soon if the server with this id, to which no route is left, led the group."""
        bootstrap, group = self._bootstrap, self.group
        if bootstrap is None or group is None or not group.leader:
            return
        if bootstrap.node_of(server) == node_of(group.leader):
            group.leadership.campaign_soon()

    def _end(self) -> None:
        assert self._stopped is not None
        if self.group is None:
            self._stopped()
            return
        group, self.group = self.group, None
        group.stop(self._stopped)

    def _work(
        self,
        job: Callable[[], Incarnation],
        done: Callable[[Incarnation], None],
        executor: TaskExecutor | None = None,
    ) -> None:
        """Run blocking work on incarnations. If the disk fails, it is tried again later."""
        found: list[Incarnation] = []

        def finished(error: BaseException | None) -> None:
            self._busy = False
            if self._stopped is not None:
                self._end()
            elif error is None:
                self.failure = ""
                done(found[0])
            else:
                self.failure = f"group {self.name} cannot start: {type(error).__name__}: {error}"
                self._environment.log.error(self.failure)
                self._again = self._now + _AGAIN

        self._busy = True
        (executor or self._environment.executor).work(lambda: found.append(job()), finished)

    def _open(self, *, renew: bool) -> None:
        self._work(self._incarnations.renew if renew else self._incarnations.open, self._opened)

    def _opened(self, incarnation: Incarnation) -> None:
        for fault in self._incarnations.faults:
            self._environment.log.warning(f"Group {self.name}: {fault}")
        self._incarnations.faults.clear()
        self._take(incarnation)
        if incarnation.founders:
            self._begin(None)
        else:
            self._announce_to_all()

    def _take(self, incarnation: Incarnation) -> None:
        environment = self._environment
        self._incarnation = incarnation
        announce = Announce(
            self.name,
            environment.name,
            environment.server,
            environment.domain,
            incarnation.member,
            founders=incarnation.founders,
        )
        if self._bootstrap is None:
            self._bootstrap = Bootstrap(announce)
        else:
            self._bootstrap.me = announce

    # --- the group

    def _become(self, founders: tuple[str, ...]) -> None:
        """Begin the Raft state of this incarnation."""
        incarnation = self._incarnation
        assert incarnation is not None
        self._work(lambda: self._incarnations.begin(incarnation, founders), self._create)

    def _create(self, incarnation: Incarnation) -> None:
        self._take(incarnation)
        self._begin(Members.of(incarnation.founders if incarnation.member in incarnation.founders else ()))

    def _begin(self, create: Members | None) -> None:
        """Start the group's node here, after `prepare` has read what its application needs."""
        prepare, incarnation = self._prepare, self._incarnation
        assert incarnation is not None
        if prepare is None:
            self._enter(incarnation, create)
            return

        def read() -> Incarnation:
            prepare()
            return incarnation

        self._work(read, lambda found: self._enter(found, create), self._environment.read_executor)

    def _enter(self, incarnation: Incarnation, create: Members | None) -> None:
        environment = self._environment
        self.group = RaftNode(
            f"{self.name}@{founders_hash(incarnation.founders)}",
            incarnation.member,
            self._incarnations.store(incarnation),
            self._make(),
            self._listener,
            environment,
        )
        self._last_warning = ""
        self._creating = create
        self.group.start(create=create)
        self._announce_to_all()
        self._campaign_soon = True

    def _leave(self, then: Callable[[], None]) -> None:
        """Stop the group's node, then call `then`."""
        group, self.group = self.group, None
        if group is None:
            then()
            return
        self._busy = True

        def gone() -> None:
            self._busy = False
            if self._stopped is not None:
                self._end()
            else:
                then()

        group.stop(gone)

    # --- time and announcements

    def _tick(self) -> None:
        self._now += 1
        if self._busy or (self._bootstrap is None and self._again != self._now):
            return
        if self._again == self._now:
            self._try_again()
            return
        group = self.group
        if group is not None:
            if group.node is not None:
                group.node.observe(self._policy.observes())
            if self._campaign_soon and group.node is not None:
                self._meet(group)
            group.tick()
            if group.failure:
                self._failed(group)
                return
        self._announce_if_due()
        if self._is_quiet():
            return
        self._decide()
        if group is not None and group is self.group and group.ready:
            assert self._bootstrap is not None and self._incarnation is not None
            present = tuple(self._bootstrap.present(self._environment.clock.now()))
            self._changes.make_next(group, present, self._incarnation.founders)

    def _is_quiet(self) -> bool:
        """Whether passing time changes nothing here. In this usual case a tick costs next to nothing."""
        bootstrap, group = self._bootstrap, self.group
        if bootstrap is None or group is None or not group.commit:
            return False
        if not bootstrap.is_silent(self._environment.clock.now()):
            return False
        return not group.ready or is_stable(group.members, self._policy.wanted())

    def _try_again(self) -> None:
        if self.group is not None:
            self._leave(lambda: self._begin(self._creating))
        else:
            self._open(renew=False)

    def _failed(self, group: RaftNode) -> None:
        if group.broken:
            self._environment.log.warning(f"Group {self.name}: this server comes back as a new member")
            self.renew()
        elif group.retry and self._again < self._now:
            self._again = self._now + _AGAIN

    def _meet(self, group: RaftNode) -> None:
        """After a start: if a majority is there and nobody leads, call an election soon."""
        assert self._bootstrap is not None
        if self._creating is not None:
            self._creating = None
            self._announce_to_all()
        present = self._bootstrap.present(self._environment.clock.now())
        there = {announce.member for announce in present if announce.members}
        if group.leader:
            self._campaign_soon = False
        elif len((there | {group.member}) & group.members.voters) >= group.rescue.quorum:
            self._campaign_soon = False
            group.leadership.campaign_soon()

    def _announce_if_due(self) -> None:
        group = self.group
        if group is None or self._incarnation is None or self._incarnation.member not in group.members.all:
            every = _FRESH
        elif not group.leader:
            every = _LEADERLESS
        else:
            return
        if self._now % every == 0:
            self._announce_to_all()

    def _announce_to_all(self) -> None:
        """Announce this server to all, and ask them to announce themselves."""
        if self._bootstrap is not None:
            self._environment.transport.announce(replace(self._me(), answer=True))

    def _me(self) -> Announce:
        bootstrap, group = self._bootstrap, self.group
        assert bootstrap is not None
        if group is not None:
            members, me = tuple(sorted(group.members.all)), bootstrap.me
            if (members, group.commit) != (me.members, me.commit):
                bootstrap.me = replace(me, members=members, commit=group.commit)
        return bootstrap.me

    def _on_announce(self, announce: Announce) -> None:
        if self._bootstrap is None:
            return
        if self._bootstrap.receive(announce, self._environment.clock.now()):
            self._environment.transport.announce(
                self._me(), "" if announce.node == self._environment.node else announce.node
            )
        if self._bootstrap.namesake and announce.node == self._environment.node:
            self._warn(
                f"Another server is called {self._environment.name!r} (id {self._bootstrap.namesake}): names "
                f"must differ within a cluster, the one that came second takes no part in group {self.name}"
            )

    def _decide(self) -> None:
        bootstrap = self._bootstrap
        if bootstrap is None or self._busy:
            return
        self._me()
        now = self._environment.clock.now()
        decision = bootstrap.decide(self._policy.expected(), now)
        if isinstance(decision, (StartGroup, JoinGroup)):
            if isinstance(decision, StartGroup):
                self._environment.log.info(
                    f"Group {self.name} is bootstrapped by {', '.join(decision.founders)}"
                )
            self._become(decision.founders)
        elif isinstance(decision, LeaveGroup):
            self.renew()
        elif (
            self.group is None
            and self._now % _WARN_TICKS == 0
            and not bootstrap.in_conflict(bootstrap.me.node, now)
        ):
            missing = bootstrap.missing(self._policy.expected(), now)
            self._warn(f"Group {self.name} waits for {', '.join(missing) or 'the others'}")
        elif (other := bootstrap.second_group(now)) is not None:
            self._warn(f"Group {self.name} exists twice: {other.name} belongs to another one")

    def _warn(self, text: str) -> None:
        if text != self._last_warning:
            self._last_warning = text
            self._environment.log.warning(text)
