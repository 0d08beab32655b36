"""Backups over the JetStream API: a stream as bytes, and back."""

from __future__ import annotations

import json
import random
from typing import Any

from .jetstream import ApiFailureError, JetStream

Saved = tuple[dict[str, Any], bytes]  # the server's description of it (config, state), and its archive


def save(js: JetStream, stream: str, **request: Any) -> Saved:
    """Fetch a stream's backup. Raises ApiFailureError; AssertionError if the server gave it up."""
    # A subscription of its own: pyjs waits for one, before it sends to a client that has one for all inboxes.
    inbox = f"_SAVED.{random.randrange(1 << 48):012x}"
    js.wire.sub(inbox, "saved")
    answer = js.call(f"STREAM.SNAPSHOT.{stream}", {"deliver_subject": inbox, **request})
    data = bytearray()
    while (message := js.wire.msg()).body:
        data += message.body
        if message.reply:
            js.wire.pub(message.reply)
    js.wire.send("UNSUB saved\r\n")
    assert message.status in ("", "204"), message.status
    return answer, bytes(data)


def load(js: JetStream, stream: str, saved: Saved, *, chunk: int = 60_000, **config: Any) -> dict[str, Any]:
    """Restore a backup, with another configuration if one is given; return the stream's info."""
    document, data = saved
    request = {"config": document["config"] | {"name": stream} | config, "state": document["state"]}
    subject = js.call(f"STREAM.RESTORE.{stream}", request)["deliver_subject"]
    pieces = [data[at : at + chunk] for at in range(0, len(data), chunk)]
    answer: dict[str, Any] = {}
    for piece in [*pieces, b""]:
        body = js.wire.request(subject, piece).body
        answer = json.loads(body) if body else {}
        if "error" in answer:
            raise ApiFailureError(answer["error"])
    return answer
