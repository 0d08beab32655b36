"""Limits of what may wait: publishes of one replicated stream, and long requests of the JetStream API.

Promises of `RequestQueues`: those that were refused are reported once a second at most: in a flood there must
not be an advisory for each of them.
"""

from __future__ import annotations

from typing import NamedTuple

from ..clock import SECOND

DEFAULT_LIMIT = 10_000
# The types of requests that only ask; they have a limit of their own.
QUESTIONS = frozenset(
    f"{what}_{kind}" for what in ("stream", "consumer") for kind in ("names", "list", "info")
) | {"account_info"}


class StreamQueue(NamedTuple):
    """How many publishes of one replicated stream may be under way, before further ones are refused.

    Their bytes count as they are in the log, and each of the two is a limit of its own.
    """

    most_bytes: int = 128 << 20
    most_msgs: int = 100_000

    @classmethod
    def of(cls, most_bytes: int, most_msgs: int) -> StreamQueue:
        """Return one with the limits of a configuration; what is not positive has its default."""
        default = cls()
        return cls(
            most_bytes if most_bytes > 0 else default.most_bytes,
            most_msgs if most_msgs > 0 else default.most_msgs,
        )


class RequestQueues:
    """The limits of the requests of all accounts that wait for their turn.

    limit: how many may wait when a request comes that changes something, or reads messages.
    info_limit: the same for requests that only ask.
    """

    def __init__(self, limit: int = 0, info_limit: int = 0) -> None:
        """0 for the default: DEFAULT_LIMIT, and for `info_limit` what `limit` is."""
        self.limit = limit if limit > 0 else DEFAULT_LIMIT
        self.info_limit = info_limit if info_limit > 0 else self.limit
        self._refused = 0
        self._reported = -SECOND

    def is_full(self, waiting: int, kind: str = "") -> bool:
        """Return whether a request is to be refused while so many wait. kind: the type of its response."""
        return waiting >= (self.info_limit if kind in QUESTIONS else self.limit)

    def refused(self, now: int) -> int:
        """Note that a request was refused at `now` (ns); return how many to report, 0 if it is too soon."""
        self._refused += 1
        if now - self._reported < SECOND:
            return 0
        count, self._refused, self._reported = self._refused, 0, now
        return count
