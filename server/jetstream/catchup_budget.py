"""CatchupBudget: how many bytes this server has under way to replicas that catch up, over all its streams.

A replica asks for the next piece when the last one is on its disk, so that its question says that the last
answer has arrived. While too much is under way, questions wait, in their order. Promises: one answer is
always allowed. What was sent to a replica that asks no further is forgotten after a while, and so is a
question that waits for longer than its asker does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..clock import SECOND

if TYPE_CHECKING:
    from ..clock import Clock

DEFAULT_BYTES = 64 << 20
PATIENCE = 2 * SECOND  # ns after which a replica asks another server
Asker = tuple[str, str]  # group, node


class CatchupBudget:
    """The answers under way. most: bytes."""

    def __init__(self, clock: Clock, most: int = 0) -> None:
        """0 for the default."""
        self.most = most if most > 0 else DEFAULT_BYTES
        self._clock = clock
        self._sent: dict[Asker, tuple[int, int]] = {}  # time, bytes
        self._waiting: dict[Asker, tuple[int, Callable[[], int]]] = {}  # time, sends the answer

    def asked(self, asker: Asker, send: Callable[[], int]) -> None:
        """Have a question answered, now or when there is room; its asker's last answer has arrived.

        send: sends the answer, and returns its size.
        """
        now = self._clock.now()
        self._sent.pop(asker, None)
        self._waiting.pop(asker, None)
        self._waiting[asker] = (now, send)
        self._sent = {one: sent for one, sent in self._sent.items() if now - sent[0] < PATIENCE}
        self._serve(now)

    def left(self, group: str) -> None:
        """Forget what waits for an answer of a group: this server is no member of it any more."""
        self._waiting = {asker: one for asker, one in self._waiting.items() if asker[0] != group}

    def _serve(self, now: int) -> None:
        under_way = sum(size for _, size in self._sent.values())
        while self._waiting and (not self._sent or under_way < self.most):
            asker = next(iter(self._waiting))
            since, send = self._waiting.pop(asker)
            if now - since < PATIENCE:
                size = send()
                if size:
                    self._sent[asker] = (now, size)
                    under_way += size
