"""Clients that log in by token, without sockets: a fixture's accounts, on connections that have no wire."""

from __future__ import annotations

import asyncio
import base64
import functools
import inspect
import json
import os
from collections.abc import Awaitable, Callable
from typing import Any

from lib.eventually import turns
from lib.fake_wire import PLAIN, ClientsFixture, FakeClient
from lib.operator_accounts import AccountsEnv, Log
from lib.operator_fixture import OperatorAccount, User
from pyjs.server.client import Clients, make_services
from pyjs.server.config.options import Options
from pyjs.server.identity import ServerIdentity
from pyjs.server.operator.authenticator import OperatorAuthenticator


class LoginFixture(ClientsFixture):
    """Clients whose `login` sends CONNECT and waits until it is decided."""

    def __init__(self, **options: Any) -> None:
        fixture = self.fixture = AccountsEnv()
        self.env = fixture.env
        self.log = Log()
        self.options = Options(host="127.0.0.1", system_account=fixture.env.sys.id, **options)
        self.clock, self.registry = fixture.clock, fixture.registry
        self.authenticator = OperatorAuthenticator(fixture.accounts, fixture.clock, self.options)
        identity = ServerIdentity.new("test", self.clock.now(), os.urandom)
        services = make_services(
            self.options, identity, self.clock, lambda function, done: done(function()), self.log
        )
        self.clients = Clients(self.options, self.registry, services, self.authenticator)

    def account(self, name: str = "A", **fields: Any) -> OperatorAccount:
        """Return an account that the resolver knows."""
        account = self.env.account(name, **fields)
        self.fixture.publish(account)
        return account

    def says_who(self, client: FakeClient, user: User, /, **changes: Any) -> None:
        """Send CONNECT and return the answer, which may take a lookup."""
        signature = base64.urlsafe_b64encode(user.key.sign(client.info["nonce"].encode())).decode()
        proof = {**PLAIN, "jwt": user.token, "sig": signature.rstrip("="), **changes}
        client.connection.receive(f"CONNECT {json.dumps(proof)}\r\n".encode())

    async def login(self, user: User, /, **changes: Any) -> FakeClient:
        client = self.client()
        self.says_who(client, user, **changes)
        await turns()
        return client

    @property
    def why(self) -> str:
        """Return why the latest login was refused, as the log has it."""
        found = [t.split(" - ")[-1] for level, t in self.log.lines if level == "debug"]
        return next((text for text in reversed(found) if not text.startswith("Client connection")), "")


def with_login_fixture(
    **options: Any,
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """Run an asynchronous test with a LoginFixture as its first argument; nothing may be left."""

    async def run(test: Callable[..., Awaitable[None]], arguments: dict[str, Any]) -> None:
        logins = LoginFixture(**options)
        try:
            await test(logins, **arguments)
        finally:
            logins.clients.close_all("Server Shutdown")
            await logins.authenticator.stop()
            await logins.fixture.accounts.stop()
        logins.registry.stop()
        logins.clock.advance(1_000_000_000)  # connections that close after a delay
        assert logins.clock.pending() == 0

    def decorate(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        @functools.wraps(test)
        def wrapper(**arguments: Any) -> None:
            asyncio.run(run(test, arguments))

        _, *others = inspect.signature(test).parameters.values()
        wrapper.__signature__ = inspect.Signature(others)  # type: ignore[attr-defined]
        return wrapper

    return decorate
