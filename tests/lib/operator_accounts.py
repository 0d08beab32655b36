"""Accounts made from tokens, without a server: a registry, a clock that stands still, a dict as resolver."""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any

from lib.fake_clock import FakeClock
from lib.operator_fixture import OperatorAccount, OperatorEnv
from pyjs.keys import Refusal, Trust
from pyjs.server.accounts import Account, AccountRegistry, Message
from pyjs.server.config.options import Options
from pyjs.server.operator.accounts import OperatorAccounts

SECOND = 1_000_000_000


class Log:
    """Keeps every line as (level, text)."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def __getattr__(self, level: str) -> Any:
        return lambda text: self.lines.append((level, text))


class Table:
    """A resolver: tokens by key. `asked` has every lookup; lookups wait while `may_answer` is not set."""

    def __init__(self) -> None:
        self.tokens: dict[str, str] = {}
        self.asked: list[str] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def fetch(self, key: str) -> str:
        self.asked.append(key)
        await self.may_answer.wait()
        return self.tokens[key]


class AccountsEnv:
    """Accounts with their operator: `deploy` signs and pushes; `fetch` looks up, and fails on a refusal."""

    def __init__(self, *, cluster: str = "") -> None:
        self.env = OperatorEnv()
        self.clock = FakeClock(time.time_ns())
        self.log = Log()
        keys, system = [self.env.key.public_key], self.env.sys.id
        self.registry = AccountRegistry(Options(trusted_keys=keys, system_account=system), self.clock)
        self.table = Table()
        self.reported: list[str] = []
        self.accounts = OperatorAccounts(
            self.registry, Trust.in_keys(keys), self.table, self.clock, self.log, cluster=cluster
        )
        self.accounts.observers.append(lambda account: self.reported.append(account.display))

    def publish(self, *accounts: OperatorAccount) -> None:
        """Make tokens of the accounts known to the resolver, without a word to the server."""
        for account in accounts:
            self.table.tokens[account.id] = account.token()

    def deploy(self, *accounts: OperatorAccount) -> None:
        """Give new tokens of the accounts to resolver and server."""
        for account in accounts:
            self.publish(account)
            refused = self.accounts.update(self.table.tokens[account.id])
            assert refused is None, refused

    async def fetch(self, account: OperatorAccount) -> Account:
        found = await self.accounts.fetch(account.id)
        assert not isinstance(found, Refusal), found
        return found

    async def open(self, *accounts: OperatorAccount) -> list[Account]:
        """Publish and fetch all of them."""
        self.publish(*accounts)
        return [await self.fetch(account) for account in accounts]


def rigged(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an asynchronous test with a fixture as its first argument; nothing may be left afterwards."""

    async def run(**arguments: Any) -> None:
        fixture = AccountsEnv()
        try:
            await test(fixture, **arguments)
        finally:
            await fixture.accounts.stop()
        fixture.registry.stop()
        assert fixture.clock.pending() == 0

    @functools.wraps(test)
    def wrapper(**arguments: Any) -> None:
        asyncio.run(run(**arguments))

    _, *others = inspect.signature(test).parameters.values()
    wrapper.__signature__ = inspect.Signature(others)  # type: ignore[attr-defined]
    return wrapper


def hear(account: Account, subject: str) -> list[tuple[str, bytes]]:
    """Return a list that gets what arrives at a subscription, from now on."""
    heard: list[tuple[str, bytes]] = []

    def take(message: Message) -> None:
        heard.append((message.subject, message.body))

    account.subscribe(subject, take)
    return heard


def answer(account: Account, subject: str, body: bytes = b"yes") -> None:
    """Answer requests on `subject`."""

    def reply(message: Message) -> None:
        account.publish(message.reply, body, own=True)

    account.subscribe(subject, reply)


def ask(account: Account, subject: str) -> bytes | None:
    """Return a request's answer; None if nobody heard it or nobody answered."""
    inbox = hear(account, "_INBOX.1")
    account.publish(subject, b"?", reply="_INBOX.1", own=True)
    return inbox[0][1] if inbox else None


def faults(account: Account) -> dict[str, str]:
    assert account.account_token is not None
    return account.account_token.imports
