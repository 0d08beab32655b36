"""DedupeWindow: the message ids seen within the duplicate window.

Promises:
- An id stays known for `window` ns after its message was stored. After a restart the window is read back from
  the stored messages.
- The cost per message is constant, including that of forgetting it.
- The clock is never read: times are arguments.
"""

from __future__ import annotations

from collections import deque

from ....protocol import headers
from ....store.message import StoredMessage

HEADER = b"Nats-Msg-Id"


class Duplicate(Exception):  # noqa: N818 - an outcome that has an answer, not an error
    """A message with the same id was stored before, as `sequence`."""

    def __init__(self, sequence: int) -> None:
        super().__init__(sequence)
        self.sequence = sequence


class DedupeWindow:
    """A mapping of message ids to sequences that forgets ids when they are older than the window.

    window: ns; 0 or less: nothing is remembered.
    last_id: the id of the message stored last, b"" if it had none.
    sequences: by id. What `native.take_publishes` adds is then passed to `remember_each`.
    """

    __slots__ = ("_order", "last_id", "sequences", "window")

    def __init__(self, window: int) -> None:
        self.window = window
        self.last_id = b""
        self.sequences: dict[bytes, int] = {}
        self._order: deque[tuple[int, bytes, int]] = deque()

    def __len__(self) -> int:
        return len(self.sequences)

    def find(self, identifier: bytes, now: int) -> int:
        """Return the sequence stored under `identifier`, 0 if there is none within the window."""
        self.forget(now)
        return self.sequences.get(identifier, 0)

    def remember(self, identifier: bytes, sequence: int, time: int) -> None:
        """Remember that the message `sequence`, stored at `time` (ns), has the id `identifier`."""
        if self.window <= 0:
            return
        self.sequences[identifier] = sequence
        self._order.append((time, identifier, sequence))

    def remember_each(self, ids: list[tuple[int, bytes, int]]) -> None:
        """Remember (time, id, sequence) of messages whose ids are in `sequences` already."""
        self._order.extend(ids)

    def forget_from(self, sequence: int) -> None:
        """Drop the ids of messages from `sequence` on, which were not stored after all."""
        while self._order and self._order[-1][2] >= sequence:
            _, identifier, last = self._order.pop()
            if self.sequences.get(identifier) == last:
                del self.sequences[identifier]

    def forget(self, now: int) -> None:
        """Drop the ids that are older than the window."""
        oldest, order = now - self.window, self._order
        while order and order[0][0] <= oldest:
            _, identifier, sequence = order.popleft()
            if self.sequences.get(identifier) == sequence:
                del self.sequences[identifier]

    def order(self) -> list[tuple[int, bytes, int]]:
        """Return (time, id, sequence) of everything remembered, oldest first."""
        return list(self._order)

    def resize(self, window: int, now: int) -> None:
        """Change the window. A longer window does not bring back the ids that are already forgotten."""
        self.forget(now)
        self.window = window
        self.forget(now)

    def clear(self) -> None:
        """Forget everything."""
        self.sequences.clear()
        self._order.clear()

    def load(self, message: StoredMessage) -> None:
        """Take in a stored message while the window is read back. Messages must come oldest first."""
        identifier = headers.get(message.header, HEADER) if message.header else None
        self.last_id = identifier or b""
        if identifier:
            self.remember(identifier, message.seq, message.time)
