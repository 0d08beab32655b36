"""AppliedAckQueue: answers the publishers of a replicated stream once a quorum has their entry and it is
applied.

It promises the same order of answers as a commit to the server's own disk. A follower answers nobody:
messages are sent through the stream's output, and only that of the leader publishes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....store.stream import StreamStore
    from ...task_executor import Done, TaskExecutor
    from ..streams.commit import Answer
    from ..streams.output import StreamOutput


class AppliedAckQueue:
    """An `AckQueue` whose messages are safe once stored, since a quorum has them in its log."""

    def __init__(
        self,
        executor: TaskExecutor,
        store: StreamStore,
        output: StreamOutput,
        committed: Callable[[int], None],
    ) -> None:
        """committed: is called with the sequence up to which messages are safe."""
        self._executor = executor
        self._store = store
        self._send = output.send
        self._answer = output.send_each
        self._committed = committed
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
        self._committed(self._store.last_seq)
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
