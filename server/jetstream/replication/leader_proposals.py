"""LeaderProposals: what a stream's leader proposes: publishes, batches, requests, expiry, consumers' changes.

Promises: publishes that arrive in one turn of the loop are proposed together, in their order. When too much
is under way they are refused with an error. An outcome is reported once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from ....protocol.errors import api_error
from ..streams.batch_headers import IN_HEADER
from ..streams.fast_batches import begins
from . import entry as entries
from .entry import Outcome

if TYPE_CHECKING:
    from ...accounts.subscription import Message, Publish
    from ..consumers.core import Consumer
    from ..streams.atomic_batches import AtomicBatches
    from ..streams.context import StreamContext
    from .stream import ReplicatedStream


class ReplicaLog(Protocol):
    """Where a leader proposes entries."""

    @property
    def full(self) -> bool:
        """Whether so much is under way that publishes should be refused."""

    def propose(
        self, data: Sequence[bytes], done: Callable[[int | Exception], None], *, publishes: int = 0
    ) -> None:
        """Have entries committed; `done` gets the last one's index once it is applied here, or an error.

        publishes: how many there are in the entries.
        """


class LeaderProposals:
    """The proposals of one replica: the `StreamProposer` of its stream.

    stream: the stream, as soon as it is made; it is replaced when the replica was filled.
    outcomes: of the entries that were applied while this replica leads, by their index, until they are asked
        for.
    """

    stream: ReplicatedStream

    def __init__(self, log: ReplicaLog, context: StreamContext, unused: Callable[[Consumer], None]) -> None:
        """unused: is called with a consumer that ended by itself."""
        self.outcomes: dict[int, Outcome] = {}
        self.batches: AtomicBatches | None = None
        self._log = log
        self._executor = context.host.executor
        self._limits = context.limits
        self._unused = unused
        self._firing = False
        self._gathered: list[Publish] = []  # publishes that came one by one in this turn of the loop

    def receive_batch(self, run: list[Publish]) -> None:
        """Propose publishes that came together; only the account's limits are checked before."""
        if self._gathered:
            self._hand_in()
        self._propose(run)

    def _propose(self, run: list[Publish]) -> None:
        if self.stream.ack_queue.error is None:
            run = self._with_room(run) if not self._log.full else self._refuse_all(run)
            if run and self.stream.ingest.fast is not None:
                run = self._without_surplus(run)
            if run and self.batches is not None:
                run = self._without_batches(run, self.batches)
            if run:
                self._order_publishes(run)

    def _order_publishes(self, run: list[Publish]) -> None:
        data = entries.encode_publishes(self.stream.time.next(), run)
        self._log.propose([data], _nothing, publishes=len(run))

    def _without_batches(self, run: list[Publish], batches: AtomicBatches) -> list[Publish]:
        """Pass the messages of atomic batches on, each after what came before it; return what is left."""
        rest: list[Publish] = []
        for publish in run:
            if not (publish[2] and IN_HEADER in publish[4]):
                rest.append(publish)
                continue
            if rest:
                self._order_publishes(rest)
                rest = []
            batches.receive(publish)
        return rest

    def receive_whole(self, run: list[Publish]) -> None:
        """Propose an atomic batch as one entry."""
        data = entries.encode(entries.PublishBatch(self.stream.time.next(), run))
        self._log.propose([data], _nothing, publishes=len(run))

    def _with_room(self, run: list[Publish]) -> list[Publish]:
        config = self.stream.config
        quota = self._limits.quota(config.storage, config.num_replicas)
        if not quota.guarded:
            return run
        kept = []
        room = 0
        for publish in run:
            size = room + self.stream.store.size_of(
                publish[0].decode("utf-8", "surrogateescape"), 0, publish[3]
            )
            refusal = quota.refusal(size, config.num_replicas)
            if refusal is None:
                kept.append(publish)
                room = size
            elif publish[1]:
                self.stream.output.send_each([(publish[1], self.stream.ingest.refusal(refusal))])
        return kept

    def _without_surplus(self, run: list[Publish]) -> list[Publish]:
        """Refuse fast batches that begin while the server has as many as it may have."""
        host = self.stream.host
        if not host.batches.fast.full(host.clock.now()):
            return run
        refusal = self.stream.ingest.refusal(api_error("JSBatchPublishTooManyInflight"))
        kept, answers = [], []
        for publish in run:
            if begins(publish[1]):
                answers.append((publish[1], refusal))
            else:
                kept.append(publish)
        self.stream.output.send_each(answers)
        return kept

    def _refuse_all(self, run: list[Publish]) -> list[Publish]:
        """Refuse all publishes with an error, because too much is under way."""
        refusal = self.stream.ingest.refusal(api_error("JSStreamTooManyRequests"))
        self.stream.output.send_each([(publish[1], refusal) for publish in run if publish[1]])
        return []

    def receive(self, message: Message) -> None:
        """Propose one publish, together with the others of this turn of the loop."""
        reply = message.reply.encode("utf-8", "surrogateescape")
        payload = message.header + message.body
        subject = message.subject.encode("utf-8", "surrogateescape")
        self._gathered.append((subject, reply, len(message.header), len(payload), payload + b"\r\n"))
        if len(self._gathered) == 1:
            self._executor.soon(self._hand_in)

    def _hand_in(self) -> None:
        run, self._gathered = self._gathered, []
        if run and self.stream.leading:
            self._propose(run)

    def propose(self, entry: entries.Entry, done: Callable[[Outcome | Exception], None]) -> None:
        """Have an entry agreed on; `done` gets its result (also an ApiError), or why it was not."""

        def finished(result: int | Exception) -> None:
            done(result if isinstance(result, Exception) else self.outcomes.pop(result, None))

        if self._gathered:
            self._hand_in()
        self._log.propose([entries.encode(entry)], finished)

    def now(self) -> int:
        """Return the time for an entry that is proposed now, ns."""
        return self.stream.time.next()

    def propose_expiry(self, what: int) -> None:
        """Propose the removal of expired messages: AGE or LIFETIMES."""
        self.propose(entries.Expire(self.now(), what), _nothing)

    def propose_schedules(self) -> None:
        """Propose that the schedules which are due fire; one proposal is under way at a time."""
        if self._firing:
            return
        schedules, now = self.stream.schedules, self.now()
        self._firing = True

        def finished(outcome: Outcome | Exception) -> None:
            self._firing = False
            if self.stream.leading:
                self.stream.schedules.rearm(soon=not isinstance(outcome, Exception))

        fired = schedules.due(now)
        if fired:
            self.propose(entries.FireSchedules(now, fired), finished)
        else:
            finished(None)

    def change(
        self, name: str, base: int, whole: bool, change: bytes, done: Callable[[bool | None], None]
    ) -> None:
        """Propose a change of a consumer's state; see `consumers`.

        Once messages were lost here, nothing is proposed: this replica may have skipped what others still
        have.
        """
        if self.stream.store.damaged():
            done(None)
            return

        def finished(outcome: Outcome | Exception) -> None:
            done(None if isinstance(outcome, Exception) else bool(outcome))

        self.propose(entries.ConsumerDelta(self.now(), name, base, whole, change), finished)

    def unused(self, consumer: Consumer) -> None:
        """Report a consumer that has ended by itself to the owner."""
        if consumer.name in self.stream.states:
            self._unused(consumer)


def _nothing(_: object) -> None:
    """Do nothing: publishers are answered when their entry is applied, and ask again if it is not."""
