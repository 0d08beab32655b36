"""ConnectionHost: what connections need of the server they are in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ..accounts import AccountRegistry
    from ..accounts.flusher import Flusher
    from ..accounts.passwords import PasswordChecks
    from ..clock import Clock
    from ..config.options import Options
    from ..identity import ServerIdentity
    from ..logging import Logger
    from .buffer_budget import BufferBudget


class ConnectionHost(Protocol):
    """All connections of one kind have it in common. options: those in force, which a reload replaces."""

    options: Options
    registry: AccountRegistry
    identity: ServerIdentity
    clock: Clock
    flusher: Flusher
    buffer_budget: BufferBudget
    passwords: PasswordChecks
    log: Logger
    random_bytes: Callable[[int], bytes]

    def next_id(self) -> int:
        """A connection's id, one sequence for all kinds."""

    def server_fields(self) -> dict[str, Any]:
        """What the description of a peer shows of this server."""
