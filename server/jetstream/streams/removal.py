"""MessageRemoval: what a stream lets go of in slices, since it may be much.

Promises: what is removed was there when it began, and goes oldest first, so that the stream is at each moment
as after a smaller removal; a publish meanwhile is kept; consumers and limits are told of each slice; the
requester is answered when all of it is noted on the disk. A stream that stops ends its removals.
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
        """Those who are told of what is removed."""

    def send_each(self, messages: list[Answer]) -> None:
        """Publish answers."""

    def store_failed(self, error: Exception) -> None:
        """Something could not be done, although it was valid."""

    def log_failure(self, text: str) -> None:
        """Log that something is wrong with the stream."""


class MessageRemoval:
    """The removals of one stream. under_way: how many there are."""

    __slots__ = ("_contents", "_events", "_sweep_again", "_sweeps", "_turns", "under_way")

    def __init__(self, contents: StreamContents, turns: Shared, events: RemovalEvents) -> None:
        self._contents = contents
        self._turns = turns
        self._events = events
        self._sweeps = self._sweep_again = False
        self.under_way = 0

    def begin(self, steps: Steps[int], done: Callable[[int | Exception], object] | None = None) -> None:
        """Do the steps in slices; `done` gets the number that they come to, or why they did not."""
        self.under_way += 1

        def over(outcome: int | Exception) -> None:
            self.under_way -= 1
            if done is not None:
                done(outcome)
            elif isinstance(outcome, Exception) and not self._events.stopped:
                self._events.log_failure(f"could not remove messages: {type(outcome).__name__}: {outcome}")

        Slices(self._turns, self._while_served(steps), over, over)

    def _while_served(self, steps: Steps[int]) -> Steps[int]:
        """A stream that stopped may have given its store to another one."""
        while not self._events.stopped:
            try:
                next(steps)
            except StopIteration as end:
                return int(end.value)
            yield
        steps.close()
        raise StoreClosed(self._contents.name)

    def release(self, remains: list[Heap]) -> None:
        """Give memory back in slices, also of a stream that has ended."""
        Slices(
            self._turns,
            releasing(remains),
            lambda _: None,
            lambda error: self._events.log_failure(str(error)),
        )

    def sweeping(self) -> Steps[int]:
        """Let go of what nobody wants; one sweep at a time, and once more for who asks meanwhile."""
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
        """Remove what is before `sequence`, of this subject if one is given; see `Stream.roll_up`."""
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
        """Purge; see `StreamStore.purging`."""
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
