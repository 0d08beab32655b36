"""The table of the API: which handler serves which subject, and the way of every request through it.

Promises: each request with a handler is answered once, counted, and published to the audit (when someone
subscribes); an internal error becomes an error response and a log line, never silence. What the reference
leaves unanswered is left unanswered. MSG.NEXT and DIRECT.GET are not here: consumers and streams subscribe
themselves, so that a request to one that is not there fails at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ....protocol import gojson
from ....protocol.errors import ApiError, api_error
from ....protocol.limits import API_LEVEL, KNOWN_API_LEVEL
from ...slices import Slices
from .. import advisories
from ..host import serves_level
from . import account as account_api
from . import message as message_api
from . import snapshot as snapshot_api
from . import stream as stream_api
from .consumer import TABLE as CONSUMER_TABLE
from .raw_json import is_long, to_text, writing
from .request import LATER, Request, Response

if TYPE_CHECKING:
    from ...accounts.message import Message
    from ...accounts.subscription import Subscription
    from ..account.account import JetStreamAccount

Handler = Callable[[Request], Response]
Row = tuple[str, Handler, bool]  # name of the response type, handler, published to the audit
PREFIX = "$JS.API."

# subject after `$JS.API.` -> row
TABLE: dict[str, Row] = {
    "INFO": ("account_info", account_api.info, True),
    "STREAM.CREATE.*": ("stream_create", stream_api.create, True),
    "STREAM.UPDATE.*": ("stream_update", stream_api.update, True),
    "STREAM.NAMES": ("stream_names", stream_api.names, True),
    "STREAM.LIST": ("stream_list", stream_api.list_streams, True),
    "STREAM.INFO.*": ("stream_info", stream_api.info, True),
    "STREAM.DELETE.*": ("stream_delete", stream_api.delete, True),
    "STREAM.PURGE.*": ("stream_purge", stream_api.purge, True),
    "STREAM.MSG.GET.*": ("stream_msg_get", message_api.get, False),
    "STREAM.MSG.DELETE.*": ("stream_msg_delete", message_api.delete, True),
    "STREAM.SNAPSHOT.*": ("stream_snapshot", snapshot_api.snapshot, True),
    "STREAM.RESTORE.*": ("stream_restore", snapshot_api.restore, True),
    "STREAM.PEER.REMOVE.*": ("stream_remove_peer", stream_api.needs_cluster, True),
    "STREAM.PEER.EVACUATE.*": ("stream_evacuate_peer", stream_api.needs_cluster, True),
    "STREAM.CANCEL_MOVE.*": ("stream_cancel_move", stream_api.needs_cluster, True),
    "STREAM.LEADER.STEPDOWN.*": ("stream_leader_stepdown", stream_api.needs_cluster, True),
}

# Received and not answered, as on the reference: what is unknown, and what is the system account's alone.
UNANSWERED = ("*", "STREAM.>", "META.>", "SERVER.>", "ACCOUNT.>")


class ApiRouter(Protocol):
    """Decides which of several servers serves a request; all of them receive it."""

    def table(self) -> dict[str, Row]:
        """The handlers that are others in a cluster."""

    def admit(self, pattern: str, request: Request, serve: Callable[[], None]) -> None:
        """Have the request served, or refuse it, or leave it to another server; now or in a while."""


class AccountApi:
    """The API of one account. router: None on a single server, which serves everything."""

    def __init__(self, account: JetStreamAccount, router: ApiRouter | None = None) -> None:
        self._account = account
        self._router = router
        self._subscriptions: list[Subscription] = []
        self.table = all_handlers() | (router.table() if router is not None else {})

    def start(self) -> None:
        """Subscribe."""
        for pattern, (kind, handler, audited) in self.table.items():
            self._subscriptions.append(
                self._account.account.subscribe(
                    PREFIX + pattern, self._serve(pattern, kind, handler, audited)
                )
            )
        self._subscriptions += [
            self._account.account.subscribe(PREFIX + pattern, _ignore) for pattern in UNANSWERED
        ]

    def stop(self) -> None:
        """Unsubscribe."""
        for subscription in self._subscriptions:
            self._account.account.unsubscribe(subscription)
        self._subscriptions.clear()

    def _serve(self, pattern: str, kind: str, handler: Handler, audited: bool) -> Callable[[Message], None]:
        router = self._router

        def finish(request: Request, response: Response) -> None:
            self._answer(request, response, audited)

        def serve(message: Message) -> None:
            request = Request(self._account, message, message.subject.split(".")[2:], kind, finish)
            if router is None:
                self._handle(request, handler)
            else:
                router.admit(pattern, request, lambda: self._handle(request, handler))

        return serve

    def _handle(self, request: Request, handler: Handler) -> None:
        try:
            check_level(request.message, KNOWN_API_LEVEL if request.tokens[0] == "CONSUMER" else API_LEVEL)
            response = handler(request)
        except ApiError as error:
            request.fail(error)
        except Exception as error:
            request.fail_internally(error)
        else:
            if response is not LATER:
                request.respond(response)

    def _answer(self, request: Request, response: Response, audited: bool) -> None:
        account = self._account
        account.api_total += 1
        if "error" in response:
            account.api_errors += 1
        if is_long(response):
            turns = account.host.turns
            Slices(
                turns,
                writing(response),
                lambda text: self._send(request, text, audited),
                request.fail_internally,
            )
        else:
            self._send(request, to_text(response), audited)

    def _send(self, request: Request, text: str, audited: bool) -> None:
        account = self._account
        body = gojson.utf8(text)
        message = request.message
        if message.reply and request.send_reply is not None:
            request.send_reply(message.reply, request.header_block, body)
        elif message.reply:  # who wants no answer is served all the same
            account.account.publish(message.reply, body, header=request.header_block)
        if audited:
            advisories.audit(account.account, account.host, message, text)


def check_level(message: Message, most: int = API_LEVEL) -> None:
    """Raise ApiError 10185 when the request needs a newer API.

    Mirrors and sources of other servers require the levels of consumers, which are served.
    """
    if not serves_level(message.header, most):
        raise api_error("JSRequiredApiLevelErr")


def _ignore(_message: Message) -> None:
    """Receive and do nothing."""


def all_handlers() -> dict[str, Row]:
    """Give the whole table, the consumers' part included."""
    return {**TABLE, **CONSUMER_TABLE}
