"""OperatorAccounts: the accounts made from tokens, looked up when needed and changed while in use.

Promises:
- An account is in force only with a token that a trusted key signed and that has not expired.
- There is one lookup at a time for each key.
- A token that is refused changes nothing.
- A change takes effect without a reconnect, in steps if it is large. Changes are applied one after another,
  in the order in which they came.
- An account keeps its identity, and with it its subscriptions and streams.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ...keys import KeyRole, Reason, Refusal, is_public
from ...keys.chain import authorize_account
from ..accounts import Account, AccountToken
from ..accounts.enforce_limits import close_excess
from ..accounts.users import EXPIRED
from ..clock import SECOND
from ..logging import Logger, NullLogger
from ..slices import SerialQueue, Steps, TurnScheduler, paced
from . import translate
from .import_resolver import MISSING, ImportResolver
from .token_parser import ParsedToken, TokenParser, read

if TYPE_CHECKING:
    from ...keys import AccountClaims, Trust
    from ..accounts import AccountRegistry
    from ..accounts.account_spec import AccountSpec
    from ..clock import Clock, Timer

T = TypeVar("T")
EXPIRED_ERROR = "Account Authentication Expired"


class TokenFetcher(Protocol):
    """What is needed of a resolver (see `resolver`)."""

    async def fetch(self, key: str) -> str:
        """Return the token of an account. Raises LookupError or OSError if it cannot be found."""


def _ignore() -> None:
    """Do nothing, as nobody waits."""


class OperatorAccounts:
    """The accounts by public key, which is also their name.

    observers: called with each account after it was made, was changed or has expired. Work that takes long is
        returned as steps, which are done before the change counts as applied.
    parser: reads tokens.
    eager: whether to apply tokens of accounts that nobody here has asked for, too.
    """

    def __init__(
        self,
        registry: AccountRegistry,
        trust: Trust,
        resolver: TokenFetcher,
        clock: Clock,
        log: Logger | None = None,
        *,
        cluster: str = "",
        parser: TokenParser | None = None,
    ) -> None:
        self.trust = trust
        self.resolver = resolver
        self.parser = parser or TokenParser(cluster=cluster)
        self.observers: list[Callable[[Account], Steps[None] | None]] = []
        self.eager = False
        self._registry = registry
        self._clock = clock
        self._log: Logger = log or NullLogger()
        self._cluster = cluster
        self._work = SerialQueue(TurnScheduler(clock.soon))
        self._import_resolver = ImportResolver(clock, self._log, self._apply)
        self._accounts: dict[str, Account] = {}
        self._loading: dict[str, asyncio.Task[Account | Refusal]] = {}
        self._completing: dict[str, asyncio.Task[None]] = {}
        self._timers: dict[str, Timer] = {}
        self._unfinished: set[str] = set()  # accounts being made, or made again after they had expired

    def account(self, key: str) -> Account | None:
        """Return the account, if it is here and has not expired."""
        account = self._accounts.get(key)
        if account is None or account.account_token is None or account.account_token.expired:
            return None
        return account

    def claims(self, key: str) -> AccountClaims | None:
        """Return the claims in force of an account that is here."""
        account = self.account(key)
        return None if account is None or account.account_token is None else account.account_token.claims

    def ready(self, key: str) -> Account | None:
        """Return the account, if neither it nor any account it imports from must be looked up."""
        return None if key in self._completing or key in self._unfinished else self.account(key)

    async def bootstrap(self, claims: AccountClaims) -> Account:
        """Make the system account without a token, from claims, so that its own token can come through it."""
        spec_and_errors = translate.make_spec(claims, self._cluster)
        return await self._finish(self._adopting("", claims, spec_and_errors))

    async def fetch(self, key: str) -> Account | Refusal:
        """Return the account and the accounts it imports from, looked up if necessary."""
        if key in self._unfinished:
            await self._finish(_nothing())
        account = self.account(key)
        found = account if account is not None else await self._load(key)
        if isinstance(found, Refusal):
            return found
        if account is None or key in self._completing:
            await asyncio.shield(self._complete(key))
        return found

    def update(self, token: str) -> Refusal | None:
        """Apply a token and return None, or return why it is refused.

        It is applied if its account is here, or another account imports from that, or `eager` is set. A long
        token should have been read before (see `TokenParser`). `when_applied` reports when it is applied.
        """
        parsed = read(token)
        claims = authorize_account(parsed.claims, parsed.errors, self.trust, self._clock.now())
        if isinstance(claims, Refusal):
            return claims
        if self._past(claims) and self._concerns(claims.sub, token):
            return Refusal(Reason.ACCOUNT_EXPIRED, f"account {claims.sub} has expired")
        self._apply(self._updating(parsed, claims))
        return None

    def when_applied(self, done: Callable[[], None]) -> None:
        """Call `done` when all changes made until now are applied."""
        self._apply(_nothing(), done)

    def _concerns(self, key: str, token: str) -> bool:
        """Whether the token says anything new about an account that matters here."""
        present = self._accounts.get(key)
        if present is None:
            return self.eager or self._import_resolver.awaited(key)
        return not _in_force(present, token)

    def _updating(self, parsed: ParsedToken, claims: AccountClaims) -> Steps[None]:
        if not self._concerns(claims.sub, parsed.token):
            return
        spec_and_errors = parsed.take_spec(claims, self._cluster)
        yield from self._adopting(parsed.token, claims, spec_and_errors)
        if self._import_resolver.missing([claims.sub]):
            self._complete(claims.sub)

    def expire(self, key: str, *, deleted: bool = False) -> None:
        """Expire an account: close its connections and refuse new ones until a newer token comes.

        deleted: whether to disable its JetStream, too; the files stay. Otherwise its streams wait for that
            token.
        """
        self._apply(self._expiring(key, deleted=deleted))

    def _expiring(self, key: str, *, deleted: bool) -> Steps[None]:
        account = self._accounts.get(key)
        if account is None or account.account_token is None:
            return
        account.account_token.expired = True
        self._stop_timer(key)
        if deleted:
            account.grants = None
        self._log.info(f"Account {account.label} {'was deleted' if deleted else 'has expired'}")
        yield from self._import_resolver.changed(account)
        for connection in [*account.connections, *account.leafs]:
            connection.fail(EXPIRED_ERROR, EXPIRED)
            yield
        yield from self._notifying(account)

    async def stop(self) -> None:
        """Stop all timers and lookups."""
        self._work.stop()
        self._import_resolver.stop()
        for key in list(self._timers):
            self._stop_timer(key)
        tasks: list[asyncio.Task[Any]] = [*self._completing.values(), *self._loading.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- lookups

    async def _load(self, key: str) -> Account | Refusal:
        account = self.account(key)
        if account is not None:
            return account
        task = self._loading.get(key)
        if task is None:
            task = _background(self._loading, key, self._resolve(key))
        return await asyncio.shield(task)

    async def _resolve(self, key: str) -> Account | Refusal:
        """Look up one account, but not those it imports from: two accounts may import from each other."""
        if not is_public(key, KeyRole.ACCOUNT):
            return Refusal(Reason.WRONG_ROLE, f"{key!r} is no public key of an account")
        known = self._accounts.get(key)
        account_token = known.account_token if known is not None else None
        if account_token is not None and self._clock.now() - account_token.updated < SECOND:
            return Refusal(Reason.ACCOUNT_EXPIRED, f"account {key} has expired")
        try:
            token = await self.resolver.fetch(key)
        except (LookupError, OSError) as error:
            self._log.warning(f"Account fetch failed: {error}")
            return Refusal(Reason.BAD_TOKEN, f"account {key} cannot be found: {error}")
        parsed = await self.parser.reading(token)
        account = self.account(key)
        if account is not None:  # an update was faster
            return account
        claims = authorize_account(parsed.claims, parsed.errors, self.trust, self._clock.now(), key=key)
        if isinstance(claims, Refusal):
            self._log.warning(f"Account {key} refused: {claims}")
            return claims
        if self._past(claims):
            return Refusal(Reason.ACCOUNT_EXPIRED, f"account {key} has expired")
        return await self._finish(self._making(parsed, claims))

    async def _finish(self, steps: Steps[T]) -> T:
        """Apply a change after those before it, and return its result."""
        found: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._apply(_setting_result(steps, found))
        return await found

    def _complete(self, key: str) -> asyncio.Task[None]:
        """Look up the accounts that the account imports from, and those that they import from, each once."""
        task = self._completing.get(key)
        if task is None:
            task = _background(self._completing, key, self._look_up_exporters(key))
        return task

    async def _look_up_exporters(self, key: str) -> None:
        tried: set[str] = set()
        todo = self._import_resolver.missing([key])
        while todo:
            tried |= todo
            await asyncio.gather(*(self._load(each) for each in todo))
            todo = self._import_resolver.missing(todo) - tried
        account = self._accounts[key]
        if account.account_token is not None:
            for what, why in account.account_token.imports.items():
                if why == MISSING:
                    self._log.error(f"Account {account.label}: {what} is not served: {why}")

    # --- changes

    def _past(self, claims: AccountClaims) -> bool:
        return claims.exp != 0 and claims.exp * SECOND <= self._clock.now()

    def _apply(self, steps: Steps[None], done: Callable[[], None] = _ignore) -> None:
        """Apply a change after all earlier ones, then call `done` unless it failed."""
        self._work.add(paced(steps), lambda _: done(), self._failed)

    def _failed(self, error: Exception) -> None:
        self._log.error(f"Applying an account's token failed: {type(error).__name__}: {error}")

    def _making(self, parsed: ParsedToken, claims: AccountClaims) -> Steps[Account]:
        """Make the account of a token that was looked up, unless it came another way in the meantime."""
        account = self.account(claims.sub)
        if account is not None:
            return account
        spec_and_errors = parsed.take_spec(claims, self._cluster)
        return (yield from self._adopting(parsed.token, claims, spec_and_errors))

    def _adopting(
        self,
        token: str,
        claims: AccountClaims,
        spec_and_errors: tuple[AccountSpec, dict[str, str]],
    ) -> Steps[Account]:
        key = claims.sub
        account = self._accounts.get(key)
        if account is None:
            account = self._accounts[key] = self._registry.make(key)
        if self.account(key) is None:
            self._unfinished.add(key)
        try:
            spec, errors = spec_and_errors
            yield from self._applying(account, token, claims, spec, errors)
            yield from self._notifying(account)
        finally:
            self._unfinished.discard(key)
        return account

    def _applying(
        self, account: Account, token: str, claims: AccountClaims, spec: AccountSpec, errors: dict[str, str]
    ) -> Steps[None]:
        key = account.name
        yield from spec.keeping_exports(account)
        account.nkey = key
        account.display = claims.name or key
        account.account_token = AccountToken(token, claims, self._clock.now(), errors=errors)
        spec.apply(account)
        yield from self._import_resolver.changed(account)
        self._set_timer(key, claims)
        close_excess(account)

    def _notifying(self, account: Account) -> Steps[None]:
        for observer in list(self.observers):
            steps = observer(account)
            if steps is not None:
                yield from steps
        self._registry.flusher.schedule()

    def _set_timer(self, key: str, claims: AccountClaims) -> None:
        self._stop_timer(key)
        if claims.exp > 0:
            wait = claims.exp * SECOND - self._clock.now()
            self._timers[key] = self._clock.call_later(wait, lambda: self.expire(key))

    def _stop_timer(self, key: str) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()


def _in_force(account: Account, token: str) -> bool:
    account_token = account.account_token
    return (
        account_token is not None
        and account_token.token == token
        and account_token.complete
        and not account_token.expired
    )


def _nothing() -> Steps[None]:
    yield from ()


def _setting_result(steps: Steps[T], found: asyncio.Future[T]) -> Steps[None]:
    """Do the same work and set its result on the future of a task that waits for it."""
    try:
        result = yield from steps
    except Exception as error:
        if found.done():
            raise
        found.set_exception(error)
    else:
        if not found.done():
            found.set_result(result)


def _background(tasks: dict[str, asyncio.Task[T]], key: str, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Run `work` as a task that is in `tasks` while it runs."""
    task = tasks[key] = asyncio.get_running_loop().create_task(work)
    task.add_done_callback(lambda _: tasks.pop(key, None))
    return task
