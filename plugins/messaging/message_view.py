"""How `pyjs subscribe` shows a message: whole, its body, its subject, or as a JSON file."""

from __future__ import annotations

import base64
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...cli import render
from .body import header_lines, show_body, translated
from .direct import DirectMessage

SECOND = 1_000_000_000
STDOUT = "-"
ACKS = "$JS.ACK."


class Dump:
    """Writes messages as JSON, in the form of nats.go's `Msg`: files, or on stdout with a NUL after each.

    where: the directory, which is made if need be, or `-`.
    translate: the command whose output stands for a body, if there is one.
    """

    def __init__(self, where: str, translate: str | None) -> None:
        self._directory = None if where == STDOUT else Path(where)
        self._translate = translate
        if self._directory is not None:
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)

    def write(self, name: str, message: Any) -> None:
        """Write a message into the file `name`, without its extension."""
        data = translated(message.data, self._translate, message.subject)
        document = {
            "Subject": message.subject,
            "Reply": message.reply,
            "Header": {key: [value] for key, value in (message.headers or {}).items()} or None,
            "Data": base64.b64encode(data).decode(),
            "Sub": None,
        }
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        if self._directory is not None:
            (self._directory / f"{name}.json").write_bytes(text)
            return
        sys.stdout.buffer.write(text + b"\0")
        sys.stdout.buffer.flush()


def _sequence(message: Any) -> int:
    """Return the sequence of a message of a stream; 0 for any other."""
    if isinstance(message, DirectMessage):
        return message.sequence
    return int(message.metadata.sequence.stream) if message.reply.startswith(ACKS) else 0


class MessageView:
    """Shows messages as the flags of `subscribe` demand.

    given: the values of the flags, by parameter name.
    """

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.seen = 0
        self.begin = time.monotonic_ns()
        self._dump = Dump(given["dump"], given["translate"]) if given["dump"] else None
        self._dumped = ""  # the name of the message that was shown last

    def message(self, _pattern: str, message: Any) -> None:
        """Show a message."""
        self.seen += 1
        given = self.given
        if self._dump is not None:
            self._dumped = str(_sequence(message) or self.seen)
            self._dump.write(self._dumped, message)
        elif given["raw"]:
            show_body(message.data, given["translate"], message.subject)
        elif given["subjects_only"]:
            render.show(message.subject)
        else:
            self._whole(message)

    def reply(self, message: Any) -> None:
        """Show the reply of the message that was shown last."""
        given = self.given
        if self._dump is not None:
            self._dump.write(f"{self._dumped}_reply", message)
        elif given["raw"]:
            show_body(message.data)
        elif given["subjects_only"]:
            render.show(message.subject)
        else:
            render.show(f'[#{self.seen}]{self._stamp()} Matched reply on "{message.subject}"')
            self._contents(message)

    def _whole(self, message: Any) -> None:
        render.show(f"[#{self.seen}]{self._stamp()} Received {_described(message)}")
        self._contents(message)

    def _stamp(self) -> str:
        stamp = f" @ {datetime.now().astimezone():%H:%M:%S.%f}" if self.given["timestamp"] else ""
        if self.given["delta_time"]:
            stamp = f" @ {render.go_span(time.monotonic_ns() - self.begin)}"
        return stamp

    def _contents(self, message: Any) -> None:
        lines = header_lines(message)
        if lines:
            render.show(lines)
        if not self.given["headers_only"]:
            show_body(message.data, self.given["translate"], message.subject)
        render.show("\n")


def _described(message: Any) -> str:
    if isinstance(message, DirectMessage):
        moment = datetime.fromtimestamp(message.time / SECOND, UTC).astimezone()
        return (
            f"JetStream message (direct): stream: {message.stream} seq {message.sequence} / "
            f"subject: {message.subject} / time: {moment:%Y-%m-%d %H:%M:%S}"
        )
    if message.reply.startswith(ACKS):
        facts = message.metadata
        moment = facts.timestamp.astimezone()
        return (
            f"JetStream message: stream: {facts.stream} seq: {facts.sequence.stream} / "
            f"pending: {facts.num_pending} / subject: {message.subject} / time: {moment:%Y-%m-%d %H:%M:%S}"
        )
    answer = f' with reply "{message.reply}"' if message.reply else ""
    return f'on "{message.subject}"{answer}'
