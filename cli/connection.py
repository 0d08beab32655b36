"""Connecting to NATS with the settings of a run.

`async with connect() as connection:` gives a `NatsConnection`: the nats-py client, the JetStream API and the
profile. Promises: if connecting fails, it fails within the timeout, with an error that says where and as whom
it tried and what to do; the connection is closed whatever happens. After the first connect the client
reconnects as usual when the connection is lost.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlparse

from ..version import __version__
from . import flags, secret
from .errors import CliError, RefusedError, UnavailableError, UsageError, warn
from .jetstream import JsApi
from .profile import SECOND, Profile, resolve

RECONNECT_WAIT = 2  # seconds between attempts after the first connect
RECONNECT_ATTEMPTS = 60
SOCKET_ERRORS = (OSError, asyncio.TimeoutError)


@dataclass
class NatsConnection:
    """An open connection.

    nc: the client of nats-py.
    js: the JetStream API as requests.
    profile: the settings in force.
    """

    nc: Any
    js: JsApi
    profile: Profile
    errors: list[Exception] = field(default_factory=list)  # asynchronous errors, newest last

    @property
    def timeout(self) -> float:
        """The run's timeout in seconds."""
        return self.profile.timeout / SECOND

    @property
    def greeting(self) -> dict[str, Any]:
        """The INFO that the server sent when the connection was made."""
        said: dict[str, Any] = self.nc._server_info
        return said

    @property
    def url(self) -> str:
        """The URL of the server connected to, without user and password."""
        return bare_url(self.nc.connected_url.geturl() if self.nc.connected_url else "")


@asynccontextmanager
async def connect(profile: Profile | None = None, *, quiet: bool = False) -> AsyncIterator[NatsConnection]:
    """Connect with `profile` (default: the run's own).

    Asynchronous errors are shown as warnings, unless `quiet` is set. Raises CliError if no server answers, if
    it refuses the user, or if a credential is missing.
    """
    # asyncio warns on stderr about the way in which nats-py closes a TLS connection; nothing can be done
    # about it.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    chosen = profile or resolve(flags.session())
    options = client_options(chosen)
    nc = _client(wants_tls="tls" in options or any(url.startswith("tls://") for url in options["servers"]))
    js = JsApi(nc, chosen.api_prefix, chosen.timeout / SECOND, trace=chosen.trace)
    connection = NatsConnection(nc, js, chosen)
    connected = False

    async def on_error(error: Exception) -> None:
        connection.errors.append(error)
        if connected and not quiet:
            warn(plain_error(error))

    try:
        await asyncio.wait_for(
            nc.connect(error_cb=on_error, max_reconnect_attempts=1, reconnect_time_wait=0, **options),
            chosen.timeout / SECOND + 1,
        )
    except (Exception, asyncio.CancelledError) as error:
        await close(nc)
        if isinstance(error, asyncio.CancelledError | CliError):
            raise
        refusals = [one for one in connection.errors if _is_refusal(one)]
        raise refused(chosen, [error, *connection.errors, *refusals][-1]) from None
    connected = True
    nc.options["max_reconnect_attempts"] = RECONNECT_ATTEMPTS
    nc.options["reconnect_time_wait"] = RECONNECT_WAIT
    try:
        yield connection
    finally:
        await close(nc)


def _client(*, wants_tls: bool) -> Any:
    """Return a nats-py client.

    If `wants_tls` is set, it sends no credentials to a server that does not encrypt.

    nats-py itself encrypts only if the server demands it, and otherwise goes on unencrypted whatever was
    asked for.
    """
    from nats import errors as nats_errors
    from nats.aio.client import Client

    class Guarded(Client):
        def _connect_command(self) -> bytes:
            if wants_tls and not (
                self._server_info.get("tls_required") or self.options["tls_handshake_first"]
            ):
                raise nats_errors.SecureConnWantedError
            self._transport: Any = _Together(self._transport)
            command: bytes = super()._connect_command()
            return command

        async def _process_pong(self) -> None:
            # Ctrl-C in a flush leaves its future done: nats-py's reading would end at the PONG that comes.
            if self._pongs and self._pongs[0].done():
                self._pongs.pop(0)
                return
            await super()._process_pong()

    return Guarded()


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


async def close(nc: Any) -> None:
    """Flush what is pending if the connection is open, then close it."""
    if nc.is_connected:
        try:
            await nc.flush(timeout=2)
        except Exception as error:  # the connection is closing: the flush is best effort
            if isinstance(error, asyncio.CancelledError):
                raise
    # From a client that has nothing to close yet, or whose connection is lost already.
    with suppress(AssertionError, OSError):
        await nc.close()


