"""LeafRemote: one hub that this server joins. It dials, and dials again when the connection is lost.

Promises one connection or one attempt at a time. Failed attempts are one reconnect interval apart, plus up to
as much of jitter; the distance does not grow. After a lost connection it waits one reconnect interval, and
half a minute longer if the hub refused this server (5 s longer if the hub wants a newer version).
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ..clock import SECOND
from ..connection.remote import Remote
from .credentials import read_credentials, sign
from .remote_urls import RemoteUrls, proxy_address

if TYPE_CHECKING:
    import asyncio

    from ..accounts import Account
    from ..config.options import RemoteOptions
    from ..connection import ConnectionContext, ConnectionTransport, SocketProtocol
    from ..connection.secure import SecureWire
    from .remote_urls import RemoteUrl

LONG = 30 * SECOND
_SHORT = 5 * SECOND
# Errors that a hub sends before it closes, and how much longer to wait then, in ns.
_RETRY_DELAYS = {
    "Loop detected": LONG,
    "Permissions Violation": LONG,
    "remote leafnode has same cluster name": LONG,
    "minimum version required": _SHORT,
}

FindAccount = Callable[[str], Awaitable["Account | None"]]


class LeafRemote(Remote):
    """One hub that this server joins.

    targets: the addresses to dial.
    target: the address that was dialled last; None before.
    away_since: since when the hub is not joined, ns; 0 while it is.
    """

    def __init__(
        self,
        context: ConnectionContext,
        options: RemoteOptions,
        find: FindAccount,
        make: Callable[[LeafRemote], SocketProtocol],
    ) -> None:
        """`find` finds the account that the remote is bound to, and `make` makes the protocol of a socket."""
        super().__init__(context, make)
        self._find = find
        self.options = options
        self.targets = RemoteUrls(options.urls, None if options.no_randomize else random.shuffle)
        self.target: RemoteUrl | None = None
        self.away_since = context.clock.now()
        self._hub_wants_tls = False
        self._delay = 0

    def close(self, reason: str) -> asyncio.Task[None] | None:
        """Stop dialling, and close the connection. Return the attempt that is being cancelled, if any."""
        task = self.stop()
        if self._protocol is not None:
            self._protocol.close(reason)
        return task

    def joined(self) -> None:
        """Take note that the hub has accepted this server."""
        self.away_since = 0
        self.succeeded()

    def hub_error(self, text: str) -> None:
        """Take note of an -ERR, with which the hub says why it closes."""
        for part in _RETRY_DELAYS:
            if part in text:
                self.pause(part)

    def pause(self, cause: str) -> None:
        """Wait longer than usual after the present connection. `cause` is a key of `_RETRY_DELAYS`."""
        self._delay = _RETRY_DELAYS[cause]

    @property
    def wait(self) -> int:
        """The time between the end of the present connection and the next attempt, in ns."""
        leafnodes = self._context.options.leafnodes
        return leafnodes.reconnect + self._delay

    def lost(self, protocol: SocketProtocol) -> None:
        """See Remote. It dials again later."""
        if protocol is not self._protocol:
            return
        self._protocol = None
        self.away_since = self.away_since or self._context.clock.now()
        wait, self._delay = self.wait, 0
        self._later(wait)

    def migrates(self, account: str) -> bool:
        """Return whether this server should lead no streams of the account, as the hub is away.

        It is if the configuration says so (`jetstream_cluster_migrate`), and an attempt to join the hub again
        has failed, or the hub has been away for the delay.
        """
        options = self.options
        if not (self.away_since and options.jetstream_cluster_migrate and options.account == account):
            return False
        delay = options.leader_migrate_delay
        return self._context.clock.now() - self.away_since >= delay if delay else self.attempts > 0

    def credentials(self, nonce: str) -> dict[str, str]:
        """Return the credentials in CONNECT, by their names on the wire. Raises LeafCredentialsError."""
        options, target = self.options, self.target
        given: dict[str, str] = {}
        if options.credentials:
            jwt, seed = read_credentials(options.credentials)
            _, given["sig"] = sign(seed, nonce)
            given["jwt"] = jwt
        elif options.nkey:
            given["nkey"], given["sig"] = sign(options.nkey, nonce)
        user, password = self.targets.user
        if target is not None and target.user is not None:
            user, password = target.user, target.password
        if user is not None:
            given["user"] = user
            if password is None:
                given["auth_token"] = user
            else:
                given["pass"] = password
        return given

    # --- TLS

    @property
    def wants_tls(self) -> bool:
        """Whether to use TLS even if the hub's INFO does not ask for it."""
        secure = self.target is not None and self.target.secure
        return self.options.tls is not None or secure or self._hub_wants_tls

    def hub_wants_tls(self) -> None:
        """Use TLS from now on, at all addresses, because the hub's INFO asked for it.

        So nobody gets the next CONNECT in the clear by leaving it out (leafnode.go, processLeafnodeInfo).
        """
        self._hub_wants_tls = True

    def secure_wire(self, wire: ConnectionTransport) -> tuple[SecureWire, int]:
        """Return TLS on top of `wire`, and the timeout of its handshake in ns. Raises TLSConfigError."""
        from ..config.options import TLSOptions
        from ..config.tls import client_context
        from ..connection.secure import SecureWire

        tls = self.options.tls or TLSOptions()
        target = self.target
        host = self.targets.host if target is None or _is_address(target.host) else target.host
        context = client_context(tls)
        return SecureWire(wire, context, tls.pinned_certs, server_hostname=host), tls.timeout

    # --- dialling

    async def _dial(self) -> None:
        """See Remote. The account that the hub's is bound to has to be known first."""
        target = self.target = self.targets.next()
        timeout = self.dial_timeout
        self._context.log.debug(f"Trying to connect as leafnode to remote server on {str(target)!r}")
        try:
            known = await self._find(self.options.account) is not None
        except OSError as error:
            self._failed(target, str(error))
            return
        if not known:
            self._failed(target, f"unknown local account {self.options.account!r}")
            return
        reason = await self._connect(*self._address(target), timeout / SECOND)
        if reason:
            self._failed(target, reason)

    def _address(self, target: RemoteUrl) -> tuple[str, int]:
        """Return where to dial: a WebSocket hub may be behind a proxy."""
        if self.options.proxy is None or not target.websocket:
            return target.host, target.port
        return proxy_address(self.options.proxy.url)

    @property
    def dial_timeout(self) -> int:
        """The longest time to connect, in ns."""
        options, of_all = self.options, self._context.options
        usual = options.dial_timeout or of_all.leafnodes.dial_timeout
        return usual if options.proxy is None else options.proxy.timeout or usual

    def _failed(self, target: RemoteUrl, reason: str) -> None:
        self._unreached(target, reason)
        leafnodes = self._context.options.leafnodes
        interval = leafnodes.reconnect
        self._later(interval + random.randrange(max(1, interval)))

    def refused(self, reason: str) -> None:
        """Take note that the hub or a proxy did not grant WebSocket. The socket is about to be closed."""
        assert self.target is not None
        self._unreached(self.target, reason)

    def _unreached(self, target: RemoteUrl, reason: str) -> None:
        self.attempts += 1
        text = f"Error trying to connect as leafnode to remote server {str(target)!r}"
        self._report(f"{text} (attempt {self.attempts}): {reason}", self.attempts)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
