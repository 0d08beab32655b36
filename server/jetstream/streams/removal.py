"""MessageRemoval: removes messages from a stream in slices, since there may be very many.

Promises:
- Only messages that were there when a removal began are removed, oldest first. So the stream is at each
  moment as if after a smaller removal, and a message published meanwhile stays.
- Consumers and limits are notified of each slice.
- The requester is answered when all of the removal is on disk.
- A stream that stops ends its removals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from ....store.errors import StoreClosed
from ....store.subjects import Heap, releasing
from ...slices import Shared, Slices, Steps, paced
from .ingest import refusal_answer

if TYPE_CHECKING:
    from .commit import Answer
    from .contents import StreamContents
    from .readers import StreamReader


class RemovalEvents(Protocol):
    """What a removal needs of its stream."""

    @property
    def stopped(self) -> bool:
        """Whether the stream has ended."""

    def readers(self) -> Sequence[StreamReader]:
        """Return the consumers to notify of what is removed."""

    def send_each(self, messages: list[Answer]) -> None:
        """Publish answers."""

    def store_failed(self, error: Exception) -> None:
        """Log that something valid could not be done."""

    def log_failure(self, text: str) -> None:
        """Log that something is wrong with the stream."""


class MessageRemoval:
    """The removals of one stream.

    under_way: how many removals are going on.
    """

    __slots__ = ("_contents", "_events", "_sweep_again", "_sweeps", "_turns", "under_way")

    def __init__(self, contents: StreamContents, turns: Shared, events: RemovalEvents) -> None:
        self._contents = contents
        self._turns = turns
        self._events = events
        self._sweeps = self._sweep_again = False
        self.under_way = 0

    def begin(self, steps: Steps[int], done: Callable[[int | Exception], object] | None = None) -> None:
        """Run the steps in slices, and call `done` with the number that they return or the error they raise.

        Without `done` an error is logged.
        """
        self.under_way += 1

        def over(outcome: int | Exception) -> None:
            self.under_way -= 1
            if done is not None:
                done(outcome)
            elif isinstance(outcome, Exception) and not self._events.stopped:
                self._events.log_failure(f"could not remove messages: {type(outcome).__name__}: {outcome}")

        Slices(self._turns, self._while_served(steps), over, over)

    def _while_served(self, steps: Steps[int]) -> Steps[int]:
        """Run the steps while the stream is served: a stopped one may have handed over its store.

        Raises StoreClosed if the stream stops first.
        """
        while not self._events.stopped:
            try:
                next(steps)
            except StopIteration as end:
                return int(end.value)
            yield
        steps.close()
        raise StoreClosed(self._contents.name)

    def release(self, remains: list[Heap]) -> None:
        """Free memory in slices, even that of a stream that has ended."""
        Slices(
            self._turns,
            releasing(remains),
            lambda _: None,
            lambda error: self._events.log_failure(str(error)),
        )

    def sweeping(self) -> Steps[int]:
        """Remove what no consumer wants; return how many messages that were.

        One sweep runs at a time. A request during a sweep makes that one go over the stream once more, and
        returns 0 itself.
        """
        gone, self._sweep_again = 0, True
        if self._sweeps:
            return 0
        self._sweeps = True
        try:
            while self._sweep_again:
                self._sweep_again = False
                gone += yield from self._contents.retention.sweeping()
        finally:
            self._sweeps = False
        return gone

    def roll_up(self, subject: str, sequence: int) -> list[Answer] | None:
        """Remove what is before `sequence`, of `subject` only unless that is ""; see `Stream.roll_up`."""
        contents, steps = self._contents, paced(self.purging(subject=subject, up_to=sequence))
        answers: list[Answer] = []
        under_way = True

        def over(outcome: int | Exception) -> None:
            nonlocal under_way
            under_way = False
            if isinstance(outcome, Exception):
                refused = refusal_answer(contents.name, outcome, self._events.store_failed)
                self._events.send_each([(reply, refused) for reply, _ in answers])
                return
            if answers:
                contents.ack_queue.answers.extend(answers)
                contents.ack_queue.wake()
            if contents.limits.active:
                contents.limits.enforce(subject)

        self.begin(steps, over)
        return answers if under_way else None

    def purging(self, *, subject: str | None = None, up_to: int = 0, keep: int = 0) -> Steps[int]:
        """Purge in steps, notifying consumers and limits of each; see `StreamStore.purging`.

        Returns the number of messages removed.
        """
        contents, store = self._contents, self._contents.store
        if contents.config.sources:
            contents.source_offsets.save()
        steps = store.purging(subject=subject or None, up_to=up_to, keep=keep)
        purged, before = 0, store.messages
        for gone in steps:
            if removed := before - store.messages:
                purged += removed
                if contents.limits.keep:
                    self._keep_no_more(gone)
                for reader in self._events.readers():
                    yield from reader.on_purging(gone)
                contents.update_usage()
                contents.ack_queue.wake()
            yield
            before = store.messages
        for reader in self._events.readers():
            yield from reader.after_purge()
        contents.limits.rearm()
        contents.ack_queue.wake()
        return purged

    def _keep_no_more(self, gone: object) -> None:
        limits, first = self._contents.limits, self._contents.store.first_seq
        if isinstance(gone, list):
            limits.keep.difference_update(gone)
        else:
            limits.keep = {seq for seq in limits.keep if seq >= first}
