"""The handshakes of both ends of a leaf connection.

The acceptor sends INFO, and the solicitor answers with CONNECT. Then the acceptor binds an account and sends
INFO again, with what the solicitor may do, and both announce their interest. Promises: until then nothing
else is served, and the acceptor reads nothing but CONNECT; bcrypt runs off the loop; a peer that does not go
on is closed in time.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from ...protocol.errors import PeerError
from ...protocol.wire import encode
from ..accounts.auth import AuthResult, ClientCredentials, LoginDetails
from ..accounts.proxies import NOT_TRUSTED, trusted_proxy
from ..clock import SECOND
from ..connection.compression import EFFORTS, NOT_SUPPORTED, OFF, announced
from ..connection.connect_info import new_nonce
from ..connection.connection_part import ConnectionPart
from ..connection.login_part import LoginPart
from .connect import HubInfo, LeafConnect
from .credentials import LeafCredentialsError
from .permissions import AllowDeny, user_lists

if TYPE_CHECKING:
    from ..accounts.users import User
    from ..clock import Timer
    from .interest_advertiser import InterestAdvertiser
    from .peer import LeafPeer
    from .remote import LeafRemote

_FINISH = 2 * SECOND  # ns that the acceptor has to answer CONNECT
_REFUSED = "Authentication Failure"
_VIOLATION = "Protocol Violation"
_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


class LeafHandshake(Protocol):
    """The handshake of one end."""

    def begin(self) -> None:
        """Begin: the wire exists."""

    def leave(self) -> None:
        """End: the connection is gone."""

    def connect(self, raw: bytes) -> None:
        """Serve CONNECT."""

    def info(self, raw: bytes) -> None:
        """Serve INFO."""

    def still_welcome(self) -> bool:
        """Return whether the peer may stay as it is after a reload."""

    def who(self) -> dict[str, Any]:
        """Return what the peer sent about itself at login, as client info shows it."""


class AcceptedHandshake(LoginPart["LeafPeer"]):
    """The handshake of the acceptor.

    user: the user that the leaf logged in as; None before.
    """

    def __init__(self, connection: LeafPeer, advertiser: InterestAdvertiser) -> None:
        super().__init__(connection)
        self._advertiser = advertiser
        self._nonce = b""
        self._credentials = ClientCredentials()
        self._name = self._version = self._proxy_signature = ""
        self._denied: list[str] = []
        self.user: User | None = None

    def begin(self) -> None:
        """Send INFO, and start the time in which the leaf must answer."""
        connection = self._connection
        context = connection.context
        self._nonce = new_nonce(context.random_bytes)
        mode = connection.compression_options.mode
        self.send_info(**announced(mode))
        connection.parser.await_connect(or_info=mode not in {OFF, NOT_SUPPORTED})
        self._timer = connection.clock.call_later(context.auth_timeout, self._too_late)

    def leave(self) -> None:
        """End the login: the connection is gone."""
        self.stop()
        if self.user is not None and self.user.session is not None:
            self.user.session.end()

    def send_info(self, **more: object) -> None:
        """Send the present INFO, with `more` fields."""
        connection = self._connection
        fields = {"client_id": connection.id, "nonce": self._nonce.decode(), **more}
        connection.send_line(connection.context.documents.info(fields))

    def who(self) -> dict[str, Any]:
        """Return user, name and version, and what is known of a token."""
        who = {"user": "", "name": self._connection.name, "ver": self._version}
        if self.user is not None:
            who["user"] = self.user.label
            if self.user.session is not None:
                who |= self.user.session.describe()
        return who

    def still_welcome(self) -> bool:
        """Return whether the same user would still join the same account with the same permissions.

        A session rechecks its login itself, and closes the connection if it no longer holds.
        """
        before = self.user
        if before is None:
            return False
        connection = self._connection
        if connection.proxy_key and connection.proxy_key not in connection.context.options.proxies:
            return False
        if before.session is not None:
            before.session.recheck()
            return True
        user = self._authenticate().user
        return (
            user is not None
            and user.account is before.account
            and user.password == before.password
            and user.permissions == before.permissions
        )

    def info(self, raw: bytes) -> None:
        """Serve INFO, which leafs send to agree on compression before they log in."""
        connection = self._connection
        if connection.joined:
            return
        connection.admit()
        connection.parser.await_connect()
        try:
            info = HubInfo.parse(raw)
            mode = connection.agree_on_compression(info.compression)
        except (PeerError, ValueError) as error:
            connection.fail(str(error), _VIOLATION)
            return
        if mode in EFFORTS:
            connection.compress(mode)
            self.send_info(**announced(connection.announced_compression))
            connection.flush()

    def connect(self, raw: bytes) -> None:
        """Serve CONNECT: authenticate the leaf. After it has joined, CONNECT is ignored."""
        connection = self._connection
        if connection.joined:
            return
        try:
            given = LeafConnect.parse(raw)
        except PeerError as peer_error:
            connection.context.log.warning(f"{connection} - {peer_error.reason}")
            connection.close(_VIOLATION)
            return
        self._credentials = given.credentials
        self._name, self._version = given.name, given.version
        self._proxy_signature = given.proxy_sig
        self._follow(self._authenticate(), partial(self._decided, given))

    def _authenticate(self) -> AuthResult:
        connection = self._connection
        proxy = trusted_proxy(connection.context.options.proxies, self._nonce, self._proxy_signature)
        if proxy is None:
            return AuthResult(None, why=NOT_TRUSTED)
        connection.proxy_key = proxy
        return connection.context.authenticator.authenticate(
            self._credentials,
            self._nonce,
            connection.peer[0],
            over_websocket=connection.upgrade is not None,
            details=LoginDetails(
                connection.id,
                connection.description["kind"],
                name=self._name,
                version=self._version,
                secure=connection.secure,
                maps=connection.context.maps_certificates,
                proxied=bool(proxy),
            ),
        )

    def _decided(self, given: LeafConnect, result: AuthResult) -> None:
        self.stop()
        connection, user = self._connection, result.user
        if result.why:
            connection.context.log.debug(f"{connection} - {result.why}")
        if given.lang:
            connection.fail("attempted to connect to leaf node port", "Incorrect Port")
        elif user is None:
            name = given.user or given.nkey
            connection.context.log.error(
                f"{connection} - authentication error" + (f" - User {name!r}" if name else "")
            )
            if result.refused_by is not None and connection.context.events is not None:
                connection.context.events.client_refused(connection, result.why, result.refused_by)
            connection.fail("Authorization Violation", _REFUSED)
        elif self._fits(given, user):
            self._join(given, user)

    def _fits(self, given: LeafConnect, user: User) -> bool:
        """Return whether the leaf may join. If not, it is told why and closed."""
        connection = self._connection
        context = connection.context
        if " " in given.cluster:
            connection.fail("cluster name cannot contain spaces", _VIOLATION)
        elif given.cluster and given.cluster == context.documents.cluster:
            connection.fail("remote leafnode has same cluster name", "Cluster Names Identical")
        elif given.gateway:
            text = f'Rejecting connection from gateway "{given.gateway}" on the leafnode port'
            connection.fail(text, "Wrong Gateway")
        elif not _new_enough(given.version, context.options.leafnodes.min_version):
            least = context.options.leafnodes.min_version
            self.send_info(connect_info=True, remote_account=user.account.name)
            text = f'connection rejected since minimum version required is "{least}"'
            connection.fail(text, "Minimum Version Required")
        elif user.account.full_of_leafs:
            text = "maximum account active connections exceeded"
            connection.fail(text, "Maximum Account Connections Exceeded")
        else:
            return True
        return False

    def _join(self, given: LeafConnect, user: User) -> None:
        connection = self._connection
        context = connection.context
        self.user = user
        if user.session is not None:
            user.session.begin(self)
        connection.remote_id = given.server_id
        connection.name = given.name or given.server_id
        connection.remote_cluster = given.cluster
        connection.remote_domain, connection.remote_jetstream = given.domain, given.jetstream
        connection.remote_account = given.remote_account
        connection.peer_headers = given.headers and not context.options.no_header_support
        connection.peer_protocol = given.protocol
        connection.compression = connection.compression or given.compress_mode or NOT_SUPPORTED
        connection.isolated = connection.isolated or given.isolate
        connection.is_spoke = given.is_hub
        self._denied = given.deny_pub
        hears, publishes = self._permit(user)
        context.replace_duplicate(connection, user.account)
        connection.join(user.account)
        context.deny_jetstream(connection)
        self.send_info(
            connect_info=True,
            remote_account=user.account.name,
            acc_is_sys=user.account is context.registry.system,
            **{"import": hears.to_info(), "export": publishes.to_info()},
        )
        self._advertiser.start(user.account)
        connection.announce()

    def _permit(self, user: User) -> tuple[AllowDeny, AllowDeny]:
        """Apply the user's permissions. Return what it may receive and what it may publish."""
        publishes, hears = user_lists(user.permissions)
        leaf_permissions = self._connection.leaf_permissions
        # What the user may receive goes to the leaf; what it may publish is accepted from the leaf.
        leaf_permissions.set(send=hears, subscribe=publishes, accept=publishes)
        leaf_permissions.replies.limit(None if user.permissions is None else user.permissions.responses)
        leaf_permissions.deny(send=self._denied)
        return hears, publishes

    # --- what the login session calls (accounts.users.AuthenticatedConnection)

    def fail(self, text: str, reason: str) -> None:
        """Tell the leaf why, and close."""
        self._connection.fail(text, reason)

    def close(self, reason: str) -> None:
        """Close without telling the leaf why."""
        self._connection.close(reason)

    def refuse(self) -> None:
        """Tell the leaf that its login no longer holds, and close."""
        self._connection.fail("Authorization Violation", _REFUSED)

    def apply(self, user: User) -> None:
        """Go on as the same user with other permissions, and tell the leaf."""
        before, self.user = self.user, user
        connection = self._connection
        if before is None or before.permissions == user.permissions or not connection.joined:
            return
        hears, publishes = self._permit(user)
        connection.context.deny_jetstream(connection)
        self.send_info(**{"import": hears.to_info(), "export": publishes.to_info()})
        self._advertiser.sync()

    def _too_late(self) -> None:
        self._timer = None
        self._connection.fail("Authentication Timeout", "Authentication Timeout")


