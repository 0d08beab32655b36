"""What was published and what became of it: the only record that findings are based on.

A value is named `<publisher>.<n>`, never twice. Its body begins with that name and can be computed from the
record, so that a changed byte is seen.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass

STREAM, SUBJECT = "TRUST", "trust"
BUCKET, KEYS = "KV_trust", "$KV.trust"
JOBS, JOB = "JOBS", "jobs"  # a work queue
CONSUMER = "WORK"  # of STREAM and of JOBS
LONG_BYTES, LONG_EVERY = 60_000, 101
NAME = re.compile(rb"^[a-z]\d+\.\d+")


class Outcome(enum.Enum):
    """What the server answered to a publish.

    acked: where the message is
    refused: that it was not stored
    unknown: nothing
    """

    ACKED = "acked"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class Value:
    """A value that was published.

    once: whether it was sent with a message id, and maybe more than once
    expected: the last sequence of the subject that it had to follow, -1 for any
    seq: the sequence in its acknowledgement
    """

    name: str
    stream: str
    subject: str
    body: bytes
    once: bool = False
    expected: int = -1
    outcome: Outcome = Outcome.UNKNOWN
    seq: int = 0
    sends: int = 0
    why: str = ""


class Values:
    """All values of one run."""

    def __init__(self) -> None:
        self.by_name: dict[str, Value] = {}

    def new(self, name: str, stream: str, subject: str, *, once: bool = False, expected: int = -1) -> Value:
        """Add a value that is about to be published; `name` is that of the publisher and its number there."""
        number = int(name.rpartition(".")[2])
        text = name if expected < 0 else f"{name} after {expected}"
        size = LONG_BYTES if number % LONG_EVERY == 0 else number * 37 % 400
        body = f"{text} ".encode() + b"x" * size
        value = Value(name, stream, subject, body, once, expected)
        self.by_name[name] = value
        return value

    def of(self, body: bytes) -> Value | None:
        """Return the value with exactly this body, None if there is none."""
        found = NAME.match(body)
        value = self.by_name.get(found[0].decode()) if found else None
        return value if value is not None and value.body == body else None

    def acked(self, stream: str) -> Iterator[Value]:
        """Return the values that a stream must hold."""
        return (v for v in list(self.by_name.values()) if v.stream == stream and v.outcome is Outcome.ACKED)

    def count(self, outcome: Outcome | None = None) -> int:
        """Return how many values have an outcome, or how many there are."""
        return sum(1 for v in list(self.by_name.values()) if outcome is None or v.outcome is outcome)
