"""How a client becomes known: INFO, CONNECT, authentication, its account, and what a reload makes of it.

Promises that nothing but CONNECT is served before it is known who speaks, that bcrypt runs off the loop, and
that a second CONNECT starts over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...protocol.errors import PeerError
from ...protocol.wire import encode
from ..accounts.auth import STANDARD, Credentials
from ..accounts.users import User
from ..connection.introduction import new_nonce
from .connect import ConnectOptions

if TYPE_CHECKING:
    from ..accounts import Account
    from ..clock import Timer
    from .connection import ClientConnection

_REFUSED = "Authentication Failure"


class Handshake:
    """user: who it is, None before. identified: CONNECT, or the first words of someone who need not say who
    it is,
    have been accepted.
    """

    __slots__ = ("_connection", "_credentials", "_nonce", "_timer", "identified", "user")

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._timer: Timer | None = None
        self._credentials = Credentials()
        self._nonce = b""
        self.user: User | None = None
        self.identified = False

    def greet(self) -> None:
        """Send the first INFO and give a time to answer it."""
        connection = self._connection
        clients = connection.clients
        if clients.authenticator.uses_nkeys:
            self._nonce = new_nonce(clients.random_bytes)
        self.send_info()
        if clients.authenticator.asks:
            self._timer = connection.clock.call_later(clients.options.auth_timeout, self._too_late)

    def stop(self) -> None:
        """No more timers."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def send_info(self, **more: object) -> None:
        """Send INFO as it is now."""
        connection = self._connection
        fields: dict[str, Any] = {"client_id": connection.id, "client_ip": connection.peer[0], **more}
        if self._nonce:
            fields["nonce"] = self._nonce.decode()
        connection.send_line(connection.clients.info.render(fields))

    def send_connect_info(self) -> None:
        """Tell the client what it is connected to, once it can take it."""
        account = self._connection.account
        assert account is not None
        self.send_info(
            connect_info=True,
            remote_account=account.name,
            acc_is_sys=account is self._connection.clients.registry.system,
        )

    def may_speak(self) -> bool:
        """Whether an operation other than CONNECT may be served; if not, the connection is closed."""
        if self.identified:
            return True
        connection = self._connection
        user = connection.clients.authenticator.no_auth_user
        if user is None:
            self._refuse()
            return False
        return self._accept(user)

    def connect(self, raw: bytes) -> None:
        """CONNECT."""
        connection = self._connection
        try:
            options = ConnectOptions.parse(raw, connection.options)
        except PeerError as fault:
            connection.clients.log.warning(f"{connection} - {fault.reason}")
            connection.close("Protocol Violation")
            return
        if self.identified:
            connection.subscriptions.clear()
            self.identified = False
        self.stop()
        connection.options = options
        connection.heartbeat.connected()
        self._credentials = options.credentials
        verdict = connection.clients.authenticator.judge(self._credentials, self._nonce, STANDARD)
        if verdict.user is not None and verdict.check is not None:
            user = verdict.user
            connection.hold()
            connection.clients.offload(verdict.check, lambda passed: self._checked(user, passed))
            return
        self._decided(verdict.user)

    def _checked(self, user: User, passed: bool) -> None:
        if self._connection.closed_reason:
            return
        self._decided(user if passed else None)
        self._connection.clients.flusher.flush()
        self._connection.go_on()

    def _decided(self, user: User | None) -> None:
        connection = self._connection
        options = connection.options
        if user is None or options.account or options.new_account:
            self._refuse()
            return
        if options.protocol not in {0, 1}:
            connection.fail("invalid client protocol", "Bad Client Protocol Version")
            return
        headers = options.headers and not connection.clients.options.no_header_support
        if options.no_responders and not headers:
            connection.fail("no responders requires headers support", "No Responders Requires Headers")
            return
        if self._accept(user) and options.verbose:
            connection.send_line(encode.OK)

    def _accept(self, user: User) -> bool:
        """Enter the user's account; False, and closed, when it is full."""
        connection = self._connection
        account = user.account
        if not self._enter(account):
            return False
        self.user = user
        self.identified = True
        self.stop()
        connection.delivery.set_permissions(user.permissions)
        self._limit_payload(account)
        connection.refresh()
        if connection.clients.events is not None:
            connection.clients.events.client_connected(connection)
        return True

    def _enter(self, account: Account) -> bool:
        connection = self._connection
        if connection.account is not None:
            connection.account.connections.discard(connection)
        limit = account.limits.connections
        if 0 <= limit <= len(account.connections):
            connection.fail(
                "maximum account active connections exceeded", "Maximum Account Connections Exceeded"
            )
            return False
        connection.account = account
        account.connections.add(connection)
        return True

    def _limit_payload(self, account: Account) -> None:
        connection = self._connection
        limit = connection.clients.options.max_payload
        if 0 <= account.limits.payload < limit:
            limit = account.limits.payload
        connection.parser.max_payload = limit
        connection.parser.max_control_line = connection.clients.options.max_control_line

    def _refuse(self) -> None:
        connection = self._connection
        clients = connection.clients
        name = connection.options.user or connection.options.nkey
        clients.log.error(f"{connection} - authentication error" + (f" - User {name!r}" if name else ""))
        if clients.events is not None:
            clients.events.client_refused(connection, _REFUSED)
        connection.fail("Authorization Violation", _REFUSED)

    def _too_late(self) -> None:
        self._timer = None
        connection = self._connection
        connection.clients.log.debug(f"{connection} - Authentication Timeout")
        connection.fail("Authentication Timeout", "Authentication Timeout")

    def reload(self) -> None:
        """Judge again by the new configuration. A password already checked is not hashed again if it is the
        same.
        """
        connection = self._connection
        if not self.identified or self.user is None:
            return
        before = self.user
        authenticator = connection.clients.authenticator
        user = authenticator.find(before.label) if before.label else authenticator.no_auth_user
        if user is None or user.password != before.password:
            verdict = authenticator.judge(self._credentials, self._nonce, STANDARD)
            if verdict.check is not None and verdict.user is not None:
                decided = verdict.user
                connection.hold()
                connection.clients.offload(verdict.check, lambda passed: self._rechecked(decided, passed))
                return
            user = verdict.user
        self._renew(user)

    def _rechecked(self, user: User, passed: bool) -> None:
        if not self._connection.closed_reason:
            self._renew(user if passed else None)
            self._connection.clients.flusher.flush()
            self._connection.go_on()

    def _renew(self, user: User | None) -> None:
        connection = self._connection
        if user is None or (user.connection_types is not None and STANDARD not in user.connection_types):
            connection.fail("Authorization Violation", "Authentication Expired")
            return
        if user.account is not connection.account and not self._enter(user.account):
            return
        self.user = user
        connection.delivery.set_permissions(user.permissions)
        self._limit_payload(user.account)
        connection.subscriptions.recheck()
        if connection.closed_reason:
            return
        if any(s.account is not user.account for s in connection.subscriptions.all()):
            connection.subscriptions.move()
        connection.refresh()

    def who(self) -> dict[str, str]:
        """User, name and what it is written in."""
        options = self._connection.options
        user = self.user.label if self.user is not None else ""
        return {"user": user, "name": options.name, "lang": options.lang, "ver": options.version}
