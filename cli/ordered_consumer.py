"""A reader of a stream that gets each message once, in the order of the stream, and acknowledges nothing.

It is an ephemeral push consumer with flow control and heartbeats, made again behind the last message whenever
one is missing or the server has forgotten it: after a gap, a restart, a change of the leader, a reconnect.
Promises: no message is skipped or delivered twice; memory is bounded by the server's flow control, since
its window goes on only when the messages before it have been taken; a stream that was deleted and made again
in between is told from the old one (`StreamReplacedError`), and a deleted one raises the server's error.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Self

from ..protocol.identifier import new_id
from .connection import NatsConnection
from .errors import CliError, ExitCode
from .messages import StoredMessage

SECOND = 1_000_000_000
HEARTBEAT = 5.0  # seconds
RETRY_WAIT = 0.5  # seconds between attempts to make the consumer again
DELETE_SECONDS = 1.0  # the server removes it by itself, too
CONTROL, CONSUMER_GONE = "100", "409"


class StreamReplacedError(Exception):
    """The stream was deleted and another one made under its name, with sequences of its own."""


class _Delivery(NamedTuple):
    """What the reply subject of a delivery says (`$JS.ACK.…`)."""

    sequence: int  # in the stream
    number: int  # of the consumer, from 1 without a gap
    time: int
    pending: int


def _delivery(reply: str) -> _Delivery | None:
    """Parse a reply subject: nine tokens, or eleven and more with domain and account hash."""
    tokens = reply.split(".")
    at = 5 if len(tokens) == 9 else 7
    if reply.startswith("$JS.ACK.") and (len(tokens) == 9 or len(tokens) >= 11):
        with suppress(ValueError):
            return _Delivery(*map(int, tokens[at : at + 4]))
    return None


class OrderedConsumer:
    """Reads a stream; use it as a context manager, and take messages with `next`.

    start: where to begin, as fields of a consumer configuration.
    filters: only messages of these subjects; none for all.
    outage_seconds: how long a server may be unreachable or without a leader before it is an error; None for
        ever.
    pending: messages that waited when it was made first.
    """

    def __init__(
        self,
        connection: NatsConnection,
        stream: str,
        *,
        filters: Sequence[str] = (),
        start: dict[str, Any] | None = None,
        headers_only: bool = False,
        heartbeat: float = HEARTBEAT,
        outage_seconds: float | None = 30.0,
    ) -> None:
        self.pending = 0
        self._connection = connection
        self._stream = stream
        self._filters = list(filters)
        self._start = start or {"deliver_policy": "all"}
        self._headers_only = headers_only
        self._heartbeat = heartbeat
        self._outage_seconds = outage_seconds
        self._created = ""  # when the stream was made, as the server says
        self._name = ""
        self._inbox = ""
        self._subscription: Any = None
        self._arrived: asyncio.Queue[Any] = asyncio.Queue()
        self._last = 0  # the stream sequence of the last message taken
        self._number = 0  # of the consumer

    async def __aenter__(self) -> Self:
        info = await self._connection.js.stream_info(self._stream)
        self._created = str(info.get("created", ""))
        self.pending = await self._make()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._name and self._connection.nc.is_connected:
            with suppress(CliError, asyncio.CancelledError):
                await self._drop()

    async def next(self, wait: float | None = None) -> StoredMessage | None:
        """Return the next message; None if `wait` seconds pass without one.

        Raises RemoteError if the stream is gone, StreamReplacedError, or CliError after `outage_seconds`.
        """
        until = None if wait is None else time.monotonic() + wait
        while True:
            try:
                message = await self._next_arrived(until)
            except TimeoutError:
                if until is not None and time.monotonic() >= until:
                    return None
                await self._again()  # two heartbeats are missing
                continue
            found = await self._taken(message)
            if found is not None:
                return found

    async def _next_arrived(self, until: float | None) -> Any:
        """Return what arrives next. Raises TimeoutError at `until`, or if two heartbeats are missing."""
        if not self._arrived.empty():
            return self._arrived.get_nowait()
        silence = 2 * self._heartbeat + 1
        left = silence if until is None else min(silence, until - time.monotonic())
        return await asyncio.wait_for(self._arrived.get(), max(0.0, left))

    async def until_end(self) -> AsyncIterator[StoredMessage]:
        """Yield the messages that the stream holds now, to its end. It may grow or be purged meanwhile."""
        left = self.pending
        while left:
            message = await self.next(self._heartbeat)
            if message is None:  # purged, or the server is slow
                left = await self._waiting()
                continue
            yield message
            left = message.pending

    async def _waiting(self) -> int:
        """Return how many messages the consumer has not sent yet, and those that are on their way."""
        info = await self._connection.js.request(f"CONSUMER.INFO.{self._stream}.{self._name}")
        sent = int((info.get("delivered") or {}).get("consumer_seq", 0))
        return int(info.get("num_pending", 0)) + max(0, sent - self._number)

    async def _taken(self, message: Any) -> StoredMessage | None:
        """Return the stored message that arrived; None if it was a control message or came after a gap."""
        if message.subject == self._inbox:  # not from the stream, whose messages keep their subjects
            await self._control(message)
            return None
        delivery = _delivery(message.reply)
        if delivery is None:
            return None
        if delivery.number != self._number + 1:
            await self._again()
            return None
        self._number, self._last = delivery.number, delivery.sequence
        headers = message.headers or {}
        return StoredMessage(
            message.subject, message.data, headers, delivery.sequence, delivery.time, delivery.pending
        )

    async def _control(self, message: Any) -> None:
        """Answer flow control, check a heartbeat, make the consumer again if the server dropped it."""
        headers = message.headers or {}
        if headers.get("Status") == CONTROL and message.reply:
            await self._reply(message.reply)
        elif headers.get("Status") == CONTROL:
            if headers.get("Nats-Consumer-Stalled"):
                await self._reply(headers["Nats-Consumer-Stalled"])
            if headers.get("Nats-Last-Consumer", str(self._number)) != str(self._number):
                await self._again()
        elif headers.get("Status") == CONSUMER_GONE:
            await self._again()

    async def _reply(self, subject: str) -> None:
        """Let the server go on. A reply that is lost with the connection is not needed any more."""
        with suppress(*_connection_errors()):
            await self._connection.nc.publish(subject)

    async def _again(self) -> None:
        """Make the consumer again, behind the last message. Waits for a server and for a leader."""
        began = time.monotonic()
        while True:
            try:
                await self._drop()
                info = await self._connection.js.stream_info(self._stream)
                if str(info.get("created", "")) != self._created:
                    raise StreamReplacedError
                await self._make()
            except Exception as error:
                tired = self._outage_seconds is not None and time.monotonic() - began > self._outage_seconds
                if tired or self._connection.nc.is_closed or not _may_pass(error):
                    raise
                await asyncio.sleep(RETRY_WAIT)
            else:
                return

    async def _drop(self) -> None:
        """Unsubscribe, and delete the consumer if the server still has it."""
        name, self._name = self._name, ""
        if self._subscription is not None:
            with suppress(Exception):  # the client may be reconnecting: the subscription is gone then
                await self._subscription.unsubscribe()
            self._subscription = None
        if name and self._connection.nc.is_connected:
            with suppress(CliError):
                await self._connection.js.request(
                    f"CONSUMER.DELETE.{self._stream}.{name}", timeout=DELETE_SECONDS
                )

    async def _make(self) -> int:
        """Subscribe and create the consumer; return how many messages wait for it."""
        self._arrived, self._number = asyncio.Queue(), 0
        self._inbox = self._connection.nc.new_inbox()
        self._subscription = await self._connection.nc.subscribe(self._inbox, cb=self._arrived.put)
        self._name = new_id(os.urandom)
        subject = f"CONSUMER.CREATE.{self._stream}.{self._name}"
        if len(self._filters) == 1:
            subject += f".{self._filters[0]}"
        answer = await self._connection.js.request(
            subject, {"stream_name": self._stream, "config": self._config(), "action": "create"}
        )
        delivered = (answer.get("delivered") or {}).get("consumer_seq", 0)
        return int(answer.get("num_pending", 0)) + int(delivered)

    def _config(self) -> dict[str, Any]:
        start = self._start
        if self._last:
            start = {"deliver_policy": "by_start_sequence", "opt_start_seq": self._last + 1}
        config: dict[str, Any] = {
            "name": self._name,
            "deliver_subject": self._inbox,
            "ack_policy": "none",
            "max_deliver": 1,
            "replay_policy": "instant",
            "flow_control": True,
            "idle_heartbeat": int(self._heartbeat * SECOND),
            "inactive_threshold": 5 * SECOND,
            "mem_storage": True,
            "num_replicas": 1,
            "headers_only": self._headers_only,
            **start,
        }
        if len(self._filters) == 1:
            config["filter_subject"] = self._filters[0]
        elif self._filters:
            config["filter_subjects"] = self._filters
        return config


def _may_pass(error: Exception) -> bool:
    """Return whether an error may be gone at the next attempt: no connection, no answer, no leader."""
    if isinstance(error, CliError):
        return error.exit_code is ExitCode.UNAVAILABLE
    return isinstance(error, _connection_errors())


def _connection_errors() -> tuple[type[Exception], ...]:
    """Return what the client raises while it has no connection."""
    from nats import errors

    return OSError, errors.Error
