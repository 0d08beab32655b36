"""What a leader proposes in several entries: the messages of its mirror or sources, and purges.

`SourceProposals` proposes what origins bring.

Promises:
- Messages are proposed in order, many in one entry, with one entry under way at a time.
- A callback given to `when_safe` is called when everything that came before it is agreed on.
- When an entry is refused or lost, its origin starts over from the offset that the replicas agree on, and the
  messages that came after it are dropped.

`PurgeProposals` splits a purge into entries that take little time each, since nothing else is applied during
one. The leader proposes purges up to rising sequences, and at last the one that was asked for, which finds
what is left. The earlier ones remove only what the last one would remove, so that the result is the same as
of the last one alone. Publishes between them are stored as usual. If this replica stops leading before the
end, only a part is purged, and the requester is told that the outcome is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ....protocol.errors import ApiError, api_error
from ..streams.source_header import labelled
from .entry import ForgetSource, MirroredMsgs, Order, Outcome, Purge, Skip, SourcedMsgs

if TYPE_CHECKING:
    from ....store.message import StoredMessage
    from ....store.stream import StreamStore
    from ...task_executor import Done, TaskExecutor
    from ..streams.origin_consumer import Origin
    from ..streams.removal import RemovalOutcome
    from .log_time import LogTime

Refused = Callable[[ApiError | None], None]


class SourceProposals:
    """The proposals of one stream's mirror or sources: the `SourceTarget` of its leader.

    now: returns the time (ns) of an entry that is proposed now.
    order: has an entry agreed on.
    """

    def __init__(
        self, executor: TaskExecutor, store: StreamStore, now: Callable[[], int], order: Order
    ) -> None:
        self._executor = executor
        self._store = store
        self._now = now
        self._order = order
        self._messages: list[Any] = []
        self._origins: list[Refused] = []
        self._waiting: list[Done] = []
        self._kind: type[MirroredMsgs] | type[SourcedMsgs] = MirroredMsgs
        self._running = self._scheduled = False

    def mirror(self, origin: Origin, messages: Sequence[StoredMessage]) -> None:
        """Propose messages of the mirror's origin."""
        for sequence, subject, header, body, time in messages:
            self._add(MirroredMsgs, (sequence, time, subject, header, body), origin.refused)

    def copy(self, origin: Origin, messages: Sequence[StoredMessage], originals: Sequence[str]) -> None:
        """Propose messages of a source."""
        index, identity = origin.index, origin.identity
        for (sequence, subject, header, body, _), original in zip(messages, originals, strict=True):
            header = labelled(header, index, sequence, original, identity)  # noqa: PLW2901
            message = (index, identity, sequence, subject, header, body)
            self._add(SourcedMsgs, message, origin.refused)

    def skip_to(self, sequence: int) -> None:
        """Propose to skip the sequences up to `sequence`."""

        def propose(error: BaseException | None) -> None:
            if error is not None or self._store.last_seq >= sequence:
                return
            if self._store.messages == 0:
                self._order(Purge(self._now(), "", sequence + 1, 0), _nothing)
            else:
                self._order(Skip(self._now(), sequence), _nothing)

        self.when_safe(propose)  # after the messages that an earlier attempt brought

    def reset_source(self, index: str) -> None:
        """Propose to forget how far a source was read."""
        self._order(ForgetSource(self._now(), index), _nothing)

    def save_offsets(self) -> None:
        """Do nothing: offsets are part of the replica's state."""

    def _add(self, kind: type[MirroredMsgs] | type[SourcedMsgs], message: Any, refused: Refused) -> None:
        """Add a message for the next entry; `refused` is called if it is not stored."""
        self._kind = kind
        self._messages.append(message)
        if refused not in self._origins:
            self._origins.append(refused)
        self._schedule()

    def when_safe(self, done: Done) -> None:
        """Call `done` once all that came so far is agreed on, or with an error if it is not."""
        self._waiting.append(done)
        self._schedule()

    def _schedule(self) -> None:
        if not self._running and not self._scheduled:
            self._scheduled = True
            self._executor.soon(self._flush)

    def _flush(self) -> None:
        self._scheduled = False
        messages, self._messages = self._messages, []
        origins, self._origins = self._origins, []
        waiting, self._waiting = self._waiting, []
        if not messages:
            for done in waiting:
                done(None)
            return
        self._running = True

        def finished(outcome: Outcome | Exception) -> None:
            self._running = False
            if isinstance(outcome, Exception):
                self._drop(origins, waiting, outcome)
            else:
                for done in waiting:
                    done(None)
            if self._messages or self._waiting:
                self._schedule()

        self._order(self._kind(self._now(), messages), finished)

    def _drop(self, origins: list[Refused], waiting: list[Done], error: Exception) -> None:
        origins += [origin for origin in self._origins if origin not in origins]
        waiting += self._waiting
        self._messages, self._origins, self._waiting = [], [], []
        for done in waiting:
            done(error)
        for refused in origins:
            refused(error if isinstance(error, ApiError) else None)


class PurgeProposals:
    """One purge that was requested of the leader.

    time: of the stream's log; it also says whether this replica still leads.
    order: has an entry agreed on.
    done: gets the number of messages removed, or the error if that is not known.
    wanted: what is to be purged; its time is not used.
    """

    __slots__ = ("_done", "_order", "_purged", "_store", "_time", "_wanted")

    def __init__(
        self,
        store: StreamStore,
        time: LogTime,
        order: Order,
        done: Callable[[RemovalOutcome], None],
        wanted: Purge,
    ) -> None:
        self._store = store
        self._time = time
        self._order = order
        self._done = done
        self._wanted = wanted
        self._purged = 0

    def propose(self) -> None:
        """Propose the next purge; its outcome leads to the one after it, or to `done`."""
        _, subject, up_to, keep = self._wanted
        bound = self._store.purge_bound(subject=subject or None, up_to=up_to, keep=keep)
        if bound:
            up_to, keep = bound, 0
        self._order(Purge(self._time.next(), subject, up_to, keep), partial(self._applied, last=not bound))

    def _applied(self, outcome: Outcome | Exception, *, last: bool) -> None:
        if not isinstance(outcome, int):
            self._done(outcome if isinstance(outcome, ApiError) else api_error("JSClusterNotAvailErr"))
            return
        self._purged += outcome
        if last:
            self._done(self._purged)
        elif self._time.leading:
            self.propose()
        else:
            self._done(api_error("JSClusterNotAvailErr"))


def _nothing(_: object) -> None:
    """Do nothing: an origin whose proposal was lost starts over by itself."""
