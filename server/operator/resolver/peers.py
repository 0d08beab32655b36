"""ResolverPeers: asks the other servers for the token of an account, in the system account.

The first token that fits is used. The search ends without one when every known server has answered that it
has none (an empty message), at the timeout, or at once if there is nobody to ask. Servers become known by
the statistics that each of them publishes every ten seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from ....protocol.identifier import new_id
from ...accounts import ConnectionKind
from ...clock import SECOND
from ..token_parser import ParsedToken, TokenParser

if TYPE_CHECKING:
    from ...accounts import Account, AccountRegistry, Message, Subscription
    from ...clock import Clock

INBOX = "$SYS._INBOX."
SILENT = 60 * SECOND
REMOTE = (ConnectionKind.LEAF, ConnectionKind.ROUTER, ConnectionKind.GATEWAY)


class ResolverPeers:
    """The servers that can be reached in the system account."""

    def __init__(
        self,
        registry: AccountRegistry,
        clock: Clock,
        random_bytes: Callable[[int], bytes],
        parser: TokenParser | None = None,
    ) -> None:
        self._parser = parser or TokenParser()
        self._registry = registry
        self._clock = clock
        self._random = random_bytes
        self._prefix = f"{INBOX}{new_id(random_bytes, 8)}."
        self._waiting: set[asyncio.Future[str]] = set()
        self._servers: dict[str, int] = {}  # when each was last seen (ns), by id

    def watch(self, system: Account) -> list[Subscription]:
        """Begin to count the servers. The caller must end the subscriptions that this returns."""
        subjects = ("$SYS.SERVER.*.STATSZ", "$SYS.SERVER.*.SHUTDOWN")
        return [system.subscribe(subject, self._on_statistics) for subject in subjects]

    def _on_statistics(self, message: Message) -> None:
        if message.source is None or message.source.kind not in REMOTE:
            return
        _, _, server, what = message.subject.split(".")
        self._servers.pop(server, None)
        if what == "STATSZ":
            self._servers[server] = self._clock.now()

    def _expected(self, links: int) -> int:
        """Return how many servers should answer: those seen recently, but at least one for each link."""
        since = self._clock.now() - SILENT
        return max(links, sum(seen > since for seen in self._servers.values()))

    def inbox(self) -> str:
        """Return a new subject for answers."""
        return self._prefix + new_id(self._random, 8)

    def own(self, reply: str) -> bool:
        """Whether a request with this reply subject comes from this server."""
        return reply.startswith(self._prefix)

    def stop(self) -> None:
        """End every search."""
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result("")

    async def lookup(self, key: str, within: int, fits: Callable[[str, str], bool]) -> str:
        """Return the token of account `key` from another server; "" if none comes within `within` ns."""
        system = self._registry.system
        subject = f"$SYS.REQ.ACCOUNT.{key}.CLAIMS.LOOKUP"
        others, links = _subscriber_counts(system, subject) if system is not None else (0, 0)
        if system is None or not others:
            return ""
        found: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        missing = self._expected(links) if links else 0

        def check(parsed: ParsedToken) -> None:
            if not found.done() and fits(key, parsed.token):
                found.set_result(parsed.token)

        def handle(message: Message) -> None:
            nonlocal missing
            token = message.body.decode("utf-8", "replace").strip()
            if not token:
                missing -= 1
            if found.done():
                return
            if not token and missing == 0:
                found.set_result("")
            elif token:
                self._parser.read(token, check)

        def late() -> None:
            if not found.done():
                found.set_result("")

        inbox = self.inbox()
        subscription = system.subscribe(inbox, handle)
        timer = self._clock.call_later(within, late)
        self._waiting.add(found)
        try:
            system.publish(subject, reply=inbox, own=True)
            return await found
        finally:
            self._waiting.discard(found)
            timer.cancel()
            system.unsubscribe(subscription)


def _subscriber_counts(account: Account, subject: str) -> tuple[int, int]:
    """Return how many others than this server subscribe to `subject`, and how many of them are links."""
    plan = account.plan(subject.encode())
    members = [member for group in plan.groups for member in (*group.members, *group.remotes)]
    others = [
        each for each in (*plan.plain, *plan.remotes, *members) if each.kind is not ConnectionKind.INTERNAL
    ]
    return len(others), len({id(each.sink) for each in others if each.kind in REMOTE})
