"""Clients that log in by token, without sockets: a rig's accounts, behind connections that have no wire."""

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
from lib.fake_wire import PLAIN, FakeClient, House
from lib.operator_accounts import Log, Rig
from lib.operator_fixture import SiteAccount, User
from pyjs.server.client import Clients
from pyjs.server.config.options import Options
from pyjs.server.identity import ServerIdentity
from pyjs.server.operator.authenticator import OperatorAuthenticator


class Door(House):
    """`login` sends CONNECT and waits until it is decided."""

    def __init__(self, **options: Any) -> None:
        rig = self.rig = Rig()
        self.site = rig.site
        self.log = Log()
        self.options = Options(host="127.0.0.1", system_account=rig.site.sys.id, **options)
        self.clock, self.registry = rig.clock, rig.registry
        self.authenticator = OperatorAuthenticator(rig.accounts, rig.clock, self.options)
        identity = ServerIdentity.new("test", self.clock.now(), os.urandom)
        self.clients = Clients(
            self.options,
            self.registry,
            identity,
            self.clock,
            lambda function, done: done(function()),
            self.log,
            gatekeeper=self.authenticator,
        )

    def account(self, name: str = "A", **fields: Any) -> SiteAccount:
        """An account that the resolver knows."""
        account = self.site.account(name, **fields)
        self.rig.publish(account)
        return account

    def says_who(self, client: FakeClient, user: User, /, **changes: Any) -> None:
        """Send CONNECT; the answer may take a lookup."""
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
        """Why the latest login was refused, as the log has it."""
        found = [t.split(" - ")[-1] for level, t in self.log.lines if level == "debug"]
        return next((text for text in reversed(found) if not text.startswith("Client connection")), "")


def at_the_door(
    **options: Any,
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """Run an asynchronous test with a Door as its first argument; nothing may be left behind afterwards."""

    async def run(test: Callable[..., Awaitable[None]], arguments: dict[str, Any]) -> None:
        door = Door(**options)
        try:
            await test(door, **arguments)
        finally:
            door.clients.close_all("Server Shutdown")
            await door.authenticator.stop()
            await door.rig.accounts.stop()
        door.registry.stop()
        door.clock.advance(1_000_000_000)  # closes that linger
        assert door.clock.pending() == 0

    def decorate(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        @functools.wraps(test)
        def wrapper(**arguments: Any) -> None:
            asyncio.run(run(test, arguments))

        _, *others = inspect.signature(test).parameters.values()
        wrapper.__signature__ = inspect.Signature(others)  # type: ignore[attr-defined]
        return wrapper

    return decorate
