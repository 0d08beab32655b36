"""Reconcile: what one server has to do about an effect, and what it has to do when it starts.

Promises:
- Every server derives its actions from the same effects, so that together they do what was decided.
- Nothing is deleted except what the meta group had assigned to this server and no longer does.
- Data that the group never knew is reported and left alone.
- A server that does not belong to the cluster, because it was removed or another incarnation took its place,
  does nothing and deletes nothing; when it is admitted again, it begins as at a start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....protocol.lazy_dataclass import dataclass
from ....raft import Members
from .assignment import ConsumerAssignment, StreamAssignment
from .effect import (
    ConsumerCreated,
    ConsumerDeleted,
    ConsumerUpdated,
    Effect,
    StreamCreated,
    StreamDeleted,
    StreamUpdated,
)
from .node_info import node_of
from .state import MetaState


@dataclass(frozen=True, slots=True)
class OpenReplica:
    """Open a replica.

    lost: the stream should be on the disk here, or no member has it any more. This is logged. A member of a
        group may have acknowledged what it lost, and recovers as Raft's `HardState.recovering` says.
    """

    stream: StreamAssignment
    lost: bool = False


@dataclass(frozen=True, slots=True)
class ChangeReplica:
    """Change the configuration or the peers of a replica that this server has, and keeps for now.

    The leader brings the configuration into the group's log and its members to the peers
    (`cluster.membership_policy`), and proposes to the meta group that it has (`has_converged`).
    """

    before: StreamAssignment
    stream: StreamAssignment


@dataclass(frozen=True, slots=True)
class CloseReplica:
    """Stop and delete the replica here. gone: the stream is deleted; otherwise other servers keep it."""

    stream: StreamAssignment
    gone: bool


@dataclass(frozen=True, slots=True)
class OpenConsumer:
    """Create a consumer. The stream's leader brings it into the stream's log, which fixes where it starts."""

    consumer: ConsumerAssignment


@dataclass(frozen=True, slots=True)
class ChangeConsumer:
    """Change a consumer's configuration."""

    before: ConsumerAssignment
    consumer: ConsumerAssignment


@dataclass(frozen=True, slots=True)
class CloseConsumer:
    """Remove a consumer."""

    consumer: ConsumerAssignment


ReconcileAction = OpenReplica | ChangeReplica | CloseReplica | OpenConsumer | ChangeConsumer | CloseConsumer


def actions_for(state: MetaState, effect: Effect, me: str) -> list[ReconcileAction]:
    """Return what the member `me` has to do about one effect; `state` is the state after it."""
    if me not in state.servers:
        return []
    if isinstance(effect, StreamCreated):
        return list(_open(state, effect.stream, me)) if me in effect.stream.peers else []
    if isinstance(effect, StreamUpdated):
        return _changed(state, effect, me)
    if isinstance(effect, StreamDeleted):
        return [CloseReplica(effect.stream, gone=True)] if me in effect.stream.members else []
    if isinstance(effect, ConsumerCreated | ConsumerUpdated | ConsumerDeleted):
        consumer = effect.consumer
        stream = state.stream(consumer.account, consumer.stream)
        if stream is None or me not in stream.members:
            return []
        if isinstance(effect, ConsumerCreated):
            return [OpenConsumer(consumer)]
        if isinstance(effect, ConsumerUpdated):
            return [ChangeConsumer(effect.before, consumer)]
        return [CloseConsumer(consumer)]
    return []


def _changed(state: MetaState, effect: StreamUpdated, me: str) -> list[ReconcileAction]:
    before, after = effect.before, effect.stream
    had, has = me in before.members, me in after.members
    if had and has:
        return [ChangeReplica(before, after)]
    if had:
        return [CloseReplica(after, gone=False)]
    if not has:
        return []
    return list(_open(state, after, me, lost=not set(before.members) & set(after.members)))


def _open(
    state: MetaState, stream: StreamAssignment, me: str, *, lost: bool = False
) -> Iterator[ReconcileAction]:
    yield OpenReplica(stream, lost=lost)
    yield from (OpenConsumer(consumer) for consumer in state.consumers_of(stream.account, stream.name))


