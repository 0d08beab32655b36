"""The table of the API: how each request is served, and the way of every request through it.

To add a request, add a row to `TABLE`. Its handler makes the response from what this server has. A request
that several servers answer together has a second handler, in `cluster/table.py`.

Promises:
- Each request with a handler is answered once, counted, and published to the audit (if someone subscribes).
- An internal error becomes an error response and a log line, never silence.
- What the reference leaves unanswered is left unanswered.
- MSG.NEXT and DIRECT.GET are not here: consumers and streams subscribe themselves, so that a request to one
  that does not exist fails at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from ....protocol import gojson
from ....protocol.api import messages
from ....protocol.errors import ApiError, api_error
from ....protocol.timestamp import format_rfc3339
from ...slices import Slices
from .. import advisories
from ..host import serves_level
from ..meta.responder_rule import ResponderRule
from . import consumer, stream
from . import message as msg
from .raw_json import is_long, to_text, writing
from .request import LATER, ApiEndpoint, Handler, Request, RequestContext, Response

if TYPE_CHECKING:
    from ...accounts.subscription import Message, Subscription
    from ..account.account import JetStreamAccount

PREFIX = "$JS.API."
META, STREAM, CONSUMER = ResponderRule.META, ResponderRule.STREAM, ResponderRule.CONSUMER
STREAM_INFO, CONSUMER_INFO = ResponderRule.STREAM_INFO, ResponderRule.CONSUMER_INFO
# The fields that refusals have besides the error.
_PAGE: Final[dict[str, Any]] = {"total": 0, "offset": 0, "limit": 0}
_CONSUMERS: Final[dict[str, Any]] = {**_PAGE, "consumers": []}
_PAUSE: Final[dict[str, Any]] = {"paused": False, "pause_until": format_rfc3339(0)}


def account_info(request: Request) -> Response:
    """Answer INFO: what the account uses and may use."""
    return messages.response(request.kind, request.account.info())


def needs_cluster(_request: Request) -> Response:
    """Refuse a request that only a cluster can serve."""
    raise api_error("JSClusterRequiredErr")


def unanswered(_request: Request) -> Response:
    """Leave a request without an answer, as the reference does."""
    return LATER


def snapshot(request: Request) -> Response:
    """Serve STREAM.SNAPSHOT. The modules of backups are imported with the first request."""
    from .snapshot import snapshot

    return snapshot(request)


def restore(request: Request) -> Response:
    """Serve STREAM.RESTORE."""
    from .snapshot import restore

    return restore(request)


# Subject after `$JS.API.` -> how it is served.
TABLE: dict[str, ApiEndpoint] = {
    "INFO": ApiEndpoint("account_info", account_info, META),
    "STREAM.CREATE.*": ApiEndpoint("stream_create", stream.create, META),
    "STREAM.UPDATE.*": ApiEndpoint("stream_update", stream.update, META),
    "STREAM.NAMES": ApiEndpoint("stream_names", stream.names, META, refused={**_PAGE, "streams": None}),
    "STREAM.LIST": ApiEndpoint("stream_list", stream.list_streams, META, refused={**_PAGE, "streams": []}),
    "STREAM.INFO.*": ApiEndpoint("stream_info", stream.info, STREAM_INFO, repeatable=True, refused=_PAGE),
    "STREAM.DELETE.*": ApiEndpoint("stream_delete", stream.delete, META),
    "STREAM.PURGE.*": ApiEndpoint("stream_purge", stream.purge, STREAM, refused={"purged": 0}),
    "STREAM.MSG.GET.*": ApiEndpoint("stream_msg_get", msg.get, STREAM, audited=False, repeatable=True),
    "STREAM.MSG.DELETE.*": ApiEndpoint("stream_msg_delete", msg.delete, STREAM),
    "STREAM.SNAPSHOT.*": ApiEndpoint("stream_snapshot", snapshot, STREAM),
    "STREAM.RESTORE.*": ApiEndpoint("stream_restore", restore, META),
    "STREAM.PEER.REMOVE.*": ApiEndpoint("stream_remove_peer", needs_cluster, META),
    "STREAM.PEER.EVACUATE.*": ApiEndpoint("stream_evacuate_peer", needs_cluster, META),
    "STREAM.CANCEL_MOVE.*": ApiEndpoint("stream_cancel_move", needs_cluster, META),
    "ACCOUNT.STREAM.MOVE.*.*": ApiEndpoint("stream_update", unanswered, META),
    "ACCOUNT.STREAM.CANCEL_MOVE.*.*": ApiEndpoint("stream_cancel_move", unanswered, META),
    "STREAM.LEADER.STEPDOWN.*": ApiEndpoint("stream_leader_stepdown", needs_cluster, STREAM),
    "CONSUMER.CREATE.*": ApiEndpoint("consumer_create", consumer.create, META, repeatable=True),
    "CONSUMER.CREATE.*.>": ApiEndpoint("consumer_create", consumer.create, META, repeatable=True),
    "CONSUMER.DURABLE.CREATE.*.*": ApiEndpoint(
        "consumer_create", consumer.create_durable, META, repeatable=True
    ),
    "CONSUMER.NAMES.*": ApiEndpoint("consumer_names", consumer.names, META, refused=_CONSUMERS),
    "CONSUMER.LIST.*": ApiEndpoint("consumer_list", consumer.list_consumers, META, refused=_CONSUMERS),
    "CONSUMER.INFO.*.*": ApiEndpoint("consumer_info", consumer.info, CONSUMER_INFO, repeatable=True),
    "CONSUMER.DELETE.*.*": ApiEndpoint("consumer_delete", consumer.delete, META),
    "CONSUMER.PAUSE.*.*": ApiEndpoint("consumer_pause", consumer.pause, META, refused=_PAUSE),
    "CONSUMER.RESET.*.*": ApiEndpoint(
        "consumer_reset", consumer.reset, CONSUMER, audited=False, refused={"reset_seq": 0}
    ),
    "CONSUMER.UNPIN.*.*": ApiEndpoint("consumer_unpin", consumer.unpin, CONSUMER),
    "CONSUMER.PEER.REMOVE.*.*": ApiEndpoint("consumer_remove_peer", needs_cluster, META),
    "CONSUMER.PEER.EVACUATE.*.*": ApiEndpoint("consumer_evacuate_peer", needs_cluster, META),
    "CONSUMER.LEADER.STEPDOWN.*.*": ApiEndpoint("consumer_leader_stepdown", needs_cluster, CONSUMER),
}

# Received and not answered, as on the reference: unknown requests, and those of the system account only.
UNANSWERED = ("*", "STREAM.>", "META.>", "SERVER.>", "ACCOUNT.>")


class ApiRouter(Protocol):
    """Decides which of several servers serves a request; all of them receive it."""

    handlers: Mapping[str, Handler]  # by pattern, for requests that several servers answer together

    def admit(self, pattern: str, request: Request, serve: Callable[[], None]) -> None:
        """Serve a request, refuse it, or leave it to another server; now or after a while."""


class AccountApi:
    """The API of one account."""

    def __init__(
        self,
        account: JetStreamAccount,
        router: ApiRouter | None = None,
        endpoints: Mapping[str, ApiEndpoint] = TABLE,
    ) -> None:
        """router: None on a single server, which serves everything itself. endpoints: what it serves."""
        host = account.host
        self._account = account
        self._context = RequestContext(host.clock, host.strict, host.turns, host.log)
        self._router = router
        self._endpoints = endpoints
        self._subscriptions: list[Subscription] = []

    def start(self) -> None:
        """Subscribe to the requests that are served, and to those that stay without an answer."""
        account = self._account.account
        for pattern, endpoint in self._endpoints.items():
            self._subscriptions.append(account.subscribe(PREFIX + pattern, self._serve(pattern, endpoint)))
        self._subscriptions += [account.subscribe(PREFIX + pattern, _ignore) for pattern in UNANSWERED]

    def stop(self) -> None:
        """End the subscriptions that `start` made."""
        for subscription in self._subscriptions:
            self._account.account.unsubscribe(subscription)
        self._subscriptions.clear()

    def _serve(self, pattern: str, endpoint: ApiEndpoint) -> Callable[[Message], None]:
        router, handler = self._router, endpoint.handler
        if router is not None:
            handler = router.handlers.get(pattern, handler)

        def finish(request: Request, response: Response) -> None:
            self._answer(request, response, endpoint.audited)

        def serve(message: Message) -> None:
            request = Request(self._account, self._context, endpoint, message, finish)
            if router is None:
                _handle(request, handler)
            else:
                router.admit(pattern, request, lambda: _handle(request, handler))

        return serve

    def _answer(self, request: Request, response: Response, audited: bool) -> None:
        account = self._account
        account.api_total += 1
        if "error" in response:
            account.api_errors += 1
        if is_long(response):
            Slices(
                self._context.turns,
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
        elif message.reply:  # a request without a reply subject is served all the same
            account.account.publish(message.reply, body, header=request.header_block)
        if audited:
            advisories.audit(account.account, account.host, message, text)


def _handle(request: Request, handler: Handler) -> None:
    try:
        check_level(request.message)
        response = handler(request)
    except ApiError as error:
        request.fail(error)
    except Exception as error:
        request.fail_internally(error)
    else:
        if response is not LATER:
            request.respond(response)


def check_level(message: Message) -> None:
    """Raise ApiError 10185 if the request needs a newer API."""
    if not serves_level(message.header):
        raise api_error("JSRequiredApiLevelErr")


def _ignore(_message: Message) -> None:
    """Do nothing with a request."""
