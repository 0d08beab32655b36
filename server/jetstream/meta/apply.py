"""Applies commands to the meta state, one after the other, each checked against the state that it finds.

Promises:

1. Applying is deterministic: the result depends only on the state and the entry, not on a clock, on chance or
   on settings.
2. An index is applied once; applying it again does nothing.
3. A command takes effect as a whole or not at all. If it does not, the effect says why: CommandRejected has
   the error of the API, StaleCommand says that something the command was decided by has changed since.
4. The invariants of `assignment` hold after each command.

Rules that need only one configuration were checked by the proposer; here are those that need the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ....protocol.errors import api_error
from .assignment import ORIGIN_CONFIG, ConsumerAssignment, Document, StreamAssignment
from .command import (
    CancelMove,
    ChangePeers,
    Command,
    CreateStream,
    DeleteConsumer,
    DeleteStream,
    EvacuateServer,
    GroupStarted,
    PeerMove,
    PeersConfirmed,
    PreferLeader,
    PurgeAccount,
    PutConsumer,
    PutServer,
    RemoveServer,
    ReplaceServer,
    UpdateStream,
    decode,
)
from .effect import (
    AlreadyExists,
    CommandRejected,
    ConsumerCreated,
    ConsumerDeleted,
    ConsumerUpdated,
    Effect,
    ServerRemoved,
    ServerReplaced,
    ServerUpdated,
    StaleCommand,
    StreamCreated,
    StreamDeleted,
    StreamUpdated,
)
from .peers import moved, peers_problem, with_new_incarnation, without
from .state import MetaState, Read, has_holder, other_incarnations
from .tier_limits import consumer_limit_error, stream_limit_error

Effects = list[Effect]


def apply(state: MetaState, index: int, entry: bytes) -> Effects:
    """Apply the entry at `index` to `state`, and return what changed.

    An entry of an index that was applied before has no effects. Raises MetaCommandError if the entry is not a
    known command; nothing has changed then.
    """
    if index <= state.index:
        return []
    command = decode(entry)
    state.index = index
    return _HANDLERS[type(command)](state, command)


def _refused(constant: str, **placeholders: object) -> Effects:
    return [CommandRejected(api_error(constant, **placeholders))]


def _stale(state: MetaState, account: str, reads: dict[Read, int]) -> str:
    """Return which of the reads has changed since, "" for none."""
    for read, revision in reads.items():
        if state.revision(account, read) != revision:
            return " ".join(part for part in read if part)
    return ""


# --- servers


def _put_server(state: MetaState, command: PutServer) -> Effects:
    server = command.server
    before = state.servers.get(server.id)
    if before == server:
        return []
    if server.id in state.retired:
        return _refused("JSClusterServerNotMemberErr")
    earlier = other_incarnations(state, server)
    if earlier:
        return [StaleCommand(f"server {earlier[0]}")]
    state.servers[server.id] = server
    return [ServerUpdated(server, before), *_waited_for(state, server.id)]


def _waited_for(state: MetaState, server: str) -> Effects:
    """Let streams that waited for this holder go on without the peers that were removed meanwhile."""
    effects: Effects = []
    for stream in list(state.assigned_to(server)):
        absent = [peer for peer in stream.peers if peer not in state.servers]
        if absent and has_holder(state, stream):
            after = stream
            for gone in absent:
                after = without(state, after, gone, None) or after
            effects.append(_changed(state, stream, after))
    return effects


def _replace_server(state: MetaState, command: ReplaceServer) -> Effects:
    server = command.server
    if server.id in state.retired:
        return _refused("JSClusterServerNotMemberErr")
    effects: Effects = []
    for old in other_incarnations(state, server):
        state.servers.pop(old, None)
        state.retired.add(old)
        effects.append(ServerReplaced(old, server))
        for stream in list(state.assigned_to(old)):
            effects.append(_changed(state, stream, with_new_incarnation(stream, old, server.id, state.index)))
    if not effects:
        return _put_server(state, PutServer(server))
    state.servers[server.id] = server
    return effects


def _remove_server(state: MetaState, command: RemoveServer) -> Effects:
    server = state.servers.pop(command.id, None)
    if server is None:
        return _refused("JSClusterServerNotMemberErr")
    moves = {(move.account, move.stream): move for move in command.moves}
    effects: Effects = [ServerRemoved(server)]
    for stream in list(state.assigned_to(server.id)):
        after = without(state, stream, server.id, moves.get((stream.account, stream.name)))
        if after is not None:
            effects.append(_changed(state, stream, after))
    return effects


# --- streams


def _changed(state: MetaState, before: StreamAssignment, after: StreamAssignment) -> StreamUpdated:
    members = after.members
    after = replace(
        after,
        revision=state.index,
        preferred=after.preferred if after.preferred in members else "",
        seeds=tuple(seed for seed in after.seeds if seed in members),
        holders=tuple(holder for holder in after.holders if holder in members),
        evacuated=tuple(one for one in after.evacuated if after.short and one not in after.peers),
    )
    state.streams[after.account][after.name] = after
    return StreamUpdated(before, after)


def _sound(config: Document) -> bool:
    """Return whether the parts of a stream's configuration that are read here have the right types.

    The rest was validated by the proposer.
    """
    numbers = (config.get(name, 0) for name in ("num_replicas", "max_bytes", "max_consumers"))
    subjects = config.get("subjects") or []
    return (
        isinstance(config.get("name"), str)
        and all(type(number) is int for number in numbers)
        and isinstance(subjects, list)
        and all(isinstance(subject, str) for subject in subjects)
        and isinstance(config.get("consumer_limits") or {}, dict)
    )


def _create_stream(state: MetaState, command: CreateStream) -> Effects:
    account, config = command.account, command.config
    if not _sound(config):
        return _refused("JSStreamInvalidConfigF", err="stream configuration is damaged")
    wanted = StreamAssignment(
        account,
        config,
        command.group,
        command.cluster,
        command.peers,
        command.created,
        state.index,
        state.index,
        seeds=command.peers,
        holders=command.peers,
        preferred=command.preferred if command.preferred in command.peers else "",
        client=command.client,
    )
    existing = state.stream(account, wanted.name)
    if existing is not None:
        if existing.config == config:
            return [AlreadyExists(existing)]
        return _refused("JSStreamNameExistErr")
    if state.overlap(account, wanted.subjects, wanted.name):
        return _refused("JSStreamSubjectOverlapErr")
    error = stream_limit_error(command.share, wanted, state.streams.get(account, {}).values(), new=True)
    if error is not None:
        return [CommandRejected(error)]
    stale = _stale(state, account, command.reads) or peers_problem(state, wanted.peers)
    if state.has_group(wanted.group):
        stale = f"group {wanted.group}"
    if stale:
        return [StaleCommand(stale)]
    if len(wanted.peers) != wanted.replicas:
        return _refused("JSClusterNoPeersErrF", err="no suitable peers for placement, miscellaneous issue")
    state.streams.setdefault(account, {})[wanted.name] = wanted
    return [StreamCreated(wanted)]


def _update_stream(state: MetaState, command: UpdateStream) -> Effects:
    account, config = command.account, command.config
    if not _sound(config):
        return _refused("JSStreamInvalidConfigF", err="stream configuration is damaged")
    before = state.stream(account, config["name"])
    if before is None:
        return _refused("JSStreamNotFoundErr")
    after = replace(before, config=config, client=command.client or before.client)
    if state.overlap(account, after.subjects, after.name):
        return _refused("JSStreamSubjectOverlapErr")
    violating = _violating(state, before, after)
    if violating:
        text = f"change to limits violates consumers: {', '.join(violating)}"
        return _refused("JSStreamUpdateErrF", err=text)
    if _weight(command, after) > _weight(command, before):
        others = [one for one in state.streams[account].values() if one.name != after.name]
        error = stream_limit_error(command.share, after, others, new=False)
        if error is not None:
            return [CommandRejected(error)]
    stale = _stale(state, account, command.reads)
    if stale:
        return [StaleCommand(stale)]
    if command.peers:
        return _change_placement(state, command, before, after)
    if after.replicas != before.replicas:
        return _refused("JSClusterNoPeersErrF", err="no suitable peers for placement, miscellaneous issue")
    if after == before:
        return [AlreadyExists(before)]
    return [_changed(state, before, after)]


def _weight(command: UpdateStream, stream: StreamAssignment) -> tuple[int, int]:
    return command.share.reservation(stream.max_bytes, stream.replicas), stream.replicas


def _violating(state: MetaState, before: StreamAssignment, after: StreamAssignment) -> list[str]:
    """Return the names of the consumers that would exceed the stream's new limits for consumers."""
    old, new = before.config.get("consumer_limits") or {}, after.config.get("consumer_limits") or {}
    if old == new:
        return []
    return [
        consumer.name
        for consumer in state.consumers_of(after.account, after.name)
        if any(
            0 < int(new.get(limit) or 0) < int(consumer.config.get(limit) or 0)
            for limit in ("inactive_threshold", "max_ack_pending")
        )
    ]


