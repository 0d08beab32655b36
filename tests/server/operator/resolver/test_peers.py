"""Asking other servers for an account: which answers count, and when the search ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from lib.eventually import turns
from lib.token_issuer import SECOND, Operated
from pyjs.server.accounts import (
    Account,
    AccountRegistry,
    ConnectionKind,
    Message,
    MessageEndpoint,
    RoutedMessage,
    Subscription,
)
from pyjs.server.config.options import Options
from pyjs.server.operator.resolver.peers import ResolverPeers


class Link(MessageEndpoint):
    """A connection to other servers that receives the questions; `says` is what comes from there."""

    kind = ConnectionKind.LEAF

    def __init__(self, system: Account, subject: str = "$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP") -> None:
        self.system = system
        self.asked: list[str] = []
        self.heard: Callable[[str], None] = lambda reply: None
        system.add_subscription(Subscription(subject, self))

    def may_send(self, subject: str) -> bool:
        del subject
        return True

    def deliver_to_server(self, msg: RoutedMessage, queues: tuple[bytes, ...]) -> bool:
        del queues
        self.asked.append(msg.reply.decode())
        return True

    def says(self, subject: str, body: str = "") -> None:
        self.system.publish(subject, body.encode(), source=self)


@pytest.fixture
def registry(operated: Operated) -> AccountRegistry:
    return AccountRegistry(Options(), operated.clock)


@pytest.fixture
def system(registry: AccountRegistry) -> Account:
    assert registry.system is not None
    return registry.system


@pytest.fixture
def peers(operated: Operated, registry: AccountRegistry, system: Account) -> ResolverPeers:
    made = ResolverPeers(registry, operated.clock, lambda n: bytes(range(n)))
    made.watch(system)
    return made


def say_all(subject: str, *links: Link) -> None:
    for link in links:
        link.says(subject)


def search(
    operated: Operated, peers: ResolverPeers, script: Callable[[], object], *, fits: bool = True
) -> tuple[str, int]:
    """(what was found, ns it took) while `script` runs after the question."""

    async def run() -> str:
        task = asyncio.create_task(peers.lookup(operated.accounts[0], 2 * SECOND, lambda *_: fits))
        await turns(1)
        script()
        await turns(1)
        if not task.done():
            operated.clock.advance(2 * SECOND)
        return await task

    begun = operated.clock.now()
    return asyncio.run(run()), operated.clock.now() - begun


def test_the_first_token_counts(operated: Operated, system: Account, peers: ResolverPeers) -> None:
    one, two = Link(system), Link(system)

    def script() -> None:
        one.says(one.asked[0])
        two.says(two.asked[0], "token\n")
        two.says(two.asked[0], "another")

    assert search(operated, peers, script) == ("token", 0)
    assert operated.clock.pending() == 0


def test_the_search_ends_when_everybody_has_none(
    operated: Operated, system: Account, peers: ResolverPeers
) -> None:
    one, two = Link(system), Link(system)
    assert search(operated, peers, lambda: one.says(one.asked[0])) == ("", 2 * SECOND)
    assert search(operated, peers, lambda: say_all(one.asked[-1], one, two)) == ("", 0)


def test_servers_of_one_link_are_counted_by_what_they_send(
    operated: Operated, system: Account, peers: ResolverPeers
) -> None:
    link = Link(system)
    for server in ("N1", "N2", "N2"):
        link.says(f"$SYS.SERVER.{server}.STATSZ")
    assert search(operated, peers, lambda: link.says(link.asked[-1])) == ("", 2 * SECOND)
    assert search(operated, peers, lambda: say_all(link.asked[-1], link, link)) == ("", 0)
    link.says("$SYS.SERVER.N1.SHUTDOWN")
    assert search(operated, peers, lambda: link.says(link.asked[-1])) == ("", 0)
    link.says("$SYS.SERVER.N1.STATSZ")
    operated.clock.advance(61 * SECOND)
    assert search(operated, peers, lambda: link.says(link.asked[-1])) == ("", 0)


def test_a_token_that_does_not_fit_is_passed_over(
    operated: Operated, system: Account, peers: ResolverPeers
) -> None:
    link = Link(system)
    assert search(operated, peers, lambda: link.says(link.asked[0], "x"), fits=False) == ("", 2 * SECOND)


def test_nobody_to_ask(operated: Operated, system: Account, peers: ResolverPeers) -> None:
    heard: list[Message] = []
    system.subscribe("$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP", heard.append)
    assert search(operated, peers, lambda: None) == ("", 0)
    assert heard == []


def test_the_end_of_the_server_ends_the_search(
    operated: Operated, system: Account, peers: ResolverPeers
) -> None:
    Link(system)
    assert search(operated, peers, peers.stop) == ("", 0)
