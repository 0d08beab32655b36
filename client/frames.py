"""The protocol as servers send it, parsed a whole read at a time into columns.

Promises: a message costs two byte strings and no object of its own; every message before a violation of the
protocol is returned; a frame that is not whole is left to the next read. The parser never looks into subjects
or payloads.
"""

from __future__ import annotations

from typing import NamedTuple

from .errors import ClientError

LONGEST_LINE = 64 * 1024  # bytes; INFO of a large cluster is the longest line there is
_M, _H = b"MH"


class Message(NamedTuple):
    """One message, which came on the subscription `sid`.

    header: its whole header block, b"" if it has none.
    """

    subject: str
    reply: str
    header: bytes
    payload: bytes
    sid: str = ""

    @property
    def status(self) -> int:
        """The status on the header's first line, for example 503; 0 if there is none."""
        found = self.header[8:12]
        return int(found[1:]) if found[:1] == b" " and found[1:].isdigit() else 0


class Frames:
    """Messages as columns of equal length, in the order in which they arrived.

    heads: `subject sid[ reply]` of each message's line
    headers: the header blocks by row, for the messages that have one
    payloads: the payload of each message
    size: the bytes that the messages took on the wire
    """

    __slots__ = ("headers", "heads", "payloads", "size")

    def __init__(self) -> None:
        self.size = 0
        self.heads: list[bytes] = []
        self.headers: dict[int, bytes] = {}
        self.payloads: list[bytes] = []

    def __len__(self) -> int:
        return len(self.payloads)

    def message(self, row: int) -> Message:
        """Return one row as a message."""
        subject, _, rest = self.heads[row].decode("utf-8", "replace").partition(" ")
        sid, _, reply = rest.partition(" ")
        return Message(subject, reply, self.headers.get(row, b""), self.payloads[row], sid)

    def encode(self) -> bytes:
        """Return the messages as a server sends them."""
        frames = []
        for row, (head, payload) in enumerate(zip(self.heads, self.payloads, strict=True)):
            block = self.headers.get(row)
            size = len(payload) + len(block or b"")
            if block is None:
                frames.append(b"MSG %b %d\r\n%b\r\n" % (head, size, payload))
            else:
                frames.append(b"HMSG %b %d %d\r\n%b%b\r\n" % (head, len(block), size, block, payload))
        return b"".join(frames)

    def extend(self, more: Frames) -> None:
        """Append the rows of `other`."""
        count = len(self)
        self.heads += more.heads
        self.payloads += more.payloads
        self.headers.update({count + row: block for row, block in more.headers.items()})
        self.size += more.size

    def since(self, row: int) -> Frames:
        """Return the rows from `row` on; this object itself when these are all."""
        if not row:
            return self
        rest = Frames()
        rest.heads = self.heads[row:]
        rest.payloads = self.payloads[row:]
        rest.headers = {at - row: block for at, block in self.headers.items() if at >= row}
        rest.size = self.size
        return rest

    def drop(self, row: int) -> None:
        """Remove one row."""
        del self.heads[row], self.payloads[row]
        self.headers.pop(row, None)
        self.headers = {at - (at > row): block for at, block in self.headers.items()}


class Skimmed(NamedTuple):
    """What `skim` found: the whole messages, the bytes in them, where the rest starts, what it needs."""

    messages: int
    size: int
    end: int
    needed: int  # bytes from `end` until the next frame is whole; 0 if unknown


def skim(data: bytes, control: list[bytes]) -> Skimmed:
    """Count the whole messages of `data`, and append its other whole lines to `control`.

    Messages whose line is equal to the one before cost one comparison. Raises ClientError for input that no
    server sends.
    """
    find, starts, end = data.find, data.startswith, len(data)
    pos = messages = size = 0
    line, body, step = b"", 0, 0  # of the message before
    try:
        while True:
            if line and starts(line, pos):
                if pos + step > end:
                    return Skimmed(messages, size, pos, step)
                pos += step
                messages += 1
                size += body
                continue
            line_end = find(b"\r\n", pos)
            if line_end < 0:
                break
            if data[pos] in (_M, _H):
                body = int(data[data.rfind(b" ", pos, line_end) : line_end])
                if body < 0:
                    raise ValueError(body)
                line = data[pos : line_end + 2]
                step = len(line) + body + 2
            else:
                control.append(data[pos:line_end])
                pos = line_end + 2
    except ValueError:
        raise ClientError("the server sent what no NATS server sends") from None
    if end - pos > LONGEST_LINE:
        raise ClientError("the server sent a line without end: is this a NATS server?")
    return Skimmed(messages, size, pos, 0)


def parse(data: bytes, frames: Frames, control: list[bytes]) -> tuple[int, int]:
    """Append the whole messages of `data` to `frames` and its other whole lines to `control`.

    Returns where the first frame that is not whole starts, and how many bytes it needs from there (0:
    unknown). Raises ClientError for input that no server sends.
    """
    find, rfind, end = data.find, data.rfind, len(data)
    add_head, add_payload = frames.heads.append, frames.payloads.append
    pos = 0
    frames.size += end
    try:
        while (line_end := find(b"\r\n", pos)) >= 0:
            verb = data[pos]
            if verb == _M:
                size_at = rfind(b" ", pos, line_end)
                body = line_end + 2
                stop = body + int(data[size_at:line_end])
                if stop < body:
                    raise ValueError(stop)
                if stop + 2 > end:
                    return pos, stop + 2 - pos
                add_head(data[pos + 4 : size_at])
                add_payload(data[body:stop])
                pos = stop + 2
            elif verb == _H:
                size_at = rfind(b" ", pos, line_end)
                head_at = rfind(b" ", pos, size_at)
                body = line_end + 2
                stop = body + int(data[size_at:line_end])
                start = body + int(data[head_at:size_at])
                if not body <= start <= stop:
                    raise ValueError(start)
                if stop + 2 > end:
                    return pos, stop + 2 - pos
                frames.headers[len(frames.payloads)] = data[body:start]
                add_head(data[pos + 5 : head_at])
                add_payload(data[start:stop])
                pos = stop + 2
            else:
                control.append(data[pos:line_end])
                pos = line_end + 2
    except ValueError:
        raise ClientError("the server sent what no NATS server sends") from None
    if end - pos > LONGEST_LINE:
        raise ClientError("the server sent a line without end: is this a NATS server?")
    return pos, 0


def first_frame(data: bytearray, start: int, end: int) -> int:
    """Return where the message, or the other line, that begins at `start` ends; 0 if it is not whole.

    Raises ClientError for input that no server sends.
    """
    line_end = data.find(b"\r\n", start, min(end, start + LONGEST_LINE))
    if line_end < 0:
        if end - start > LONGEST_LINE:
            raise ClientError("the server sent a line without end: is this a NATS server?")
        return 0
    stop = line_end + 2
    if data[start] in (_M, _H):
        try:
            size = int(data[data.rfind(b" ", start, line_end) : line_end])
        except ValueError:
            size = -1
        if size < 0:
            raise ClientError("the server sent what no NATS server sends")
        stop += size + 2
    return stop if stop <= end else 0