def _change_placement(
    state: MetaState, command: UpdateStream, before: StreamAssignment, after: StreamAssignment
) -> Effects:
    if before.change == "move":
        return _refused("JSStreamMoveInProgressErr")
    if command.change == "move" and before.change:
        return _refused("JSStreamReconfigureInProgressErr")
    if not has_holder(state, before):
        return _refused("JSStreamOfflineErr")
    problem = peers_problem(state, command.peers)
    if problem or (command.group not in ("", before.group) and state.has_group(command.group)):
        return [StaleCommand(problem or f"group {command.group}")]
    if len(command.peers) != after.replicas:
        return _refused("JSClusterNoPeersErrF", err="no suitable peers for placement, miscellaneous issue")
    after = moved(state, after, command.peers, command.group, command.change)
    origin = before.origin or _origin(before)
    after = replace(
        after, cluster=command.cluster or after.cluster, preferred=command.preferred, origin=origin
    )
    if (after.peers, after.leaving) == (before.peers, before.leaving):
        after = replace(after, change=before.change, placed=before.placed, origin=before.origin)
    return [_changed(state, before, after)]


def _origin(stream: StreamAssignment) -> Document:
    config = {name: stream.config.get(name) for name in ORIGIN_CONFIG}
    return {"peers": list(stream.peers), "cluster": stream.cluster, "config": config}


