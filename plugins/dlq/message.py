"""A stored message as it was published: with its header block byte by byte, which may repeat a name."""

from __future__ import annotations

import base64
from typing import NamedTuple

from ...cli.connection import NatsConnection
from ...cli.errors import RemoteError
from ...cli.jetstream import stream_is_gone
from ...cli.messages import NO_MESSAGE
from ...protocol import headers
from ...protocol.timestamp import parse_rfc3339


class RawMessage(NamedTuple):
    """A message of a stream.

    header: the header block, b"" for none.
    time: when it was stored, ns.
    """

    subject: str
    header: bytes
    data: bytes
    sequence: int
    time: int

    @property
    def headers(self) -> dict[str, list[str]]:
        """The values of each header field, in order."""
        return headers.decode(self.header)


async def message_at(connection: NatsConnection, stream: str, sequence: int) -> RawMessage | None:
    """Return the message with a sequence, asked of the stream's leader; None if it or the stream is gone."""
    try:
        answer = await connection.js.request(f"STREAM.MSG.GET.{stream}", {"seq": sequence})
    except RemoteError as error:
        if error.err_code == NO_MESSAGE or stream_is_gone(error):
            return None
        raise error.while_doing(f"could not read the message {sequence} of {stream}") from None
    found = answer["message"]
    return RawMessage(
        str(found["subject"]),
        base64.b64decode(found.get("hdrs") or ""),
        base64.b64decode(found.get("data") or ""),
        int(found["seq"]),
        parse_rfc3339(str(found["time"])),
    )
