"""Commands: what may be proposed to the meta group, and their encoding as entries of its log.

An entry is a byte for the version, then JSON with sorted keys: the command's name and its fields. Everything
that depends on chance, on time or on one server's view is a field of the command, so that applying it needs
none of these.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import field, fields
from typing import Any

from ....protocol.lazy_dataclass import dataclass
from .assignment import Document
from .node_info import NodeInfo
from .state import Read
from .tier_limits import UNLIMITED, TierLimits

VERSION = b"\x01"


class MetaCommandError(ValueError):
    """These bytes are not a command that this version knows: applying must not go on without it."""


@dataclass(frozen=True, slots=True)
class PeerMove:
    """Other peers for one stream.

    account, stream: which stream.
    peers: the new peers, ids of members.
    group: the name of the group that is started for the move; "" if the present group goes on.
    revision: of the assignment that the move was made for; on another one the move does not apply.
    """

    account: str
    stream: str
    peers: tuple[str, ...]
    group: str
    revision: int


@dataclass(frozen=True, slots=True)
class PutServer:
    """Admit a server, or take over what it newly reports of itself."""

    server: NodeInfo


@dataclass(frozen=True, slots=True)
class ReplaceServer:
    """Replace the earlier incarnations of a server by this one, which takes their places, empty."""

    server: NodeInfo


@dataclass(frozen=True, slots=True)
class RemoveServer:
    """Remove a server permanently. moves: the new peers of the streams that it held."""

    id: str
    moves: tuple[PeerMove, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateStream:
    """Create a stream. For the fields that are not named here see StreamAssignment.

    config: validated, and complete with its defaults.
    preferred: the peer that should lead first.
    share: the limits of the account that the proposer decided by.
    reads: what the proposal was decided by, see `state.AccountView`.
    """

    account: str
    config: Document
    group: str
    cluster: str
    peers: tuple[str, ...]
    created: int
    preferred: str = ""
    client: Document = field(default_factory=dict)
    share: TierLimits = UNLIMITED
    reads: dict[Read, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UpdateStream:
    """Change a stream's configuration and, if `peers` is not empty, its peers, too.

    change: "scale" or "move" if there are peers, otherwise "".
    group: as in PeerMove.
    share, reads: as in CreateStream.
    """

    account: str
    config: Document
    share: TierLimits = UNLIMITED
    reads: dict[Read, int] = field(default_factory=dict)
    client: Document = field(default_factory=dict)
    peers: tuple[str, ...] = ()
    group: str = ""
    cluster: str = ""
    preferred: str = ""
    change: str = ""


@dataclass(frozen=True, slots=True)
class ChangePeers:
    """Change only a stream's peers, because one was removed or one can take a free place."""

    move: PeerMove
    change: str = "heal"


@dataclass(frozen=True, slots=True)
class EvacuateServer:
    """Have a server's streams move to others; it stays in the cluster. moves: the streams' new peers."""

    id: str
    moves: tuple[PeerMove, ...] = ()


@dataclass(frozen=True, slots=True)
class CancelMove:
    """Return a stream to the peers and the configuration that a move or scale under way began with.

    move: the former peers, as far as they are servers.
    """

    move: PeerMove


@dataclass(frozen=True, slots=True)
class GroupStarted:
    """Note that a stream's group has started, though not all of its peers are members yet.

    placed: the assignment's, as the group knew it; with another one the command does nothing.
    holders: the peers that are members already.
    """

    account: str
    stream: str
    placed: int
    holders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PeersConfirmed:
    """Note that a stream's group has started and matches its peers.

    It is proposed by the group's leader, or by the server with the only copy.

    placed: the assignment's, as the group knew it; with another one the command does nothing.
    """

    account: str
    stream: str
    placed: int


@dataclass(frozen=True, slots=True)
class PreferLeader:
    """Note which peer should lead a stream. It is only a hint."""

    account: str
    stream: str
    peer: str


@dataclass(frozen=True, slots=True)
class DeleteStream:
    """Delete a stream. created: of the stream that is meant, ns; 0 for whichever has the name."""

    account: str
    stream: str
    created: int = 0


