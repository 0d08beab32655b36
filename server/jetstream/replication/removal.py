"""EntryRemoval: removes what an entry of the log removes, before the next entry or the next publish of its
run.

Promises: what is removed, and in which order, is the same on every replica, wherever the steps pause. Nothing
is removed except as part of an entry: a request to the leader is proposed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ....protocol.errors import ApiError, api_error
from ....protocol.subject import is_literal
from ....store.errors import StoreError
from ...slices import Slices, at_once
from ..streams.removal import MessageRemoval
from . import entry as entries
from .proposals import PurgeProposals

if TYPE_CHECKING:
    from ...slices import Steps, TurnScheduler
    from ..streams.commit import Answer
    from ..streams.contents import StreamContents
    from ..streams.output import StreamOutput
    from ..streams.removal import RemovalOutcome
    from ..streams.stream_consumers import PurgeObserver, RetainingConsumer
    from .entry import Order, Outcome
    from .log_time import LogTime

AT_ONCE = 512  # messages that a rollup may remove without a pause


class EntryRemoval(MessageRemoval):
    """The removals of one replica: `begin` notes them, and applying the entry runs them in `finishing`."""

    __slots__ = ("_due", "_order", "_time")

    def __init__(
        self,
        contents: StreamContents,
        turns: TurnScheduler,
        output: StreamOutput,
        consumers: Mapping[str, PurgeObserver],
        removed: Callable[[int, str], None],
        time: LogTime,
        order: Order,
    ) -> None:
        """time: of the stream's log. order: has an entry agreed on."""
        super().__init__(contents, turns, output, consumers, removed)
        self._time = time
        self._order = order
        self._due: deque[tuple[Steps[int], Callable[[int | Exception], object] | None]] = deque()

    def begin(self, steps: Steps[int], done: Callable[[int | Exception], object] | None = None) -> None:
        """Have the steps done with this entry; `done` gets the number that they return, or their error."""
        self._due.append((steps, done))

    def roll_up(self, rollups: list[tuple[str, int]]) -> list[Answer] | None:
        """Roll up as `MessageRemoval` does, but at once if at most AT_ONCE messages can go.

        Which way is taken depends only on what is stored, so that all replicas take the same one.
        """
        if sum(self._most(subject) for subject, _ in rollups) > AT_ONCE:
            return super().roll_up(rollups)
        at_once(self._rolling_up(rollups))
        return None

    def _most(self, subject: str) -> int:
        """Return how many messages a rollup of the subject can remove; "" for the whole stream."""
        store = self._contents.store
        return store.subject_count(subject) if subject and is_literal(subject) else store.messages

    def finishing(self) -> Steps[None]:
        """Run everything that is due. Raises StoreError, OSError: this replica would be different."""
        while self._due:
            steps, done = self._due.popleft()
            outcome: int | Exception
            try:
                outcome = yield from steps
            except (StoreError, OSError):
                raise
            except Exception as error:  # such an error is the same on all replicas
                outcome = error
            if done is not None:
                done(outcome)
            elif isinstance(outcome, Exception):
                self._output.store_failed(outcome)

    # --- of consumers

    def remove_acked(self, sequence: int, consumer: RetainingConsumer) -> None:
        """Do nothing yet: the message is removed when the replicas agree that it is acknowledged."""

    def remove_all_acked(self, sequences: list[int], consumer: RetainingConsumer) -> None:
        """Do nothing yet, as `remove_acked`."""

    def consumer_changed(self) -> None:
        """Do nothing yet: the entries `AddConsumer` and `RemoveConsumer` sweep."""

    # --- on request, of the leader

    def start_purge(
        self, done: Callable[[RemovalOutcome], None], *, subject: str = "", up_to: int = 0, keep: int = 0
    ) -> None:
        """Propose a purge, in several entries if it is large."""
        store = self._contents.store
        wanted = entries.Purge(0, subject, up_to, keep)
        proposals = PurgeProposals(store, self._time, self._order, done, wanted)

        def prepared() -> Steps[None]:
            yield from store.preparing((subject,) if subject else ())

        Slices(self._turns, prepared(), lambda _: proposals.propose(), done)

    def start_delete(self, done: Callable[[RemovalOutcome], None], sequence: int, *, erase: bool) -> None:
        """Propose to remove a message; `done` gets JSClusterNotAvailErr when the outcome is unknown."""

        def finished(outcome: Outcome | Exception) -> None:
            done(outcome if isinstance(outcome, int | ApiError) else api_error("JSClusterNotAvailErr"))

        self._order(entries.DeleteMsg(self._time.next(), sequence, erase), finished)
