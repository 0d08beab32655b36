"""A connection without an event loop, for commands that send a few requests and end.

nats-py and asyncio take half of the processor time that a short command costs. `RequestClient` has those
methods of nats-py's client that requests need, on the blocking client of `client/`. Its methods are
coroutines that never wait for a loop, so the same code runs with either client; `ask`, `send` and `echo`
raise the same errors for both.

A command that may run so has the class `RequestCommand` (`command.py`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from ..client import (
    AuthorizationError,
    BlockingConnection,
    ClientError,
    ConnectionOptions,
    Message,
    NoResponders,
    NoServers,
    NotPermitted,
    TimedOut,
)
from ..client.identity import check_readable
from ..protocol import headers as header_block
from ..version import __version__
from .credentials import jwt_credentials
from .errors import UsageError, warn
from .loop import LoopNeeded
from .profile import SECOND, Profile, with_scheme
from .refusal import not_connected

if TYPE_CHECKING:
    from ..client.socks import SocksProxy

_BLANKS = frozenset(" \t\r\n")


def suits(profile: Profile) -> bool:
    """Return whether a blocking connection does for these settings: no TLS, websocket or bare JWT."""
    fields = ("user_jwt", "ca", "cert", "key", "tls_first")
    if any(profile.fields.get(name) for name in fields):
        return False
    urls = [urlsplit(with_scheme(url)) for url in profile.servers]
    # The user in the first URL is meant for all of them.
    return all(url.scheme == "nats" for url in urls) and (len(urls) == 1 or urls[0].username is None)


def proxy_of(profile: Profile) -> SocksProxy | None:
    """Return the SOCKS proxy to connect through, if there is one. Raises UsageError."""
    if not profile.text("socks_proxy"):
        return None
    from ..client.socks import SocksProxy

    try:
        return SocksProxy.of(profile.text("socks_proxy"))
    except ValueError as error:
        raise UsageError(str(error), "--socks-proxy none uses no proxy") from None


def connection_options(profile: Profile, name: str = "") -> ConnectionOptions:
    """Return how to connect with `profile`; `name` is added to the connection's name.

    Raises UsageError for what a blocking connection cannot do.
    """
    proxy = proxy_of(profile)
    for url in profile.servers:
        if urlsplit(url).scheme in {"ws", "wss"}:
            raise UsageError(f"websockets are not supported here: {url}", "name the server's nats:// port")
    creds = profile.text("creds") or profile.text("nsc")
    # A user in the URL takes precedence over --user and --token.
    named = urlsplit(with_scheme(profile.servers[0])).username
    by_url = named is not None and not creds and not profile.text("nkey")
    if not creds and profile.text("user_jwt") and not profile.text("nkey"):
        creds = jwt_credentials(profile)
    return ConnectionOptions(
        servers=tuple(profile.servers),
        name=profile.connection_name or f"NATS CLI Version {__version__} (pyjs{name})",
        creds=creds,
        nkey=profile.text("nkey"),
        user="" if by_url else profile.text("user"),
        password="" if by_url else profile.text("password"),
        token="" if by_url else profile.text("token"),
        tls_ca=profile.text("ca"),
        tls_cert=profile.text("cert"),
        tls_key=profile.text("key"),
        tls_first=bool(profile.fields.get("tls_first")),
        socks_proxy=profile.text("socks_proxy") if proxy else "",
        inbox_prefix=profile.text("inbox_prefix") or "_INBOX",
        timeout=profile.timeout / SECOND,
    )


class Answer(NamedTuple):
    """A message as nats-py shows it; `headers` has the first value of each, and a status as `Status`."""

    subject: str
    reply: str
    data: bytes
    headers: dict[str, str] | None


class _Connection(BlockingConnection):
    """Warns of a subject that the server refuses, and goes on, as nats-py does.

    If that is the inbox for answers, none can come: each request fails at once. So does one whose own subject
    is refused.
    """

    quiet = False
    awaited: tuple[str, ...] = ()  # subjects without which what is waited for cannot come
    _unanswerable = ""  # why no answer can come

    def request(
        self, subject: str, payload: bytes = b"", headers: bytes = b"", timeout: float | None = None
    ) -> Message:
        """Send a request as `BlockingConnection` does. Raises NotPermitted if no answer can come, too."""
        if self._unanswerable:
            raise NotPermitted(self._unanswerable)
        self.awaited = (subject,)
        try:
            return super().request(subject, payload, headers, timeout)
        finally:
            self.awaited = ()

    def not_permitted(self, text: str) -> None:
        if self._inbox and f'"{self._inbox}.' in text:
            self._unanswerable = (
                f"{text}: no answer can reach this user; --inbox-prefix names a prefix that it may hear"
            )
            raise NotPermitted(self._unanswerable)
        if any(f'"{each}"' in text for each in self.awaited):
            raise NotPermitted(f"nats: {text}")
        if not self.quiet:
            warn(f"nats: '{text}'")


class RequestClient:
    """The methods of nats-py's client for requests and publishes. It never reconnects."""

    pending_data_size = 0  # everything is sent at once

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self.is_closed = False

    @classmethod
    def open(cls, profile: Profile, *, quiet: bool) -> RequestClient:
        """Connect. Raises CliError that says where and as whom."""
        try:
            options = connection_options(profile)
            check_readable(options)
            connection = _Connection.open(options)
        except (AuthorizationError, NoServers) as error:
            raise not_connected(profile, error) from None
        connection.quiet = quiet
        return cls(connection)

    @property
    def is_connected(self) -> bool:
        """Whether the connection was not closed."""
        return not self.is_closed

    @property
    def max_payload(self) -> int:
        """The largest message that the server accepts, in bytes."""
        return self._connection.max_payload

    @property
    def _server_info(self) -> dict[str, Any]:
        return self._connection.server_info

    @property
    def connected_url(self) -> SplitResult:
        """The URL of the server connected to."""
        return urlsplit(self._connection.url)

    async def request(
        self,
        subject: str,
        payload: bytes,
        timeout: float,  # noqa: ASYNC109 - the name in nats-py
        headers: Mapping[str, str | list[str]] | None = None,
    ) -> Answer:
        """Send a request and return the first answer.

        Raises BadSubjectError, NoResponders, TimedOut, ClientError.
        """
        _check(subject)
        found = self._connection.request(subject, payload, _block(headers), timeout)
        return Answer(found.subject, found.reply, found.payload, _headers(found.header))

    async def publish(
        self, subject: str, payload: bytes = b"", reply: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        """Publish a message. Raises BadSubjectError, ClientError."""
        _check(subject)
        if reply:
            _check(reply)
        self._connection.publish(subject, payload, reply=reply, headers=_block(headers))

    async def flush(self, timeout: float = 10.0) -> None:  # noqa: ASYNC109 - the name in nats-py
        """Wait until the server has seen everything. Raises TimedOut, ClientError."""
        self._connection.flush(timeout)

    def new_inbox(self) -> str:
        """Return a subject that nobody else listens on."""
        return self._connection.new_inbox()

    def echo(self, inbox: str, payload: bytes, timeout: float) -> bytes:
        """Publish to an inbox and return what arrives there. Raises TimedOut, ClientError."""
        self._connection.subscribe(inbox, limit=1)
        self._connection.publish(inbox, payload)
        return self._connection.receive(timeout).payload

    async def subscribe(self, *_: object, **__: object) -> None:
        """Start the command again with an event loop: messages come by themselves only there."""
        raise LoopNeeded

    def listen(self, subject: str, asked: str = "") -> SubjectListener:
        """Subscribe, for what reads the messages itself. Raises BadSubjectError, ClientError.

        asked: the subject of the requests whose answers come there. To read raises NotPermitted if this user
            may not publish to it, or not hear the answers.
        """
        _check(subject)
        self._connection.awaited = (subject, asked) if asked else ()
        return SubjectListener(self._connection, subject)

    async def close(self) -> None:
        """Close the connection."""
        self.is_closed = True
        self._connection.close()


class SubjectListener:
    """A subscription to a subject without wildcards, with those methods of nats-py's that reading needs."""

    def __init__(self, connection: _Connection, subject: str) -> None:
        self._connection = connection
        self._sid = connection.subscribe(subject)

    async def next_msg(self, timeout: float) -> Answer:  # noqa: ASYNC109 - the name in nats-py
        """Return the next message. Raises TimedOut, ClientError."""
        end = time.monotonic() + timeout
        while True:
            found = self._connection.receive(end - time.monotonic())
            # By the subscription: others are late answers, and what a consumer delivers has its own subject.
            if found.sid.encode() == self._sid:
                return Answer(found.subject, found.reply, found.payload, _headers(found.header))

    async def unsubscribe(self) -> None:
        """End the subscription. A connection that is lost has none."""
        self._connection.awaited = ()
        with suppress(ClientError):
            self._connection.unsubscribe(self._sid)


class BadSubjectError(ClientError):
    """The subject cannot be on the wire."""

    def __init__(self) -> None:
        super().__init__("nats: invalid subject")


def _check(subject: str) -> None:
    if not subject or not _BLANKS.isdisjoint(subject):
        raise BadSubjectError


def _block(headers: Mapping[str, str | list[str]] | None) -> bytes:
    return header_block.encode(headers) if headers else b""


def _headers(block: bytes) -> dict[str, str] | None:
    if not block:
        return None
    code, text = header_block.status(block)
    found = {name: values[0] for name, values in header_block.decode(block).items()}
    if code is not None:
        found["Status"] = str(code)
        if text:
            found["Description"] = text
    return found


class _Repeated(dict[str, Any]):
    """Header fields for nats-py, which takes one value for each: a list becomes as many lines."""

    def items(self) -> Any:
        """Return the pairs of names and single values."""
        return [
            (name, value)
            for name, values in super().items()
            for value in ([values] if isinstance(values, str) else values)
        ]


async def ask(
    nc: Any,
    subject: str,
    data: bytes,
    timeout: float,  # noqa: ASYNC109 - handed to the client, which has its own timer
    headers: Mapping[str, str | list[str]] | None = None,
) -> Any:
    """Send a request with either client and return the answer, a message.

    headers: a list has the values of a name that is repeated.

    Raises NoResponders, TimedOut, BadSubjectError, or ClientError with the client's text.
    """
    if isinstance(nc, RequestClient):
        return await nc.request(subject, data, timeout, headers)
    from nats import errors

    try:
        return await nc.request(subject, data, timeout, headers=_Repeated(headers or {}) or None)
    except errors.NoRespondersError as error:
        raise NoResponders(str(error)) from None
    except (TimeoutError, errors.TimeoutError) as error:
        raise TimedOut(str(error)) from None
    except errors.BadSubjectError:
        raise BadSubjectError from None
    except errors.Error as error:
        raise ClientError(str(error)) from None


async def send(nc: Any, subject: str, data: bytes, reply: str, headers: Mapping[str, str]) -> None:
    """Publish with either client. Raises BadSubjectError, ValueError, or ClientError."""
    if isinstance(nc, RequestClient):
        await nc.publish(subject, data, reply, headers)
        return
    from nats import errors

    try:
        await nc.publish(subject, data, reply, headers=dict(headers) or None)
    except errors.BadSubjectError:
        raise BadSubjectError from None
    except errors.Error as error:
        raise ClientError(str(error)) from None


async def echo(nc: Any, inbox: str, data: bytes, timeout: float) -> bytes:  # noqa: ASYNC109 - as for `ask`
    """Publish to an inbox with either client and return what arrives there. Raises TimedOut, ClientError."""
    if isinstance(nc, RequestClient):
        return nc.echo(inbox, data, timeout)
    from nats import errors

    try:
        arrived = await nc.subscribe(inbox, max_msgs=1)
        await nc.publish(inbox, data)
        received: bytes = (await arrived.next_msg(timeout)).data
    except (TimeoutError, errors.TimeoutError) as error:
        raise TimedOut(str(error)) from None
    except errors.Error as error:
        raise ClientError(str(error)) from None
    return received


async def next_message(received: Any, timeout: float) -> Any:  # noqa: ASYNC109 - as for `ask`
    """Return the next message of a subscription of either client. Raises TimedOut, or ClientError."""
    if isinstance(received, SubjectListener):
        return await received.next_msg(timeout)
    from nats import errors

    try:
        return await received.next_msg(timeout)
    except (TimeoutError, errors.TimeoutError) as error:
        raise TimedOut(str(error)) from None
    except errors.Error as error:
        raise ClientError(str(error)) from None
