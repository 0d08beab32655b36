"""What was published and what became of it: the one account that verdicts are given from.

A value is named `<publisher>.<n>`, never twice; its body begins with that name and can be told in full from
the account, so a changed byte is seen.
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
    """acked: the server said where it is. refused: it said no. unknown: it said nothing."""

    ACKED = "acked"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class Value:
    """once: sent with a message id, and maybe more than once. expected: the subject's last sequence it was
    to follow, -1 for any. seq: where it was said to be.
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
    """All of one run."""

    def __init__(self) -> None:
        self.by_name: dict[str, Value] = {}

    def new(self, name: str, stream: str, subject: str, *, once: bool = False, expected: int = -1) -> Value:
        """A value that is about to be published; `name` says who and which of its values it is."""
        number = int(name.rpartition(".")[2])
        text = name if expected < 0 else f"{name} after {expected}"
        size = LONG_BYTES if number % LONG_EVERY == 0 else number * 37 % 400
        body = f"{text} ".encode() + b"x" * size
        value = Value(name, stream, subject, body, once, expected)
        self.by_name[name] = value
        return value

    def of(self, body: bytes) -> Value | None:
        """The value with exactly this body."""
        found = NAME.match(body)
        value = self.by_name.get(found[0].decode()) if found else None
        return value if value is not None and value.body == body else None

    def acked(self, stream: str) -> Iterator[Value]:
        """What a stream must hold."""
        return (v for v in list(self.by_name.values()) if v.stream == stream and v.outcome is Outcome.ACKED)

    def count(self, outcome: Outcome | None = None) -> int:
        """How many there are of an outcome, or at all."""
        return sum(1 for v in list(self.by_name.values()) if outcome is None or v.outcome is outcome)
