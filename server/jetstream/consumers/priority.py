"""Priority groups: which waiting request may have the next message.

`PinnedClient` is the state of a pinned_client group: who is pinned, since when. Decisions only: the consumer
sends the statuses and advisories, and keeps the timer of the pin.
"""

import enum

from .pull import Pull


class PriorityDecision(enum.Enum):
    """What becomes of the request at the head of the queue."""

    SERVE = 1
    PIN = 2  # serve it, and pin it
    PASS = 3  # let it stand back
    WRONG_PIN = 4  # drop it with a 423


class PinnedClient:
    """The pinned client of the (one) group: `identifier` "" for none, `since` in ns."""

    __slots__ = ("identifier", "since")

    def __init__(self) -> None:
        self.identifier = ""
        self.since = 0

    def set(self, identifier: str, now: int) -> None:
        """Pin a client by the id its requests must carry."""
        self.identifier, self.since = identifier, now

    def clear(self) -> None:
        """Pin nobody."""
        self.identifier, self.since = "", 0

    def turn(self, pull: Pull) -> PriorityDecision:
        """Decide about a request of a pinned_client consumer."""
        if not self.identifier:
            return PriorityDecision.WRONG_PIN if pull.pin else PriorityDecision.PIN
        if pull.pin == self.identifier:
            return PriorityDecision.SERVE
        return PriorityDecision.WRONG_PIN if pull.pin else PriorityDecision.PASS


def overflow_turn(pull: Pull, pending: int, ack_pending: int) -> PriorityDecision:
    """Decide about a request of an overflow consumer: `pending` messages wait, `ack_pending` are unacked."""
    if pull.min_pending <= 0 and pull.min_ack_pending <= 0:
        return PriorityDecision.SERVE
    if 0 < pull.min_pending <= pending or 0 < pull.min_ack_pending <= ack_pending:
        return PriorityDecision.SERVE
    return PriorityDecision.PASS
