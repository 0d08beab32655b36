"""ClusterConnection is a route or a gateway: a connection to a server of this cluster or of another one.

PeerContext is what all connections of one of these kinds share.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Protocol

from ..accounts.plan import RESERVED
from ..slices import TurnScheduler
from .context import ConnectionContext
from .peer_certificate import names_host, names_user
from .server_connection import ServerConnection
from .socket_protocol import TLS_FAILED

if TYPE_CHECKING:
    from ..accounts.flusher import OutboundQueue
    from ..clock import Timer
    from ..config.options import PeerAuthorization, TLSOptions
    from .secure import TLSState
    from .wire import ConnectionTransport

REFUSED = "Authentication Failure"


class PeerContext(ConnectionContext):
    """What routes share, or gateways: besides what any connections do, who may join.

    slow_consumers: how often peers did not read in time.
    stale_connections: how many peers were closed because they did not answer pings.
    turns: the turns of the loop in which interest is advertised.
    """

    def __init__(self, clients: ConnectionContext) -> None:
        """`clients` is what the clients of this server share."""
        super().__init__(clients.options, clients.registry, clients.services)
        self.slow_consumers = self.stale_connections = 0
        self.turns = TurnScheduler(self.clock.soon)

    @property
    def authorization(self) -> PeerAuthorization | None:
        """The user that peers log in as; None if anyone may join."""
        raise NotImplementedError

    @property
    def auth_timeout(self) -> int:
        """How long a peer may take to introduce itself, in ns."""
        given = self.authorization
        if given is not None and given.timeout is not None:
            return given.timeout
        return self.options.auth_timeout

    @property
    def tls(self) -> TLSOptions | None:
        """The TLS options of the listener."""
        raise NotImplementedError

    def _verify_always(self) -> None:
        """Ask every peer for a certificate if there is TLS; `config.check` does so for configurations."""
        if self.tls is not None:
            self.tls.verify = True

    @property
    def known_urls(self) -> list[str]:
        """The configured URLs of peers."""
        raise NotImplementedError

    def authorizes(self, user: str, password: str, secure: TLSState | None) -> bool:
        """Return whether a peer with these credentials, or else this certificate, may join."""
        wanted, tls = self.authorization, self.tls
        if tls is not None and (tls.verify_and_map or tls.verify_known_urls):
            name = wanted.user if wanted is not None and tls.verify_and_map else ""
            known = tls.verify_known_urls and names_host(secure, self.known_urls)
            return known or names_user(secure, name)
        if wanted is None or not wanted.user:
            return True
        same_user = hmac.compare_digest(user.encode(), wanted.user.encode())
        return hmac.compare_digest(password.encode(), wanted.password.encode()) and same_user


class ServerInfo(Protocol):
    """The INFO of a peer."""

    server_id: str
    server_name: str
    version: str
    proto: int


class ClusterConnection(ServerConnection):
    """A route or gateway.

    info: the peer's INFO; None until it has come.
    login: user and password of its CONNECT; None if it sent none, because this server dialled.
    """

    context: PeerContext
    info: ServerInfo | None = None
    login: tuple[str, str] | None = None

    def __init__(
        self, context: PeerContext, wire: ConnectionTransport, peer: tuple[str, int], write_deadline: int
    ) -> None:
        super().__init__(context, wire, peer, write_deadline)
        self._introduction: Timer | None = None

    def who(self) -> dict[str, str]:
        """See Connection."""
        return {} if self.info is None else {"name": self.info.server_id, "ver": self.info.version}

    def follow_authorization(self) -> None:
        """Close a peer that dialled, and may join no longer, since other options apply now."""
        if self.login is not None and not self.context.authorizes(*self.login, self.secure):
            self.fail("Authorization Violation", REFUSED)
        elif not self.is_pinned(self._tls()):
            self.close(TLS_FAILED)

    def _tls(self) -> TLSOptions | None:
        """Return the TLS options that apply to the peer now."""
        return self.context.tls

    def expect_introduction(self) -> None:
        """Close the connection if the peer has not introduced itself in time."""
        self._introduction = self.clock.call_later(self.context.auth_timeout, self._too_late)

    def stop_waiting(self) -> None:
        """The peer has introduced itself, or is gone."""
        if self._introduction is not None:
            self._introduction.cancel()
            self._introduction = None

    def _too_late(self) -> None:
        self._introduction = None
        self.fail("Authentication Timeout", "Authentication Timeout")

    def fail(self, text: str, reason: str) -> None:
        """Tell the peer and the log why, then close."""
        if not self.closed_reason:
            self.context.log.error(f"{self} - {text}")
        super().fail(text, reason)

    def broke_protocol(self, text: str) -> None:
        """Close a peer that sent what it may not send."""
        self.context.log.warning(f"{self} - {text}")
        self.close("Protocol Violation")

    def count_slow(self) -> None:
        """See `Outbound`."""
        self.context.slow_consumers += 1

    def stale(self) -> None:
        """Close a peer that does not answer pings."""
        self.context.stale_connections += 1
        super().stale()

    def stall(self, stalled: list[OutboundQueue]) -> None:
        """Do nothing: one slow client here must not delay what everyone else gets from the peer."""

    @staticmethod
    def may_trace_to(destination: str) -> bool:
        """Return whether a trace may go to a destination that the peer has permitted its client."""
        return not destination.encode("utf-8", "surrogateescape").startswith(RESERVED)
