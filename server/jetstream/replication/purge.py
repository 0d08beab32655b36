"""A purge of a replicated stream, in entries that take little each: nothing else is applied during one.

The leader proposes purges up to rising sequences, and at last the one that was asked for, which finds what is
left. The earlier ones remove only what the last one would, so that in the end it is as if that had been the
only one; publishes between them are stored as ever. Where the leader goes meanwhile, a smaller purge remains,
and the requester learns that the outcome is not known.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ....protocol.errors import ApiError, api_error
from ...slices import Slices
from . import entry as entries

if TYPE_CHECKING:
    from ..streams.core import Ordered
    from .stream import Outcome, ReplicatedStream

Order = Callable[[entries.Entry, Callable[["Outcome | Exception"], None]], None]


class ReplicatedPurge:
    """One purge that the leader was asked for. done: gets the number of messages, or why it is not known."""

    __slots__ = ("_done", "_keep", "_order", "_purged", "_stream", "_subject", "_up_to")

    def __init__(
        self, stream: ReplicatedStream, order: Order, done: Callable[[Ordered], None], wanted: entries.Purge
    ) -> None:
        self._stream = stream
        self._order = order
        self._done = done
        self._subject, self._up_to, self._keep = wanted.subject, wanted.up_to, wanted.keep
        self._purged = 0
        filters = (wanted.subject,) if wanted.subject else ()
        Slices(stream.host.turns, stream.prepared(filters), lambda _: self._propose(), done)

    def _propose(self) -> None:
        stream, subject = self._stream, self._subject
        bound = stream.store.purge_bound(subject=subject or None, up_to=self._up_to, keep=self._keep)
        up_to, keep = (bound, 0) if bound else (self._up_to, self._keep)
        entry = entries.Purge(stream.time.next(), subject, up_to, keep)
        self._order(entry, partial(self._applied, last=not bound))

    def _applied(self, outcome: Outcome | Exception, *, last: bool) -> None:
        if not isinstance(outcome, int):
            self._done(outcome if isinstance(outcome, ApiError) else api_error("JSClusterNotAvailErr"))
            return
        self._purged += outcome
        if last:
            self._done(self._purged)
        elif self._stream.leading:
            self._propose()
        else:
            self._done(api_error("JSClusterNotAvailErr"))
