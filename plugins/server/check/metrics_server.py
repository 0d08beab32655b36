"""A small HTTP server for metrics: GET /metrics, and nothing else.

Bounded: 16 KiB for the head of a request, 10 s for it to arrive, CONNECTIONS at a time: more are closed.
Each request has a connection of its own.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from ....cli import render
from ....cli.errors import CliError

HEAD_LIMIT = 16 * 1024
HEAD_SECONDS = 10.0
CONNECTIONS = 16
KIND = "text/plain; version=0.0.4; charset=utf-8"
Metrics = Callable[[], Awaitable[str]]


async def serve(
    metrics: Metrics,
    port: int,
    certificate: Path | None = None,
    key: Path | None = None,
    *,
    host: str = "",
    listening: Callable[[int], None] | None = None,
) -> None:
    """Serve what `metrics` returns until it is cancelled. Raises CliError if it cannot.

    host: where to listen; without it, on all addresses
    listening: is told the port once it can be asked; without it, a line on stderr says where
    """
    try:
        secured = _secured(certificate, key) if certificate is not None and key is not None else None
        open_now: set[asyncio.StreamWriter] = set()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if len(open_now) >= CONNECTIONS:
                writer.close()
                return
            open_now.add(writer)
            try:
                with suppress(OSError, EOFError, ValueError, TimeoutError):
                    await _answered(reader, writer, metrics)
            finally:
                open_now.discard(writer)
                writer.close()

        server = await asyncio.start_server(
            answer, sock=_listening(port, host), limit=HEAD_LIMIT, ssl=secured
        )
    except (OSError, ssl.SSLError) as error:
        raise CliError(f"cannot serve metrics on port {port}: {error}") from None
    bound = server.sockets[0].getsockname()[1]
    if listening is not None:
        listening(bound)
    else:
        render.log(f"Metrics are at {'https' if secured else 'http'}://0.0.0.0:{bound}/metrics")
    async with server:
        await server.serve_forever()


def _listening(port: int, host: str) -> socket.socket:
    """Return a socket for an address, or all, those of IPv6 too where the system can do both on one."""
    if host:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    if socket.has_dualstack_ipv6():
        return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))


def _secured(certificate: Path, key: Path) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.load_cert_chain(certificate, key)
    return made


async def _answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, metrics: Metrics) -> None:
    """Read the head of a request and answer it."""
    async with asyncio.timeout(HEAD_SECONDS):
        head = await reader.readuntil(b"\r\n\r\n")
    method, _, rest = head.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0]
    if path != b"/metrics":
        status, body = "404 Not Found", "The metrics are at /metrics.\n"
    elif method not in (b"GET", b"HEAD"):
        status, body = "405 Method Not Allowed", "GET or HEAD\n"
    else:
        status, body = "200 OK", await metrics()
    data = body.encode()
    lines = (
        f"HTTP/1.1 {status}",
        f"Content-Type: {KIND}",
        f"Content-Length: {len(data)}",
        "Connection: close",
    )
    writer.write("\r\n".join((*lines, "", "")).encode() + (b"" if method == b"HEAD" else data))
    async with asyncio.timeout(HEAD_SECONDS):
        await writer.drain()