class SolicitedHandshake(ConnectionPart["LeafPeer"]):
    """The handshake of the solicitor."""

    def __init__(self, connection: LeafPeer, advertiser: InterestAdvertiser, remote: LeafRemote) -> None:
        super().__init__(connection)
        self._advertiser = advertiser
        self._remote = remote
        self._timer: Timer | None = None
        self._greeted = self._negotiated = False

    def begin(self) -> None:
        """Wait for the hub's INFO."""
        self._timer = self._connection.clock.call_later(self._remote.options.first_info_timeout, self._silent)

    def stop(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def leave(self) -> None:
        """End: the connection is gone."""
        self.stop()

    def who(self) -> dict[str, Any]:
        """Return {}, because a hub does not log in."""
        return {}

    def still_welcome(self) -> bool:
        """Return True: here the configuration of the remotes decides."""
        return True

    def connect(self, raw: bytes) -> None:
        """Close, because hubs do not send CONNECT."""
        del raw
        self._connection.close(_VIOLATION)

    def info(self, raw: bytes) -> None:
        """Serve INFO: the first one, then the result of our login, then changes."""
        connection = self._connection
        try:
            info = HubInfo.parse(raw)
        except PeerError as peer_error:
            connection.context.log.warning(f"{connection} - {peer_error.reason}")
            connection.close(_VIOLATION)
            return
        first = not self._greeted
        if first and not self._greet(info):
            return
        self._learn(info)
        if "import" in info.given or "export" in info.given:
            self._permit(info)
        if info.remote_account:
            connection.remote_account = info.remote_account
            connection.context.know_account(self._remote.options.account, info.remote_account)
        if not connection.joined and (info.connect_info or (first and not info.info_on_connect)):
            self._join()
        elif connection.joined:
            self._advertiser.sync()

    def _greet(self, info: HubInfo) -> bool:
        """Answer the first INFO with CONNECT.

        Return False if the connection was closed instead, or is compressed from now on: the hub then sends
        its INFO again.
        """
        connection = self._connection
        context = connection.context
        self.stop()
        if not info.client_id or (info.leafnode_urls is None and not info.info_on_connect):
            context.log.error(f"{connection} - attempted to connect to wrong port")
            connection.close("Incorrect Port")
            return False
        if " " in info.cluster:
            connection.fail("cluster name cannot contain spaces", _VIOLATION)
            return False
        if not self._negotiated:
            self._negotiated = True
            if self._compress(info):
                return False
        account = context.registry.get(self._remote.options.account)
        if account is None:
            context.log.error(f"{connection} - unknown local account {self._remote.options.account!r}")
            connection.close("Missing Account")
            return False
        self._greeted = True
        connection.account = account
        connection.remote_id = info.server_id
        connection.name = info.server_name or info.server_id
        connection.remote_cluster = info.cluster
        connection.remote_domain, connection.remote_jetstream = info.domain, info.jetstream
        connection.peer_headers = info.headers and not context.options.no_header_support
        connection.peer_protocol = info.proto
        self._permit(info)
        try:
            credentials = self._remote.credentials(info.nonce)
        except LeafCredentialsError as error:
            context.log.error(f"{connection} - {error}")  # noqa: TRY400 - the peer's side needs no traceback
            connection.close("Credentials unusable")
            return False
        jetstream = account.serves_jetstream
        connection.send_line(
            context.documents.connect(
                self._remote.options, credentials, connection.compression, jetstream=jetstream
            )
        )
        self._timer = connection.clock.call_later(_FINISH, self._unanswered)
        return True

    def _compress(self, info: HubInfo) -> bool:
        """Agree with the hub on compression. Return False for none, True also if it was closed for that."""
        connection = self._connection
        try:
            mode = connection.agree_on_compression(info.compression)
        except ValueError as error:
            connection.fail(str(error), _VIOLATION)
            return True
        if mode not in EFFORTS:
            return False
        fields = {"client_id": connection.id, **announced(connection.announced_compression)}
        connection.send_line(connection.context.documents.info(fields))
        connection.compress(mode)
        self.begin()
        return True

    def _learn(self, info: HubInfo) -> None:
        """Take the addresses of other servers, unless they came in the clear before TLS.

        Anybody on the way could have written those. The hub repeats them in the INFO that accepts our login.
        """
        remote = self._remote
        if remote.options.ignore_discovered_servers:
            return
        if self._connection.upgrade is not None:  # over WebSocket, TLS comes before INFO
            if info.ws_connect_urls:
                remote.targets.discovered(info.ws_connect_urls)
            return
        forgeable = self._connection.secure is None and (remote.wants_tls or info.tls_required)
        if info.leafnode_urls and not forgeable:
            remote.targets.discovered(info.leafnode_urls)

    def _permit(self, info: HubInfo) -> None:
        """Apply the hub's permissions and our own deny lists."""
        connection = self._connection
        options = self._remote.options
        send = AllowDeny.from_info(info.given.get("export")).denying(options.deny_exports)
        subscribe = AllowDeny.from_info(info.given.get("import")).denying(options.deny_imports)
        # A hub accepts what its spokes send; a spoke accepts only what it may subscribe to.
        connection.leaf_permissions.set(
            send=send, subscribe=subscribe, accept=subscribe if connection.is_spoke else AllowDeny()
        )
        if connection.joined:
            connection.context.deny_jetstream(connection)

    def _join(self) -> None:
        connection = self._connection
        self.stop()
        account = connection.account
        assert account is not None
        if account.full_of_leafs:
            text = "maximum account active connections exceeded"
            connection.fail(text, "Maximum Account Connections Exceeded")
            return
        if connection.context.has_leaf_cluster(account, connection.remote_cluster):
            connection.loop_found()
            return
        connection.join(account)
        connection.context.deny_jetstream(connection)
        self._advertiser.start(account)
        connection.announce()
        self._remote.joined()

    def _silent(self) -> None:
        self._timer = None
        connection = self._connection
        connection.context.log.error(f"{connection} - no INFO came in time")
        connection.close("Authentication Timeout")

    def _unanswered(self) -> None:
        self._timer = None
        self._connection.send_line(encode.err("Stale Leaf Node Connection - Closing"))
        self._connection.close("Stale Connection")


def _new_enough(version: str, least: str) -> bool:
    if not least:
        return True
    wanted, found = _VERSION.match(least), _VERSION.match(version)
    if wanted is None or found is None:
        return wanted is None
    return [int(n) for n in found.groups()] >= [int(n) for n in wanted.groups()]
