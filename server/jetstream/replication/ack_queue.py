"""Who tells publishers of a replicated stream's messages: once the entry is applied, as a quorum has it.

Promises the same order as a commit to one's own disk. On a follower nobody is told anything: what is to be
sent goes through the stream, which only lets a leader speak.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..streams.commit import Answer, Done, Send, TaskExecutor


class AppliedAckQueue:
    """A `Settler` whose messages are safe as soon as they are stored."""

    def __init__(
        self,
        runner: TaskExecutor,
        send: Send,
        answer: Callable[[list[Answer]], object],
        settled: Callable[[], None],
    ) -> None:
        self._runner = runner
        self._send = send
        self._answer = answer
        self._settled = settled
        self._waiting: list[Done] = []
        self.answers: list[Answer] = []
        self.republish: list[tuple[str, bytes, bytes]] = []
        self.idle = False  # never to be woken: whoever applies an entry settles
        self.error: BaseException | None = None

    def wake(self) -> None:
        """Do nothing: the end of the entry comes anyway."""

    def after(self, done: Done) -> None:
        """Call `done` soon: what is stored is safe already."""
        self._waiting.append(done)
        self._runner.soon(self.settle)

    def settle(self) -> None:
        """Tell of everything that was stored."""
        answers, self.answers = self.answers, []
        republish, self.republish = self.republish, []
        waiting, self._waiting = self._waiting, []
        for subject, header, body in republish:
            self._send(subject, header, body)
        if answers:
            self._answer(answers)
        self._settled()
        for done in waiting:
            done(self.error)

    def close(self) -> None:
        """Tell those who wait."""
        self.answer()

    def halt(self) -> None:
        """Do nothing: nothing is under way here."""

    def write_out(self) -> None:
        """Do nothing: what is stored is safe already."""

    def answer(self) -> None:
        """Tell those who wait."""
        waiting, self._waiting = self._waiting, []
        for done in waiting:
            done(self.error)
