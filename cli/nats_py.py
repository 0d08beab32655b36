"""nats-py's client with the settings of a run: its options, and what it needs to be told.

Promises: whoever asks for TLS sends no credentials to a server that does not encrypt; Ctrl-C during a flush
leaves a client that still reads.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import ssl
import sys
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from ..client import secret
from ..version import __version__
from .blocking import proxy_of
from .credentials import credentials_of, jwt_credentials, seed_of
from .errors import CliError, UsageError
from .profile import SECOND, Profile, with_scheme

PROXY = "socks_proxy"  # an option of ours, which nats-py does not have
RECONNECT_WAIT = 2  # seconds between attempts after the first connect
RECONNECT_ATTEMPTS = 60

if TYPE_CHECKING:
    from ..client.socks import SocksProxy


def client(options: dict[str, Any]) -> Any:
    """Return a client that is not connected yet, for these options; what is not nats-py's is taken out."""
    # asyncio warns on stderr about the way in which nats-py closes a TLS connection; nothing can be done
    # about it.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    wants_tls = "tls" in options or any(url.startswith("tls://") for url in options["servers"])
    return _client(options.pop(PROXY, None), wants_tls=wants_tls)


async def open_client(
    nc: Any, options: dict[str, Any], profile: Profile, on_error: Callable[[Exception], Awaitable[None]]
) -> None:
    """Connect within the timeout. Afterwards the client reconnects when the connection is lost."""
    await asyncio.wait_for(
        nc.connect(error_cb=on_error, max_reconnect_attempts=1, reconnect_time_wait=0, **options),
        profile.timeout / SECOND + 1,
    )
    nc.options["max_reconnect_attempts"] = RECONNECT_ATTEMPTS
    nc.options["reconnect_time_wait"] = RECONNECT_WAIT


def _client(proxy: SocksProxy | None, *, wants_tls: bool) -> Any:
    """Return a nats-py client, which connects through `proxy` if there is one.

    If `wants_tls` is set, it sends no credentials to a server that does not encrypt.

    nats-py itself encrypts only if the server demands it, and otherwise goes on unencrypted whatever was
    asked for.
    """
    from nats import errors as nats_errors
    from nats.aio.client import Client
    from nats.protocol.parser import ERR_RE

    class CheckedClient(Client):
        def _connect_command(self) -> bytes:
            if wants_tls and not (
                self._server_info.get("tls_required") or self.options["tls_handshake_first"]
            ):
                raise nats_errors.SecureConnWantedError
            self._transport: Any = _Together(self._transport)
            command: bytes = super()._connect_command()
            return command

        async def _connect_to_server(self, s: Any) -> None:
            if proxy is not None:
                self._transport = _through(proxy)
            await super()._connect_to_server(s)

        async def _process_err(self, err_msg: str) -> None:
            # nats-py has the words in lower case, but subjects are told apart by case.
            said = ERR_RE.match(self._ps.buf)
            if "permissions violation" in err_msg and said is not None:
                err_msg = _with_subject(err_msg, said.group(1).decode(errors="replace"))
            await super()._process_err(err_msg)

        async def _process_pong(self) -> None:
            # Ctrl-C in a flush leaves its future done: nats-py's reading would end at the PONG that comes.
            if self._pongs and self._pongs[0].done():
                self._pongs.pop(0)
                return
            await super()._process_pong()

    return CheckedClient()


