"""Quorum diagnosis: says in words why nobody can lead a group, as one of its servers sees it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .announce import Announce, node_of

if TYPE_CHECKING:
    from ...raft import Members


def why(me: Announce, members: Members, present: Iterable[Announce]) -> str:
    """Return why there is no leader; "" while an election may still produce one.

    me, present: the announcements of this server and of those that were there recently.
    members: those of the group as known here; empty on a server that came back with nothing.
    """
    announces = [me, *present]
    known = max(announces, key=lambda announce: (bool(announce.members), announce.commit))
    voters = members.voters or frozenset(known.members)
    there = voters & {announce.member for announce in announces}
    if not voters or len(there) > len(voters) // 2:
        return ""
    nodes = {node_of(voter) for voter in voters - there}
    emptied = [announce for announce in announces if announce.node in nodes]
    away = len(voters) - len(there) - len({announce.node for announce in emptied})
    parts = [f"only {len(there)} of its {len(voters)} members can vote"]
    if away:
        parts.append(f"{away} cannot be reached" if away > 1 else "1 cannot be reached")
    if emptied:
        names = ", ".join(sorted("this server" if announce is me else announce.name for announce in emptied))
        parts.append(
            f"{names} came back without what was stored, and may not help to elect a leader:"
            " put the directory back, from a copy"
        )
    return "; ".join(parts)
