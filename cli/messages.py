"""Single messages of a stream: read the last one of a subject or one by its sequence, and publish one.

Reading asks a replica directly if the stream allows that, as the clients of NATS do for buckets, and else the
leader. Promises: a publish returns only with the acknowledgement of the stream that was meant; any other
answer raises an error.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..client import ClientError, NoResponders, TimedOut
from ..protocol import headers as header_block
from ..protocol.timestamp import TimestampError, parse_rfc3339
from .blocking import ask
from .connection import NatsConnection
from .errors import CliError, RefusedError, RemoteError, UnavailableError, of_client
from .render import log

NO_MESSAGE = 10037
Headers = Mapping[str, str]
SentHeaders = Mapping[str, str | list[str]]  # a list has the values of a name that is repeated


class StoredMessage(NamedTuple):
    """A message of a stream.

    time: nanoseconds since the epoch.
    pending: how many messages its consumer had left after it, 0 if it was read without one.
    """

    subject: str
    data: bytes
    headers: Headers
    sequence: int
    time: int
    pending: int = 0


class PublishAck(NamedTuple):
    """The acknowledgement of a publish: where the message is.

    duplicate: whether it was there already, by its id.
    value: of the counter that the message added to; empty if it is none.
    batch: the id of the atomic batch that the message ends; empty if it ends none.
    batch_size: how many messages the batch has.
    """

    stream: str
    sequence: int
    domain: str
    duplicate: bool = False
    value: str = ""
    batch: str = ""
    batch_size: int = 0


async def last_of(
    connection: NatsConnection, stream: str, subject: str, *, direct: bool
) -> StoredMessage | None:
    """Return the last message of a subject, or None."""
    if direct:
        return await _direct(connection, f"DIRECT.GET.{stream}.{subject}", b"")
    return await _from_leader(connection, stream, {"last_by_subj": subject})


async def at_sequence(
    connection: NatsConnection, stream: str, sequence: int, *, direct: bool
) -> StoredMessage | None:
    """Return the message with a sequence, or None."""
    if direct:
        return await _direct(connection, f"DIRECT.GET.{stream}", b'{"seq":%d}' % sequence)
    return await _from_leader(connection, stream, {"seq": sequence})


async def _direct(connection: NatsConnection, name: str, query: bytes) -> StoredMessage | None:
    answer = await asked(connection, connection.js.subject(name), query)
    found = answer.headers or {}
    status = found.get("Status", "")
    if status == "404":
        return None
    if status:
        raise CliError(f"the message could not be read: {status} {found.get('Description', '')}".rstrip())
    try:
        sequence, moment = int(found["Nats-Sequence"]), parse_rfc3339(found["Nats-Time-Stamp"])
        subject = found["Nats-Subject"]
    except (KeyError, ValueError, TimestampError):
        raise CliError(f"the answer of {connection.js.subject(name)} is not that of a direct get") from None
    return StoredMessage(subject, answer.data, found, sequence, moment)


async def _from_leader(
    connection: NatsConnection, stream: str, query: dict[str, Any]
) -> StoredMessage | None:
    try:
        found = (await connection.js.request(f"STREAM.MSG.GET.{stream}", query))["message"]
    except RemoteError as error:
        if error.err_code == NO_MESSAGE:
            return None
        raise
    block = header_block.decode(base64.b64decode(found.get("hdrs") or ""))
    return StoredMessage(
        str(found["subject"]),
        base64.b64decode(found.get("data") or ""),
        {name: values[0] for name, values in block.items()},
        int(found["seq"]),
        parse_rfc3339(str(found["time"])),
    )


async def publish(
    connection: NatsConnection, subject: str, data: bytes, headers: SentHeaders | None = None
) -> PublishAck:
    """Publish a message and return where it is stored. Raises RemoteError if the stream refuses it."""
    limit = connection.nc.max_payload
    if len(data) > limit:
        raise too_large(len(data), limit)
    answer = await asked(
        connection,
        subject,
        data,
        headers,
        nobody="no stream listens to it, or the one that does has no leader",
    )
    return parse_ack(answer.data)


def too_large(size: int, limit: int) -> CliError:
    """Return the error for a message that no server takes."""
    return RefusedError(
        "nats: maximum payload exceeded",
        f"the value has {size} bytes, and the server takes {limit} in a message",
        "'pyjs object put' stores data of any size",
    )


async def asked(
    connection: NatsConnection,
    subject: str,
    data: bytes,
    headers: SentHeaders | None = None,
    *,
    nobody: str = "",
) -> Any:
    """Send a request and return the answer, a message. Raises CliError if there is none."""
    if connection.js.trace:
        log(f">>> {subject}\n{data.decode(errors='replace')}\n")
    try:
        answer = await ask(connection.nc, subject, data, connection.timeout, headers)
    except NoResponders:
        raise UnavailableError(
            "nats: no response from stream",
            f"nobody answers on {subject}" + (f": {nobody}" if nobody else ""),
        ) from None
    except TimedOut:
        raise UnavailableError(
            "nats: timeout",
            f"no answer on {subject} within {connection.timeout:g}s; --timeout waits longer",
            "whether the request was carried out is unknown" if nobody else "",
        ) from None
    except ClientError as error:
        raise of_client(error) from None
    if connection.js.trace:
        log(f"<<< {subject}\n{answer.data.decode(errors='replace')}\n")
    return answer


def parse_ack(data: bytes) -> PublishAck:
    """Parse JetStream's answer to a publish. Raises RemoteError for a refusal."""
    try:
        ack = json.loads(data)
        if "error" in ack:
            error = ack["error"]
            raise RemoteError(
                int(error.get("code", 0)), int(error.get("err_code", 0)), str(error.get("description", ""))
            )
        return PublishAck(
            str(ack["stream"]),
            int(ack["seq"]),
            str(ack.get("domain", "")),
            bool(ack.get("duplicate")),
            str(ack.get("val", "")),
            str(ack.get("batch", "")),
            int(ack.get("count", 0)),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CliError(f"this is not JetStream's acknowledgement: {data[:100]!r}") from None
