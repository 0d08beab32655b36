"""ClientTraces: the traces of what one client publishes, and where they may go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.quoting import quoted
from ..accounts.plan import RESERVED
from ..connection.connection_part import ConnectionPart

if TYPE_CHECKING:
    from ...protocol.wire.violations import PayloadExceededError
    from ..accounts.server_trace import ServerTrace
    from ..accounts.tracer import TracedIngress
    from .peer import ClientPeer

_RAFT = b"$NRG."
_TOO_LARGE = "maximum payload exceeded"


class ClientTraces(ConnectionPart["ClientPeer"]):
    """Begins the traces of one client's messages, and sends the events about them."""

    __slots__ = ()

    def begin(self, subject: bytes, header: bytes, size: int) -> TracedIngress:
        """Return how to go on with a message; see Tracer. A client that may not trace it gets an error."""
        connection: ClientPeer = self._connection
        assert connection.account is not None
        tracer = connection.context.tracer
        found = tracer.begin(connection, connection.account, subject, header, size, self._may_go_to)
        if found.denied:
            connection.violation(f"Permissions Violation for Publish to {quoted(found.denied)}")
        return found

    def send(self, trace: ServerTrace) -> None:
        """Send the event about a message that was served."""
        connection = self._connection
        if connection.account is not None:
            connection.context.tracer.send(connection.account, trace)

    def refuse(self, violation: PayloadExceededError) -> None:
        """Send the event about a message that is too large, as far as its header is known."""
        if self._connection.account is None or not (self._connection.identified and self._connection.headers):
            return
        trace = self.begin(violation.subject, violation.header, violation.size).trace
        if trace is not None:
            trace.refuse(_TOO_LARGE)
            self.send(trace)

    def reserves(self, subject: bytes) -> bool:
        """Return whether the client may not publish to a subject, whatever its permissions are."""
        connection = self._connection
        raft = subject.startswith(_RAFT) and connection.account is connection.context.registry.system
        return subject.startswith(RESERVED) and not raft

    def _may_go_to(self, destination: str) -> bool:
        """Return whether the client may have a trace sent to a destination. A permitted reply is none."""
        permissions = self._connection.client_permissions.permissions
        if self.reserves(destination.encode("utf-8", "surrogateescape")):
            return False
        return permissions is None or permissions.may_publish(destination)
