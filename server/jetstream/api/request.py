"""Request: one API request with what its handler needs, and the ways to answer it.

Promises: a handler returns the response or raises ApiError, and the request is answered exactly once. Bodies
are decoded strictly if the server is configured so. Handlers that answer later return LATER and call
`respond` themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from ....protocol import gojson, headers
from ....protocol.api.messages import error_response
from ....protocol.api.record import Record, invalid_json
from ....protocol.errors import ApiError, api_error
from ....protocol.lazy_dataclass import dataclass
from ...slices import Slices, Steps, TurnScheduler, at_once, paced
from .. import advisories

if TYPE_CHECKING:
    from ...accounts.subscription import Message
    from ...clock import Clock
    from ...logging import Logger
    from ..account.account import JetStreamAccount
    from ..meta.responder_rule import ResponderRule

R = TypeVar("R", bound=Record)
T = TypeVar("T")
Response = dict[str, Any]
SendReply = Callable[[str, bytes, bytes], None]  # takes an answer's subject, header block and body
Handler = Callable[["Request"], Response]
LATER: Final[Response] = {}


class ApiEndpoint(NamedTuple):
    """How the requests of one subject are served.

    kind: the name of the response's type.
    handler: makes the response, on a server that serves the request alone.
    rule: which of several servers the request is for.
    audited: whether each request is published to the audit, with its response.
    repeatable: whether a stream's next leader may serve the request once more after the former one, because
        that does no harm. A second purge would remove what was published since; a second step down would take
        the lead from a new leader.
    refused: the fields that a refusal has besides the error.
    """

    kind: str
    handler: Handler
    rule: ResponderRule
    audited: bool = True
    repeatable: bool = False
    refused: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What the requests of an account need of the server.

    clock: the server's.
    strict: whether a body with an unknown field is refused.
    turns: where responses that take long are made, in slices.
    log: gets internal errors.
    """

    clock: Clock
    strict: bool
    turns: TurnScheduler
    log: Logger


class Request:
    """One API request.

    account: the account it came in, with its streams.
    context: what it needs of the server.
    endpoint: how requests of its subject are served.
    message: the message itself.
    tokens: those of the subject after `$JS.API`.
    header_block: is sent with the response.
    send_reply: sends the response; None if it is published from here.
    """

    __slots__ = (
        "_finish",
        "account",
        "context",
        "endpoint",
        "header_block",
        "message",
        "send_reply",
        "tokens",
    )

    def __init__(
        self,
        account: JetStreamAccount,
        context: RequestContext,
        endpoint: ApiEndpoint,
        message: Message,
        finish: Callable[[Request, Response], None],
    ) -> None:
        self.account = account
        self.context = context
        self.endpoint = endpoint
        self.message = message
        self.tokens = message.subject.split(".")[2:]
        self.header_block = b""
        self.send_reply: SendReply | None = None
        self._finish = finish

    @property
    def kind(self) -> str:
        """The name of the response's type."""
        return self.endpoint.kind

    @property
    def body(self) -> bytes:
        """The request's payload."""
        return self.message.body

    @property
    def empty(self) -> bool:
        """Whether the request asks for nothing: no body, or an empty JSON object."""
        body = self.body.strip()
        if not body:
            return True
        try:
            return gojson.decode(body) in ({}, None)
        except ValueError:
            return False

    def header(self, name: bytes) -> bytes | None:
        """Return a header's value, or None."""
        return headers.get(self.message.header, name) if self.message.header else None

    def read(self, record: type[R]) -> R:
        """Decode the body; an empty one gives the record's defaults. Raises ApiError 10025."""
        return at_once(self.reading(record))

    def read_optional(self, record: type[R]) -> R:
        """Do the same as `read`, but a body that does not look like JSON gives the defaults, too."""
        return self.read(record) if self.body.lstrip()[:1] in {b"{", b"["} else record()

    def reading(self, record: type[R]) -> Steps[R]:
        """Do the same as `read`, in steps."""
        text = self.body.strip()
        if not text:
            return record()
        try:
            value = gojson.decode(text)
        except gojson.JsonError as error:
            raise invalid_json(str(error)) from None
        if value is None:  # in Go, null leaves everything as it is
            return record()
        return (yield from record.reading(value, strict=self.context.strict))

    def must_be_empty(self) -> None:
        """Raise ApiError 10038 if there is a body."""
        if not self.empty:
            raise api_error("JSNotEmptyRequestErr")

    def work(self, steps: Steps[Response]) -> Response:
        """Make the response in slices. Return it if one slice suffices and can run now, otherwise LATER.

        Raises ApiError 10023 if too many requests wait for their turn.
        """
        turns = self.context.turns
        self._check_queue(len(turns))
        outcome: list[Response | Exception] = []
        returned = False

        def done(result: Response | Exception) -> None:
            if not returned:
                outcome.append(result)
            elif isinstance(result, ApiError):
                self.fail(result)
            elif isinstance(result, Exception):
                self.fail_internally(result)
            elif result is not LATER:
                self.respond(result)

        turns.now(lambda: Slices(turns, steps, done, done))
        returned = True
        if not outcome:
            return LATER
        if isinstance(outcome[0], Exception):
            raise outcome[0]
        return outcome[0]

    def change(self, steps: Steps[T], then: Callable[[T], Steps[Response]]) -> Response:
        """Change the account's streams when all changes before are done, then make the response of the
        result.

        Returns LATER. Raises ApiError 10023 if too many changes wait already.
        """
        queue = self.account.changes
        self._check_queue(len(queue))

        def ended(result: Response | Exception) -> None:
            if isinstance(result, ApiError):
                self.fail(result)
            elif isinstance(result, Exception):
                self.fail_internally(result)
            elif result is not LATER:
                self.respond(result)

        def respond(result: T) -> None:
            Slices(self.context.turns, paced(then(result)), ended, ended)

        queue.add(paced(steps), respond, ended)
        return LATER

    def _check_queue(self, waiting: int) -> None:
        """Raise ApiError 10023 if too many requests wait already."""
        host = self.account.host
        if host.queues.is_full(waiting, self.kind):
            advisories.request_refused(host)
            raise api_error("JSInsufficientResourcesErr")

    def respond(self, response: Response) -> None:
        """Answer a request whose handler returned LATER."""
        self._finish(self, response)

    def fail(self, error: ApiError) -> None:
        """Refuse the request."""
        self._finish(self, error_response(self.kind, error, **self.endpoint.refused))

    def fail_internally(self, error: Exception) -> None:
        """Refuse the request because of an internal error, and log the error."""
        text = f"JetStream API {self.message.subject}: {type(error).__name__}: {error}"
        self.context.log.error(text)
        self.fail(api_error("JSStreamGeneralErrorF", err=str(error)))
