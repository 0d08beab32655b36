"""Acknowledgements of publishes by one stream, as the numbers of the publishes."""

from __future__ import annotations

import json

from ..native import take_acks


class StoredAcks:
    """Takes the answers to publishes whose reply subjects are `<inbox>.<number>`.

    It takes those that say that `stream` has stored the message, and nothing else: every other answer, such
    as an error or that the stream had the message already, is left.

    numbers: those of the publishes that were stored, as their answers arrived
    """

    full, needed = False, 0

    def __init__(self, inbox: str, stream: str) -> None:
        self.numbers: list[int] = []
        self._lead = f"MSG {inbox}.".encode()
        self._stored = f'{{"stream":{json.dumps(stream)},'.encode()

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, data: bytearray, start: int, end: int) -> int:
        """Take the answers of data[start:end]; return where they end."""
        return take_acks(data, start, end, self._lead, self._stored, self.numbers)
