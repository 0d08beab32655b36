"""What a leader does about its group's members: the next change, if there is one to make.

Promises one voter per node; to remove a voter only while a majority of those that stay is alive; and one that
is alive only when all that are wanted vote, so that there are never fewer living copies on the way than
before and after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...raft import Members
from .announce import Announce, node_of


@dataclass(frozen=True, slots=True)
class MembershipView:
    """What a leader sees.

    own: its id. alive: members that answered a short while ago. caught_up: learners that have, as good as,
    everything. present: announcements of servers that are there. wanted: the nodes that shall be members,
    None for everyone who comes.
    """

    own: str
    members: Members
    alive: frozenset[str]
    caught_up: frozenset[str]
    present: tuple[Announce, ...] = ()
    wanted: frozenset[str] | None = None


def next_members(view: MembershipView) -> Members | None:
    """The configuration to propose next; None when all is as it shall be, or nothing can be done now."""
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
    """Whether, as long as nobody new is there, all is as it shall be, whoever is alive."""
    return not members.learners and (wanted is None or all(node_of(one) in wanted for one in members.voters))


def surplus(view: MembershipView) -> bool:
    """Whether the leader itself shall be no member any more: another one must lead, and remove it."""
    return not _wants(view, view.own) and _complete(view)


def _goes(view: MembershipView, member: str) -> bool:
    """Whether it is time to remove a member."""
    if _wants(view, member):
        return _replaced(view, member)
    serves = member in view.members.voters and member in view.alive
    return not serves or _complete(view)


def _complete(view: MembershipView) -> bool:
    """Whether all that are wanted vote."""
    return (view.wanted or frozenset()) <= {node_of(voter) for voter in view.members.voters}


def _wants(view: MembershipView, member: str) -> bool:
    return view.wanted is None or node_of(member) in view.wanted


def _replaced(view: MembershipView, member: str) -> bool:
    """Whether its server is there under another id, and it is not."""
    if member in view.alive:
        return False
    return any(announce.node == node_of(member) and announce.member != member for announce in view.present)


def _without(view: MembershipView, member: str) -> Members | None:
    members = view.members
    if member in members.learners:
        return Members.of(members.voters, members.learners - {member})
    rest = Members.of(members.voters - {member}, members.learners)
    alive: Iterable[str] = rest.voters & (view.alive | {view.own})
    return rest if len(set(alive)) >= rest.quorum else None
