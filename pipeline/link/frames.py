"""What servers send, parsed a whole read at a time into columns.

Promises: no object per message but the byte strings asked for; every message before a fault is given; a frame
that is not whole is left to the next read. Never looks into subjects or payloads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from .errors import LinkError

LONGEST_LINE = 64 * 1024  # bytes; INFO of a large cluster is the longest line there is


class Message(NamedTuple):
    """One message. `header` is its whole header block, b"" without headers."""

    subject: str
    reply: str
    header: bytes
    payload: bytes

    @property
    def status(self) -> int:
        """The status on the header's first line, e.g. 503; 0 without one."""
        found = self.header[8:12]
        return int(found[1:]) if found[:1] == b" " and found[1:].isdigit() else 0


@dataclass(slots=True)
class Frames:
    """Messages as columns of equal length, in the order in which they came."""

    subjects: list[bytes] = field(default_factory=list)
    sids: list[bytes] = field(default_factory=list)
    replies: list[bytes] = field(default_factory=list)
    headers: list[bytes] = field(default_factory=list)
    payloads: list[bytes] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.payloads)

    def message(self, row: int) -> Message:
        """One row as a message."""
        subject, reply = self.subjects[row], self.replies[row]
        return Message(
            subject.decode("utf-8", "replace"),
            reply.decode("utf-8", "replace"),
            self.headers[row],
            self.payloads[row],
        )

    def since(self, row: int) -> Frames:
        """The rows from `row` on; this object itself when that is all."""
        if not row:
            return self
        return Frames(
            self.subjects[row:], self.sids[row:], self.replies[row:], self.headers[row:], self.payloads[row:]
        )

    def drop(self, row: int) -> None:
        """Take one row out."""
        for column in (self.subjects, self.sids, self.replies, self.headers, self.payloads):
            del column[row]


def parse(data: bytes, frames: Frames, control: list[bytes]) -> tuple[int, int]:
    """Append the whole messages of `data` to `frames` and other whole lines to `control`.

    Gives where the first frame that is not whole starts, and how many bytes from there it needs (0: unknown).
    Raises LinkError for what no server sends.
    """
    find = data.find
    subjects, sids, replies = frames.subjects.append, frames.sids.append, frames.replies.append
    headers, payloads = frames.headers.append, frames.payloads.append
    pos, end = 0, len(data)
    while True:
        line_end = find(b"\r\n", pos)
        if line_end < 0:
            if end - pos > LONGEST_LINE:
                raise LinkError("the server sent a line without end: is this a NATS server?")
            return pos, 0
        parts = data[pos:line_end].split(b" ")
        verb = parts[0]
        if verb == b"MSG":
            size, head = int(parts[-1]), 0
            arguments = len(parts) - 2
        elif verb == b"HMSG":
            size, head = int(parts[-1]), int(parts[-2])
            arguments = len(parts) - 3
        else:
            control.append(data[pos:line_end])
            pos = line_end + 2
            continue
        body = line_end + 2
        stop = body + size
        if stop + 2 > end:
            return pos, stop + 2 - pos
        subjects(parts[1])
        sids(parts[2])
        replies(parts[3] if arguments == 3 else b"")
        headers(data[body : body + head])
        payloads(data[body + head : stop])
        pos = stop + 2
