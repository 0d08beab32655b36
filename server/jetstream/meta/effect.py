"""Effects: what applying one entry has changed, the same on every server, and how a proposal ended.

`reconcile` derives from an effect what one server has to do about it.
"""

from __future__ import annotations

from ....protocol.errors import ApiError
from ....protocol.lazy_dataclass import dataclass
from .assignment import ConsumerAssignment, StreamAssignment
from .node_info import NodeInfo


@dataclass(frozen=True, slots=True)
class ServerUpdated:
    """A server was admitted, or changed what it reports of itself. before: None for a new server."""

    server: NodeInfo
    before: NodeInfo | None = None


@dataclass(frozen=True, slots=True)
class ServerReplaced:
    """A server that had lost its disk came back as another incarnation. before: the earlier id."""

    before: str
    server: NodeInfo


@dataclass(frozen=True, slots=True)
class ServerRemoved:
    """A server was removed permanently."""

    server: NodeInfo


@dataclass(frozen=True, slots=True)
class StreamCreated:
    """A stream was created."""

    stream: StreamAssignment


@dataclass(frozen=True, slots=True)
class StreamUpdated:
    """A stream's configuration or its peers were changed."""

    before: StreamAssignment
    stream: StreamAssignment


@dataclass(frozen=True, slots=True)
class StreamDeleted:
    """A stream was deleted, and its consumers with it."""

    stream: StreamAssignment


@dataclass(frozen=True, slots=True)
class ConsumerCreated:
    """A consumer was created."""

    consumer: ConsumerAssignment


@dataclass(frozen=True, slots=True)
class ConsumerUpdated:
    """A consumer's configuration was changed."""

    before: ConsumerAssignment
    consumer: ConsumerAssignment


@dataclass(frozen=True, slots=True)
class ConsumerDeleted:
    """A consumer was deleted."""

    consumer: ConsumerAssignment


@dataclass(frozen=True, slots=True)
class AlreadyExists:
    """The stream or consumer exists already with the same configuration; nothing has changed."""

    assignment: StreamAssignment | ConsumerAssignment


@dataclass(frozen=True, slots=True)
class CommandRejected:
    """The proposal breaks a rule; nothing has changed."""

    error: ApiError


@dataclass(frozen=True, slots=True)
class StaleCommand:
    """Something that the proposal was decided by has changed (`what`), so that nothing was done.

    The proposer makes the proposal again, by the present state.
    """

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
