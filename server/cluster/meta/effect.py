"""Effects: what applying one entry has changed, the same on every server, and how a proposal ended.

What a server has to do about a change is `duties`' matter.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....protocol.errors import ApiError
from .assignment import ConsumerAssignment, StreamAssignment
from .server import Server


@dataclass(frozen=True, slots=True)
class ServerPut:
    """A server has joined, or says something else of itself. before: None for a new one."""

    server: Server
    before: Server | None = None


@dataclass(frozen=True, slots=True)
class ServerReplaced:
    """A server came back in another life: it had lost its disk."""

    before: str
    server: Server


@dataclass(frozen=True, slots=True)
class ServerGone:
    """A server was removed for good."""

    server: Server


@dataclass(frozen=True, slots=True)
class StreamMade:
    """A stream is new."""

    stream: StreamAssignment


@dataclass(frozen=True, slots=True)
class StreamChanged:
    """A stream's configuration or its peers have changed."""

    before: StreamAssignment
    stream: StreamAssignment


@dataclass(frozen=True, slots=True)
class StreamGone:
    """A stream was deleted, and its consumers with it."""

    stream: StreamAssignment


@dataclass(frozen=True, slots=True)
class ConsumerMade:
    """A consumer is new."""

    consumer: ConsumerAssignment


@dataclass(frozen=True, slots=True)
class ConsumerChanged:
    """A consumer's configuration has changed."""

    before: ConsumerAssignment
    consumer: ConsumerAssignment


@dataclass(frozen=True, slots=True)
class ConsumerGone:
    """A consumer was deleted."""

    consumer: ConsumerAssignment


@dataclass(frozen=True, slots=True)
class Existing:
    """What was to be made is there already, just so."""

    assignment: StreamAssignment | ConsumerAssignment


@dataclass(frozen=True, slots=True)
class Refused:
    """The proposal breaks a rule; nothing has changed."""

    error: ApiError


@dataclass(frozen=True, slots=True)
class Stale:
    """The proposal was judged by what is no longer so; nothing has changed. Who proposed judges anew."""

    what: str


Effect = (
    ServerPut
    | ServerReplaced
    | ServerGone
    | StreamMade
    | StreamChanged
    | StreamGone
    | ConsumerMade
    | ConsumerChanged
    | ConsumerGone
    | Existing
    | Refused
    | Stale
)
