"""The next change that a leader makes to the members of its group, if one is due.

Promises: each node has one voter. A voter is removed only while a majority of the remaining ones is alive, or
during a rescue as many as suffice. A living voter is removed only when all wanted nodes vote, so that the
group never has fewer living copies than both before and after the change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ...protocol.lazy_dataclass import dataclass
from ...raft import Members
from .announce import Announce, node_of

if TYPE_CHECKING:
    from .bootstrap import BootstrapExpect


@dataclass(frozen=True, slots=True)
class MembershipView:
    """What a leader knows of its members.

    own: its own id.
    members: the present configuration.
    alive: members that answered recently.
    caught_up: learners that have nearly everything.
    present: announcements of servers that are there.
    wanted: the nodes that should be members; None for everyone who comes.
    lowered: how many voters suffice during a rescue of the group, 0 for a majority.
    """

    own: str
    members: Members
    alive: frozenset[str]
    caught_up: frozenset[str]
    present: tuple[Announce, ...] = ()
    wanted: frozenset[str] | None = None
    lowered: int = 0


@dataclass(frozen=True, slots=True)
class MembershipPolicy:
    """Who belongs to a group. Each is asked again and again, so that the answers may change.

    expected: returns the servers that must be there before the group may be bootstrapped.
    wanted: returns the nodes that should be members; None for everyone who comes.
    holds: returns whether a learner that has the log also has what is older than the log.
    observes: returns whether this member votes but must not lead.
    """

    expected: Callable[[], BootstrapExpect]
    wanted: Callable[[], frozenset[str] | None] = lambda: None
    holds: Callable[[str], bool] = lambda _: True
    observes: Callable[[], bool] = lambda: False


def next_members(view: MembershipView) -> Members | None:
    """Return the configuration to propose next; None if no change is needed or possible now."""
    members = view.members
    for learner in sorted(members.learners & view.caught_up & view.alive):
        if _wants(view, learner):
            return Members.of(members.voters | {learner}, members.learners - {learner})
    for member in sorted(members.all - {view.own}):
        if _goes(view, member):
            change = _without(view, member)
            if change is not None:
                return change
    nodes = {node_of(member) for member in members.all}
    new: dict[str, str] = {}
    for announce in sorted(view.present, key=lambda announce: announce.member):
        if announce.node not in nodes and _wants(view, announce.member):
            new.setdefault(announce.node, announce.member)
    return Members.of(members.voters, members.learners | set(new.values())) if new else None


def is_stable(members: Members, wanted: frozenset[str] | None) -> bool:
    """Whether no change is needed as long as nobody new comes, whoever is alive."""
    return not members.learners and (wanted is None or all(node_of(one) in wanted for one in members.voters))


def surplus(view: MembershipView) -> bool:
    """Whether the leader itself should be removed. Another member must then lead, and remove it."""
    return not _wants(view, view.own) and _complete(view)


def _goes(view: MembershipView, member: str) -> bool:
    """Whether it is time to remove a member."""
    if _wants(view, member):
        return _replaced(view, member)
    serves = member in view.members.voters and member in view.alive
    return not serves or _complete(view)


def _complete(view: MembershipView) -> bool:
    """Whether all wanted nodes vote."""
    return (view.wanted or frozenset()) <= {node_of(voter) for voter in view.members.voters}


def _wants(view: MembershipView, member: str) -> bool:
    return view.wanted is None or node_of(member) in view.wanted


def _replaced(view: MembershipView, member: str) -> bool:
    """Whether its server is there under another id, and the member itself is silent."""
    if member in view.alive:
        return False
    return any(announce.node == node_of(member) and announce.member != member for announce in view.present)


def _without(view: MembershipView, member: str) -> Members | None:
    members = view.members
    if member in members.learners:
        return Members.of(members.voters, members.learners - {member})
    rest = Members.of(members.voters - {member}, members.learners)
    alive: Iterable[str] = rest.voters & (view.alive | {view.own})
    return rest if len(set(alive)) >= min(view.lowered or rest.quorum, rest.quorum) else None
