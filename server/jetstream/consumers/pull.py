"""Pull requests: how one is read, what refuses it, the queue in which they wait, and whose turn it is.

Promises: requests are served in turn, one message each (by priority first, for prioritized consumers); an
oversized or malformed request gets the reference's status line. Never sends and never reads a clock: `parse`
and `refuse` give values, the queue gives requests, `PinnedClient` and `overflow_turn` decide whether a
request of a priority group may have the next message.
"""

import enum
import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from ....protocol import duration
from ....protocol.api.consumer import ConsumerConfig
from ....protocol.api.messages import PullRequest
from ....protocol.errors import ApiError
from . import statuses

PRIORITIES = 10
_SPARE = 64  # so many may be cleared up late


class PullError(ValueError):
    """A pull request that cannot be read; the text is the reason given to the client."""


@dataclass(slots=True, eq=False)
class Pull:
    """One waiting pull request. Times in ns; `expires` and `heartbeat_at` 0 for never."""

    reply: str
    received: int
    left: int = 1
    max_bytes: int = 0
    no_wait: bool = False
    expires: int = 0
    heartbeat: int = 0
    heartbeat_at: int = 0
    group: str = ""
    min_pending: int = 0
    min_ack_pending: int = 0
    pin: str = ""
    priority: int = 0
    delivered: int = 0
    over: bool = False

    def deadline(self) -> int:
        """When this request next wants something: a heartbeat or its end; 0 for never."""
        if self.heartbeat_at and (not self.expires or self.heartbeat_at < self.expires):
            return self.heartbeat_at
        return self.expires


def parse(body: bytes, reply: str, now: int) -> Pull:
    """Read the body of a pull request: empty, a number, or JSON. Raises PullError.

    What is none of these counts as a request for one message, as on the reference.
    """
    text = body.strip()
    if not text:
        return Pull(reply, now)
    if text[:1] == b"{":
        return _from_json(text, reply, now)
    try:
        return Pull(reply, now, left=int(text)) if text.lstrip(b"+-").isdigit() else Pull(reply, now)
    except ValueError:  # isdigit() takes bytes no int() reads
        return Pull(reply, now)


def _from_json(text: bytes, reply: str, now: int) -> Pull:
    try:
        asked = PullRequest.parse(text)
    except ApiError as error:
        reason = error.description.removeprefix("invalid JSON: ")
        # The reference reads these requests with another decoder than those of the API.
        raise PullError(reason.replace("unexpected EOF", "unexpected end of JSON input")) from None
    heartbeat, expires = max(asked.idle_heartbeat, 0), asked.expires
    if heartbeat * 2 > expires and heartbeat:
        raise PullError("heartbeat value too large")
    return Pull(
        reply,
        now,
        left=asked.batch,
        max_bytes=asked.max_bytes,
        no_wait=asked.no_wait,
        expires=now + expires if expires else 0,
        heartbeat=heartbeat,
        heartbeat_at=now + heartbeat if heartbeat else 0,
        group=asked.group,
        min_pending=asked.min_pending,
        min_ack_pending=asked.min_ack_pending,
        pin=asked.id,
        priority=asked.priority,
    )


def refuse(pull: Pull, config: ConsumerConfig, pinned: str) -> bytes:
    """Give the status that refuses this request; b"" if the consumer takes it. `pinned`: the current pin."""
    if config.max_batch > 0 and pull.left > config.max_batch:
        return statuses.error(409, f"Exceeded MaxRequestBatch of {config.max_batch}")
    if pull.expires and config.max_expires > 0 and pull.expires - pull.received > config.max_expires:
        limit = duration.format_go(config.max_expires)
        return statuses.error(409, f"Exceeded MaxRequestExpires of {limit}")
    if pull.max_bytes > 0 and config.max_bytes > 0 and pull.max_bytes > config.max_bytes:
        return statuses.error(409, f"Exceeded MaxRequestMaxBytes of {config.max_bytes}")
    policy = config.priority_policy
    if (pull.min_pending or pull.min_ack_pending) and policy != "overflow":
        return statuses.error(400, "Bad Request - Not a Overflow Priority consumer")
    if pull.pin and policy != "pinned_client":
        return statuses.error(400, "Bad Request - Not a Pinned Client Priority consumer")
    if not 0 <= pull.priority < PRIORITIES:
        return statuses.error(400, "Bad Request - Priority must be between 0 and 9")
    return b"" if policy == "none" else _refuse_group(pull, config, pinned)


