"""The API of an account without JetStream: every request is told so.

Promises: an account with leaf connections hears nothing from here, since another domain may answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from ....protocol.api.messages import error_response
from ....protocol.errors import api_error
from .table import PREFIX, all_handlers

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ...accounts.parcel import Message
    from ...accounts.subscription import Subscription


class AbsentApi:
    """Refuses for one account."""

    def __init__(self, account: Account, answers: Callable[[], bool] = lambda: True) -> None:
        """answers: whether it is this server, of several that hear a request, that refuses it."""
        self._account = account
        self._answers = answers
        self._subscriptions: list[Subscription] = []

    def start(self) -> None:
        """Listen."""
        for pattern, (kind, _, _) in all_handlers().items():
            self._subscriptions.append(self._account.subscribe(PREFIX + pattern, self._refuse(kind)))

    def stop(self) -> None:
        """Listen no more."""
        for subscription in self._subscriptions:
            self._account.unsubscribe(subscription)
        self._subscriptions.clear()

    def _refuse(self, kind: str) -> Callable[[Message], None]:
        answer = error_response(kind, api_error("JSNotEnabledForAccountErr"))
        body = json.dumps(answer, separators=(",", ":")).encode()

        def refuse(message: Message) -> None:
            if message.reply and not self._account.leafs and self._answers():
                self._account.publish(message.reply, body)

        return refuse
