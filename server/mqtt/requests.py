"""Requests: what MQTT asks of JetStream in one account, by the API and by publishes to its streams.

The reply subjects are nats-server's, `$MQTT.JSA.<hash of the server's name>.<kind>.…`: servers of one account
learn from each other's answers. Promises that each request is answered once: by JetStream, or with an error
when nobody is there, when `js_api_timeout` is over or when the server stops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ...protocol import gojson
from ...protocol.errors import ApiError
from ..clock import DeadlineTimer
from .flow import Flow, Resume, Wait

if TYPE_CHECKING:
    from ..accounts import Account
    from ..accounts.subscription import Message
    from ..clock import Clock

REPLIES: Final = "$MQTT.JSA."
STREAM_NOT_FOUND: Final = 10059
STREAM_EXISTS: Final = 10058
CONSUMER_NOT_FOUND: Final = 10014
NO_MESSAGE: Final = 10037
STORE_FAILED: Final = 10077
_API = "$JS.API."


class JetStreamAnswerError(Exception):
    """JetStream refused a request, or nobody answered. err_code: its number, 0 if nobody answered."""

    def __init__(self, text: str, err_code: int = 0) -> None:
        super().__init__(text)
        self.err_code = err_code


class Requests:
    """The requests of one account.

    node: the hash of this server's name, which stands in reply subjects and records.
    domain: the JetStream domain to ask; None for the one that the account reaches without saying so.
    """

    def __init__(
        self,
        account: Account,
        clock: Clock,
        node: str,
        new_id: Callable[[], str],
        domain: str | None,
        timeout: int,
    ) -> None:
        """timeout: how long an answer may take, in ns."""
        self.account = account
        self.node = node
        self.domain = domain
        self.timeout = timeout
        self.new_id = new_id
        self._clock = clock
        self._pending: dict[str, tuple[int, Resume]] = {}  # when each is too late (ns), in the same order
        self._timer = DeadlineTimer(clock, self._too_late)
        self._replies = account.subscribe(f"{REPLIES}{node}.>", self._answered)

    def stop(self) -> None:
        """Answer what is pending with errors, and ask nothing more."""
        self._timer.clear()
        self.account.unsubscribe(self._replies)
        pending, self._pending = self._pending, {}
        for _, resume in pending.values():
            resume(JetStreamAnswerError("the server stops"))

    # --- what is asked

    def api(self, kind: str, name: str, body: Mapping[str, Any] | None = None) -> Flow[dict[str, Any]]:
        """Make a request of the API, `name` without its prefix. Raises JetStreamAnswerError."""
        return self._asked(self.api_wait(kind, name, body))

    def api_wait(self, kind: str, name: str, body: Mapping[str, Any] | None = None) -> Wait:
        """Return a wait for the answer to such a request: a document, or a JetStreamAnswerError."""
        raw = b"" if body is None else gojson.encode(dict(body))
        return partial(self._send, kind, self._subject(name), raw, b"")

    def store(self, subject: str, header: bytes, body: bytes) -> Wait:
        """Return a wait for the stream that takes `subject`: its answer, or a JetStreamAnswerError."""
        return partial(self._send, "MS", subject, body, header)

    def store_session(self, subject: str, token: str, header: bytes, body: bytes) -> Flow[dict[str, Any]]:
        """Store a session. The other servers of the account learn of it by `token`, in the reply subject.

        Raises JetStreamAnswerError.
        """
        return self._asked(partial(self._send, f"SP.{token}", subject, body, header))

    def tell(self, subject: str, body: bytes = b"") -> None:
        """Send a message that is not answered, such as an ack."""
        if subject:
            self.account.publish(subject, body, own=True)

    def tell_api(self, name: str, body: Mapping[str, Any] | None = None) -> None:
        """Make a request of the API whose answer does not matter."""
        self.tell(self._subject(name), b"" if body is None else gojson.encode(dict(body)))

    def _subject(self, name: str) -> str:
        return f"$JS.{self.domain}.API.{name}" if self.domain else _API + name

    # --- how it is answered

    def _asked(self, wait: Wait) -> Flow[dict[str, Any]]:
        answer = yield wait
        if isinstance(answer, JetStreamAnswerError):
            raise answer
        found: dict[str, Any] = answer
        return found

    def _send(self, kind: str, subject: str, body: bytes, header: bytes, resume: Resume) -> None:
        reply = f"{REPLIES}{self.node}.{kind}.{self.new_id()}"
        due = self._clock.now() + self.timeout
        self._pending[reply] = (due, resume)
        self._timer.at(due)
        target = self.account.mapped(subject)
        taken = self.account.publish(target, body, reply=reply, header=header, own=True) if target else 0
        if not taken and self._pending.pop(reply, None) is not None:
            resume(JetStreamAnswerError(f"nobody answers {subject}"))

    def _answered(self, message: Message) -> None:
        pending = self._pending.pop(message.subject, None)
        if pending is not None:
            pending[1](_read(message))

    def _too_late(self) -> None:
        now = self._clock.now()
        while self._pending:
            reply, (due, resume) = next(iter(self._pending.items()))
            if due > now:
                self._timer.at(due)
                return
            del self._pending[reply]
            resume(JetStreamAnswerError(f"timeout after {self.timeout // 1_000_000} ms: {reply}"))


def _read(message: Message) -> dict[str, Any] | JetStreamAnswerError:
    """Return the document of an answer, or the error that it holds."""
    try:
        document = gojson.decode(message.body, len(message.body))  # it may hold a message, in base64
        if "error" not in document:
            found: dict[str, Any] = document
            return found
        error = ApiError.from_json(document["error"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return JetStreamAnswerError("invalid answer of JetStream")
    return JetStreamAnswerError(f"{error.description} ({error.err_code})", error.err_code)
