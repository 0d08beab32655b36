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
    everything. present: hellos of servers that are there. wanted: the nodes that shall be members, None for
    everyone who comes.
    """

    own: str
    members: Members
    alive: frozenset[str]
    caught_up: frozenset[str]
    present: tuple[Announce, ...] = ()
    wanted: frozenset[str] | None = None


def next_members(outlook: MembershipView) -> Members | None:
    """The configuration to propose next; None when all is as it shall be, or nothing can be done now."""
    members = outlook.members
    for learner in sorted(members.learners & outlook.caught_up & outlook.alive):
        if _wants(outlook, learner):
            return Members.of(members.voters | {learner}, members.learners - {learner})
    for member in sorted(members.all - {outlook.own}):
        if _goes(outlook, member):
            change = _without(outlook, member)
            if change is not None:
                return change
    nodes = {node_of(member) for member in members.all}
    new: dict[str, str] = {}
    for hello in sorted(outlook.present, key=lambda hello: hello.member):
        if hello.node not in nodes and _wants(outlook, hello.member):
            new.setdefault(hello.node, hello.member)
    return Members.of(members.voters, members.learners | set(new.values())) if new else None


def is_settled(members: Members, wanted: frozenset[str] | None) -> bool:
    """Whether, as long as nobody new is there, all is as it shall be, whoever is alive."""
    return not members.learners and (wanted is None or all(node_of(one) in wanted for one in members.voters))


def surplus(outlook: MembershipView) -> bool:
    """Whether the leader itself shall be no member any more: another one must lead, and remove it."""
    return not _wants(outlook, outlook.own) and _complete(outlook)


def _goes(outlook: MembershipView, member: str) -> bool:
    """Whether it is time to remove a member."""
    if _wants(outlook, member):
        return _replaced(outlook, member)
    serves = member in outlook.members.voters and member in outlook.alive
    return not serves or _complete(outlook)


def _complete(outlook: MembershipView) -> bool:
    """Whether all that are wanted vote."""
    return (outlook.wanted or frozenset()) <= {node_of(voter) for voter in outlook.members.voters}


def _wants(outlook: MembershipView, member: str) -> bool:
    return outlook.wanted is None or node_of(member) in outlook.wanted


def _replaced(outlook: MembershipView, member: str) -> bool:
    """Whether its server is there under another id, and it is not."""
    if member in outlook.alive:
        return False
    return any(hello.node == node_of(member) and hello.member != member for hello in outlook.present)


def _without(outlook: MembershipView, member: str) -> Members | None:
    members = outlook.members
    if member in members.learners:
        return Members.of(members.voters, members.learners - {member})
    rest = Members.of(members.voters - {member}, members.learners)
    alive: Iterable[str] = rest.voters & (outlook.alive | {outlook.own})
    return rest if len(set(alive)) >= rest.quorum else None
