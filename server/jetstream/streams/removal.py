"""MessageRemoval: removes messages from a stream in slices, since there may be very many.

Promises:
- Only messages that were there when a removal began are removed, oldest first. So the stream is at each
  moment as if after a smaller removal, and a message published meanwhile stays.
- Consumers and limits are notified of each slice.
- The requester is answered when all of the removal is on disk.
- A stream that stops ends its removals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from ....store.errors import NotFound, StoreClosed
from ....store.subjects import Heap, releasing
from ...slices import Slices, Steps, TurnScheduler, at_once, paced
from .ingest import refusal_answer

if TYPE_CHECKING:
    from .commit import Answer
    from .contents import StreamContents
    from .output import StreamOutput
    from .stream_consumers import PurgeObserver, RetainingConsumer


# The outcome of a request: a number (0 or False: nothing was done), or the error.
RemovalOutcome = int | BaseException


class MessageRemoval:
    """The removals of one stream.

    under_way: how many removals are going on.
    stopped: whether the stream has ended, so that nothing more is removed.
    """

    __slots__ = (
        "_consumers",
        "_contents",
        "_output",
        "_removed",
        "_sweep_again",
        "_sweeps",
        "_turns",
        "stopped",
        "under_way",
    )

    def __init__(
        self,
        contents: StreamContents,
        turns: TurnScheduler,
        output: StreamOutput,
        consumers: Mapping[str, PurgeObserver],
        removed: Callable[[int, str], None],
    ) -> None:
        """removed: see `ContentsEvents`. consumers: are told of what is removed."""
        self._contents = contents
        self._turns = turns
        self._output = output
        self._consumers = consumers
        self._removed = removed
        self._sweeps = self._sweep_again = False
        self.stopped = False
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
            elif isinstance(outcome, Exception) and not self.stopped:
                self._output.log_failure(f"could not remove messages: {type(outcome).__name__}: {outcome}")

        Slices(self._turns, self._while_served(steps), over, over)

    def _while_served(self, steps: Steps[int]) -> Steps[int]:
        """Run the steps while the stream is served: a stopped one may have handed over its store.

        Raises StoreClosed if the stream stops first.
        """
        while not self.stopped:
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
            lambda error: self._output.log_failure(str(error)),
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

    def roll_up(self, rollups: list[tuple[str, int]]) -> list[Answer] | None:
        """Remove for each (subject, sequence) what is before it, of its subject only unless that is "".

        Returns None if that is done. Otherwise returns a list: the answers put into it are sent once the
        roll-up is done and durable.
        """
        contents, steps = self._contents, paced(self._rolling_up(rollups))
        answers: list[Answer] = []
        under_way = True

        def over(outcome: int | Exception) -> None:
            nonlocal under_way
            under_way = False
            if isinstance(outcome, Exception):
                refused = refusal_answer(contents.name, outcome, self._output.store_failed)
                self._output.send_each([(reply, refused) for reply, _ in answers])
                return
            if answers:
                contents.ack_queue.answers.extend(answers)
                contents.ack_queue.wake()
            if contents.limits.active:
                for subject, _ in rollups:
                    contents.limits.enforce(subject)

        self.begin(steps, over)
        return answers if under_way else None

    def _rolling_up(self, rollups: list[tuple[str, int]]) -> Steps[int]:
        gone = 0
        for subject, sequence in rollups:
            gone += yield from self.purging(subject=subject, up_to=sequence)
        return gone

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
                for consumer in list(self._consumers.values()):
                    yield from consumer.on_purging(gone)
                contents.update_usage()
                contents.ack_queue.wake()
            yield
            before = store.messages
        for consumer in list(self._consumers.values()):
            yield from consumer.after_purge()
        contents.limits.rearm()
        contents.ack_queue.wake()
        return purged

    def _keep_no_more(self, gone: object) -> None:
        limits, first = self._contents.limits, self._contents.store.first_seq
        if isinstance(gone, list):
            limits.keep.difference_update(gone)
        else:
            limits.keep = {seq for seq in limits.keep if seq >= first}

    # --- of consumers

    def remove_acked(self, sequence: int, consumer: RetainingConsumer) -> None:
        """Remove a message that `consumer` is done with, if the retention allows it."""
        self._contents.retention.acked(sequence, consumer)

    def remove_all_acked(self, sequences: list[int], consumer: RetainingConsumer) -> None:
        """Do what `remove_acked` does for many messages."""
        self.begin(self._contents.retention.all_acked(sequences, consumer))

    def consumer_changed(self) -> None:
        """Remove what nobody wants any more, after a consumer came, went or changed its filters."""
        self.begin(self.sweeping())

    # --- on request

    def purge(self, *, subject: str | None = None, up_to: int = 0, keep: int = 0) -> int:
        """Remove many messages; see StreamStore.purge. Returns their number."""
        return at_once(self.purging(subject=subject, up_to=up_to, keep=keep))

    def delete_message(self, sequence: int, *, erase: bool) -> bool:
        """Remove one message; return False if there is none. erase: overwrite it on the disk."""
        store, subject = self._contents.store, ""
        with suppress(NotFound):
            subject = store.subject_of(sequence)
        if store.remove(sequence, erase=erase) is None:
            return False
        self._removed(sequence, subject)
        return True

    def start_purge(
        self, done: Callable[[RemovalOutcome], None], *, subject: str = "", up_to: int = 0, keep: int = 0
    ) -> None:
        """Purge in slices, and call `done` with the number of messages once that is durable."""

        def purged(count: int | Exception) -> None:
            if isinstance(count, Exception):
                done(count)
            else:
                self._contents.ack_queue.after(lambda error: done(count if error is None else error))

        self.begin(self.purging(subject=subject, up_to=up_to, keep=keep), purged)

    def start_delete(self, done: Callable[[RemovalOutcome], None], sequence: int, *, erase: bool) -> None:
        """Remove a message, and call `done(True)` once that is durable; `done(False)` if there is none."""
        if self.delete_message(sequence, erase=erase):
            self._contents.ack_queue.after(lambda error: done(True if error is None else error))
        else:
            done(False)
