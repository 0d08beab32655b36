"""The responses an exporting account owes: `_R_.<account>.<id>` subjects, each with its way back.

Promises that what never gets its response is forgotten after the export's threshold, by one timer per
account. Never creates a subscription per request: one pattern serves the account.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...protocol.identifier import new_id
from .exports import ResponseType
from .imports import Response, ServiceImport, is_last, respond
from .subscription import ConnectionKind, MessageEndpoint, Subscription

if TYPE_CHECKING:
    from ..clock import Clock, Timer
    from .account import Account
    from .subscription import RoutedMessage

_ID = 6


class ServiceResponses(MessageEndpoint):
    """All pending responses of one account. A sink for the account's reply pattern."""

    __slots__ = ("_account", "_clock", "_pending", "_prefix", "_random", "_subscription", "_timer")

    kind = ConnectionKind.IMPORT

    def __init__(self, account: Account, clock: Clock, random_bytes: Callable[[int], bytes]) -> None:
        self._account = account
        self._clock = clock
        self._random = random_bytes
        self._pending: dict[bytes, Response] = {}
        self._prefix = ""
        self._subscription: Subscription | None = None
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._pending)

    def expect(self, service: ServiceImport, asker: Account, msg: RoutedMessage) -> Response:
        """Make the way back of one request from `asker`: to the message's reply there."""
        if self._subscription is None:
            self._prefix = f"_R_.{new_id(self._random, _ID)}."
            self._subscription = Subscription(self._prefix + ">", self)
            self._account.add_subscription(self._subscription)
        subject = (self._prefix + new_id(self._random, _ID)).encode()
        due = self._clock.now() + service.export.threshold
        response = self._pending[subject] = Response(service, asker, subject, msg.reply, due)
        if self._timer is None:
            self._timer = self._clock.call_later(service.export.threshold, self._sweep)
        return response

    def find(self, subject: str) -> Response | None:
        """The response awaited on `subject`."""
        return self._pending.get(subject.encode("utf-8", "surrogateescape"))

    def forget(self, response: Response) -> None:
        """No response is expected there any more."""
        self._pending.pop(response.subject, None)

    def forget_service(self, service: ServiceImport) -> None:
        """Forget everything that waits for one import's responses."""
        for response in [r for r in self._pending.values() if r.service is service]:
            del self._pending[response.subject]

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        """Carry a response back."""
        del subscription
        response = self._pending.get(msg.subject)
        if response is None:
            return False
        if is_last(response, msg):
            del self._pending[response.subject]
        delivered = respond(response, self._account, msg)
        if not delivered:
            self._pending.pop(response.subject, None)
        elif response.response_type is not ResponseType.SINGLETON:
            response.due = self._clock.now() + response.service.export.threshold
        return delivered

    def stop(self) -> None:
        """Forget all, timer included."""
        self._pending.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sweep(self) -> None:
        now = self._clock.now()
        for response in [r for r in self._pending.values() if r.due <= now]:
            del self._pending[response.subject]
        self._timer = None
        if self._pending:
            wait = min(r.due for r in self._pending.values()) - now
            self._timer = self._clock.call_later(wait, self._sweep)
