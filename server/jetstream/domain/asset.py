"""Asset: one stream on this server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ....protocol.api.consumer import ConsumerInfo
from ....protocol.api.stream import StreamInfo
from ...cluster.meta.answering import Led
from ...cluster.meta.assignment import ConsumerAssignment, StreamAssignment
from ...cluster.meta.duties import Change
from ...cluster.meta.health import StreamFacts
from ...cluster.meta.report import GroupView

if TYPE_CHECKING:
    from ..account import JetStreamAccount
    from ..stream.core import Stream
    from .domain import Domain


class Asset:
    """A replica."""

    def __init__(self, domain: Domain, held: JetStreamAccount, assignment: StreamAssignment) -> None:
        self.domain = domain
        self.held = held
        self.assignment = assignment
        self.stream: Stream | None = None

    def open(self, *, joins: bool, lost: bool, consumers: list[ConsumerAssignment]) -> None:
        """Begin."""

    def keep(self, leaves: bool, consumers: list[ConsumerAssignment]) -> None:
        """Recover."""

    def change(self, duty: Change) -> None:
        """Another configuration, or other peers."""

    def close(self, gone: bool, done: Callable[[], None]) -> None:
        """End and delete."""
        done()

    def stop(self, done: Callable[[], None]) -> None:
        """End; files stay."""
        done()

    def consumer_made(self, consumer: ConsumerAssignment) -> None:
        """A consumer is to be there; harmless when it is."""

    def consumer_changed(self, consumer: ConsumerAssignment) -> None:
        """It has another configuration."""

    def consumer_gone(self, consumer: ConsumerAssignment) -> None:
        """It goes."""

    def led(self) -> Led | None:
        """Who leads the group; None without a group."""
        return None

    def view(self) -> GroupView | None:
        """The group; None without."""
        return None

    def leads(self) -> bool:
        """Whether it serves the stream."""
        return False

    def step_down(self, preferred: str, done: Callable[[], None]) -> None:
        """Hand over."""

    def server_lost(self, server_id: str) -> None:
        """There is no route to that server."""

    def facts(self) -> StreamFacts:
        """For healthz."""
        return StreamFacts()

    def info(self) -> StreamInfo:
        """The stream's info."""
        raise NotImplementedError

    def consumer_info(self, name: str) -> ConsumerInfo:
        """A consumer's info."""
        raise NotImplementedError
