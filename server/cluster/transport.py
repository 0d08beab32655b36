"""How the groups of a server reach those of others: messages over the system account.

`$NRG.<node>` is heard by one server, `$NRG.HELLO` by all. All messages for one node of one turn of the loop
go out together; what can wait goes with the next ones, within HOLD ticks. What is larger than a piece may be
is cut, and put together by the other side. Nothing is promised of delivery: Raft and hellos say again what
got lost.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ...raft.codec import CodecError, decode, encode
from .announce import Announce, AnnounceError, node_of

if TYPE_CHECKING:
    from ...raft import RaftMessage
    from .task_executor import TaskExecutor
    from .ticker import Ticker

PREFIX = "$NRG."
HELLO = PREFIX + "HELLO"
PIECE_BYTES = 256 * 1024  # far below what a route takes at once
HOLD = 2  # ticks; groups whose leaders beat as often do so in the same ones
_FRAMES, _PIECE, _HELLO, _LETTER = 0, 1, 2, 3
_LENGTH = struct.Struct("<I")
_CUT = struct.Struct("<8sQII")  # sender, number, place, how many pieces

_ADDRESS = struct.Struct("<8sH")  # sender, length of the group's name

Receive = Callable[["RaftMessage"], None]
Read = Callable[[str, bytes], None]  # the sender's node, what it writes


class PubSub(Protocol):
    """What carries the messages: the system account."""

    def subscribe(self, subject: str, callback: Callable[[Any], None]) -> Any:
        """Hear a subject."""

    def unsubscribe(self, subscription: Any) -> None:
        """Hear it no more."""

    def publish(self, subject: str, body: bytes) -> int:
        """Send."""


class RaftTransport:
    """One per server. It hears and sends nothing before `start`."""

    def __init__(
        self,
        node: str,
        carrier: PubSub,
        runner: TaskExecutor,
        pacemaker: Ticker,
        *,
        piece_bytes: int = PIECE_BYTES,
    ) -> None:
        self.node = node
        self._carrier = carrier
        self._runner = runner
        self._pacemaker = pacemaker
        self._piece_bytes = piece_bytes
        self._boxes: dict[str, Receive] = {}
        self._ears: dict[str, Callable[[Announce], None]] = {}
        self._readers: dict[str, Read] = {}
        self._waiting: dict[str, list[bytes]] = {}  # frames by node
        self._held: dict[str, list[bytes]] = {}  # those that go before them, if there are any
        self._number = 0
        self._arriving: dict[bytes, tuple[int, list[bytes]]] = {}
        self._subscriptions: list[Any] = []
        pacemaker.add_last(self._beat)

    def start(self) -> None:
        """Hear what is sent to this server."""
        for subject in (PREFIX + self.node, HELLO):
            self._subscriptions.append(self._carrier.subscribe(subject, self._heard))

    def stop(self) -> None:
        """Hear and send nothing more; harmless when done twice."""
        for subscription in self._subscriptions:
            self._carrier.unsubscribe(subscription)
        self._subscriptions = []
        self._waiting.clear()
        self._held.clear()
        self._arriving.clear()

    def open(self, group: str, receive: Receive) -> None:
        """Take the Raft messages of `group`."""
        self._boxes[group] = receive

    def close(self, group: str) -> None:
        """Drop them; harmless when done twice."""
        self._boxes.pop(group, None)

    def listen(self, group: str, hear: Callable[[Announce], None]) -> None:
        """Take the hellos of `group`."""
        self._ears[group] = hear

    def ignore(self, group: str) -> None:
        """Drop them; harmless when done twice."""
        self._ears.pop(group, None)

    def correspond(self, group: str, read: Read) -> None:
        """Take the letters to `group`, which are its application's own matter."""
        self._readers[group] = read

    def end_correspondence(self, group: str) -> None:
        """Drop them; harmless when done twice."""
        self._readers.pop(group, None)

    # --- out

    def send(self, group: str, message: RaftMessage, *, waits: bool = False) -> None:
        """Send a Raft message at the end of this turn. waits: with the next one that goes there, if soon."""
        if not self._subscriptions:
            return
        node, frame = node_of(message.to), encode(group, message)
        if waits:
            self._held.setdefault(node, []).append(frame)
        else:
            self._add(node, frame)

    def _add(self, node: str, *frames: bytes) -> None:
        if not self._waiting:
            self._runner.soon(self._flush)
        self._waiting.setdefault(node, []).extend(frames)

    def _beat(self) -> None:
        """What was held goes, with what this tick brings about."""
        if self._pacemaker.count % HOLD:
            return
        held, self._held = self._held, {}
        for node, frames in held.items():
            self._add(node, *frames)

    def greet(self, hello: Announce, node: str = "") -> None:
        """Say hello to one server, or to all."""
        if self._subscriptions:
            self._carrier.publish(PREFIX + node if node else HELLO, bytes([_HELLO]) + hello.encode())

    def write(self, group: str, node: str, letter: bytes) -> None:
        """Send a letter to the same group on another server."""
        if self._subscriptions:
            name = group.encode()
            head = bytes([_LETTER]) + _ADDRESS.pack(self.node.encode(), len(name))
            self._dispatch(node, head + name + letter)

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for node, news in waiting.items():
            frames = self._held.pop(node, []) + news
            batch: list[bytes] = []
            size = 0
            for frame in frames:
                if size and size + len(frame) > self._piece_bytes:
                    self._post(node, batch)
                    batch, size = [], 0
                batch += [_LENGTH.pack(len(frame)), frame]
                size += len(frame) + _LENGTH.size
            self._post(node, batch)

    def _post(self, node: str, batch: list[bytes]) -> None:
        self._dispatch(node, b"".join([bytes([_FRAMES]), *batch]))

    def _dispatch(self, node: str, body: bytes) -> None:
        publish, subject, most = self._carrier.publish, PREFIX + node, self._piece_bytes
        if len(body) <= most + _LENGTH.size + 1:
            publish(subject, body)
            return
        self._number += 1
        sender = self.node.encode()
        count = -(-len(body) // most)
        for place in range(count):
            cut = _CUT.pack(sender, self._number, place, count)
            publish(subject, bytes([_PIECE]) + cut + body[place * most : (place + 1) * most])

    # --- in

    def _heard(self, message: Any) -> None:
        """Take a message apart; what makes no sense is dropped, a peer's mistake must not end a route."""
        body = bytes(message.body)
        try:
            self._take(body)
        except (CodecError, AnnounceError, struct.error, IndexError):
            return

    def _take(self, body: bytes) -> None:
        kind = body[0]
        if kind == _FRAMES:
            self._frames(body)
        elif kind == _PIECE:
            self._piece(body)
        elif kind == _HELLO:
            hello = Announce.decode(body[1:])
            hear = self._ears.get(hello.group)
            if hear is not None:
                hear(hello)
        elif kind == _LETTER:
            self._letter(body)

    def _letter(self, body: bytes) -> None:
        sender, length = _ADDRESS.unpack_from(body, 1)
        at = 1 + _ADDRESS.size
        read = self._readers.get(body[at : at + length].decode("utf-8", "replace"))
        if read is not None:
            read(sender.decode("ascii", "replace"), body[at + length :])

    def _frames(self, body: bytes) -> None:
        at, end = 1, len(body)
        while at < end:
            (length,) = _LENGTH.unpack_from(body, at)
            at += _LENGTH.size
            group, message = decode(body[at : at + length])
            at += length
            receive = self._boxes.get(group)
            if receive is not None:
                receive(message)

    def _piece(self, body: bytes) -> None:
        sender, number, place, count = _CUT.unpack_from(body, 1)
        data = body[1 + _CUT.size :]
        if place == 0:
            self._arriving[sender] = (number, [data])
        else:
            known, pieces = self._arriving.get(sender, (0, []))
            if known != number or len(pieces) != place:
                self._arriving.pop(sender, None)
                return
            pieces.append(data)
        if place + 1 == count:
            self._take(b"".join(self._arriving.pop(sender)[1]))