class _LoadedWhenUsed(ModuleType):
    """A module that is loaded when something in it is used for the first time."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def _load_when_used(name: str) -> None:
    """Have nats-py's `import` of a module cost nothing until it is used.

    It imports aiohttp where that is installed, for `ws://` only, and this takes longer than all else.
    """
    if name not in sys.modules and importlib.util.find_spec(name) is not None:
        sys.modules[name] = _LoadedWhenUsed(name)


def _with_subject(lowered: str, said: str) -> str:
    """Return an error in lower case with the subject, from its quote on, as the server said it."""
    start = said.find('"')
    return lowered if start < 0 or len(lowered) != len(said) else lowered[:start] + said[start:]


def _through(proxy: SocksProxy) -> Any:
    """Return a transport of nats-py that connects through a proxy."""
    from nats.aio.transport import TcpTransport

    class SocksTransport(TcpTransport):
        def __bool__(self) -> bool:
            return True  # before it is connected, too: nats-py would take another one

        async def connect(self, uri: Any, buffer_size: int, connect_timeout: int) -> None:
            opened = await asyncio.to_thread(proxy.open, uri.hostname, uri.port, connect_timeout)
            opened.setblocking(False)
            reader, writer = await asyncio.open_connection(sock=opened, limit=buffer_size)
            self._bare_io_reader = self._io_reader = reader
            self._bare_io_writer = self._io_writer = writer

    made: Any = SocksTransport
    return made()


class _Together:
    """The transport of nats-py, changed to send CONNECT and the PING after it in one write.

    Other clients do the same. A server that refuses the CONNECT sends the reason and closes. A PING that
    reaches it after that resets the connection, and asyncio then drops the reason that had already arrived.
    """

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._connect: bytes | None = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def __bool__(self) -> bool:
        return bool(self._transport)

    def write(self, payload: bytes) -> None:
        if self._connect is None:
            self._transport.write(payload)
        elif not self._connect:
            self._connect = payload
        else:
            payload, self._connect = self._connect + payload, None
            self._transport.write(payload)


def client_options(profile: Profile) -> dict[str, Any]:
    """Return the profile as nats-py's arguments for connecting.

    Raises CliError for secrets that cannot be read.
    """
    _load_when_used("aiohttp")  # before nats-py, which `_identity` loads
    proxy = proxy_of(profile)
    if proxy is not None and any(urlparse(url).scheme in ("ws", "wss") for url in profile.servers):
        raise UsageError("websockets do not go through a SOCKS proxy here", "name the server's nats:// port")
    options: dict[str, Any] = {
        **({PROXY: proxy} if proxy is not None else {}),
        "servers": [with_scheme(url) for url in profile.servers],
        "name": profile.connection_name or f"NATS CLI Version {__version__} (pyjs)",
        "connect_timeout": max(1, round(profile.timeout / SECOND)),
        "inbox_prefix": profile.text("inbox_prefix") or "_INBOX",
        **_identity(profile),
    }
    tls = _tls(profile)
    if tls is not None:
        options["tls"] = tls
    if profile.fields.get("tls_first"):
        options["tls_handshake_first"] = True
        options.setdefault("tls", ssl.create_default_context())
    return options


def _identity(profile: Profile) -> dict[str, Any]:
    """Return the credentials, in the order of precedence of `nats`.

    The order is user and password, creds, nkey, jwt with seed. A token may be added to any of them.
    """
    from nats.aio.client import RawCredentials

    found: dict[str, Any] = {}
    first = urlparse(with_scheme(profile.servers[0]))
    user = secret.resolve("user", profile.text("user"))
    creds = profile.text("creds") or profile.text("nsc")
    if first.username is not None and not creds and not profile.text("nkey"):
        if first.password is not None:
            return {"user": unquote(first.username), "password": unquote(first.password)}
        return {"token": unquote(first.username)}
    if user:
        found["user"] = user
        found["password"] = secret.resolve("password", profile.text("password"))
    elif creds:
        found["user_credentials"] = RawCredentials(credentials_of(creds))
    elif profile.text("nkey"):
        nkey = profile.text("nkey")
        seed = nkey if nkey.startswith("SU") else secret.text_or_file("nkey", nkey, "-----BEGIN")
        found["nkeys_seed_str"] = seed_of(seed)
    elif profile.text("user_jwt"):
        found["user_credentials"] = RawCredentials(jwt_credentials(profile))
    if profile.text("token"):
        found["token"] = secret.resolve("token", profile.text("token"))
    return found


def _tls(profile: Profile) -> ssl.SSLContext | None:
    authority, cert, key = profile.text("ca"), profile.text("cert"), profile.text("key")
    if not (authority or cert or key):
        return None
    try:
        made = ssl.create_default_context(cafile=secret.existing("tlsca", authority))
        if cert:
            made.load_cert_chain(secret.existing("tlscert", cert) or "", secret.existing("tlskey", key))
    except (OSError, ssl.SSLError) as error:
        raise CliError(f"TLS files cannot be used: {error}", "see --tlsca, --tlscert and --tlskey") from None
    return made
