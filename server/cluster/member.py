"""RaftMember: a server's place in one group, whoever sits in it: finding the group, or founding it, then
`RaftNode`.

It says hello, decides by `Bootstrap`, begins and ends lives, starts a group again whose disk refused a write,
and, while it leads, keeps the members as they shall be (`keeper`). Promises: `stop` leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from ...raft import Members, MembersError, NotLeaderError, RaftConfig
from . import quorum_diagnosis
from .announce import Announce, founding, node_of
from .bootstrap import Bootstrap, BootstrapExpect, FoundGroup, JoinGroup, LeaveGroup
from .incarnations import Incarnation, Incarnations
from .membership_changes import MembershipView, is_settled, next_members, surplus
from .raft_node import COMPACT_ENTRIES, TIMING, RaftNode

if TYPE_CHECKING:
    from ...store.fs import FileSystem
    from ..clock import Clock
    from ..logging import Logger
    from .state_machine import GroupListener, StateMachine
    from .task_executor import TaskExecutor
    from .ticker import Ticker
    from .transport import RaftTransport

_FRESH = 2  # ticks between two hellos of who belongs to nothing yet
_LEADERLESS = 8  # ticks between those of a member without a leader
_SAY = 20  # ticks after which it is said again whom one waits for
_AGAIN = 20  # ticks until a group whose disk refused is started again


@dataclass(frozen=True, slots=True)
class GroupEnvironment:
    """What all seats of a server share. path: the folder of the groups; server: its id.

    reader: does what costs by what is stored, so that it keeps no other work waiting; None: `runner` does.
    """

    name: str
    server: str
    node: str
    domain: str
    path: str
    mailbox: RaftTransport
    runner: TaskExecutor
    pacemaker: Ticker
    clock: Clock
    fs: FileSystem
    log: Logger
    random_bytes: Callable[[int], bytes]
    timing: RaftConfig = TIMING
    compact_entries: int = COMPACT_ENTRIES
    reader: TaskExecutor | None = None

    def lives(self, group: str) -> Incarnations:
        """This server's lives in a group."""
        return Incarnations(f"{self.path}/{group}", self.node, fs=self.fs, random_bytes=self.random_bytes)

    def random(self) -> Random:
        """Dice of one's own."""
        return Random(int.from_bytes(self.random_bytes(8), "big"))


