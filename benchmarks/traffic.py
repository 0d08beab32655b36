"""Traffic as applications make it: many subjects in random order, bodies of many sizes, a reply for each.

The bytes are made before the clock starts, from a seed, so that both servers read the same. Promises: no two
messages in a row have the same subject or size, and no reply or message id comes twice.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SMALLEST, LARGEST = 40, 1500  # bytes of a body
_ID_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_REGIONS = ("eu", "us", "ap", "sa", "af")
_EVENTS = ("created", "paid", "packed", "shipped", "returned", "cancelled", "viewed", "priced")
_TEXT = b"The quick brown fox jumps over the lazy dog; pack my box with five dozen liquor jugs. "


@dataclass(frozen=True, slots=True)
class Frame:
    """One publish.

    subject, reply: as they stand in the frame; the reply is b"" for none.
    header, body: their bytes.
    """

    subject: bytes
    reply: bytes
    header: bytes
    body: bytes

    @property
    def bytes(self) -> bytes:
        """The frame as a client sends it."""
        reply = self.reply + b" " if self.reply else b""
        if not self.header:
            return b"PUB %b %b%d\r\n%b\r\n" % (self.subject, reply, len(self.body), self.body)
        whole = len(self.header) + len(self.body)
        return b"HPUB %b %b%d %d\r\n%b%b\r\n" % (
            self.subject,
            reply,
            len(self.header),
            whole,
            self.header,
            self.body,
        )

    def delivered(self, sid: bytes) -> int:
        """Return how many bytes a subscriber with this sid receives for it."""
        extra = 1 + len(sid)  # the verb has as many bytes as PUB, or HPUB
        return len(self.bytes) + extra


def identifier(draw: random.Random, length: int = 22) -> str:
    """Return letters and digits as a NUID has them."""
    return "".join(draw.choices(_ID_LETTERS, k=length))


def subjects(count: int, prefix: str, seed: int = 1) -> list[str]:
    """Return different subjects of four tokens: prefix, region, entity, event."""
    draw = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        entity = f"c{draw.randrange(count * 4):05d}"
        found[f"{prefix}.{draw.choice(_REGIONS)}.{entity}.{draw.choice(_EVENTS)}"] = None
    return list(found)


def bodies(draw: random.Random, smallest: int = SMALLEST, largest: int = LARGEST) -> Iterator[bytes]:
    """Iterate over bodies without end: more small ones than large, no two in a row of the same size."""
    text = _TEXT * (largest // len(_TEXT) + 2)
    last = 0
    while True:
        size = int(smallest * (largest / smallest) ** draw.random())
        size = size if size != last else (size + 1 if size < largest else size - 1)
        last = size
        start = draw.randrange(len(_TEXT))
        yield text[start : start + size]


def frames(
    names: Sequence[str],
    count: int,
    *,
    inbox: str = "",
    headed: float = 0.0,
    smallest: int = SMALLEST,
    largest: int = LARGEST,
    seed: int = 2,
) -> list[Frame]:
    """Return `count` publishes to `names` in random order, no subject twice in a row.

    inbox: the prefix of the replies, each of which gets a token of its own; "" for no replies.
    headed: the part of the messages, from 0 to 1, that have a `Nats-Msg-Id`.
    """
    draw = random.Random(seed)
    made: list[Frame] = []
    sizes = bodies(draw, smallest, largest)
    last = -1
    for number in range(count):
        at = draw.randrange(len(names))
        if at == last and len(names) > 1:
            at = (at + 1) % len(names)
        last = at
        reply = f"{inbox}.{identifier(draw, 6)}{number:X}" if inbox else ""
        header = b""
        if draw.random() < headed:
            header = f"NATS/1.0\r\nNats-Msg-Id: {identifier(draw)}{number:X}\r\n\r\n".encode()
        made.append(Frame(names[at].encode(), reply.encode(), header, next(sizes)))
    return made


def chunks(made: Sequence[Frame], size: int = 1 << 16) -> list[bytes]:
    """Return the frames joined into pieces of about `size` bytes, as a client that buffers sends them."""
    pieces: list[bytes] = []
    piece: list[bytes] = []
    room = size
    for frame in made:
        data = frame.bytes
        piece.append(data)
        room -= len(data)
        if room <= 0:
            pieces.append(b"".join(piece))
            piece, room = [], size
    return [*pieces, b"".join(piece)] if piece else pieces
