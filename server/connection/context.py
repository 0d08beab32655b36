"""ConnectionContext: what the connections of one kind share, and what they need of the server they are in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..accounts import AccountRegistry
    from ..accounts.passwords import PasswordChecks
    from ..clock import Clock
    from ..config.options import Options
    from ..identity import ServerIdentity
    from ..logging import Logger
    from .buffer_budget import BufferBudget


class ConnectionContext:
    """Data only; each kind of connection adds its own.

    options: those in force; a reload replaces them.
    registry: the accounts.
    flusher: writes, at the end of a batch, what was queued.
    passwords: checks passwords off the loop.
    buffer_budget: the bytes that all connections together may buffer.
    random_bytes: so many random bytes.
    next_id: the id of the next connection, one sequence for all kinds.
    """

    def __init__(
        self,
        options: Options,
        registry: AccountRegistry,
        identity: ServerIdentity,
        clock: Clock,
        passwords: PasswordChecks,
        buffer_budget: BufferBudget,
        log: Logger,
        random_bytes: Callable[[int], bytes],
        next_id: Callable[[], int],
    ) -> None:
        self.options = options
        self.registry = registry
        self.identity = identity
        self.clock = clock
        self.flusher = registry.flusher
        self.passwords = passwords
        self.buffer_budget = buffer_budget
        self.log = log
        self.random_bytes = random_bytes
        self.next_id = next_id

    def server_fields(self) -> dict[str, Any]:
        """What the description of a peer shows of this server: its name, and its cluster's if it has one."""
        fields: dict[str, Any] = {"server": self.identity.name}
        cluster = self.options.cluster
        if cluster is not None and cluster.name:
            fields["cluster"] = cluster.name
        return fields
