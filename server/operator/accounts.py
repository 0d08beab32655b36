"""OperatorAccounts: the accounts made from tokens, found when needed and changed while they are used.

Promises: an account is in force only with a token that a trusted key signed and whose time has not passed;
one lookup at a time for each key; a token that is refused changes nothing; what changes takes effect with the
next message, without a reconnect. An account keeps its identity, and with it its subscriptions and streams.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from ...keys import Reason, Refusal, Role, is_public, open_account
from ..accounts import Account, Charter
from ..accounts.surplus import close_surplus
from ..clock import SECOND
from ..logging import Log, Silent
from . import translate
from .wiring import MISSING, Wiring

if TYPE_CHECKING:
    from ...keys import AccountClaims, Trust
    from ..accounts import Registry
    from ..clock import Clock, Timer

T = TypeVar("T")
EXPIRED_ERROR = "Account Authentication Expired"
EXPIRED_REASON = "Authentication Expired"


class Fetcher(Protocol):
    """What is asked of a resolver (see `resolver`)."""

    async def fetch(self, key: str) -> str:
        """The token of an account. Raises LookupError or OSError when there is none to be had."""


class _Closable(Protocol):
    def fail(self, text: str, reason: str) -> None: ...


class OperatorAccounts:
    """The accounts by public key, which is also their name.

    observers are called with each account that was made, was changed or expired, after the fact.
    eager: whether tokens that come are applied to accounts that nobody here has asked for, too.
    """

    def __init__(
        self,
        registry: Registry,
        trust: Trust,
        resolver: Fetcher,
        clock: Clock,
        log: Log | None = None,
        *,
        cluster: str = "",
    ) -> None:
        self.trust = trust
        self.resolver = resolver
        self.observers: list[Callable[[Account], None]] = []
        self.eager = False
        self._registry = registry
        self._clock = clock
        self._log: Log = log or Silent()
        self._cluster = cluster
        self._wiring = Wiring(clock, self._log)
        self._held: dict[str, Account] = {}
        self._loading: dict[str, asyncio.Task[Account | Refusal]] = {}
        self._completing: dict[str, asyncio.Task[None]] = {}
        self._timers: dict[str, Timer] = {}

    def account(self, key: str) -> Account | None:
        """The account, if it is here and its time has not passed."""
        account = self._held.get(key)
        if account is None or account.charter is None or account.charter.expired:
            return None
        return account

    def claims(self, key: str) -> AccountClaims | None:
        """The claims in force of an account that is here."""
        account = self.account(key)
        return None if account is None or account.charter is None else account.charter.claims

    def ready(self, key: str) -> Account | None:
        """The account, if neither it nor what it imports from needs to be looked up."""
        return None if key in self._completing else self.account(key)

    def bootstrap(self, claims: AccountClaims) -> Account:
        """Take claims without a token: the system account through which its own token is to come."""
        return self._adopt("", claims)

    async def fetch(self, key: str) -> Account | Refusal:
        """The account, looked up if need be, with what it imports from."""
        account = self.account(key)
        found = account if account is not None else await self._load(key)
        if isinstance(found, Refusal):
            return found
        if account is None or key in self._completing:
            await asyncio.shield(self._complete(key))
        return found

    def update(self, token: str) -> Refusal | None:
        """Apply a token to its account, if that is here, or others wait for it, or all are wanted."""
        claims = open_account(token, self.trust, self._clock.now())
        if isinstance(claims, Refusal):
            return claims
        held = self._held.get(claims.sub)
        if held is None and not self.eager and not self._wiring.awaited(claims.sub):
            return None
        if held is not None and _in_force(held, token):
            return None
        if self._past(claims):
            return Refusal(Reason.ACCOUNT_EXPIRED, f"account {claims.sub} has expired")
        self._adopt(token, claims)
        if self._wiring.missing([claims.sub]):
            self._complete(claims.sub)
        return None

    def expire(self, key: str, *, deleted: bool = False) -> None:
        """End an account's time: whoever is connected is closed, nobody may connect until a newer token.

        deleted: JetStream is taken from it, too; its files stay. Otherwise its streams wait for that token.
        """
        account = self._held.get(key)
        if account is None or account.charter is None:
            return
        account.charter.expired = True
        self._stop_timer(key)
        if deleted:
            account.grants = None
        self._log.info(f"Account {account.label} {'was deleted' if deleted else 'has expired'}")
        self._wiring.changed(account)
        for connection in [*account.connections, *account.leafs]:
            cast("_Closable", connection).fail(EXPIRED_ERROR, EXPIRED_REASON)
        self._tell(account)

    async def stop(self) -> None:
        """Leave no timer and no lookup behind."""
        self._wiring.stop()
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
        """Look up one account, not what it imports from: two accounts may import from each other."""
        if not is_public(key, Role.ACCOUNT):
            return Refusal(Reason.WRONG_ROLE, f"{key!r} is no public key of an account")
        held = self._held.get(key)
        charter = held.charter if held is not None else None
        if charter is not None and self._clock.now() - charter.updated < SECOND:
            return Refusal(Reason.ACCOUNT_EXPIRED, f"account {key} has expired")
        try:
            token = await self.resolver.fetch(key)
        except (LookupError, OSError) as error:
            self._log.warning(f"Account fetch failed: {error}")
            return Refusal(Reason.BAD_TOKEN, f"account {key} cannot be found: {error}")
        account = self.account(key)
        if account is not None:  # an update was faster
            return account
        claims = open_account(token, self.trust, self._clock.now(), key=key)
        if isinstance(claims, Refusal):
            self._log.warning(f"Account {key} refused: {claims}")
            return claims
        if self._past(claims):
            return Refusal(Reason.ACCOUNT_EXPIRED, f"account {key} has expired")
        return self._adopt(token, claims)

    def _complete(self, key: str) -> asyncio.Task[None]:
        """Look up what the account imports from, and what those import from, each once."""
        task = self._completing.get(key)
        if task is None:
            task = _background(self._completing, key, self._look_up_exporters(key))
        return task

    async def _look_up_exporters(self, key: str) -> None:
        tried: set[str] = set()
        todo = self._wiring.missing([key])
        while todo:
            tried |= todo
            await asyncio.gather(*(self._load(each) for each in todo))
            todo = self._wiring.missing(todo) - tried
        account = self._held[key]
        if account.charter is not None:
            for what, why in account.charter.imports.items():
                if why == MISSING:
                    self._log.error(f"Account {account.label}: {what} is not served: {why}")

    # --- changes

    def _past(self, claims: AccountClaims) -> bool:
        return claims.exp != 0 and claims.exp * SECOND <= self._clock.now()

    def _adopt(self, token: str, claims: AccountClaims) -> Account:
        key = claims.sub
        account = self._held.get(key)
        if account is None:
            account = self._held[key] = self._registry.make(key)
        drafted, faults = translate.draft(claims, self._cluster)
        account.nkey = key
        account.display = claims.name or key
        account.charter = Charter(token, claims, self._clock.now(), faults=faults)
        drafted.settle(account)
        drafted.apply(account)
        self._wiring.changed(account)
        for text in translate.unserved(claims):
            self._log.warning(f"Account {account.label}: {text}")
        self._set_timer(key, claims)
        close_surplus(account)
        self._tell(account)
        return account

    def _tell(self, account: Account) -> None:
        for observer in list(self.observers):
            observer(account)
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
    charter = account.charter
    return charter is not None and charter.token == token and charter.complete and not charter.expired


def _background(held: dict[str, asyncio.Task[T]], key: str, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Run `work` as a task that is in `held` while it runs."""
    task = held[key] = asyncio.get_running_loop().create_task(work)
    task.add_done_callback(lambda _: held.pop(key, None))
    return task
