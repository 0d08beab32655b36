"""A connection to the servers with nats-py, which reports in plain words why it failed."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from ...errors import WorkspaceError
from .access import NO_TLS, Tls, split
from .identity import Speaker

CONNECT_SECONDS = 5  # seconds to connect
_AGAIN, _EVERY = 300, 2  # once connected: attempts to reconnect, and seconds between them


@dataclass
class ServersConnection:
    """An open connection.

    nc: the client of nats-py.
    errors: the errors that it reported, newest last.
    """

    nc: Any
    errors: list[Exception] = field(default_factory=list)

    def last_error(self, subject: str = "") -> str:
        """Return the newest error (about `subject`, if one is given), "" if there is none."""
        said = [plain(error) for error in self.errors]
        return next((text for text in reversed(said) if subject in text), "")

    @property
    def url(self) -> str:
        """The URL of the server connected to, without user and password."""
        parsed = self.nc.connected_url
        return f"{parsed.scheme}://{parsed.netloc.rpartition('@')[2]}" if parsed else ""


@asynccontextmanager
async def connect(
    url: str, speaker: Speaker, name: str, tls: Tls = NO_TLS
) -> AsyncIterator[ServersConnection]:
    """Connect to one of the servers of `url` as `speaker`; `name` is the name of the connection.

    Raises WorkspaceError if no server answers or if the user is refused, in the words of nsc and with the
    reason.
    """
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns about how nats-py closes TLS
    servers = split(url)
    options = _options(servers, speaker, name, tls)
    connection = ServersConnection(
        _client(encrypted="tls" in options or any(s.startswith("tls://") for s in servers))
    )

    refused = asyncio.Event()

    async def complain(error: Exception) -> None:
        connection.errors.append(error)
        if sum(_is_refusal(plain(one)) for one in connection.errors) >= len(servers):
            refused.set()

    opening = asyncio.ensure_future(
        connection.nc.connect(error_cb=complain, max_reconnect_attempts=1, reconnect_time_wait=0, **options)
    )
    # nats-py tries again after a refusal; there is no reason to wait for that
    waiting = asyncio.ensure_future(refused.wait())
    try:
        limit = CONNECT_SECONDS * len(servers) + 1
        await asyncio.wait({opening, waiting}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if not opening.done():
            raise TimeoutError("nats: timeout")
        opening.result()
    except (Exception, asyncio.CancelledError) as error:
        opening.cancel()
        await asyncio.wait({opening})
        await _close(connection.nc)
        if isinstance(error, asyncio.CancelledError | WorkspaceError):
            raise
        raise WorkspaceError(_reason(servers, speaker, [*connection.errors, error])) from None
    finally:
        waiting.cancel()
    connection.errors.clear()
    connection.nc.options["max_reconnect_attempts"], connection.nc.options["reconnect_time_wait"] = (
        _AGAIN,
        _EVERY,
    )
    try:
        yield connection
    finally:
        await _close(connection.nc)


def plain(error: BaseException) -> str:
    """Return the text of a client's error, without nats-py's quotes."""
    text = str(error) or type(error).__name__
    return text.replace("nats: '", "nats: ").removesuffix("'") if text.startswith("nats: '") else text


def _client(*, encrypted: bool) -> Any:
    """Return a client; an `encrypted` one sends no credentials to a server that does not encrypt."""
    from nats.aio.client import Client

    class EncryptedClient(Client):
        def _connect_command(self) -> bytes:
            shaken = self._server_info.get("tls_required") or self.options["tls_handshake_first"]
            if encrypted and not shaken:
                # not an error of the client's, after which it would try again until the time is over
                raise WorkspaceError("failed to connect: TLS is asked for, and the server has none")
            command: bytes = super()._connect_command()
            return command

    return EncryptedClient()


def _options(servers: list[str], speaker: Speaker, name: str, tls: Tls) -> dict[str, Any]:
    options: dict[str, Any] = {
        "servers": servers,
        "name": name,
        "connect_timeout": CONNECT_SECONDS,
        "user_jwt_cb": speaker.token.encode,
        "signature_cb": lambda nonce: base64.b64encode(speaker.key.sign(nonce.encode())),
    }
    context = tls.context()
    if context is not None:
        options["tls"] = context
    if tls.first:
        options["tls_handshake_first"] = True
    return options


def _reason(servers: list[str], speaker: Speaker, errors: list[Exception]) -> str:
    where = ", ".join(url.rpartition("@")[2] if "@" in url else url for url in servers)
    said = [plain(error) for error in errors]
    refused = next(
        (text for text in said if "authorization" in text.lower() or "expired" in text.lower()), ""
    )
    if refused:
        return (
            f'failed to connect: {refused}: {where} does not take a user of account "{speaker.account}" as '
            "this operator's system account; does it run with this operator's JWT, and its system account?"
        )
    cause = next((text for text in said if "no servers" not in text), said[-1])
    if all(isinstance(error, OSError | TimeoutError) or "no servers" in plain(error) for error in errors):
        return f"failed to connect: nats: no servers available for connection: {where}: {cause}"
    return f"failed to connect: {cause}: {where}"


def _is_refusal(text: str) -> bool:
    return "authorization" in text.lower() or "expired" in text.lower()


async def _close(nc: Any) -> None:
    if nc.is_connected:
        with suppress(Exception):  # the connection is closing: the flush is best effort
            await nc.flush(timeout=2)
    with suppress(AssertionError):  # from a client that failed before it had anything to close
        await nc.close()
