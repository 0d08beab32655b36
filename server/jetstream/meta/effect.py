"""Effects: what applying one entry has changed, the same on every server, and how a proposal ended.

What a server has to do about a change is derived by `reconcile`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....protocol.errors import ApiError
from .assignment import ConsumerAssignment, StreamAssignment
from .node_info import NodeInfo


@dataclass(frozen=True, slots=True)
class ServerUpdated:
    """A server has joined, or reports something else of itself. before: None for a new one."""

    server: NodeInfo
    before: NodeInfo | None = None


@dataclass(frozen=True, slots=True)
class ServerReplaced:
    """A server came back as another incarnation: it had lost its disk."""

    before: str
    server: NodeInfo


@dataclass(frozen=True, slots=True)
class ServerRemoved:
    """A server was removed for good."""

    server: NodeInfo


@dataclass(frozen=True, slots=True)
class StreamCreated:
    """A stream is new."""

    stream: StreamAssignment


@dataclass(frozen=True, slots=True)
class StreamUpdated:
    """A stream's configuration or its peers have changed."""

    before: StreamAssignment
    stream: StreamAssignment


@dataclass(frozen=True, slots=True)
class StreamDeleted:
    """A stream was deleted, and its consumers with it."""

    stream: StreamAssignment


@dataclass(frozen=True, slots=True)
class ConsumerCreated:
    """A consumer is new."""

    consumer: ConsumerAssignment


@dataclass(frozen=True, slots=True)
class ConsumerUpdated:
    """A consumer's configuration has changed."""

    before: ConsumerAssignment
    consumer: ConsumerAssignment


@dataclass(frozen=True, slots=True)
class ConsumerDeleted:
    """A consumer was deleted."""

    consumer: ConsumerAssignment


@dataclass(frozen=True, slots=True)
class AlreadyExists:
    """What was to be made is there already, just so."""

    assignment: StreamAssignment | ConsumerAssignment


@dataclass(frozen=True, slots=True)
class CommandRejected:
    """The proposal breaks a rule; nothing has changed."""

    error: ApiError


@dataclass(frozen=True, slots=True)
class StaleCommand:
    """The proposal was decided by what is no longer so; nothing has changed. Who proposed it tries again."""

    what: str


Effect = (
    ServerUpdated
    | ServerReplaced
    | ServerRemoved
    | StreamCreated
    | StreamUpdated
    | StreamDeleted
    | ConsumerCreated
    | ConsumerUpdated
    | ConsumerDeleted
    | AlreadyExists
    | CommandRejected
    | StaleCommand
)
