"""AppliedAckQueue: answers the publishers of a replicated stream once a quorum has their entry and it is
applied.

It promises the same order of answers as a commit to the server's own disk. A follower answers nobody:
messages are sent through the stream, and only the stream of the leader publishes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...task_executor import Done, TaskExecutor
    from ..streams.commit import Answer, Send


class AppliedAckQueue:
    """An `AckQueue` whose messages are safe once stored, since a quorum has them in its log."""

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
        self.idle = False  # nothing needs to wake it: whoever applies an entry calls `flush`
        self.error: BaseException | None = None

    def wake(self) -> None:
        """Do nothing: `flush` is called at the end of the entry anyway."""

    def after(self, done: Done) -> None:
        """Call `done` in the next turn of the loop: what is stored is already safe."""
        self._waiting.append(done)
        self._executor.soon(self.flush)

    def flush(self) -> None:
        """Send the answers to everything that was stored, then call those who wait."""
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
        """Call those who wait, without sending any answers."""
        self.answer()

    def halt(self) -> None:
        """Do nothing: no commit is ever under way here."""

    def write_out(self) -> None:
        """Do nothing: what is stored is already safe."""

    def answer(self) -> None:
        """Call those who wait."""
        waiting, self._waiting = self._waiting, []
        for done in waiting:
            done(self.error)
