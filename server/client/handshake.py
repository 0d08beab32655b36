"""ClientHandshake: the login of a client, from INFO and CONNECT to its account, and again after a reload.

Promises that before the login nothing but CONNECT is read, and that a second CONNECT starts over. How it
waits for what must be looked up or checked is in connection/login_part.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...protocol.errors import PeerError
from ...protocol.wire import encode
from ..accounts.auth import AuthResult, ClientCredentials, LoginDetails
from ..accounts.proxies import NOT_TRUSTED, REQUIRED, trusted_proxy
from ..accounts.users import EXPIRED
from ..connection.connect_info import new_nonce
from ..connection.login_part import LoginPart
from .connect import ConnectOptions

if TYPE_CHECKING:
    from ..accounts import Account
    from ..accounts.users import User
    from .peer import ClientPeer
    from .subscriptions import Subscriptions

_REFUSED = "Authentication Failure"
_REASONS = {NOT_TRUSTED: "Proxy Not Trusted", REQUIRED: "Proxy Required"}


class ClientHandshake(LoginPart["ClientPeer"]):
    """The login of one client, as often as it sends CONNECT."""

    __slots__ = ("_credentials", "_nonce", "_subscriptions")

    def __init__(self, connection: ClientPeer, subscriptions: Subscriptions) -> None:
        super().__init__(connection)
        self._subscriptions = subscriptions
        self._credentials = ClientCredentials()
        self._nonce = b""

    def greet(self) -> None:
        """Send the first INFO, and start the time in which the client must log in."""
        connection = self._connection
        context = connection.context
        if context.authenticator_of(connection).uses_nkeys or context.options.proxies:
            self._nonce = new_nonce(context.random_bytes)
        if context.options.proxy_protocol and connection.client_type == "nats":
            self.send_info(client_ip="")  # it may be that of a proxy
        else:
            self.send_info()
        self._ask()

    def _ask(self) -> None:
        """Accept only CONNECT, within the time to log in, from a client that must log in."""
        connection = self._connection
        context = connection.context
        if context.authenticator_of(connection).asks:
            connection.parser.await_connect()
            timeout = context.auth_timeout_of(connection)
            self._timer = connection.clock.call_later(timeout, self._too_late)

    def leave(self) -> None:
        """End the login: the connection is gone, or logs in again."""
        self.stop()
        user = self._connection.user
        if user is not None and user.session is not None:
            user.session.end()

    def send_info(self, **more: object) -> None:
        """Send the present INFO, with `more` fields."""
        connection = self._connection
        fields: dict[str, Any] = {"client_id": connection.id, "client_ip": connection.peer[0], **more}
        fields["max_payload"] = connection.parser.max_payload  # the limit of the user, once it is known
        if self._nonce:
            fields["nonce"] = self._nonce.decode()
        context = connection.context
        if connection.upgrade is not None:
            required = context.authenticator_of(connection).required
            connection.send_line(context.info.render_websocket(fields, auth_required=required))
            return
        connection.send_line(context.info.render(fields))

    def send_connect_info(self) -> None:
        """Send the INFO that follows CONNECT, with the client's account."""
        connection = self._connection
        account = connection.account
        assert account is not None
        self.send_info(
            connect_info=True,
            remote_account=account.name,
            acc_is_sys=account is connection.context.registry.system,
        )

    def may_speak(self) -> bool:
        """Return whether an operation other than CONNECT may be served.

        A client that need not log in becomes the user of clients without credentials. If the operation may
        not be served, the connection is closed.
        """
        connection = self._connection
        if connection.identified:
            return True
        user = connection.context.authenticator_of(connection).no_auth_user
        if user is None or not self._may_connect(user):
            self._refuse()
            return False
        return self._accept(user)

    def connect(self, raw: bytes) -> None:
        """Serve CONNECT: authenticate the client."""
        connection = self._connection
        try:
            options = ConnectOptions.parse(raw, connection.options)
        except PeerError as peer_error:
            connection.context.log.warning(f"{connection} - {peer_error.reason}")
            connection.close("Protocol Violation")
            return
        block = connection.context.options.websocket
        if connection.upgrade is not None and block is not None:
            options = options.with_cookies(connection.upgrade.cookies, block)
        if connection.identified:
            self._subscriptions.clear()
            connection.identified = False
            self.leave()
        connection.options = options
        connection.ping_timer.estimate()
        connection.ping_timer.start()  # again from now
        self._credentials = options.credentials
        self._follow(self._authenticate(), self._decided)

    def _authenticate(self) -> AuthResult:
        connection = self._connection
        trusted = connection.context.options.proxies
        proxy = trusted_proxy(trusted, self._nonce, connection.options.proxy_sig)
        if proxy is None:
            return AuthResult(None, why=NOT_TRUSTED)
        connection.proxy_key = proxy
        authenticate = connection.context.authenticator_of(connection).authenticate
        kind, options = connection.connection_type, connection.options
        details = LoginDetails(
            connection.id,
            connection.description["kind"],
            connection.client_type,
            options.name,
            options.lang,
            options.version,
            options.protocol,
            mqtt_id=connection.mqtt_client,
            secure=connection.secure,
            maps=connection.context.maps_certificates(connection),
            proxied=bool(proxy),
        )
        return authenticate(self._credentials, self._nonce, kind, connection.peer[0], details)

    def _may_connect(self, user: User) -> bool:
        if user.proxy_required and not self._connection.proxy_key:
            return False
        allowed = user.connection_types
        return allowed is None or self._connection.connection_type in allowed

    def _decided(self, result: AuthResult) -> None:
        self.stop()
        connection = self._connection
        options, user = connection.options, result.user
        if user is None or options.account or options.new_account:
            self._refuse(result.why, result.refused_by)
            return
        if options.protocol not in {0, 1}:
            connection.fail("invalid client protocol", "Bad Client Protocol Version")
            return
        headers = options.headers and not connection.context.options.no_header_support
        if options.no_responders and not headers:
            connection.fail("no responders requires headers support", "No Responders Requires Headers")
            return
        if self._accept(user) and options.verbose:
            connection.send_line(encode.OK)

    def _accept(self, user: User) -> bool:
        """Enter the user's account. Return False if a limit does not allow it, and close the connection."""
        connection = self._connection
        account = user.account
        if not self._enter(account):
            return False
        connection.user = user
        connection.identified = True
        self.stop()
        connection.client_permissions.set_permissions(user.permissions)
        self._limit_payload(user)
        connection.refresh()
        if self._subscriptions.limit == 0:
            connection.fail("maximum subscriptions exceeded", "Maximum Subscriptions Exceeded")
            return False
        if user.session is not None:
            user.session.begin(self)
        if connection.context.events is not None:
            connection.context.events.client_connected(connection)
        connection.admit()
        return True

    def _enter(self, account: Account) -> bool:
        connection = self._connection
        if connection.account is not None:
            connection.account.connections.discard(connection)
        if account.full:
            connection.fail(
                "maximum account active connections exceeded", "Maximum Account Connections Exceeded"
            )
            return False
        connection.account = account
        connection.counters = (account, connection.context.statistics)
        account.connections.add(connection)
        return True

    def _limit_payload(self, user: User) -> None:
        connection = self._connection
        limits = (connection.context.options.max_payload, user.account.limits.payload, user.payload)
        connection.parser.max_payload = min(limit for limit in limits if limit >= 0)
        connection.parser.max_control_line = connection.context.options.max_control_line

    def _refuse(self, why: str = "", refused_by: Account | None = None) -> None:
        connection = self._connection
        context = connection.context
        name = connection.options.user or connection.options.nkey
        if why:
            context.log.debug(f"{connection} - {why}")
        context.log.error(f"{connection} - authentication error" + (f" - User {name!r}" if name else ""))
        reason = _REASONS.get(why, _REFUSED)
        if context.events is not None:
            context.events.client_refused(connection, reason)
            if refused_by is not None:
                context.events.client_refused(connection, why, refused_by)
        connection.fail("Authorization Violation", reason)

    def _too_late(self) -> None:
        self._timer = None
        connection = self._connection
        connection.context.log.debug(f"{connection} - Authentication Timeout")
        connection.fail("Authentication Timeout", "Authentication Timeout")

    def reload(self) -> None:
        """Authenticate again by the new configuration. An unchanged password is not hashed again."""
        connection = self._connection
        before = connection.user
        if connection.proxy_key and connection.proxy_key not in connection.context.options.proxies:
            self._refuse(NOT_TRUSTED)
            return
        if not connection.identified or before is None:
            if not (connection.parser.awaits_connect or connection.closed_reason):
                self._ask()
            return
        if before.session is not None:
            self._limit_payload(before)
            connection.refresh()
            before.session.recheck()
            return
        authenticator = connection.context.authenticator_of(connection)
        user = authenticator.find(before.label) if before.label else authenticator.no_auth_user
        if user is None or user.password != before.password:
            self._follow(self._authenticate(), lambda result: self._renew(result.user))
            return
        self._renew(user)

    def _renew(self, user: User | None) -> None:
        connection = self._connection
        if user is None or not self._may_connect(user):
            connection.fail("Authorization Violation", EXPIRED)
            return
        if user.account is not connection.account and not self._enter(user.account):
            return
        self._become(user)

    # --- what the login session calls (accounts.users.AuthenticatedConnection)

    def fail(self, text: str, reason: str) -> None:
        """Tell the client why, and close."""
        self._connection.fail(text, reason)

    def close(self, reason: str) -> None:
        """Close without telling the client why."""
        self._connection.close(reason)

    def refuse(self) -> None:
        """Tell the client that its login no longer holds, and close."""
        self._refuse()

    def apply(self, user: User) -> None:
        """Go on as the same user with other permissions or limits."""
        connection = self._connection
        before = connection.user
        if before is not None and before.permissions == user.permissions:
            connection.user = user
            self._limit_payload(user)
            self._subscriptions.recheck_limit()
        else:
            self._become(user)

    def _become(self, user: User) -> None:
        connection = self._connection
        connection.user = user
        connection.client_permissions.set_permissions(user.permissions)
        self._limit_payload(user)
        self._subscriptions.recheck()
        if connection.closed_reason:
            return
        if any(s.account is not user.account for s in self._subscriptions.all()):
            self._subscriptions.move()
        connection.refresh()

    def who(self) -> dict[str, Any]:
        """Return user, name, language and version, and what is known of a token."""
        options, user = self._connection.options, self._connection.user
        who = {"user": "", "name": options.name, "lang": options.lang, "ver": options.version}
        if user is not None:
            who["user"] = user.label
            if user.session is not None:
                who |= user.session.describe()
        return who
