"""ParsedToken: the content of an account token, parsed on a thread if that takes long.

Promises that a token is parsed once while anybody refers to its ParsedToken, and that the result depends on
the token alone: neither the time nor the state of the server influences it.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

from ...keys.chain import Refusal, open_account_token
from . import translate
from .translate.mappings import impossible

if TYPE_CHECKING:
    from ...keys import AccountClaims
    from ..accounts.account_spec import AccountSpec
    from ..clock import Clock

_SHORT = 4096  # characters of a token that take a millisecond or two to read


class WorkerPool(Protocol):
    """Runs functions on threads (see worker.Worker)."""

    def __call__(self, function: Callable[[], bool], done: Callable[[bool], None]) -> None:
        """Run `function`, then call `done` with its result on the loop."""


def in_place(function: Callable[[], bool], done: Callable[[bool], None]) -> None:
    """Run `function` and `done` at once, without a thread."""
    done(function())


class ParsedToken:
    """One token.

    claims: a Refusal if this is not a complete account token that its issuer signed.
    errors: why its contents are invalid, apart from its dates.
    unfit: why some mappings can be used nowhere.
    """

    __slots__ = ("__weakref__", "_specs", "claims", "digest", "errors", "token", "unfit")

    def __init__(self, token: str) -> None:
        self.token = token
        self.digest = digest_of(token)
        self.claims, self.errors = open_account_token(token)
        self.unfit: list[str] = []
        self._specs: dict[str, tuple[AccountSpec, dict[str, str]]] = {}
        if not isinstance(self.claims, Refusal):
            self.unfit = impossible(self.claims.nats.mappings)

    def make_spec(self, claims: AccountClaims, cluster: str) -> None:
        """Prepare the account's spec for `take_spec`."""
        self._specs[cluster] = translate.make_spec(claims, cluster)

    def take_spec(self, claims: AccountClaims, cluster: str) -> tuple[AccountSpec, dict[str, str]]:
        """Return a spec of the account for the caller alone, and what is invalid in it, with the reason."""
        return self._specs.pop(cluster, None) or translate.make_spec(claims, cluster)


_parsed: WeakValueDictionary[str, ParsedToken] = WeakValueDictionary()


def read(token: str) -> ParsedToken:
    """Return the content of a token. It is parsed now if nobody refers to its ParsedToken."""
    found = _parsed.get(token)
    if found is None:
        found = _parsed[token] = ParsedToken(token)
    return found


def digest_of(token: str) -> bytes:
    """Return the 32 bytes that represent a token in the hash of a store."""
    return hashlib.sha256(token.encode()).digest()


class TokenParser:
    """Reads tokens without delaying the loop.

    cluster: the name of the server's cluster, whose mappings apply.
    """

    def __init__(self, elsewhere: WorkerPool = in_place, cluster: str = "") -> None:
        self._elsewhere = elsewhere
        self._cluster = cluster

    def read(self, token: str, done: Callable[[ParsedToken], None]) -> None:
        """Call `done` with the parsed token: at once if it is short or known, else after a thread read it."""
        known = _parsed.get(token)
        if known is not None or len(token) <= _SHORT:
            done(known or read(token))
            return
        made: list[ParsedToken] = []

        def work() -> bool:
            parsed = read(token)
            if not isinstance(parsed.claims, Refusal):
                parsed.make_spec(parsed.claims, self._cluster)
            made.append(parsed)
            return True

        self._elsewhere(work, lambda _: done(made.pop() if made else read(token)))

    async def reading(self, token: str) -> ParsedToken:
        """Return the parsed token, for a task that waits."""
        found: asyncio.Future[ParsedToken] = asyncio.get_running_loop().create_future()
        self.read(token, lambda parsed: None if found.done() else found.set_result(parsed))
        return await found


class TokenQueue:
    """Tokens in the order in which they came. Each is read and used before the next one."""

    def __init__(self, parser: TokenParser, clock: Clock) -> None:
        self._parser = parser
        self._clock = clock
        self._due: deque[tuple[str, Callable[[ParsedToken], None]]] = deque()

    def add(self, token: str, done: Callable[[ParsedToken], None]) -> None:
        """Call `done` with the parsed token, after those before it."""
        self._due.append((token, done))
        if len(self._due) == 1:
            self._next()

    def stop(self) -> None:
        """Drop all tokens that wait. No callback is called."""
        self._due.clear()

    def _next(self) -> None:
        if self._due:
            self._parser.read(self._due[0][0], self._have)

    def _have(self, parsed: ParsedToken) -> None:
        if not self._due:  # stopped
            return
        try:
            self._due[0][1](parsed)
        finally:
            if self._due:
                self._due.popleft()
            if self._due:
                self._clock.soon(self._next)