def has_converged(stream: StreamAssignment, members: Members) -> bool:
    """Return whether the members of a group are the stream's peers; its leader proposes `PeersConfirmed`
    then.

    Nodes are compared, since a member's incarnation in the group differs from that in the meta group.
    """
    voters = sorted(node_of(voter) for voter in members.voters)
    return not members.learners and voters == sorted(node_of(peer) for peer in stream.peers)


# --- after a leader's snapshot


def catch_up(before: MetaState, after: MetaState, me: str) -> Iterator[ReconcileAction]:
    """Yield what `me` has to do when a leader's snapshot took it from one state to another.

    A stream that was deleted and created again meanwhile is closed and opened: nothing of the old one may
    remain.
    """
    if me not in after.servers:
        return
    for old in before.assigned_to(me):
        new = after.stream(old.account, old.name)
        if new is None or new.created != old.created:
            yield CloseReplica(old, gone=True)
        elif not _is_ours(new, old, me):
            yield CloseReplica(new, gone=False)
    for new in after.assigned_to(me):
        known = before.stream(new.account, new.name)
        if known is None or me not in known.members or not _is_ours(new, known, me):
            yield from _open(after, new, me, lost=_is_left_alone(new, me))
            continue
        if known != new:
            yield ChangeReplica(known, new)
        yield from _consumers_between(before, after, new)


def _consumers_between(
    before: MetaState, after: MetaState, stream: StreamAssignment
) -> Iterator[ReconcileAction]:
    account, name = stream.account, stream.name
    for consumer in before.consumers_of(account, name):
        found = after.consumer(account, name, consumer.name)
        if found is None or found.created != consumer.created:
            yield CloseConsumer(consumer)
    for consumer in after.consumers_of(account, name):
        known = before.consumer(account, name, consumer.name)
        if known is None or known.created != consumer.created:
            yield OpenConsumer(consumer)
        elif known != consumer:
            yield ChangeConsumer(known, consumer)


# --- at a start


@dataclass(frozen=True, slots=True)
class ReplicaOnDisk:
    """One stream on this server's disk.

    group: the name of its group, "" if it never had one.
    created: when the stream was created, ns.
    """

    group: str
    created: int


@dataclass(frozen=True, slots=True)
class RecoverReplica:
    """Recover the replica on the disk, which is the assigned one."""

    stream: StreamAssignment


@dataclass(frozen=True, slots=True)
class DeleteReplica:
    """Delete a replica that the meta group had assigned to this server: it was deleted or moved meanwhile."""

    account: str
    name: str


@dataclass(frozen=True, slots=True)
class OrphanStream:
    """Log a stream that the meta group never knew; it is neither served nor deleted."""

    account: str
    name: str


StartupAction = RecoverReplica | DeleteReplica | OrphanStream | OpenReplica


def at_start(
    state: MetaState, on_disk: Mapping[tuple[str, str], ReplicaOnDisk], me: str
) -> Iterator[StartupAction]:
    """Yield what to do with the streams on the disk, and which others to open.

    A stream that this server held for certain, and that is not on the disk, counts as lost.

    `state` must be at least as current as the meta group was when this server asked; otherwise a stream that
    it does not know yet would look deleted. A stream on the disk with another creation time is another
    stream. A replica of an earlier group of the stream is a former copy that was to be deleted, unless this
    server is a seed of the present group.
    """
    if me not in state.servers:
        return
    for (account, name), found in sorted(on_disk.items()):
        stream = state.stream(account, name)
        if stream is not None and _is_ours(stream, found, me):
            yield RecoverReplica(stream)
        elif found.group:
            yield DeleteReplica(account, name)
        else:
            yield OrphanStream(account, name)
    for stream in state.assigned_to(me):
        here = on_disk.get((stream.account, stream.name))
        if here is None or not _is_ours(stream, here, me):
            lost = (me in stream.holders and not stream.seeds) or _is_left_alone(stream, me)
            yield OpenReplica(stream, lost=lost)


def _is_left_alone(stream: StreamAssignment, me: str) -> bool:
    """Return whether `me` took the place of the only member that had the stream."""
    return stream.members == (me,) and stream.change == "heal"


def _is_ours(stream: StreamAssignment, replica: ReplicaOnDisk | StreamAssignment, me: str) -> bool:
    """Return whether the replica is a copy of the stream as it is now, and `me` a member of its group."""
    return (
        me in stream.members
        and replica.created == stream.created
        and (replica.group == stream.group or me in stream.seeds)
    )
