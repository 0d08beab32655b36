"""RaftTransport: how the Raft groups of a server reach those of others, by messages in the system account.

Each server subscribes to `$NRG.<node>`, its own subject, and to `$NRG.HELLO`, which reaches all servers.
Besides Raft messages, the transport carries announcements and the messages of a group's application.

All Raft messages of one turn of the loop for one node are sent together. Messages that can wait are sent with
the next ones, within DELAY ticks. A message that is larger than a piece is cut into pieces, which the
receiver puts together again. Delivery is not guaranteed: Raft and announcements repeat what was lost.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ...raft.codec import CodecError, decode, encode
from .announce import Announce, AnnounceError, node_of
from .read_turn import ReadTurn

if TYPE_CHECKING:
    from ...raft import RaftMessage
    from ..task_executor import TaskExecutor
    from .ticker import Ticker

PREFIX = "$NRG."
ANNOUNCE = PREFIX + "HELLO"
PIECE_BYTES = 256 * 1024  # far below the maximum of a route
DELAY = 2  # ticks; groups whose leaders send heartbeats at this interval do so in the same ticks
_FRAMES, _PIECE, _ANNOUNCE, _APPLICATION = 0, 1, 2, 3  # the first byte: what the message holds
_LENGTH = struct.Struct("<I")
_CUT = struct.Struct("<8sQII")  # sender, number, which piece, how many pieces

_ADDRESS = struct.Struct("<8sH")  # sender, length of the group's name

OnRaftMessage = Callable[["RaftMessage"], None]
OnApplicationMessage = Callable[[str, bytes], None]  # called with the sender's node and the message


class PubSub(Protocol):
    """What carries the messages: the system account."""

    def subscribe(self, subject: str, callback: Callable[[Any], None]) -> Any:
        """Subscribe to a subject and return the subscription."""

    def unsubscribe(self, subscription: Any) -> None:
        """End the subscription."""

    def publish(self, subject: str, body: bytes) -> int:
        """Publish a message."""


class RaftTransport:
    """The transport of one server. Before `start` it neither subscribes nor sends."""

    def __init__(
        self,
        node: str,
        pubsub: PubSub,
        executor: TaskExecutor,
        ticker: Ticker,
        *,
        turn: ReadTurn | None = None,
        piece_bytes: int = PIECE_BYTES,
    ) -> None:
        self.node = node
        self.turn = turn or ReadTurn(executor)
        self._pubsub = pubsub
        self._ticker = ticker
        self._piece_bytes = piece_bytes
        self._on_raft_message: dict[str, OnRaftMessage] = {}
        self._on_announce: dict[str, Callable[[Announce], None]] = {}
        self._on_application_message: dict[str, OnApplicationMessage] = {}
        self._waiting: dict[str, list[bytes]] = {}  # frames by node
        self._delayed: dict[str, list[bytes]] = {}  # frames that can wait, sent before those in `_waiting`
        self._number = 0
        self._arriving: dict[bytes, tuple[int, list[bytes]]] = {}
        self._subscriptions: list[Any] = []
        ticker.add_last(self._beat)

    def start(self) -> None:
        """Subscribe to what is sent to this server."""
        for subject in (PREFIX + self.node, ANNOUNCE):
            self._subscriptions.append(self._pubsub.subscribe(subject, self._receive))

    def stop(self) -> None:
        """Unsubscribe and send nothing more. Calling it twice is harmless."""
        for subscription in self._subscriptions:
            self._pubsub.unsubscribe(subscription)
        self._subscriptions = []
        self._waiting.clear()
        self._delayed.clear()
        self._arriving.clear()

    def subscribe_raft(self, group: str, callback: OnRaftMessage) -> None:
        """Receive the Raft messages of `group`."""
        self._on_raft_message[group] = callback

    def unsubscribe_raft(self, group: str) -> None:
        """Stop receiving the Raft messages of `group`. Harmless if they are not received."""
        self._on_raft_message.pop(group, None)

    def subscribe_announcements(self, group: str, callback: Callable[[Announce], None]) -> None:
        """Receive the announcements for `group`."""
        self._on_announce[group] = callback

    def unsubscribe_announcements(self, group: str) -> None:
        """Stop receiving the announcements for `group`. Harmless if they are not received."""
        self._on_announce.pop(group, None)

    def subscribe_application(self, group: str, callback: OnApplicationMessage) -> None:
        """Receive the messages of the application of `group`, which Raft does not read."""
        self._on_application_message[group] = callback

    def unsubscribe_application(self, group: str) -> None:
        """Stop receiving the messages of the application of `group`. Harmless if they are not received."""
        self._on_application_message.pop(group, None)

    # --- out

    def send(self, group: str, message: RaftMessage, *, waits: bool = False) -> None:
        """Send a Raft message at the end of this turn, or if it `waits`, with the next one to that node."""
        if not self._subscriptions:
            return
        node, frame = node_of(message.to), encode(group, message)
        if waits:
            self._delayed.setdefault(node, []).append(frame)
        else:
            self._add(node, frame)

    def _add(self, node: str, *frames: bytes) -> None:
        if not self._waiting:
            self.turn.soon(self.flush)
        self._waiting.setdefault(node, []).extend(frames)

    def _beat(self) -> None:
        """Send the delayed messages, together with those that this tick causes."""
        if self._ticker.count % DELAY:
            return
        delayed, self._delayed = self._delayed, {}
        for node, frames in delayed.items():
            self._add(node, *frames)

    def announce(self, announce: Announce, node: str = "") -> None:
        """Send an announcement to one server, or to all."""
        if self._subscriptions:
            self._pubsub.publish(PREFIX + node if node else ANNOUNCE, bytes([_ANNOUNCE]) + announce.encode())

    def send_application(self, group: str, node: str, message: bytes) -> None:
        """Send a message to the application of the same group on another server."""
        if self._subscriptions:
            name = group.encode()
            head = bytes([_APPLICATION]) + _ADDRESS.pack(self.node.encode(), len(name))
            self._dispatch(node, head + name + message)

    def flush(self) -> None:
        """Send what waits for the end of the turn."""
        waiting, self._waiting = self._waiting, {}
        for node, urgent in waiting.items():
            frames = self._delayed.pop(node, []) + urgent
            batch: list[bytes] = []
            size = 0
            for frame in frames:
                if size and size + len(frame) > self._piece_bytes:
                    self._send_batch(node, batch)
                    batch, size = [], 0
                batch += [_LENGTH.pack(len(frame)), frame]
                size += len(frame) + _LENGTH.size
            self._send_batch(node, batch)

    def _send_batch(self, node: str, batch: list[bytes]) -> None:
        self._dispatch(node, b"".join([bytes([_FRAMES]), *batch]))

    def _dispatch(self, node: str, body: bytes) -> None:
        publish, subject, most = self._pubsub.publish, PREFIX + node, self._piece_bytes
        if len(body) <= most + _LENGTH.size + 1:
            publish(subject, body)
            return
        self._number += 1
        sender = self.node.encode()
        count = -(-len(body) // most)
        for part in range(count):
            cut = _CUT.pack(sender, self._number, part, count)
            publish(subject, bytes([_PIECE]) + cut + body[part * most : (part + 1) * most])

    # --- in

    def _receive(self, message: Any) -> None:
        """Decode a message. Invalid ones are dropped, as a peer's mistake must not end a route."""
        self.turn.received()
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
        elif kind == _ANNOUNCE:
            announce = Announce.decode(body[1:])
            on_announce = self._on_announce.get(announce.group)
            if on_announce is not None:
                on_announce(announce)
        elif kind == _APPLICATION:
            self._application_message(body)

    def _application_message(self, body: bytes) -> None:
        sender, length = _ADDRESS.unpack_from(body, 1)
        at = 1 + _ADDRESS.size
        callback = self._on_application_message.get(body[at : at + length].decode("utf-8", "replace"))
        if callback is not None:
            callback(sender.decode("ascii", "replace"), body[at + length :])

    def _frames(self, body: bytes) -> None:
        at, end = 1, len(body)
        while at < end:
            (length,) = _LENGTH.unpack_from(body, at)
            at += _LENGTH.size
            group, message = decode(body[at : at + length])
            at += length
            callback = self._on_raft_message.get(group)
            if callback is not None:
                callback(message)

    def _piece(self, body: bytes) -> None:
        sender, number, part, count = _CUT.unpack_from(body, 1)
        data = body[1 + _CUT.size :]
        if part == 0:
            self._arriving[sender] = (number, [data])
        else:
            known, pieces = self._arriving.get(sender, (0, []))
            if known != number or len(pieces) != part:
                self._arriving.pop(sender, None)
                return
            pieces.append(data)
        if part + 1 == count:
            self._take(b"".join(self._arriving.pop(sender)[1]))
