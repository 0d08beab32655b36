"""ConnectionContext: what the connections of one kind share, and what they need from the server."""

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
    """What the connections of one kind share. Each kind adds attributes of its own.

    options: the options in force; a reload replaces them.
    registry: the accounts.
    flusher: writes what was queued, at the end of a batch.
    passwords: checks passwords off the loop.
    buffer_budget: limits the bytes that all connections together may buffer.
    random_bytes: returns a number of random bytes.
    next_id: returns the id of the next connection, from one sequence for all kinds.
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
        """Return what a peer's client info shows of this server: its name and that of its cluster, if any."""
        fields: dict[str, Any] = {"server": self.identity.name}
        cluster = self.options.cluster
        if cluster is not None and cluster.name:
            fields["cluster"] = cluster.name
        return fields
