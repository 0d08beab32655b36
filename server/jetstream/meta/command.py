"""Commands: what may be proposed to the meta group, and their form as entries of its log.

An entry is a byte for the version, then JSON with sorted keys: the command's name and its fields. Everything
that is chance, time or a server's own view stands in the command, so that applying it needs neither.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from .assignment import Document
from .node_info import NodeInfo
from .state import Read
from .tier_limits import UNLIMITED, TierLimits

VERSION = b"\x01"


class MetaCommandError(ValueError):
    """These bytes are no command that this version knows: applying must not go on without it."""


@dataclass(frozen=True, slots=True)
class PeerMove:
    """Other peers for one stream. revision: of the assignment this was made for."""

    account: str
    stream: str
    peers: tuple[str, ...]
    group: str
    revision: int


@dataclass(frozen=True, slots=True)
class PutServer:
    """A server joins, or reports something else of itself."""

    server: NodeInfo


@dataclass(frozen=True, slots=True)
class ReplaceServer:
    """A server replaces its earlier incarnations: their places become its own, empty."""

    server: NodeInfo


@dataclass(frozen=True, slots=True)
class RemoveServer:
    """A server goes for good. moves: who takes its place, stream by stream."""

    id: str
    moves: tuple[PeerMove, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateStream:
    """See StreamAssignment. config is validated, and complete with its defaults."""

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
    """Another configuration; and, with peers, another place. change: "scale" or "move" then."""

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
    """Another place for a stream, its configuration stays: a peer was removed, or one that lacked is here."""

    move: PeerMove
    change: str = "heal"


@dataclass(frozen=True, slots=True)
class GroupStarted:
    """A stream's group has begun, not all of its peers are in it yet. holders: the peers that are."""

    account: str
    stream: str
    placed: int
    holders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PeersConfirmed:
    """A stream's group has begun and matches its peers; proposed by its leader, or by who has the only copy.

    placed: the assignment's, as the group knew it.
    """

    account: str
    stream: str
    placed: int


@dataclass(frozen=True, slots=True)
class PreferLeader:
    """A hint which peer should lead a stream."""

    account: str
    stream: str
    peer: str


@dataclass(frozen=True, slots=True)
class DeleteStream:
    """A stream goes. created: of the one that is meant, 0 for whichever is there."""

    account: str
    stream: str
    created: int = 0


@dataclass(frozen=True, slots=True)
class PurgeAccount:
    """All streams of an account go."""

    account: str


@dataclass(frozen=True, slots=True)
class PutConsumer:
    """A consumer is made or changed. action: "create", "update", or "" for whichever fits."""

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
    """A consumer goes. created: as in DeleteStream."""

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
    | GroupStarted
    | PeersConfirmed
    | PreferLeader
    | DeleteStream
    | PurgeAccount
    | PutConsumer
    | DeleteConsumer
)

# The names in the log: never changed, never used again for something else.
NAMES: dict[str, type[Any]] = {
    "put_server": PutServer,
    "replace_server": ReplaceServer,
    "remove_server": RemoveServer,
    "create_stream": CreateStream,
    "update_stream": UpdateStream,
    "change_peers": ChangePeers,
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
    """The entry for a command."""
    value = {each.name: _plain(getattr(command, each.name)) for each in fields(command)}
    text = json.dumps([_NAME_OF[type(command)], value], separators=(",", ":"), sort_keys=True)
    return VERSION + text.encode()


def decode(entry: bytes) -> Command:
    """The command of an entry. Raises MetaCommandError."""
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