def client_options(profile: Profile) -> dict[str, Any]:
    """Return the profile as nats-py's arguments for connecting.

    Raises CliError for secrets that cannot be read.
    """
    if profile.text("socks_proxy"):
        raise UsageError("SOCKS proxies are not supported", "unset --socks-proxy or set it to 'none'")
    options: dict[str, Any] = {
        "servers": [_with_scheme(url) for url in profile.servers],
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
    first = urlparse(_with_scheme(profile.servers[0]))
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
        found["user_credentials"] = RawCredentials(secret.text_or_file("creds", creds, "-----BEGIN"))
    elif profile.text("nkey"):
        nkey = profile.text("nkey")
        seed = nkey if nkey.startswith("SU") else secret.text_or_file("nkey", nkey, "-----BEGIN")
        found["nkeys_seed_str"] = _seed_of(seed)
    elif profile.text("user_jwt"):
        found["user_credentials"] = RawCredentials(jwt_credentials(profile))
    if profile.text("token"):
        found["token"] = secret.resolve("token", profile.text("token"))
    return found


def jwt_credentials(profile: Profile) -> str:
    """Return the user JWT and its seed as the text of a credentials file. Raises CliError."""
    jwt = secret.text_or_file("jwt", profile.text("user_jwt"), "eyJ")
    seed = profile.text("user_seed")
    if not seed:
        raise UsageError("a user JWT needs its seed", "give it with --seed")
    seed = seed if seed.startswith("SU") else secret.text_or_file("seed", seed, "-----BEGIN")
    return _creds_text(jwt, _seed_of(seed))


def _seed_of(text: str) -> str:
    """Return the line with the seed in a seed file, decorated or not."""
    import nkeys

    for line in text.splitlines():
        if line.strip().startswith("S") and "-" not in line:
            try:
                nkeys.from_seed(bytearray(line.strip().encode()))
            except (nkeys.NkeysError, ValueError):
                raise CliError("the nkey is not a valid seed", "seeds of users start with SU") from None
            return line.strip()
    raise CliError("no seed found in the nkey file", "seeds of users start with SU")


def _creds_text(jwt: str, seed: str) -> str:
    return (
        f"-----BEGIN NATS USER JWT-----\n{jwt.strip()}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed.strip()}\n------END USER NKEY SEED------\n"
    )


def _tls(profile: Profile) -> ssl.SSLContext | None:
    authority, cert, key = profile.text("ca"), profile.text("cert"), profile.text("key")
    if not (authority or cert or key):
        return None
    try:
        made = ssl.create_default_context(cafile=secret.location("tlsca", authority) if authority else None)
        if cert:
            made.load_cert_chain(
                secret.location("tlscert", cert), secret.location("tlskey", key) if key else None
            )
    except (OSError, ssl.SSLError) as error:
        raise CliError(f"TLS files cannot be used: {error}", "see --tlsca, --tlscert and --tlskey") from None
    return made


def _with_scheme(url: str) -> str:
    return url if "://" in url else f"nats://{url}"


def _is_refusal(error: BaseException) -> bool:
    """Return whether a server answered and refused us."""
    text = plain_error(error).lower()
    return "authorization" in text or "authentication" in text


def bare_url(url: str) -> str:
    """Return a URL without its user and password, for messages."""
    parsed = urlparse(_with_scheme(url))
    host = parsed.netloc.rpartition("@")[2]
    return f"{parsed.scheme}://{host}"


def plain_error(error: BaseException) -> str:
    """Return the words of a client error, without nats-py's quotes."""
    text = str(error) or type(error).__name__
    return text.replace("nats: '", "nats: ").removesuffix("'") if text.startswith("nats: '") else text


def refused(profile: Profile, error: BaseException) -> CliError:
    """Return the CliError for a connection that failed with `error`."""
    where = ", ".join(bare_url(url) for url in profile.servers)
    text = plain_error(error)
    if _is_refusal(error):
        who = profile.text("user") or urlparse(_with_scheme(profile.servers[0])).username
        as_whom = f' the user "{who}"' if who else " the connection: it gave no user the server knows"
        return RefusedError(
            f"setup failed: {text}",
            f"the server at {where} refused{as_whom}",
            "check --user and --password, --creds, --nkey or the context in use",
        )
    if "secure connection not available" in text:
        return CliError(f"setup failed: {text}", f"TLS was asked for, but the server at {where} has none")
    if isinstance(error, ssl.SSLError):
        return CliError(f"setup failed: TLS handshake with {where} failed: {error}", "see --tlsca")
    if isinstance(error, SOCKET_ERRORS) or "no servers" in text:
        refusal = isinstance(error, ConnectionRefusedError)
        reason = "connection refused" if refusal else getattr(error, "strerror", None) or text
        return UnavailableError(
            "setup failed: nats: no servers available for connection",
            f"no server answers at {where} ({reason.removeprefix('nats: ')})",
            "start one with 'pyjs server run -js', or name another with --server or --context",
        )
    return CliError(f"setup failed: {text}", f"while connecting to {where}")
