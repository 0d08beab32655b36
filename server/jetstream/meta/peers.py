"""Peers: assignments of streams with changed peers, and with those that are leaving.

Promises: nothing here changes a state. A copy that its group may still need is never left out: a former peer
is leaving until the group's leader confirms that the group has removed it.
"""

from __future__ import annotations

from dataclasses import replace

from .assignment import StreamAssignment
from .command import PeerMove
from .state import MetaState, has_holder


def peers_problem(state: MetaState, peers: tuple[str, ...]) -> str:
    """Return why these cannot be the peers of a stream, "" if they can."""
    if not peers or len(set(peers)) != len(peers):
        return "peers"
    missing = [peer for peer in peers if peer not in state.servers]
    return f"server {missing[0]}" if missing else ""


def moved(
    state: MetaState, stream: StreamAssignment, peers: tuple[str, ...], group: str, change: str
) -> StreamAssignment:
    """Return the assignment with other peers; the former ones are leaving.

    group: the name of a group to start, of which the present members are the seeds; "" if the group goes on.
    """
    leaving = tuple(peer for peer in stream.members if peer not in peers)
    begins = group not in ("", stream.group)
    return replace(
        stream,
        peers=peers,
        leaving=leaving,
        group=group or stream.group,
        seeds=stream.members if begins else stream.seeds,
        change=change,
        placed=state.index,
    )


def with_new_incarnation(stream: StreamAssignment, old: str, new: str, index: int) -> StreamAssignment:
    """Return the assignment with a server's new incarnation in the place of the old one.

    If it is the only member, it bootstraps the group again, with nothing.
    """
    peers = tuple(dict.fromkeys(new if peer == old else peer for peer in stream.peers))
    leaving = tuple(peer for peer in stream.leaving if peer not in (old, new))
    alone = len(peers + leaving) == 1
    return replace(
        stream,
        peers=peers,
        leaving=leaving,
        seeds=peers if alone else stream.seeds,
        holders=peers if alone else stream.holders,
        change=stream.change or "heal",
        placed=index,
    )


def without(
    state: MetaState, stream: StreamAssignment, gone: str, move: PeerMove | None
) -> StreamAssignment | None:
    """Return the assignment without a server that is gone: with the peers of `move`, or with one peer fewer.

    The peer counts as leaving then. If it comes back before the group has removed it, the group may depend on
    its vote. The bootstrap of the group does not wait for it.

    Returns None if nothing changes because the server has the only copy: its place is kept until it comes
    back.
    """
    whole = has_holder(state, stream)
    if gone in stream.holders and not whole:
        return None
    if (
        whole
        and move is not None
        and move.revision == stream.revision
        and len(move.peers) <= stream.replicas
        and not peers_problem(state, move.peers)
    ):
        after = moved(state, stream, move.peers, move.group, "heal")
    else:
        peers = tuple(peer for peer in stream.peers if peer != gone)
        leaving = tuple(peer for peer in stream.leaving if peer != gone)
        if not peers:  # the stream was moving there: it goes back to a member that has it
            peers = _who_has(state, replace(stream, leaving=leaving))
            leaving = tuple(peer for peer in leaving if peer not in peers)
        if not peers:
            return None
        change = stream.change or "heal"
        after = replace(stream, peers=peers, leaving=(*leaving, gone), change=change, placed=state.index)
    return replace(after, seeds=tuple(seed for seed in after.seeds if seed != gone))


def _who_has(state: MetaState, stream: StreamAssignment) -> tuple[str, ...]:
    """Return one of the leaving members, preferably a holder that is a server; () if none leaves."""
    ranks = {one: (one in stream.holders, one in state.servers) for one in stream.leaving}
    return (max(ranks, key=lambda one: ranks[one]),) if ranks else ()
