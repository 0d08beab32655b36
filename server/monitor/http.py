"""Monitor: serves the documents over HTTP, GET and HEAD, one answer at a time per connection.

Everything is bounded: 16 KiB for the head of a request, 10 s for a request and its answer, 256 connections at
a time, 64 MiB of answers that have not been read yet (more get 503). A further connection replaces the one
that has been idle the longest. A request that cannot be parsed gets 400, and an unknown path 404. A bug in a
document is logged and gets 500.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from email.utils import formatdate
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from ..config.options import SECOND, TLSOptions
from ..slices import Steps, TurnScheduler, finish, freeing, paced
from .accountz import AccountzRequest, accountz, accstatz
from .connz import ConnzRequest, connz
from .gatewayz import GatewayzRequest, gatewayz
from .healthz import HealthzRequest, healthz
from .jsz import JszRequest, jsz
from .peers import LeafzRequest, RoutezRequest, leafz, routez
from .raftz import RaftzRequest, raftz
from .request import RequestError, from_query
from .runtime import IpqueueszRequest, expvarz, ipqueuesz, stacks
from .subsz import SubszRequest, subsz
from .text import indented
from .varz import varz
from .view import Monitored

if TYPE_CHECKING:
    import ssl

    from ..logging import Logger
    from .secure import MonitorTLS

HEAD_LIMIT = 16 * 1024
REQUEST_SECONDS = 10.0
CONNECTIONS = 256
PAGES_AT_ONCE = 4  # pages that are built at a time
UNSENT = 64 << 20
_CLOSE_SECONDS = 2.0  # for what is still unsent
_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"

Query = dict[str, str]
Document = dict[str, Any] | Steps[dict[str, Any]]
PAGES: dict[str, Callable[[Monitored, Query], Document]] = {
    "/connz": lambda server, query: connz(server, from_query(ConnzRequest, query)),
    "/routez": lambda server, query: routez(server, from_query(RoutezRequest, query)),
    "/gatewayz": lambda server, query: gatewayz(server, from_query(GatewayzRequest, query)),
    "/leafz": lambda server, query: leafz(server, from_query(LeafzRequest, query)),
    "/subsz": lambda server, query: subsz(server, from_query(SubszRequest, query)),
    "/accountz": lambda server, query: accountz(server, from_query(AccountzRequest, query)),
    "/accstatz": lambda server, query: accstatz(server, unused=query.get("unused", "") in ("1", "true")),
    "/jsz": lambda server, query: jsz(server, from_query(JszRequest, query)),
    "/raftz": lambda server, query: raftz(server, from_query(RaftzRequest, query)),
    "/ipqueuesz": lambda server, query: ipqueuesz(server, from_query(IpqueueszRequest, query)),
    "/debug/vars": lambda _server, _query: expvarz(),
}
_OTHERS = ("/", "/varz", "/healthz", "/metrics", "/stacksz")  # pages with forms of their own
ALIASES = {"/subscriptionsz": "/subsz"}


class HttpResponse(NamedTuple):
    """An answer: its status, content type and body."""

    status: int
    kind: str
    body: bytes


class Monitor:
    """The listener, a part of the server.

    port: the real port, 0 before the start.
    requests: how often each path was requested.
    """

    def __init__(
        self, server: Monitored, host: str, port: int, log: Logger, tls: MonitorTLS | None = None
    ) -> None:
        self._server = server
        self._host = host
        self._wanted = port
        self._log = log
        self._tls = tls
        self._base = server.options.http_base_path.rstrip("/")
        self._turns = TurnScheduler(server.clock.soon)
        self._building = asyncio.Semaphore(PAGES_AT_ONCE)
        self._listener: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle: dict[asyncio.StreamWriter, None] = {}  # connections without a request, the oldest first
        self._unsent = 0
        self.requests: Counter[str] = Counter()
        self.port = 0

    async def start(self) -> None:
        """Listen. Raises OSError if the port is in use."""
        timeout = (self._server.options.tls or TLSOptions()).timeout / SECOND if self._tls else None
        self._listener = await asyncio.start_server(
            self._connected,
            self._host or None,
            self._wanted,
            limit=HEAD_LIMIT,
            ssl=self._tls.context if self._tls is not None else None,
            ssl_handshake_timeout=timeout,
            ssl_shutdown_timeout=timeout,
        )
        self.port = self._listener.sockets[0].getsockname()[1]
        scheme = "https" if self._tls else "http"
        self._log.info(f"Starting {scheme} monitor on {self._host}:{self.port}")

    def use_tls(self, context: ssl.SSLContext) -> None:
        """Use a context of `monitor_context` in new handshakes, if the page has TLS."""
        if self._tls is not None:
            self._tls.use(context)

    async def stop(self) -> None:
        """Close the listener and every connection."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if len(self._tasks) <= CONNECTIONS or self._make_room():
                while await asyncio.wait_for(self._serve(reader, writer), REQUEST_SECONDS):
                    pass
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        except asyncio.CancelledError:
            if self._listener is not None:
                raise
        finally:
            self._idle.pop(writer, None)
            writer.close()
            with suppress(OSError, TimeoutError):
                await asyncio.wait_for(writer.wait_closed(), _CLOSE_SECONDS)
            writer.transport.abort()  # a client that does not read must not occupy memory here
            self._tasks.discard(task)

    def _make_room(self) -> bool:
        """Close the connection that has been idle the longest. Return whether there was one."""
        oldest = next(iter(self._idle), None)
        if oldest is None:
            return False
        del self._idle[oldest]
        oldest.transport.abort()
        return True

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request. Return whether another one may follow."""
        self._idle[writer] = None
        raw = await reader.readuntil(b"\r\n\r\n")
        self._idle.pop(writer, None)
        lines = raw.decode("latin-1").split("\r\n")
        words = lines[0].split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            self._write(writer, HttpResponse(400, _TEXT, b"400 Bad Request"), keep=False, body=True)
            return False
        headers = dict(_header(line) for line in lines[1:])
        keep = words[2] != "HTTP/1.0" and headers.get("connection", "").lower() != "close"
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            keep = False  # the body is not read
        answer = await self.answer(words[1])
        if self._unsent + len(answer.body) > UNSENT and self._unsent:
            answer = HttpResponse(503, _TEXT, b"503 Service Unavailable\n")
        self._unsent += len(answer.body)
        try:
            self._write(writer, answer, keep=keep, body=words[0] != "HEAD")
            await writer.drain()
        finally:
            self._unsent -= len(answer.body)
        return keep

    def _write(self, writer: asyncio.StreamWriter, answer: HttpResponse, *, keep: bool, body: bool) -> None:
        if writer.is_closing():
            return  # the client has gone meanwhile
        lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
        if answer.kind == _JSON:
            lines.append("Access-Control-Allow-Origin: *")
        lines += [f"Content-Type: {answer.kind}", f"Date: {formatdate(usegmt=True)}"]
        lines.append(f"Content-Length: {len(answer.body)}")
        if not keep:
            lines.append("Connection: close")
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + (answer.body if body else b""))

    @property
    def url(self) -> str:
        """The URL of the listener, `http://host:port`."""
        return f"{'https' if self._tls else 'http'}://{self._host}:{self.port}"

    async def answer(self, target: str) -> HttpResponse:
        """Return the answer for a request target, such as `/connz?limit=5`."""
        try:
            parts = urlsplit(target)
            query = dict(parse_qsl(parts.query, keep_blank_values=True))
        except ValueError:
            return HttpResponse(400, _TEXT, b"400 Bad Request")
        if not parts.path.startswith(self._base):
            return HttpResponse(404, _TEXT, b"404 page not found\n")
        path = parts.path[len(self._base) :].rstrip("/") or "/"
        path = ALIASES.get(path, path)
        try:
            async with self._building:
                return await finish(self._turns, paced(self._page(path, query)))
        except RequestError as error:
            return HttpResponse(400, _TEXT, str(error).encode())
        except Exception as error:
            self._log.error(f"Monitoring {path} failed: {type(error).__name__}: {error}")
            return HttpResponse(500, _TEXT, b"500 Internal Server Error\n")

    def _page(self, path: str, query: Query) -> Steps[HttpResponse]:
        if path not in PAGES and path not in _OTHERS:
            return HttpResponse(404, _TEXT, b"404 page not found\n")
        self.requests[path] += 1
        if path == "/":
            return HttpResponse(200, "text/html; charset=utf-8", self._index())
        if path == "/stacksz":
            return HttpResponse(200, _TEXT, stacks().encode("utf-8", "replace"))
        if path == "/metrics":
            from .metrics import CONTENT_TYPE, MetricsRequest, metrics

            text = yield from metrics(self._server, from_query(MetricsRequest, query))
            return HttpResponse(200, CONTENT_TYPE, text)
        if path == "/healthz":
            status, document = yield from healthz(self._server, from_query(HealthzRequest, query))
            return HttpResponse(status, _JSON, json.dumps(document, separators=(",", ":")).encode())
        if path == "/varz":
            found: Document = varz(self._server, self.requests)
        else:
            found = PAGES[path](self._server, query)
        documents = [found if isinstance(found, dict) else (yield from found)]
        del found
        if path == "/raftz" and not documents[0]:
            return HttpResponse(404, _TEXT, b"No Raft nodes returned, check supplied filters")
        body = yield from indented(documents[0])
        yield from freeing(documents)
        return HttpResponse(200, _JSON, body)

    def _index(self) -> bytes:
        links = "".join(
            f'<li><a href="{self._base}{path}">{path[1:]}</a></li>' for path in (*PAGES, *_OTHERS[1:])
        )
        return f"<html lang=en><title>pyjs</title><h1>pyjs</h1><ul>{links}</ul></html>\n".encode()


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()
