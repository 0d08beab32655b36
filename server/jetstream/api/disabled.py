"""The API of accounts without JetStream: every request is answered with the error that says so.

Promises:
- An account with leaf connections gets no answer from here, since another domain may answer.
- An account that imports `$JS.API.INFO` gets none either: the API is the exporter's then, and what is not
  imported has no responders (the reference: enableJetStreamInfoServiceImportOnly).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from ....protocol.api.messages import error_response
from ....protocol.errors import api_error
from ....protocol.subject import is_subset
from ...accounts.subscription import ConnectionKind
from .request import ApiEndpoint
from .table import PREFIX, TABLE, unanswered

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ...accounts.registry import AccountRegistry
    from ...accounts.space import InterestWatch
    from ...accounts.subscription import InterestChange, Message, Subscription

INFO = PREFIX + "INFO"


class DisabledApi:
    """Refuses the requests of one account."""

    def __init__(self, account: Account, answers: Callable[[], bool] = lambda: True) -> None:
        """answers: returns whether this server, of several that receive a request, refuses it."""
        self._account = account
        self._answers = answers
        self._subscriptions: list[Subscription] = []
        self._watch: InterestWatch | None = None

    def start(self) -> None:
        """Subscribe, while the account does not import the API of another account."""
        self._watch = self._account.watch_interest(self._changed, INFO)
        self._arrange()

    def _changed(self, change: InterestChange) -> None:
        if change.kind is ConnectionKind.IMPORT:
            self._arrange()

    def _arrange(self) -> None:
        imported = any(is_subset(INFO, each.local) for each in self._account.imports_services)
        if imported:
            self._unsubscribe()
        elif not self._subscriptions:
            self._subscribe()

    def _subscribe(self) -> None:
        for pattern, endpoint in TABLE.items():
            if endpoint.handler is unanswered:
                continue
            self._subscriptions.append(self._account.subscribe(PREFIX + pattern, self._refuse(endpoint)))

    def stop(self) -> None:
        """End the subscriptions, and follow the account no longer."""
        if self._watch is not None:
            self._watch.cancel()
        self._unsubscribe()

    def _unsubscribe(self) -> None:
        for subscription in self._subscriptions:
            self._account.unsubscribe(subscription)
        self._subscriptions.clear()

    def _refuse(self, endpoint: ApiEndpoint) -> Callable[[Message], None]:
        answer = error_response(endpoint.kind, api_error("JSNotEnabledForAccountErr"), **endpoint.refused)
        body = json.dumps(answer, separators=(",", ":")).encode()

        def refuse(message: Message) -> None:
            if message.reply and not self._account.leafs and self._answers():
                self._account.publish(message.reply, body)

        return refuse


class Refusals:
    """Has the requests of accounts without JetStream refused; a server has one.

    registry: all accounts.
    served: those that have JetStream, by name.
    answers: returns whether this server, of several that receive a request, refuses it.
    """

    def __init__(
        self, registry: AccountRegistry, served: Container[str], answers: Callable[[], bool]
    ) -> None:
        self._registry = registry
        self._served = served
        self._answers = answers
        self._apis: dict[str, DisabledApi] = {}

    def update(self) -> None:
        """Follow accounts that were created or removed, and all that have got or lost JetStream."""
        accounts = self._registry.accounts
        for name in [name for name in self._apis if name not in accounts]:
            self._apis.pop(name).stop()
        for account in accounts.values():
            self.follow(account)

    def follow(self, account: Account) -> None:
        """Follow one account, which may have got or lost JetStream."""
        wanted = account.name not in self._served and account is not self._registry.system
        api = self._apis.get(account.name)
        if api is None and wanted:
            self._apis[account.name] = api = DisabledApi(account, self._answers)
            api.start()
        elif api is not None and not wanted:
            self._apis.pop(account.name).stop()

    def stop(self) -> None:
        """Stop refusing requests."""
        for api in self._apis.values():
            api.stop()
        self._apis.clear()
