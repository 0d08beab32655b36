"""Republisher: makes the message that a stream publishes again, after it has stored one.

Promises: it has the headers of the stored message, and those that say where it is stored. It is published
with the acknowledgement, in the order of the messages.
"""

from __future__ import annotations

from collections.abc import Callable

from ....protocol.api.stream import StreamConfig
from ....protocol.subject import is_literal
from ....protocol.timestamp import format_rfc3339
from ....protocol.transform import SubjectTransform


class Republisher:
    """The rule of one stream.

    active: whether there is one.
    """

    __slots__ = ("_headers_only", "_name", "_transform", "active")

    def __init__(self, config: StreamConfig, random_below: Callable[[int], int]) -> None:
        rule = config.republish
        self._name = config.name
        self._headers_only = rule is not None and bool(rule.headers_only)
        self._transform: SubjectTransform | None = None
        if rule is not None and rule.dest:
            self._transform = SubjectTransform(rule.src, rule.dest, random_below=random_below)
        self.active = self._transform is not None

    def made(
        self, subject: str, header: bytes, body: bytes, sequence: int, time: int, previous: int
    ) -> list[tuple[str, bytes, bytes]]:
        """Return [(subject, header, body)] to publish for a message stored at `time` (ns), [] for none.

        previous: the sequence before it on its subject, 0 for none.
        """
        target = self._transform.apply(subject) if self._transform is not None else None
        if not target or not is_literal(target):
            return []
        lines = (
            f"Nats-Stream: {self._name}\r\nNats-Subject: {subject}\r\nNats-Sequence: {sequence}\r\n"
            f"Nats-Time-Stamp: {format_rfc3339(time)}\r\nNats-Last-Sequence: {previous}\r\n"
        )
        if self._headers_only:
            lines += f"Nats-Msg-Size: {len(body)}\r\n"
        start = header[:-2] if header else b"NATS/1.0\r\n"
        return [(target, start + lines.encode() + b"\r\n", b"" if self._headers_only else body)]
