"""What connections share: `ConnectionServices` those of all kinds, `ConnectionContext` those of one kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...protocol.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ..accounts import AccountRegistry
    from ..accounts.passwords import PasswordChecks
    from ..accounts.tracer import Tracer
    from ..clock import Clock
    from ..config.options import Options
    from ..identity import ServerIdentity
    from ..logging import Logger
    from ..ocsp.peer_checks import PeerChecks
    from .buffer_budget import BufferBudget


@dataclass(frozen=True, slots=True)
class ConnectionServices:
    """What the server does for its connections, of whatever kind they are.

    passwords: checks passwords off the loop.
    buffer_budget: limits the bytes that all connections together may buffer.
    random_bytes: returns a number of random bytes.
    next_id: returns the id of the next connection, from one sequence for all kinds.
    tracer: traces messages.
    peer_checks: asks authorities about certificates of peers.
    """

    identity: ServerIdentity
    clock: Clock
    log: Logger
    passwords: PasswordChecks
    buffer_budget: BufferBudget
    random_bytes: Callable[[int], bytes]
    next_id: Callable[[], int]
    tracer: Tracer
    peer_checks: PeerChecks


class ConnectionContext:
    """What the connections of one kind share. Each kind adds attributes of its own.

    options: the options in force; a reload replaces them.
    registry: the accounts.
    flusher: writes what was queued, at the end of a batch.
    services: what connections of all kinds share; its fields are attributes of the context too.
    """

    def __init__(self, options: Options, registry: AccountRegistry, services: ConnectionServices) -> None:
        self.options = options
        self.registry = registry
        self.flusher = registry.flusher
        self.services = services
        self.identity = services.identity
        self.clock = services.clock
        self.passwords = services.passwords
        self.buffer_budget = services.buffer_budget
        self.log = services.log
        self.random_bytes = services.random_bytes
        self.next_id = services.next_id
        self.tracer = services.tracer
        self.peer_checks = services.peer_checks

    def server_fields(self) -> dict[str, Any]:
        """Return what a peer's client info shows of this server: its name and that of its cluster, if any."""
        fields: dict[str, Any] = {"server": self.identity.name}
        cluster = self.options.cluster
        if cluster is not None and cluster.name:
            fields["cluster"] = cluster.name
        return fields
