"""OperatorMode: assembles the part of a server that serves operator mode.

Promises: `start` returns when the resolver answers and the system account is there, or raises. `stop` leaves
no task and no timer.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...keys import AccountClaims, Refusal
from ..clock import SECOND
from ..config.read.keys import is_public_key
from ..logging import Logger, NullLogger
from ..slices import Steps
from .accounts import OperatorAccounts
from .authenticator import OperatorAuthenticator
from .resolver import ResolverError, make_resolver, reloading_resolver
from .token_parser import TokenParser, WorkerPool, in_place
from .trust import OperatorError, Trusted

if TYPE_CHECKING:
    from ..accounts import Account, AccountRegistry
    from ..clock import Clock, Timer
    from ..config.options import Options
    from .claims import ClaimsServices

_AGAIN = 10 * SECOND  # ns between two lookups of an account that could not be found
_MOST_NEEDED = 1000  # lookups in that time: peers may name any number of accounts


class OperatorMode:
    """Operator mode of one server.

    accounts: the accounts made from tokens.
    authenticator: decides which clients and leaf nodes may connect.
    resolver: where the tokens of accounts come from.
    """

    def __init__(
        self,
        trusted: Trusted,
        options: Options,
        registry: AccountRegistry,
        clock: Clock,
        log: Logger | None = None,
        random_bytes: Callable[[int], bytes] = os.urandom,
        elsewhere: WorkerPool = in_place,
    ) -> None:
        """Create the parts. `elsewhere` runs the reading of long tokens. Raises OperatorError."""
        self.trusted = trusted
        self.options = options
        self._registry = registry
        self._clock = clock
        self._log: Logger = log or NullLogger()
        cluster = options.cluster.name if options.cluster is not None else ""
        parser = TokenParser(elsewhere, cluster)
        try:
            self.resolver = make_resolver(
                options,
                trust=trusted.trust,
                registry=registry,
                clock=clock,
                log=self._log,
                random_bytes=random_bytes,
                parser=parser,
            )
        except ResolverError as error:
            raise OperatorError(str(error)) from error
        self.accounts = OperatorAccounts(
            registry, trusted.trust, self.resolver, clock, self._log, cluster=cluster, parser=parser
        )
        self.authenticator = OperatorAuthenticator(self.accounts, clock, options)
        self._claims: ClaimsServices | None = None
        self._timer: Timer | None = None
        self._task: asyncio.Task[None] | None = None
        self._holding: asyncio.Task[None] | None = None
        self._needed: dict[str, int] = {}  # when lookups began, the first one first
        self._looking_up: set[asyncio.Task[Account | Refusal]] = set()

    async def start(self) -> None:
        """Start the resolver and find the system account. Raises OperatorError."""
        for line in self.trusted.described():
            self._log.info(line)
        try:
            await self.resolver.start(self.options.resolver_preload)
        except ResolverError as error:
            raise OperatorError(f"could not start resolver: {error}") from error
        key = self.options.system_account
        if not key:
            self._log.warning("Trusted Operators should utilize a System Account")
        elif not self.options.no_system_account:
            self._registry.appoint(await self._system_account(key))

    async def _system_account(self, key: str) -> Account:
        """Return the system account, or a temporary one if its token must first be pushed through itself."""
        found = await self.accounts.fetch(key)
        only = self.trusted.only
        if not isinstance(found, Refusal):
            return found
        if only is None or self.resolver.kind == "memory":
            raise OperatorError(f"error resolving system account: {found.detail}")
        self._log.info("Using bootstrapping system account")
        claims = AccountClaims.new(key, key)
        claims.iss = only.iss
        self._later()
        return await self.accounts.bootstrap(claims)

    def _later(self) -> None:
        self._timer = self._clock.call_later(SECOND, self._again)

    def _again(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._replace())

    async def _replace(self) -> None:
        """Replace the temporary system account by the real one, once that can be found."""
        key = self.options.system_account
        account = self.accounts.account(key)
        if account is None or account.account_token is None or account.account_token.token:
            return
        try:
            token = await self.resolver.fetch(key)
            parsed = await self.accounts.parser.reading(token)
            refused = self.accounts.update(parsed.token)
        except (LookupError, OSError):
            self._later()
            return
        if refused is None:
            self._log.info("System account fetched and updated")
        else:
            self._log.warning(f"System account refused: {refused}")
            self._later()

    async def find_account(self, key: str) -> Account | None:
        """Return the account of a public key, None if it cannot be found."""
        found = await self.accounts.fetch(key)
        return None if isinstance(found, Refusal) else found

    def hold_all(self) -> None:
        """Load every account that the resolver has, now and whenever one is pushed.

        Servers of a cluster need this for what they do together for an account: whichever of them decides
        must receive the account's requests, even if none of its clients has ever connected there.
        """
        self.accounts.eager = True
        if self._holding is None:
            self._holding = asyncio.get_running_loop().create_task(self._hold_all())

    async def _hold_all(self) -> None:
        kept = self.resolver.keys()
        for key in kept:
            await self.accounts.fetch(key)

    def need(self, key: str) -> None:
        """Load an account that another server has, if it can have that name. Retried every 10 s at most.

        A resolver that cannot list its tokens does not know of the account before.
        """
        needed, now = self._needed, self._clock.now()
        while needed and needed[oldest := next(iter(needed))] <= now - _AGAIN:
            del needed[oldest]
        if key in needed or len(needed) >= _MOST_NEEDED or not is_public_key(key, "A"):
            return
        if self.accounts.account(key) is not None:
            return
        needed[key] = now
        task = asyncio.get_running_loop().create_task(self.accounts.fetch(key))
        self._looking_up.add(task)
        task.add_done_callback(self._looking_up.discard)

    def serve(self, sender: Callable[[], dict[str, Any]]) -> None:
        """Serve the claims of accounts in the system account.

        sender: returns how answers describe this server.
        """
        if self._registry.system is None:
            return
        from .claims import ClaimsServices

        self._claims = ClaimsServices(
            self.resolver,
            self.accounts,
            self._registry,
            sender,
            clock=self._clock,
            log=self._log,
            operator=self.trusted.only,
        )
        self._claims.start()

    def reloading(self, options: Options) -> Steps[None]:
        """Apply new options, in steps: preloaded accounts and the default sentinel.

        Raises OperatorError, and then changes nothing.
        """
        try:
            changed = yield from reloading_resolver(self.resolver, options)
        except ResolverError as error:
            raise OperatorError(str(error)) from error
        self.options = options
        self.authenticator.reload(options)
        for key in changed:
            token = self.resolver.known(key)
            if token and (refused := self.accounts.update(token)) is not None:
                self._log.error(f"Account {key} refused: {refused}")
            if not token and self.resolver.kind == "memory":
                self._log.info(f"Reloaded: account {key} is no longer preloaded")
                self.accounts.expire(key)
            yield

    async def stop(self) -> None:
        """Stop everything and leave nothing running."""
        if self._timer is not None:
            self._timer.cancel()
        for task in (self._task, self._holding, *self._looking_up):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if self._claims is not None:
            self._claims.stop()
        await self.authenticator.stop()
        await self.accounts.stop()
        await self.resolver.stop()