class RaftMember:
    """One per group and server.

    make: gives the application in its state as it is durable by itself; called for each life and each
    start. expected: who must be there before the group may be founded. wanted: see `MembershipView`. holds:
    whethera learner that has the log also has what is older than that; asked again and again. observes:
    whetherthis member votes and is not to lead. prepare: reads what `make` needs; called on a worker thread,
    raisesnothing.
    """

    def __init__(
        self,
        name: str,
        surroundings: GroupEnvironment,
        make: Callable[[], StateMachine],
        owner: GroupListener,
        *,
        expected: Callable[[], BootstrapExpect],
        wanted: Callable[[], frozenset[str] | None] = lambda: None,
        holds: Callable[[str], bool] = lambda _: True,
        observes: Callable[[], bool] = lambda: False,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self.group: RaftNode | None = None
        self.failure = ""
        self._around = surroundings
        self._make = make
        self._owner = owner
        self._expected = expected
        self._wanted = wanted
        self._holds = holds
        self._observes = observes
        self._prepare = prepare
        self._lives = surroundings.lives(name)
        self._life: Incarnation | None = None
        self._formation: Bootstrap | None = None
        self._now = 0  # ticks
        self._busy = False
        self._again = -1  # the tick at which what failed is tried again
        self._said = ""
        self._creating: Members | None = None  # its Raft state is not known to have begun yet
        self._hurry = False  # it has just begun, and there may be no leader
        self._stopped: Callable[[], None] | None = None

    # --- life

    def start(self) -> None:
        """Take the seat."""
        self._around.pacemaker.add(self._tick)
        self._around.mailbox.listen(self.name, self._hear)
        self._open(renew=False)

    def stop(self, done: Callable[[], None]) -> None:
        """Leave it; `done` is called when nothing is under way any more."""
        self._around.pacemaker.remove(self._tick)
        self._around.mailbox.ignore(self.name)
        self._stopped = done
        if not self._busy:
            self._end()

    def erase(self) -> None:
        """Remove its files, once it has been left. Blocks; raises OSError."""
        self._lives.remove()

    def health(self) -> str:
        """What is wrong, "" for nothing."""
        if self.failure:
            return self.failure
        return self.group.health() if self.group is not None else self._said or "it looks for the others"

    def stalemate(self) -> str:
        """Why nobody can lead the group, "" while somebody leads or may be elected."""
        group, formation = self.group, self._formation
        if formation is None or (group is not None and (group.leader or group.failure or group.node is None)):
            return ""
        members = Members.of(()) if group is None else group.members
        return quorum_diagnosis.why(self._me(), members, formation.present(self._around.clock.now()))

    @property
    def member(self) -> str:
        """The id of this life; "" while the disk has not been asked."""
        return self._life.member if self._life is not None else ""

    def renew(self) -> None:
        """Begin another life: some promise of this one cannot be read any more, here or elsewhere."""
        if not self._busy and self._stopped is None:
            self._leave(lambda: self._open(renew=True))

    def server_lost(self, server: str) -> None:
        """There is no route to the server of that id any more: if it led, another one shall soon."""
        formation, group = self._formation, self.group
        if formation is None or group is None or not group.leader:
            return
        if formation.node_of(server) == node_of(group.leader):
            group.hurry()

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
        runner: TaskExecutor | None = None,
    ) -> None:
        """Do what blocks, about lives; a disk that refuses is asked again later."""
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
                self._around.log.error(self.failure)
                self._again = self._now + _AGAIN

        self._busy = True
        (runner or self._around.runner).work(lambda: found.append(job()), finished)

    def _open(self, *, renew: bool) -> None:
        self._work(self._lives.renew if renew else self._lives.open, self._opened)

    def _opened(self, life: Incarnation) -> None:
        for fault in self._lives.faults:
            self._around.log.warning(f"Group {self.name}: {fault}")
        self._lives.faults.clear()
        self._take(life)
        if life.founders:
            self._begin(None)
        else:
            self._greet()

    def _take(self, life: Incarnation) -> None:
        around = self._around
        self._life = life
        hello = Announce(
            self.name, around.name, around.server, around.domain, life.member, founders=life.founders
        )
        if self._formation is None:
            self._formation = Bootstrap(hello)
        else:
            self._formation.me = hello
        self._formation.bare = False

    # --- the group

    def _become(self, founders: tuple[str, ...]) -> None:
        """Begin this life's Raft state."""
        life = self._life
        assert life is not None
        self._work(lambda: self._lives.begin(life, founders), self._create)

    def _create(self, life: Incarnation) -> None:
        self._take(life)
        self._begin(Members.of(life.founders if life.member in life.founders else ()))

    def _begin(self, create: Members | None) -> None:
        """Begin the group's member here, once what its application needs has been read."""
        prepare, life = self._prepare, self._life
        assert life is not None
        if prepare is None:
            self._enter(life, create)
            return

        def read() -> Incarnation:
            prepare()
            return life

        self._work(read, lambda found: self._enter(found, create), self._around.reader)

    def _enter(self, life: Incarnation, create: Members | None) -> None:
        around = self._around
        self.group = RaftNode(
            f"{self.name}@{founding(life.founders)}",
            life.member,
            self._lives.store(life),
            self._make(),
            self._owner,
            mailbox=around.mailbox,
            runner=around.runner,
            random=around.random(),
            log=around.log,
            timing=around.timing,
            compact_entries=around.compact_entries,
            now=around.pacemaker.count,
        )
        self._said = ""
        self._creating = create
        self.group.start(create=create)
        self._greet()
        self._hurry = True

    def _leave(self, then: Callable[[], None]) -> None:
        """Let go of the group, then go on."""
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

    # --- time and hellos

    def _tick(self) -> None:
        self._now += 1
        if self._busy or (self._formation is None and self._again != self._now):
            return
        if self._again == self._now:
            self._try_again()
            return
        group = self.group
        if group is not None:
            if group.node is not None:
                group.node.observer = self._observes()
            if self._hurry and group.node is not None:
                self._meet(group)
            group.tick()
            if group.failure:
                self._failed(group)
                return
        self._say_hello()
        if self._is_quiet():
            return
        self._decide()
        if group is not None and group is self.group and group.ready:
            self._keep(group)

    def _is_quiet(self) -> bool:
        """Whether time alone changes nothing here: the usual case, in which a tick costs next to nothing."""
        formation, group = self._formation, self.group
        if formation is None or group is None or not group.commit:
            return False
        if not formation.is_silent(self._around.clock.now()):
            return False
        return not group.ready or is_settled(group.members, self._wanted())

    def _try_again(self) -> None:
        if self.group is not None:
            self._leave(lambda: self._begin(self._creating))
        else:
            self._open(renew=False)

    def _failed(self, group: RaftNode) -> None:
        if group.broken:
            self._around.log.warning(f"Group {self.name}: this server comes back as a new member")
            self.renew()
        elif group.retry and self._again < self._now:
            self._again = self._now + _AGAIN

    def _meet(self, group: RaftNode) -> None:
        """It has begun: when a majority is there and nobody leads, do not wait for long."""
        assert self._formation is not None
        if self._creating is not None:
            self._creating = None
            self._greet()
        there = {h.member for h in self._formation.present(self._around.clock.now()) if h.members}
        if group.leader:
            self._hurry = False
        elif len((there | {group.member}) & group.members.voters) >= group.members.quorum:
            self._hurry = False
            group.hurry()

    def _say_hello(self) -> None:
        group = self.group
        if group is None or self._life is None or self._life.member not in group.members.all:
            every = _FRESH
        elif not group.leader:
            every = _LEADERLESS
        else:
            return
        if self._now % every == 0:
            self._greet()

    def _greet(self) -> None:
        """Say hello to all, and ask them to do so, too."""
        if self._formation is not None:
            self._around.mailbox.greet(replace(self._me(), answer=True))

    def _me(self) -> Announce:
        formation, group = self._formation, self.group
        assert formation is not None
        if group is not None:
            members, me = tuple(sorted(group.members.all)), formation.me
            if (members, group.commit) != (me.members, me.commit):
                formation.me = replace(me, members=members, commit=group.commit)
        return formation.me

    def _hear(self, hello: Announce) -> None:
        if self._formation is None:
            return
        if self._formation.hear(hello, self._around.clock.now()):
            self._around.mailbox.greet(self._me(), "" if hello.node == self._around.node else hello.node)
        if self._formation.twin and hello.node == self._around.node:
            self._say(
                f"Another server is called {self._around.name!r} (id {self._formation.twin}): names must "
                f"differ within a cluster, the one that came second takes no part in group {self.name}"
            )

    def _decide(self) -> None:
        formation = self._formation
        if formation is None or self._busy:
            return
        self._me()
        now = self._around.clock.now()
        decision = formation.decide(self._expected(), now)
        if isinstance(decision, (FoundGroup, JoinGroup)):
            if isinstance(decision, FoundGroup):
                self._around.log.info(f"Group {self.name} is bootstrapped by {', '.join(decision.founders)}")
            self._become(decision.founders)
        elif isinstance(decision, LeaveGroup):
            self.renew()
        elif (
            self.group is None and self._now % _SAY == 0 and not formation.in_conflict(formation.me.node, now)
        ):
            missing = formation.missing(self._expected(), now)
            self._say(f"Group {self.name} waits for {', '.join(missing) or 'the others'}")
        elif (rival := formation.rival(now)) is not None:
            self._say(f"Group {self.name} exists twice: {rival.name} belongs to another one")

    def _say(self, text: str) -> None:
        if text != self._said:
            self._said = text
            self._around.log.warning(text)

    # --- members

    def _keep(self, group: RaftNode) -> None:
        """Make the next change of members, if there is one."""
        formation, node = self._formation, group.node
        assert formation is not None and node is not None
        present = tuple(h for h in formation.present(self._around.clock.now()) if self._fits(h))
        caught_up = frozenset(m for m in group.caught_up() & group.members.learners if self._holds(m))
        outlook = MembershipView(
            group.member, group.members, group.alive(), caught_up, present, self._wanted()
        )
        try:
            change = next_members(outlook)
            if change is not None:
                group.change_members(change)
                self._around.log.info(
                    f"Group {self.name}: members {sorted(change.voters)}"
                    + (f", learning {sorted(change.learners)}" if change.learners else "")
                )
            elif surplus(outlook) and node.accepts:
                group.resign()
        except (MembersError, NotLeaderError):
            return  # one is under way

    def _fits(self, hello: Announce) -> bool:
        """Whether a server that is there may be added: it is fresh, or waits in this very founding."""
        assert self._life is not None
        return hello.fresh or hello.founders == self._life.founders