def _change_peers(state: MetaState, command: ChangePeers) -> Effects:
    move = command.move
    before = state.stream(move.account, move.stream)
    if before is None:
        return _refused("JSStreamNotFoundErr")
    problem = _move_problem(state, before, move)
    if problem is not None:
        return [problem]
    if len(move.peers) > before.replicas:
        return _refused("JSPeerRemapErr")
    change = "move" if before.change == "move" else command.change
    return [_changed(state, before, moved(state, before, move.peers, move.group, change))]


def _move_problem(state: MetaState, before: StreamAssignment, move: PeerMove) -> Effect | None:
    """Return why a move cannot take place, None if it can."""
    if before.revision != move.revision:
        return StaleCommand(f"stream {before.name}")
    if not has_holder(state, before):
        return CommandRejected(api_error("JSStreamOfflineErr"))
    problem = peers_problem(state, move.peers)
    if problem or (move.group not in ("", before.group) and state.has_group(move.group)):
        return StaleCommand(problem or f"group {move.group}")
    return None


def _evacuate_server(state: MetaState, command: EvacuateServer) -> Effects:
    """Move the streams that can be moved; the others stay where they are."""
    if command.id not in state.servers:
        return _refused("JSClusterServerNotMemberErr")
    effects: Effects = []
    for move in command.moves:
        before = state.stream(move.account, move.stream)
        if before is None or _move_problem(state, before, move) or len(move.peers) > before.replicas:
            continue
        after = moved(state, before, move.peers, move.group, before.change or "heal")
        after = replace(after, evacuated=tuple(sorted({*before.evacuated, command.id})))
        effects.append(_changed(state, before, after))
    return effects


def _cancel_move(state: MetaState, command: CancelMove) -> Effects:
    move = command.move
    before = state.stream(move.account, move.stream)
    if before is None:
        return _refused("JSStreamNotFoundErr")
    if not before.origin:
        return _refused("JSStreamReconfigureNotInProgressErr")
    problem = _move_problem(state, before, move)
    if problem is not None:
        return [problem]
    former = before.origin["config"]
    config = {name: value for name, value in before.config.items() if name not in former}
    config |= {name: value for name, value in former.items() if value is not None}
    after = replace(before, config=config, cluster=before.origin["cluster"])
    return [_changed(state, before, moved(state, after, move.peers, move.group, before.change or "scale"))]


def _group_started(state: MetaState, command: GroupStarted) -> Effects:
    before = state.stream(command.account, command.stream)
    if before is None or before.placed != command.placed or not before.seeds:
        return []
    holders = tuple(seed for seed in before.seeds if seed in command.holders)
    if not holders or peers_problem(state, before.peers):
        return []
    return [_changed(state, before, replace(before, seeds=(), holders=holders))]


