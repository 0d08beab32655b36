"""AppliedAckQueue: answers publishers of a replicated stream once the entry is applied, as a quorum has it.

Promises the same order as a commit to one's own disk. A follower answers nobody: what is to be sent goes
through the stream, and only the leader's stream publishes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...task_executor import Done, TaskExecutor
    from ..streams.commit import Answer, Send


class AppliedAckQueue:
    """An `AckQueue` whose messages are safe as soon as they are stored."""

    def __init__(
        self,
        executor: TaskExecutor,
        send: Send,
        answer: Callable[[list[Answer]], object],
        applied: Callable[[], None],
    ) -> None:
        self._executor = executor
        self._send = send
        self._answer = answer
        self._applied = applied
        self._waiting: list[Done] = []
        self.answers: list[Answer] = []
        self.republish: list[tuple[str, bytes, bytes]] = []
        self.idle = False  # never to be woken: whoever applies an entry calls `flush`
        self.error: BaseException | None = None

    def wake(self) -> None:
        """Do nothing: the end of the entry comes anyway."""

    def after(self, done: Done) -> None:
        """Call `done` soon: what is stored is safe already."""
        self._waiting.append(done)
        self._executor.soon(self.flush)

    def flush(self) -> None:
        """Send the answers to everything that was stored."""
        answers, self.answers = self.answers, []
        republish, self.republish = self.republish, []
        waiting, self._waiting = self._waiting, []
        for subject, header, body in republish:
            self._send(subject, header, body)
        if answers:
            self._answer(answers)
        self._applied()
        for done in waiting:
            done(self.error)

    def close(self) -> None:
        """Call those who wait."""
        self.answer()

    def halt(self) -> None:
        """Do nothing: nothing is under way here."""

    def write_out(self) -> None:
        """Do nothing: what is stored is safe already."""

    def answer(self) -> None:
        """Call those who wait."""
        waiting, self._waiting = self._waiting, []
        for done in waiting:
            done(self.error)
