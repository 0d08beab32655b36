"""The JetStream API of the system account on one server: purging an account's streams.

Promises: only requests of the system account reach it, and a refusal says why. Requests that make sense only
in a cluster are not answered, as on the reference.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ....protocol.api.messages import error_response, response
from ....protocol.api.record import Record
from ....protocol.errors import ApiError, api_error
from .. import advisories
from ..meta.responder_rule import ResponderRule
from .table import PREFIX, check_level

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ...accounts.subscription import Message, Subscription
    from ..host import JetStreamHost

Json = dict[str, Any]
R = TypeVar("R", bound=Record)
PURGE = "ACCOUNT.PURGE.*"


class SystemRequest:
    """One request of the system account.

    message: the message itself.
    kind: the name of the response's type.
    body: the payload, without white space around it.
    """

    def __init__(
        self, message: Message, endpoint: SystemEndpoint, finish: Callable[[SystemRequest, Json], None]
    ) -> None:
        self.message = message
        self.kind = endpoint.kind
        self.body = message.body.strip()
        self._refused = endpoint.refused
        self._finish = finish

    def read(self, record: type[R], *, strict: bool) -> R:
        """Decode the body; one that does not look like JSON gives the defaults. Raises ApiError."""
        return record.parse(self.body, strict=strict) if self.body[:1] in {b"{", b"["} else record()

    def respond(self, **fields: Any) -> None:
        """Answer the request with these fields."""
        self._finish(self, response(self.kind, **fields))

    def send(self, answer: Json) -> None:
        """Answer the request with this document."""
        self._finish(self, answer)

    def fail(self, error: ApiError) -> None:
        """Refuse the request."""
        self._finish(self, error_response(self.kind, error, **self._refused))


class SystemEndpoint(NamedTuple):
    """How the requests of one subject are served.

    kind: the name of the response's type.
    handler: answers a request, or raises ApiError.
    rule: which of several servers the request is for.
    refused: the fields that a refusal has besides the error.
    """

    kind: str
    handler: Callable[[SystemRequest], None]
    rule: ResponderRule = ResponderRule.SYSTEM
    refused: Mapping[str, Any] = {}


class SystemApi:
    """Serves the system account's requests.

    table: how to serve them, by the subject after `$JS.API.`.
    admit: calls its last argument when this server is to serve the request, if it is.
    """

    def __init__(
        self,
        account: Account,
        host: JetStreamHost,
        table: Mapping[str, SystemEndpoint],
        admit: Callable[[ResponderRule, Message, Callable[[], None]], None] = lambda *given: given[2](),
    ) -> None:
        self._account = account
        self._host = host
        self._table = table
        self._admit = admit
        self._subscriptions: list[Subscription] = []

    def start(self) -> None:
        """Subscribe to the requests of the table."""
        for pattern, endpoint in self._table.items():
            self._subscriptions.append(self._account.subscribe(PREFIX + pattern, self._serve(endpoint)))

    def stop(self) -> None:
        """End the subscriptions that `start` made."""
        for subscription in self._subscriptions:
            self._account.unsubscribe(subscription)
        self._subscriptions.clear()

    def _serve(self, endpoint: SystemEndpoint) -> Callable[[Message], None]:
        def serve(message: Message) -> None:
            asked = SystemRequest(message, endpoint, self._answer)
            try:
                check_level(message)
                endpoint.handler(asked)
            except ApiError as error:
                asked.fail(error)

        return lambda message: self._admit(endpoint.rule, message, lambda: serve(message))

    def _answer(self, asked: SystemRequest, answer: Json) -> None:
        message, body = asked.message, json.dumps(answer, separators=(",", ":"))
        if message.reply:
            self._account.publish(message.reply, body.encode())
        advisories.audit(self._account, self._host, message, body)


def purged_account(asked: SystemRequest) -> str:
    """Return the account that ACCOUNT.PURGE names. Raises ApiError."""
    name = asked.message.subject.split(".")[4]
    if "/" in name or "\\" in name:
        raise api_error("JSStreamGeneralErrorF", err="account name can not contain path separators")
    return name


def alone(account: Account, host: JetStreamHost, purge: Callable[[str], None]) -> SystemApi:
    """Return the API of a server that is not in a cluster. purge: removes an account's streams."""

    def serve(asked: SystemRequest) -> None:
        purge(purged_account(asked))
        asked.respond(initiated=True)

    return SystemApi(account, host, {PURGE: SystemEndpoint("account_purge", serve)})
