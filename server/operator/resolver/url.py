"""UrlResolver: fetches tokens from an HTTP server, `GET <url><public key>`.

It uses urllib on threads of its own, with its redirects and chunked answers. Proxies of the environment are
not used. An answer must arrive completely within the timeout. Source: nats-server's server/accounts.go:
NewURLAccResolver.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from ....keys.token import MAX_TOKEN
from ...clock import SECOND
from ...slices import Steps, at_once
from .resolver import AccountAbsentError, ResolverError

if TYPE_CHECKING:
    import ssl
    from concurrent.futures import ThreadPoolExecutor
    from urllib.request import OpenerDirector

    from ...clock import Clock
    from ...logging import Logger

TIMEOUT = 1_900_000_000
_THREADS = 4
_PIECE = 64 * 1024
OK, NOT_FOUND = 200, 404


class UrlResolver:
    """Fetches tokens by HTTP and stores none.

    url: gets a slash at its end. A user and password in it are sent with every request.
    context: for https; None for the authorities of the system.
    timeout: ns.
    """

    kind = "url"

    def __init__(
        self,
        url: str,
        clock: Clock,
        log: Logger,
        *,
        context: ssl.SSLContext | None = None,
        timeout: int = TIMEOUT,
    ) -> None:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        if parts.scheme not in ("http", "https") or not host:
            raise ResolverError(f"an account resolver's address is an http or https URL, not {parts.scheme}")
        path = parts.path if parts.path.endswith("/") else parts.path + "/"
        self.url = urlunsplit((parts.scheme, host, path, parts.query, ""))
        self._headers = {}
        if parts.username is not None:
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            self._headers["Authorization"] = f"Basic {base64.b64encode(login).decode()}"
        self._clock = clock
        self._log = log
        self._context = context
        self._timeout = timeout
        self._opener: OpenerDirector | None = None
        self._pool: ThreadPoolExecutor | None = None

    async def start(self, preload: Mapping[str, str]) -> None:
        """Check that the address itself answers; see Resolver.start."""
        at_once(self.reloading(preload))
        try:
            await self._get("")
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Wait for the pending answers, which takes the timeout at most."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def use(self, context: ssl.SSLContext | None) -> None:
        """Use other certificates from the next request on."""
        self._context = context
        self._opener = None

    async def fetch(self, key: str) -> str:
        """See Resolver.fetch."""
        begun = self._clock.now()
        token = (await self._get(key)).strip()
        took = self._clock.now() - begun
        if took > SECOND:
            self._log.warning(f"Account [{key}] fetch took {took / SECOND:.1f}s")
        if not token:
            raise AccountAbsentError(f"could not fetch <{self.url}{key}>: the answer is empty")
        return token

    def known(self, key: str) -> str:
        """Return "", as nothing is stored here."""
        del key
        return ""

    def store(self, key: str, token: str, *, newer_only: bool) -> bool:
        """Raise ResolverError: the tokens belong to the HTTP server."""
        del key, token, newer_only
        raise ResolverError("store operation not supported for URL Resolver")

    def keys(self) -> list[str]:
        """Return [], as nothing is stored here."""
        return []

    def reloading(self, preload: Mapping[str, str]) -> Steps[list[str]]:
        """Refuse preloaded tokens, as nothing can be stored here."""
        if preload:
            raise ResolverError(
                "resolver preloads only available for writeable resolver types MEM/DIR/CACHE_DIR"
            )
        yield from ()
        return []

    async def _get(self, key: str) -> str:
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="pyjs-resolver")
        work = asyncio.get_running_loop().run_in_executor(self._pool, self._ask, key)
        try:
            return await asyncio.wait_for(work, 2 * self._timeout / SECOND)
        except TimeoutError:
            raise ResolverError(f"could not fetch <{self.url}{key}>: no answer in time") from None

    def _ask(self, key: str) -> str:
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request

        address = self.url + key
        deadline = self._clock.now() + self._timeout
        request = Request(address, headers=self._headers)  # noqa: S310 the scheme was checked
        try:
            with self._open().open(request, timeout=self._timeout / SECOND) as answer:
                if answer.status != OK:
                    raise ResolverError(f"could not fetch <{address}>: {answer.status} {answer.reason}")
                return self._read(answer, address, deadline)
        except HTTPError as error:
            error.close()
            kind = AccountAbsentError if error.code == NOT_FOUND else ResolverError
            raise kind(f"could not fetch <{address}>: {error.code} {error.reason}") from None
        except ResolverError:
            raise
        except (OSError, HTTPException, ValueError) as error:
            raise ResolverError(f"could not fetch <{address}>: {getattr(error, 'reason', error)}") from None

    def _read(self, answer: object, address: str, deadline: int) -> str:
        read = getattr(answer, "read1")  # noqa: B009 as much as is there
        body = b""
        while piece := read(_PIECE):
            body += piece
            if len(body) > MAX_TOKEN:
                raise ResolverError(f"could not fetch <{address}>: the answer is larger than any token")
            if self._clock.now() > deadline:
                raise ResolverError(f"could not fetch <{address}>: no answer in time")
        return body.decode("utf-8", "replace")

    def _open(self) -> OpenerDirector:
        """Return an opener for HTTP and HTTPS with redirects between them, but without proxies or files."""
        if self._opener is None:
            from urllib import request

            class Redirects(request.HTTPRedirectHandler):
                """Follows redirects, but sends user and password only to the server they are for."""

                def redirect_request(self, asked: request.Request, *answer: Any) -> request.Request | None:
                    follow = super().redirect_request(asked, *answer)
                    if follow is not None and (follow.type, follow.host) != (asked.type, asked.host):
                        follow.remove_header("Authorization")
                    return follow

            self._opener = request.OpenerDirector()
            handlers = (
                request.HTTPHandler(),
                request.HTTPSHandler(context=self._context),
                Redirects(),
                request.HTTPErrorProcessor(),
                request.HTTPDefaultErrorHandler(),
                request.UnknownHandler(),
            )
            for handler in handlers:
                self._opener.add_handler(handler)
        return self._opener
