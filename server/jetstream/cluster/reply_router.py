"""ReplyRouter: sends a reply through the server that leads what the request has created or changed.

A client that gets the reply may publish to its stream at once, maybe on a third server. That server must know
the stream's subscriptions by then, and learns of them from the stream's leader. Therefore the reply takes the
same way, after them. The leader may not know the client's subscription yet, which comes from another server:
it waits up to INTEREST_TIMEOUT until there is interest. If the leader cannot be reached, the reply is
published from here. Delivery is not guaranteed beyond that: a client without a reply asks again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ....protocol.identifier import name_hash
from ...clock import SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...accounts.account import Account
    from ...accounts.subscription import Message, Subscription
    from ...clock import Clock, Timer
    from ..account.account import JetStreamAccount

SUBJECT = "$JSC.ANSWER."
PAUSE, INTEREST_TIMEOUT = SECOND // 20, 2 * SECOND
MOST_WAITING = 1000  # replies; beyond that, a reply without interest is dropped


class ReplyRouter:
    """Sends replies through other servers; a server has one.

    accounts: those with JetStream, by name.
    """

    def __init__(
        self, node: str, system: Account, accounts: Mapping[str, JetStreamAccount], clock: Clock
    ) -> None:
        self._node = node
        self._clock = clock
        self._waiting: dict[int, Timer] = {}
        self._number = 0
        self._system = system
        self._accounts = accounts
        self._subscription: Subscription | None = None

    def start(self) -> None:
        """Subscribe to the replies that other servers send."""
        self._subscription = self._system.subscribe(SUBJECT + self._node, self._received)

    def stop(self) -> None:
        """Unsubscribe, and cancel all timers."""
        for timer in self._waiting.values():
            timer.cancel()
        self._waiting.clear()
        if self._subscription is not None:
            self._system.unsubscribe(self._subscription)

    def send(self, server: str, account: str, reply: str, header: bytes, body: bytes) -> None:
        """Publish a reply in an account, through the server of that name, or from here if it is ""."""
        node = name_hash(server) if server else self._node
        if node == self._node:
            self._publish(account, reply, header, body)
            return
        head = json.dumps([account, reply, len(header)], separators=(",", ":")).encode()
        if not self._system.publish(SUBJECT + node, head + b"\n" + header + body):
            self._publish(account, reply, header, body)

    def _received(self, message: Message) -> None:
        head, _, rest = message.body.partition(b"\n")
        try:
            account, reply, size = json.loads(head)
        except (ValueError, TypeError):
            return  # not from a server of this cluster
        self._publish(account, reply, rest[:size], rest[size:])

    def _publish(
        self, account: str, reply: str, header: bytes, body: bytes, timeout: int = INTEREST_TIMEOUT
    ) -> None:
        found = self._accounts.get(account)
        if found is None or found.account.publish(reply, body, header=header):
            return
        if timeout <= 0 or len(self._waiting) >= MOST_WAITING:
            return
        self._number = number = self._number + 1

        def again() -> None:
            del self._waiting[number]
            self._publish(account, reply, header, body, timeout - PAUSE)

        self._waiting[number] = self._clock.call_later(PAUSE, again)
