"""Counts the subscribers of a subject, here and on the other servers: `$SYS.DEBUG.SUBSCRIBERS`.

It answers once: when every server with connections of the account has sent its number, or after half a
second. Counting delays nothing else, as it is done in slices. Of very many requests at once some get no
answer.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...protocol import gojson
from ...protocol import headers as header_block
from ...protocol.identifier import new_id
from ...protocol.subject import has_wildcard, is_subset, matches
from ..accounts.subscription import ConnectionKind
from ..clock import SECOND
from ..slices import Slices, Steps, paced

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..accounts import Account, Subscription
    from ..accounts.subscription import Message
    from ..monitor import Monitored
    from ..slices import TurnScheduler

REQUEST = "$SYS.REQ.ACCOUNT.NSUBS"
_TIMEOUT = SECOND // 2
_MOST_WAITING = 1000


class Subscribers:
    """The service of one server."""

    def __init__(self, server: Monitored, random_bytes: Callable[[int], bytes], turns: TurnScheduler) -> None:
        self._server = server
        self._random = random_bytes
        self._turns = turns

    def start(self, system: Account) -> None:
        """Serve users of the system account, and other servers."""
        system.subscribe("$SYS.DEBUG.SUBSCRIBERS", self._asked)
        system.subscribe(REQUEST, self._asked_by_server)

    def _asked(self, message: Message) -> None:
        words = message.body.decode(errors="replace").split()
        source, system = message.source, self._server.registry.system
        if (
            not message.reply
            or not words
            or system is None
            or source is None
            or source.kind != ConnectionKind.CLIENT
        ):
            return
        account = self._account(message, system)
        if account is None:
            return
        subject, queue = words[0], words[1] if len(words) > 1 else ""
        self._count(account, subject, queue, lambda found: self._counted(message, account, words, found))

    def _counted(self, message: Message, account: Account, words: list[str], found: int) -> None:
        """Answer with the number found here, after asking the other servers for theirs."""
        system = self._server.registry.system
        if system is None:
            return
        missing = sum(1 for numbers in account.elsewhere.values() if any(numbers))
        if not missing:
            _answer(system, message, found)
            return
        subject, queue = words[0], words[1] if len(words) > 1 else ""
        inbox = f"$SYS._INBOX.{new_id(self._random)}"

        def handle(answer: Message) -> None:
            nonlocal found, missing
            missing -= 1
            if answer.body.isdigit():
                found += int(answer.body)
            if not missing:
                timer.cancel()
                finish()

        def finish() -> None:
            system.unsubscribe(subscription)
            _answer(system, message, found)

        subscription = system.subscribe(inbox, handle)
        timer = self._server.clock.call_later(_TIMEOUT, finish)
        request = {"acc": account.name, "subject": subject, **({"queue": _go_bytes(queue)} if queue else {})}
        body = json.dumps(request, separators=(",", ":")).encode()
        system.publish(REQUEST, body, reply=inbox, own=True)

    def _account(self, message: Message, system: Account) -> Account | None:
        """Return the account to count for: the one that asks by an import, else the system account."""
        given = header_block.get(message.header, b"Nats-Request-Info") if message.header else None
        if not given:
            return system
        try:
            info = gojson.decode(given)
        except ValueError:
            return None
        name = (info.get("svc") or info.get("acc")) if isinstance(info, dict) else None
        return self._server.registry.get(str(name)) if name else system

    def _asked_by_server(self, message: Message) -> None:
        source, system = message.source, self._server.registry.system
        if not message.reply or system is None or source is None or source.kind == ConnectionKind.INTERNAL:
            return
        try:
            request = gojson.decode(message.body)
        except ValueError:
            return
        account = self._server.registry.get(str(request.get("acc"))) if isinstance(request, dict) else None
        if account is None or not (account.connections or account.leafs):
            return
        subject, queue = str(request.get("subject")), _from_go_bytes(request.get("queue"))
        self._count(account, subject, queue, lambda found: _answer(system, message, found))

    def _count(self, account: Account, subject: str, queue: str, then: Callable[[int], None]) -> None:
        if len(self._turns) < _MOST_WAITING:
            self._turns.now(lambda: Slices(self._turns, paced(_counting(account, subject, queue)), then))


def _counting(account: Account, subject: str, queue: str) -> Steps[int]:
    """Count the subscriptions of clients and of leaf nodes that join this server.

    With a wildcard in `subject`, those count that are a part of it, otherwise those that match it.
    """
    wild = has_wildcard(subject)
    found = 0
    for each in account.subscriptions():
        if _counts(each) and (not queue or each.queue == queue):
            found += is_subset(each.subject, subject) if wild else matches(each.subject, subject)
        yield
    return found


def _answer(system: Account, message: Message, found: int) -> None:
    system.publish(message.reply, str(found).encode())


def _counts(subscription: Subscription) -> bool:
    if subscription.kind == ConnectionKind.LEAF:
        return not subscription.sink.is_spoke
    return subscription.kind == ConnectionKind.CLIENT


def _go_bytes(text: str) -> str:
    import base64

    return base64.b64encode(text.encode()).decode()


def _from_go_bytes(given: Any) -> str:
    import base64
    import binascii

    try:
        return base64.b64decode(given).decode() if isinstance(given, str) else ""
    except (binascii.Error, ValueError):
        return ""