@dataclass(frozen=True, slots=True)
class PurgeAccount:
    """Delete all streams of an account."""

    account: str


@dataclass(frozen=True, slots=True)
class PutConsumer:
    """Create or change a consumer.

    config: validated, and complete with its defaults.
    created: when it was created, ns; not used for a change.
    action: "create", "update", or "" for whichever fits.
    share, reads: as in CreateStream.
    """

    account: str
    stream: str
    name: str
    config: Document
    created: int
    action: str = ""
    client: Document = field(default_factory=dict)
    share: TierLimits = UNLIMITED
    reads: dict[Read, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeleteConsumer:
    """Delete a consumer. created: as in DeleteStream."""

    account: str
    stream: str
    name: str
    created: int = 0


Command = (
    PutServer
    | ReplaceServer
    | RemoveServer
    | CreateStream
    | UpdateStream
    | ChangePeers
    | EvacuateServer
    | CancelMove
    | GroupStarted
    | PeersConfirmed
    | PreferLeader
    | DeleteStream
    | PurgeAccount
    | PutConsumer
    | DeleteConsumer
)

# The names in the log: never changed, and never used again for something else.
NAMES: dict[str, type[Any]] = {
    "put_server": PutServer,
    "replace_server": ReplaceServer,
    "remove_server": RemoveServer,
    "create_stream": CreateStream,
    "update_stream": UpdateStream,
    "change_peers": ChangePeers,
    "evacuate_server": EvacuateServer,
    "cancel_move": CancelMove,
    "begun": GroupStarted,
    "settle": PeersConfirmed,
    "prefer": PreferLeader,
    "delete_stream": DeleteStream,
    "purge_account": PurgeAccount,
    "put_consumer": PutConsumer,
    "delete_consumer": DeleteConsumer,
}
_NAME_OF = {kind: name for name, kind in NAMES.items()}


def encode(command: Command) -> bytes:
    """Return the log entry of a command."""
    value = {each.name: _plain(getattr(command, each.name)) for each in fields(command)}
    text = json.dumps([_NAME_OF[type(command)], value], separators=(",", ":"), sort_keys=True)
    return VERSION + text.encode()


def decode(entry: bytes) -> Command:
    """Return the command of a log entry. Raises MetaCommandError."""
    if entry[:1] != VERSION:
        raise MetaCommandError(f"an entry of version {entry[:1].hex() or 'none'} is not known here")
    try:
        name, value = json.loads(entry[1:])
        command: Command = _build(NAMES[name], value)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MetaCommandError(f"not a command: {type(error).__name__}: {error}") from error
    return command


def _plain(value: Any) -> Any:
    if isinstance(value, (NodeInfo, TierLimits)):
        return value.to_json()
    if isinstance(value, PeerMove):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict) and value and isinstance(next(iter(value)), tuple):
        return sorted([*key, revision] for key, revision in value.items())
    return value


def _reads(value: Any) -> dict[Read, int]:
    return {(kind, stream, consumer): revision for kind, stream, consumer, revision in value}


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise TypeError("a list of names is needed")
    return tuple(value)


_READ: dict[str, Callable[[Any], Any]] = {
    "server": NodeInfo.from_json,
    "share": lambda value: TierLimits(**value),
    "reads": _reads,
    "peers": _strings,
    "holders": _strings,
    "move": lambda value: _build(PeerMove, value),
    "moves": lambda value: tuple(_build(PeerMove, each) for each in value),
}
_PLAIN = {"str": str, "int": int, "Document": dict}


def _build(kind: type[Any], value: dict[str, Any]) -> Any:
    found = {}
    for each in fields(kind):
        given = value.pop(each.name)
        wanted = _PLAIN.get(str(each.type))
        if wanted is not None and type(given) is not wanted:
            raise TypeError(f"{each.name} is no {each.type}")
        found[each.name] = _READ[each.name](given) if each.name in _READ else given
    if value:
        raise TypeError(f"unknown fields {sorted(value)}")
    return kind(**found)
