"""LeafRemote: one hub that this server joins; dials, and dials again when the connection is lost.

Promises one connection or one attempt at a time, a growing distance to nobody: attempts are a reconnect
interval and up to as much of jitter apart, and half a minute after the hub refused this server.
"""

from __future__ import annotations

import asyncio
import ipaddress
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ..clock import SECOND
from ..connection.dial import dial
from .credentials import read_credentials, sign
from .remote_urls import RemoteUrls

if TYPE_CHECKING:
    from ..accounts import Account
    from ..clock import Timer
    from ..config.options import RemoteOptions
    from ..connection import ConnectionContext, SocketProtocol, Wire
    from ..connection.secure import SecureWire
    from .remote_urls import RemoteUrl

LONG = 30 * SECOND
_SHORT = 5 * SECOND
# Errors that a hub sends before it closes, and how long to wait then.
_RETRY_DELAYS = {
    "Loop detected": LONG,
    "Permissions Violation": LONG,
    "remote leafnode has same cluster name": LONG,
    "minimum version required": _SHORT,
}
_REPORT_EVERY = 120  # attempts

FindAccount = Callable[[str], Awaitable["Account | None"]]


class LeafRemote:
    """targets: where it dials. target: the latest. attempts: in vain since it was last joined."""

    def __init__(
        self,
        context: ConnectionContext,
        options: RemoteOptions,
        find: FindAccount,
        make: Callable[[LeafRemote], SocketProtocol],
    ) -> None:
        """`find` gives the account that it is bound to; `make` makes a protocol for a socket."""
        self._context = context
        self._find = find
        self._make = make
        self.options = options
        self.targets = RemoteUrls(options.urls, None if options.no_randomize else random.shuffle)
        self.target: RemoteUrl | None = None
        self.attempts = 0
        self._protocol: SocketProtocol | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: Timer | None = None
        self._delay = 0
        self._stopped = False

    def start(self) -> None:
        """Dial in the loop's next round."""
        self._later(0)

    def stop(self, reason: str) -> asyncio.Task[None] | None:
        """Dial no more, and close the connection. Gives the attempt that is being cancelled, if any."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._protocol is not None:
            self._protocol.close(reason)
        if self._task is not None:
            self._task.cancel()
        return self._task

    def joined(self) -> None:
        """The hub took us."""
        self.attempts = 0

    def hub_error(self, text: str) -> None:
        """The hub sent -ERR: why it closes."""
        for part in _RETRY_DELAYS:
            if part in text:
                self.pause(part)

    def pause(self, cause: str) -> None:
        """Stay away for a while after the present connection."""
        self._delay = _RETRY_DELAYS[cause]

    @property
    def wait(self) -> int:
        """ns between the end of the present connection and the next attempt."""
        leafnodes = self._context.options.leafnodes
        return leafnodes.reconnect + self._delay

    def lost(self, protocol: SocketProtocol) -> None:
        """A socket is closed for good."""
        if protocol is not self._protocol:
            return
        self._protocol = None
        wait, self._delay = self.wait, 0
        self._later(wait)

    def credentials(self, nonce: str) -> dict[str, str]:
        """What CONNECT says of us, by its names on the wire. Raises CredentialsError."""
        options, target = self.options, self.target
        told: dict[str, str] = {}
        if options.credentials:
            jwt, seed = read_credentials(options.credentials)
            _, told["sig"] = sign(seed, nonce)
            told["jwt"] = jwt
        elif options.nkey:
            told["nkey"], told["sig"] = sign(options.nkey, nonce)
        user, password = self.targets.user
        if target is not None and target.user is not None:
            user, password = target.user, target.password
        if user is not None:
            told["user"] = user
            if password is None:
                told["auth_token"] = user
            else:
                told["pass"] = password
        return told

    # --- TLS

    @property
    def wants_tls(self) -> bool:
        """Whether TLS is used whatever is in the hub's INFO."""
        return self.options.tls is not None or (self.target is not None and self.target.secure)

    def secure_wire(self, wire: Wire) -> tuple[SecureWire, int]:
        """TLS on top of `wire`, and ns for its handshake. Raises TLSConfigError."""
        from ..config.options import TLSOptions
        from ..config.tls import client_context
        from ..connection.secure import SecureWire

        tls = self.options.tls or TLSOptions()
        target = self.target
        host = self.targets.host if target is None or _is_address(target.host) else target.host
        context = client_context(tls)
        return SecureWire(wire, context, tls.pinned_certs, server_hostname=host), tls.timeout

    # --- dialling

    def _later(self, delay: int) -> None:
        if not self._stopped:
            self._timer = self._context.clock.call_later(delay, self._begin)

    def _begin(self) -> None:
        self._timer = None
        if not self._stopped:
            self._task = asyncio.get_running_loop().create_task(self._dial())

    async def _dial(self) -> None:
        context = self._context
        target = self.target = self.targets.next()
        timeout = self.options.dial_timeout or context.options.leafnodes.dial_timeout
        context.log.debug(f"Trying to connect as leafnode to remote server on {str(target)!r}")

        def make() -> SocketProtocol:
            self._protocol = self._make(self)
            return self._protocol

        try:
            if target.websocket:
                raise OSError("WebSocket is not served yet")
            if await self._find(self.options.account) is None:
                raise OSError(f"unknown local account {self.options.account!r}")
            await dial(make, target.host, target.port, timeout / SECOND)
        except (OSError, TimeoutError) as error:
            self._protocol = None
            self._failed(target, error)
        finally:
            self._task = None

    def _failed(self, target: RemoteUrl, error: Exception) -> None:
        self.attempts += 1
        reason = str(error) or "dial timeout"
        text = (
            f"Error trying to connect as leafnode to remote server {str(target)!r} "
            f"(attempt {self.attempts}): {reason}"
        )
        log = self._context.log
        (log.error if self.attempts == 1 or self.attempts % _REPORT_EVERY == 0 else log.debug)(text)
        leafnodes = self._context.options.leafnodes
        interval = leafnodes.reconnect
        self._later(interval + random.randrange(max(1, interval)))


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
