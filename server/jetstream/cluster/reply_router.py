"""ReplyRouter: by way of the server that leads what a request has made or changed.

A client that was told of its stream publishes at once, maybe on a third server. That one has to know by then
that the stream hears: so the answer takes the way that this news took before it, from the stream's leader.
That one may not have heard yet of who waits for the answer, which is told by another server: it waits for
PATIENCE until somebody hears it. A leader that is not reached is left out. More is not promised of delivery:
who hears no answer asks again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ....protocol.identifier import name_hash
from ...clock import SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...accounts.account import Account
    from ...accounts.message import Message
    from ...accounts.subscription import Subscription
    from ...clock import Clock, Timer
    from ..account.account import JetStreamAccount

SUBJECT = "$JSC.ANSWER."
PAUSE, PATIENCE = SECOND // 20, 2 * SECOND
MOST_WAITING = 1000  # answers; more are published at once, whoever hears them


class ReplyRouter:
    """One per server. accounts: those with JetStream."""

    def __init__(
        self, node: str, carrier: Account, accounts: Mapping[str, JetStreamAccount], clock: Clock
    ) -> None:
        self._node = node
        self._clock = clock
        self._waiting: dict[int, Timer] = {}
        self._number = 0
        self._carrier = carrier
        self._accounts = accounts
        self._subscription: Subscription | None = None

    def start(self) -> None:
        """Hear the others."""
        self._subscription = self._carrier.subscribe(SUBJECT + self._node, self._heard)

    def stop(self) -> None:
        """Hear nothing more, and leave no timer."""
        for timer in self._waiting.values():
            timer.cancel()
        self._waiting.clear()
        if self._subscription is not None:
            self._carrier.unsubscribe(self._subscription)

    def send(self, server: str, account: str, reply: str, header: bytes, body: bytes) -> None:
        """Publish an answer in an account, by way of the server of that name ("": from here)."""
        node = name_hash(server) if server else self._node
        if node == self._node:
            self._publish(account, reply, header, body)
            return
        head = json.dumps([account, reply, len(header)], separators=(",", ":")).encode()
        if not self._carrier.publish(SUBJECT + node, head + b"\n" + header + body):
            self._publish(account, reply, header, body)

    def _heard(self, message: Message) -> None:
        head, _, rest = message.body.partition(b"\n")
        try:
            account, reply, size = json.loads(head)
        except (ValueError, TypeError):
            return  # not from one of us
        self._publish(account, reply, rest[:size], rest[size:])

    def _publish(
        self, account: str, reply: str, header: bytes, body: bytes, patience: int = PATIENCE
    ) -> None:
        held = self._accounts.get(account)
        if held is None or held.account.publish(reply, body, header=header):
            return
        if patience <= 0 or len(self._waiting) >= MOST_WAITING:
            return
        self._number = number = self._number + 1

        def again() -> None:
            del self._waiting[number]
            self._publish(account, reply, header, body, patience - PAUSE)

        self._waiting[number] = self._clock.call_later(PAUSE, again)
