"""The JetStream API of the system account: the meta leader's steps, servers and accounts removed for good.

Promises: only the meta leader answers, and only requests of the system account reach it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ....protocol.api.messages import (
    LeaderStepDownRequest,
    MetaRemoveRequest,
    error_response,
    response,
)
from ....protocol.api.record import Record
from ....protocol.errors import ApiError, api_error
from ...cluster.meta.answering import Act, decide, rule_for
from ...cluster.meta.command import PurgeAccount
from ...cluster.meta.effect import Effect, Refused
from .. import advisories
from ..api.table import PREFIX, check_level
from .unserved import OF_THE_SYSTEM, refusal

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ...accounts.parcel import Message
    from ...accounts.subscription import Subscription
    from ..host import Host
    from .domain import Domain

Json = dict[str, Any]
R = TypeVar("R", bound=Record)


class _Asked:
    """One request. kind: of the response."""

    def __init__(self, message: Message, kind: str, finish: Callable[[_Asked, Json], None]) -> None:
        self.message = message
        self.kind = kind
        self.body = message.body.strip()
        self._finish = finish

    def read(self, record: type[R], *, strict: bool) -> R:
        """The body; raises ApiError."""
        return record.parse(self.body, strict=strict) if self.body[:1] in {b"{", b"["} else record()

    def respond(self, **fields: Any) -> None:
        """Answer."""
        self._finish(self, response(self.kind, **fields))

    def fail(self, error: ApiError) -> None:
        """Refuse."""
        self._finish(self, error_response(self.kind, error))


class SystemApi:
    """See the module."""

    def __init__(self, domain: Domain, account: Account, host: Host) -> None:
        self._domain = domain
        self._account = account
        self._host = host
        self._subscriptions: list[Subscription] = []

    def start(self) -> None:
        """Listen."""
        for pattern, (kind, handler) in {
            "META.LEADER.STEPDOWN": ("meta_leader_stepdown", self._step_down),
            "SERVER.REMOVE": ("meta_server_remove", self._remove_server),
            "ACCOUNT.PURGE.*": ("account_purge", self._purge_account),
            **{pattern: (kind, _refused(text)) for pattern, (kind, text) in OF_THE_SYSTEM.items()},
        }.items():
            self._subscriptions.append(
                self._account.subscribe(PREFIX + pattern, self._serve(pattern, kind, handler))
            )

    def stop(self) -> None:
        """Listen no more."""
        for subscription in self._subscriptions:
            self._account.unsubscribe(subscription)
        self._subscriptions.clear()

    def _serve(self, pattern: str, kind: str, handler: Callable[[_Asked], None]) -> Callable[[Message], None]:
        rule = rule_for(pattern)

        def serve(message: Message) -> None:
            if decide(rule, self._domain.standing(self._account.name)) is not Act.ANSWER:
                return
            asked = _Asked(message, kind, self._answer)
            try:
                check_level(message)
                handler(asked)
            except ApiError as error:
                asked.fail(error)

        return serve

    def _answer(self, asked: _Asked, answer: Json) -> None:
        message, body = asked.message, json.dumps(answer, separators=(",", ":"))
        if message.reply:
            self._account.publish(message.reply, body.encode())
        client = message.source.client_info() if message.source is not None else {}
        request = message.body.decode("utf-8", "replace")
        advisories.audit(self._account, self._host, client, message.subject, request, body)

    # --- handlers

    def _step_down(self, asked: _Asked) -> None:
        placement = asked.read(LeaderStepDownRequest, strict=self._host.strict).placement
        if placement is not None:
            preferred = self._domain.successor(placement.preferred, placement.cluster, placement.tags)
        else:
            try:
                preferred = self._domain.successor()
            except ApiError:  # nobody is there: then whoever comes
                preferred = ""

        def done(error: ApiError | None) -> None:
            if error is None:
                asked.respond(success=True)
            else:
                asked.fail(error)

        self._domain.step_down(preferred, done)

    def _remove_server(self, asked: _Asked) -> None:
        if asked.body in {b"", b"{}"}:
            raise api_error("JSBadRequestErr")
        wanted = asked.read(MetaRemoveRequest, strict=self._host.strict)
        self._domain.remove_server(
            wanted.peer, wanted.peer_id, lambda result: _tell(asked, result, "success")
        )

    def _purge_account(self, asked: _Asked) -> None:
        name = asked.message.subject.split(".")[4]
        if "/" in name or "\\" in name:
            raise api_error("JSStreamGeneralErrorF", err="account name can not contain path separators")
        self._domain.propose(PurgeAccount(name), lambda result: _tell(asked, result, "initiated"))


def _refused(text: str) -> Callable[[_Asked], None]:
    def refuse(_: _Asked) -> None:
        raise refusal(text)

    return refuse


def _tell(asked: _Asked, result: list[Effect] | ApiError, word: str) -> None:
    refused = (
        next((one for one in result if isinstance(one, Refused)), None) if isinstance(result, list) else None
    )
    if isinstance(result, ApiError):
        asked.fail(result)
    elif refused is not None:
        asked.fail(refused.error)
    else:
        asked.respond(**{word: True})