def _refuse_group(pull: Pull, config: ConsumerConfig, pinned: str) -> bytes:
    if not pull.group:
        return statuses.error(400, "Bad Request - Priority Group missing")
    if pull.group not in (config.priority_groups or ()):
        return statuses.error(400, "Bad Request - Invalid Priority Group")
    if pinned and pull.pin and pull.pin != pinned:
        return statuses.PIN_MISMATCH
    return b""


class WaitQueue:
    """The requests that wait, in the order in which they are served.

    ending: those that want an answer at the end of the stream.
    limit: how many may wait.
    live: how many wait.

    Whoever leaves from the middle stays in its line, marked, until it comes to the head: no step costs by how
    many wait, but for `wanted`, `__iter__` and clearing up after as many have left.
    """

    __slots__ = ("_due", "_lines", "_number", "ending", "limit", "live", "prioritized")

    def __init__(self, limit: int, *, prioritized: bool) -> None:
        self.limit = limit
        self.prioritized = prioritized
        self.ending: dict[Pull, None] = {}  # a dict for its order
        self._lines: list[deque[Pull]] = [deque() for _ in range(PRIORITIES if prioritized else 1)]
        self.live = 0
        self._due: list[
            tuple[int, int, Pull]
        ] = []  # a heap; what moved to later is put right when it comes up
        self._number = 0

    def __iter__(self) -> Iterator[Pull]:
        return (pull for line in self._lines for pull in tuple(line) if not pull.over)

    def add(self, pull: Pull) -> bool:
        """Put a request in its place; False if the queue is full."""
        if self.live >= self.limit:
            return False
        self._line(pull).append(pull)
        self.live += 1
        if pull.no_wait and not pull.expires:
            self.ending[pull] = None
        self.watch(pull)
        return True

    def _line(self, pull: Pull) -> deque[Pull]:
        return self._lines[pull.priority if self.prioritized else 0]

    def watch(self, pull: Pull) -> None:
        """Let it come up in `due` when it next wants something."""
        if at := pull.deadline():
            self._number += 1
            heapq.heappush(self._due, (at, self._number, pull))

    def head(self) -> Pull | None:
        """Give the request that is served next."""
        for line in self._lines:
            while line:
                if not line[0].over:
                    return line[0]
                line.popleft()
        return None

    def cycle(self) -> None:
        """Let the next request stand back behind all others."""
        head = self.head()
        if head is not None:
            self._line(head).rotate(-1)

    def served(self, head: Pull) -> None:
        """Count one message for the head: it leaves when its batch is full, else it stands back."""
        head.left -= 1
        head.delivered += 1
        if head.left <= 0:
            self.remove(head)
            return
        self.got(head)
        if self.live > 1:
            self._line(head).rotate(-1)

    def got(self, pull: Pull) -> None:
        """Take note that a request got messages and wants more."""
        if pull.no_wait:
            self.ending[pull] = None

    def remove(self, pull: Pull) -> None:
        """Let a request leave."""
        if pull.over:
            return
        pull.over = True
        self.live -= 1
        self.ending.pop(pull, None)
        line = self._line(pull)
        if line[0] is pull:
            line.popleft()
        if sum(map(len, self._lines)) > 2 * self.live + _SPARE:
            self._lines = [deque(pull for pull in line if not pull.over) for line in self._lines]
        if len(self._due) > 2 * self.live + _SPARE:
            self._due = [(pull.deadline(), place, pull) for place, pull in enumerate(self) if pull.deadline()]
            heapq.heapify(self._due)
            self._number = len(self._due)

    def drop_head(self) -> None:
        """Remove the head."""
        head = self.head()
        if head is not None:
            self.remove(head)

    def wanted(self) -> int:
        """How many messages all requests together ask for."""
        return sum(pull.left for pull in self)

    def deadline(self) -> int:
        """When the first of them wants something; 0 for never."""
        due = self._due
        while due:
            at, _, pull = due[0]
            if not pull.over and at == pull.deadline():
                return at
            heapq.heappop(due)
            if not pull.over:
                self.watch(pull)
        return 0

    def due(self, now: int) -> Pull | None:
        """Take the next request that wants something by now; `watch` it if it stays."""
        at = self.deadline()
        return heapq.heappop(self._due)[2] if 0 < at <= now else None


# -- priority groups


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