def _peers_confirmed(state: MetaState, command: PeersConfirmed) -> Effects:
    before = state.stream(command.account, command.stream)
    if before is None or before.placed != command.placed:
        return []
    if not (before.change or before.leaving or before.seeds):
        return []
    if peers_problem(state, before.peers):
        return []  # a peer was removed: the group does not match the peers after all
    confirmed = replace(
        before, seeds=(), holders=before.peers, leaving=(), change="", preferred="", origin={}
    )
    return [_changed(state, before, confirmed)]


def _prefer(state: MetaState, command: PreferLeader) -> Effects:
    before = state.stream(command.account, command.stream)
    if before is None:
        return _refused("JSStreamNotFoundErr")
    if command.peer not in before.peers:
        return _refused("JSClusterPeerNotMemberErr")
    if before.preferred == command.peer:
        return []
    return [_changed(state, before, replace(before, preferred=command.peer))]


def _delete_stream(state: MetaState, command: DeleteStream) -> Effects:
    stream = state.stream(command.account, command.stream)
    if stream is None or command.created not in (0, stream.created):
        return _refused("JSStreamNotFoundErr")
    return [_drop(state, stream)]


def _drop(state: MetaState, stream: StreamAssignment) -> StreamDeleted:
    account, name = stream.account, stream.name
    del state.streams[account][name]
    if not state.streams[account]:
        del state.streams[account]
    state.consumers.pop((account, name), None)
    state.consumer_changes.pop((account, name), None)
    return StreamDeleted(stream)


def _purge_account(state: MetaState, command: PurgeAccount) -> Effects:
    return [_drop(state, stream) for stream in state.of_account(command.account)]


# --- consumers


def _put_consumer(state: MetaState, command: PutConsumer) -> Effects:
    account, stream_name, name = command.account, command.stream, command.name
    stream = state.stream(account, stream_name)
    if stream is None:
        return _refused("JSStreamNotFoundErr")
    before = state.consumer(account, stream_name, name)
    if before is not None:
        if before.config == command.config:
            return [AlreadyExists(before)]
        if command.action == "create":
            return _refused("JSConsumerAlreadyExists")
        stale = _stale(state, account, command.reads)
        if stale:
            return [StaleCommand(stale)]
        client = command.client or before.client
        after = replace(before, config=command.config, client=client, revision=state.index)
        _keep(state, after)
        return [ConsumerUpdated(before, after)]
    if command.action == "update":
        return _refused("JSConsumerDoesNotExist")
    made = ConsumerAssignment(
        account, stream_name, name, command.config, command.created, state.index, command.client
    )
    error = consumer_limit_error(command.share, stream, made, state.consumers_of(account, stream_name))
    if error is not None:
        return [CommandRejected(error)]
    stale = _stale(state, account, command.reads)
    if stale:
        return [StaleCommand(stale)]
    _keep(state, made)
    return [ConsumerCreated(made)]


def _keep(state: MetaState, consumer: ConsumerAssignment) -> None:
    key = (consumer.account, consumer.stream)
    state.consumers.setdefault(key, {})[consumer.name] = consumer
    state.consumer_changes[key] = state.index


def _delete_consumer(state: MetaState, command: DeleteConsumer) -> Effects:
    account, stream, name = command.account, command.stream, command.name
    if state.stream(account, stream) is None:
        return _refused("JSStreamNotFoundErr")
    consumer = state.consumer(account, stream, name)
    if consumer is None or command.created not in (0, consumer.created):
        return _refused("JSConsumerNotFoundErr")
    del state.consumers[account, stream][name]
    if not state.consumers[account, stream]:
        del state.consumers[account, stream]
    state.consumer_changes[account, stream] = state.index
    return [ConsumerDeleted(consumer)]


_HANDLERS: dict[type[Command], Callable[[MetaState, Any], Effects]] = {
    PutServer: _put_server,
    ReplaceServer: _replace_server,
    RemoveServer: _remove_server,
    CreateStream: _create_stream,
    UpdateStream: _update_stream,
    ChangePeers: _change_peers,
    EvacuateServer: _evacuate_server,
    CancelMove: _cancel_move,
    GroupStarted: _group_started,
    PeersConfirmed: _peers_confirmed,
    PreferLeader: _prefer,
    DeleteStream: _delete_stream,
    PurgeAccount: _purge_account,
    PutConsumer: _put_consumer,
    DeleteConsumer: _delete_consumer,
}
