"""ParsedToken: what tokens of accounts say, worked out away from the loop where that takes long.

Promises that a token is read once while anybody holds its reading, and that a reading depends on the token
alone: neither the time nor what the server holds has a part in it.
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

_SHORT = 4096  # characters of a token that are read in a millisecond or two


class WorkerPool(Protocol):
    """Runs functions somewhere else than on the loop (see worker.Worker)."""

    def __call__(self, function: Callable[[], bool], done: Callable[[bool], None]) -> None:
        """Run `function`, then `done` with what it gave, on the loop."""


def in_place(function: Callable[[], bool], done: Callable[[bool], None]) -> None:
    """The same at once."""
    done(function())


class ParsedToken:
    """One token. claims: a Refusal for what is no token of an account, whole and signed by its issuer.

    errors: why its contents cannot be, apart from its dates. unfit: mappings that can be used nowhere.
    """

    __slots__ = ("__weakref__", "_specs", "claims", "digest", "errors", "token", "unfit", "unsupported")

    def __init__(self, token: str) -> None:
        self.token = token
        self.digest = digest_of(token)
        self.claims, self.errors = open_account_token(token)
        self.unfit: list[str] = []
        self.unsupported: list[str] = []
        self._specs: dict[str, tuple[AccountSpec, dict[str, str]]] = {}
        if not isinstance(self.claims, Refusal):
            self.unfit = impossible(self.claims.nats.mappings)
            self.unsupported = translate.unsupported(self.claims)

    def make_spec(self, claims: AccountClaims, cluster: str) -> None:
        """Have the account's spec ready."""
        self._specs[cluster] = translate.make_spec(claims, cluster)

    def take_spec(self, claims: AccountClaims, cluster: str) -> tuple[AccountSpec, dict[str, str]]:
        """A spec of the account, and what of it cannot be: the taker's own."""
        return self._specs.pop(cluster, None) or translate.make_spec(claims, cluster)


_parsed: WeakValueDictionary[str, ParsedToken] = WeakValueDictionary()


def read(token: str) -> ParsedToken:
    """What a token says, read now if nobody holds it."""
    found = _parsed.get(token)
    if found is None:
        found = _parsed[token] = ParsedToken(token)
    return found


def digest_of(token: str) -> bytes:
    """The 32 bytes that stand for a token in the hash of a store."""
    return hashlib.sha256(token.encode()).digest()


class TokenParser:
    """Reads tokens where nobody waits for it. cluster: the server's, whose mappings apply."""

    def __init__(self, elsewhere: WorkerPool = in_place, cluster: str = "") -> None:
        self._elsewhere = elsewhere
        self._cluster = cluster

    def read(self, token: str, done: Callable[[ParsedToken], None]) -> None:
        """Give `done` the reading: at once if the token is short or known, else when a thread has read it."""
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
        """The same for a task that waits."""
        found: asyncio.Future[ParsedToken] = asyncio.get_running_loop().create_future()
        self.read(token, lambda parsed: None if found.done() else found.set_result(parsed))
        return await found


class TokenQueue:
    """Tokens that come one after another: each is read, and what it is for is done, before the next one."""

    def __init__(self, parser: TokenParser, clock: Clock) -> None:
        self._parser = parser
        self._clock = clock
        self._due: deque[tuple[str, Callable[[ParsedToken], None]]] = deque()

    def add(self, token: str, done: Callable[[ParsedToken], None]) -> None:
        """Give `done` the token's reading, after those before it."""
        self._due.append((token, done))
        if len(self._due) == 1:
            self._next()

    def stop(self) -> None:
        """Read no more; nobody is told."""
        self._due.clear()

    def _next(self) -> None:
        if self._due:
            self._parser.read(self._due[0][0], self._have)

    def _have(self, parsed: ParsedToken) -> None:
        if not self._due:  # it was stopped
            return
        try:
            self._due[0][1](parsed)
        finally:
            if self._due:
                self._due.popleft()
            if self._due:
                self._clock.call_later(0, self._next)
