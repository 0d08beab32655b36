"""Pull requests: how one is read and refused, the queue in which requests wait, and which one is served next.

Promises: requests are served in turn, one message each (by priority first, for prioritized consumers). An
oversized or malformed request gets the reference's status line. Nothing is sent here and no clock is read:
`parse_and_validate` returns values, the queue returns requests, and `PinnedClient` and `overflow_decision`
decide whether a request of a priority group may have the next message.
"""

from __future__ import annotations

import enum
import heapq
from collections import deque
from collections.abc import Iterator

from ....protocol import duration
from ....protocol.api.consumer import ConsumerConfig
from ....protocol.api.messages import PullRequest
from ....protocol.errors import ApiError
from ....protocol.lazy_dataclass import dataclass
from . import statuses

PRIORITIES = 10
_SPARE = 64  # entries of removed requests that are always allowed


class PullError(ValueError):
    """A pull request cannot be read. The text is the reason for the client."""


@dataclass(slots=True, eq=False)
class Pull:
    """One waiting pull request. Times are in ns.

    reply: the subject to deliver to.
    received: when the request came.
    left: how many messages it may still get.
    max_bytes: how many bytes it may still get; 0 for any number.
    no_wait: whether it is answered at the end of the stream instead of waiting.
    expires: when it ends; 0 for never.
    heartbeat: the interval of heartbeats; 0 for none.
    heartbeat_at: when the next heartbeat is due; 0 for never.
    group: its priority group, "" for none.
    min_pending, min_ack_pending: see `overflow_decision`; 0 for none.
    pin: the pin id that it carries, "" for none.
    priority: 0 (first) to 9; the queue sets it to 0 unless it goes by priority.
    delivered: how many messages it got.
    over: whether it has left the queue.
    """

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

    @classmethod
    def of(cls, asked: PullRequest, reply: str, now: int) -> Pull:
        """Return a request that begins to wait now (ns)."""
        return cls(
            reply,
            now,
            left=asked.batch,
            max_bytes=asked.max_bytes,
            no_wait=asked.no_wait,
            expires=now + asked.expires if asked.expires else 0,
            heartbeat=asked.idle_heartbeat,
            heartbeat_at=now + asked.idle_heartbeat if asked.idle_heartbeat else 0,
            group=asked.group,
            min_pending=asked.min_pending,
            min_ack_pending=asked.min_ack_pending,
            pin=asked.id,
            priority=asked.priority,
        )

    def deadline(self) -> int:
        """Return the time of its next heartbeat or of its end, whichever is first; 0 for never."""
        if self.heartbeat_at and (not self.expires or self.heartbeat_at < self.expires):
            return self.heartbeat_at
        return self.expires


def parse_and_validate(body: bytes, config: ConsumerConfig) -> tuple[PullRequest, bytes]:
    """Read the body of a pull request. Return also the status that refuses it, b"" if it is accepted.

    Whether its client is the pinned one is left to the caller.
    """
    try:
        asked = parse(body)
    except PullError as error:
        return PullRequest(), statuses.error(400, f"Bad Request - {error}")
    return asked, _refuse(asked, config)


def parse(body: bytes) -> PullRequest:
    """Read the body of a pull request: empty, a number or JSON.

    A body that is none of these is a request for one message, as on the reference. Raises PullError if JSON
    cannot be read, or if the heartbeat is too long.
    """
    text = body.strip()
    if text[:1] == b"{":
        return _from_json(text)
    try:
        return PullRequest(batch=int(text) if text.lstrip(b"+-").isdigit() else 1)
    except ValueError:  # for example "+-1"
        return PullRequest(batch=1)


def _from_json(text: bytes) -> PullRequest:
    try:
        asked = PullRequest.parse(text)
    except ApiError as error:
        reason = error.description.removeprefix("invalid JSON: ")
        # nats-server reads these (server/consumer.go: nextReqFromMsg) with another decoder than API requests,
        # which has another error text.
        raise PullError(reason.replace("unexpected EOF", "unexpected end of JSON input")) from None
    asked.idle_heartbeat = max(asked.idle_heartbeat, 0)
    if asked.idle_heartbeat * 2 > asked.expires and asked.idle_heartbeat:
        raise PullError("heartbeat value too large")
    return asked


def _refuse(asked: PullRequest, config: ConsumerConfig) -> bytes:
    if config.max_batch > 0 and asked.batch > config.max_batch:
        return statuses.error(409, f"Exceeded MaxRequestBatch of {config.max_batch}")
    if config.max_expires > 0 and asked.expires > config.max_expires:
        limit = duration.format_go(config.max_expires)
        return statuses.error(409, f"Exceeded MaxRequestExpires of {limit}")
    if asked.max_bytes > 0 and config.max_bytes > 0 and asked.max_bytes > config.max_bytes:
        return statuses.error(409, f"Exceeded MaxRequestMaxBytes of {config.max_bytes}")
    policy = config.priority_policy
    if (asked.min_pending or asked.min_ack_pending) and policy != "overflow":
        return statuses.error(400, "Bad Request - Not a Overflow Priority consumer")
    if asked.id and policy != "pinned_client":
        return statuses.error(400, "Bad Request - Not a Pinned Client Priority consumer")
    if not 0 <= asked.priority < PRIORITIES:
        return statuses.error(400, "Bad Request - Priority must be between 0 and 9")
    if policy != "none" and not asked.group:
        return statuses.error(400, "Bad Request - Priority Group missing")
    if policy != "none" and asked.group not in (config.priority_groups or ()):
        return statuses.error(400, "Bad Request - Invalid Priority Group")
    return b""


class WaitQueue:
    """The requests that wait, in the order in which they are served.

    limit: how many requests may wait.
    live: how many requests wait.
    ending: the requests that get an answer at the end of the stream.
    prioritized: whether requests with a lower priority number are served first.

    A request that leaves from the middle stays in its line, marked, until it comes to the head. So no step
    costs by the number of requests, except `wanted`, `__iter__` and the cleanup after as many have left.
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
        ] = []  # a heap of (time, number, request); a time that moved later is corrected at the top
        self._number = 0

    def __iter__(self) -> Iterator[Pull]:
        return (pull for line in self._lines for pull in tuple(line) if not pull.over)

    def add(self, pull: Pull) -> bool:
        """Put a request in its place; False if the queue is full."""
        if self.live >= self.limit:
            return False
        if not self.prioritized:
            pull.priority = 0
        self._lines[pull.priority].append(pull)
        self.live += 1
        if pull.no_wait and not pull.expires:
            self.ending[pull] = None
        if pull.expires or pull.heartbeat_at:
            self.watch(pull)
        return True

    def watch(self, pull: Pull) -> None:
        """Make a request come up in `due` at its next heartbeat or end."""
        if at := pull.deadline():
            self._number += 1
            heapq.heappush(self._due, (at, self._number, pull))

    def head(self) -> Pull | None:
        """Return the request that is served next; None if none waits."""
        for line in self._lines:
            while line:
                if not line[0].over:
                    return line[0]
                line.popleft()
        return None

    def cycle(self) -> None:
        """Move the head behind all others of its line."""
        head = self.head()
        if head is not None:
            self._lines[head.priority].rotate(-1)

    def served(self, head: Pull, now: int) -> None:
        """Count one message for the head. It leaves if its batch is full; otherwise it moves to the end.

        now: ns; its next heartbeat counts from here.
        """
        head.left -= 1
        head.delivered += 1
        if head.left <= 0:
            self.remove(head)
            return
        if head.heartbeat:
            head.heartbeat_at = now + head.heartbeat
        if head.no_wait:
            self.ending[head] = None
        if self.live > 1:
            self._lines[head.priority].rotate(-1)

    def got(self, pull: Pull) -> None:
        """Take note that a request got a run of messages and can get more."""
        if pull.no_wait:
            self.ending[pull] = None

    def remove(self, pull: Pull) -> None:
        """Remove a request, if it still waits."""
        if pull.over:
            return
        pull.over = True
        self.live -= 1
        self.ending.pop(pull, None)
        line = self._lines[pull.priority]
        if line[0] is pull:
            line.popleft()
        if sum(map(len, self._lines)) > 2 * self.live + _SPARE:
            self._lines = [deque(pull for pull in line if not pull.over) for line in self._lines]
        if len(self._due) > 2 * self.live + _SPARE:
            self._due = [(pull.deadline(), place, pull) for place, pull in enumerate(self) if pull.deadline()]
            heapq.heapify(self._due)
            self._number = len(self._due)

    def drop_head(self) -> None:
        """Remove the head, if there is one."""
        head = self.head()
        if head is not None:
            self.remove(head)

    def wanted(self) -> int:
        """Return how many messages all requests together may still get. Costs by the number of requests."""
        return sum(pull.left for pull in self)

    def deadline(self) -> int:
        """Return the time of the first heartbeat or end of a request; 0 for never."""
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
        """Take the next request whose heartbeat or end is due; None if there is none.

        The caller must call `watch` if the request stays.
        """
        at = self.deadline()
        return heapq.heappop(self._due)[2] if 0 < at <= now else None


# -- priority groups


class PriorityDecision(enum.Enum):
    """What happens to the request at the head of the queue."""

    SERVE = 1
    PIN = 2  # serve it, and pin its client
    PASS = 3  # move it behind the others
    WRONG_PIN = 4  # refuse it with a 423


class PinnedClient:
    """The pinned client of the consumer's only priority group.

    identifier: the id that its requests must carry; "" for none.
    since: when it was pinned, ns.
    """

    __slots__ = ("identifier", "since")

    def __init__(self) -> None:
        self.identifier = ""
        self.since = 0

    def set(self, identifier: str, now: int) -> None:
        """Pin a client by the id that its requests must carry. now: ns."""
        self.identifier, self.since = identifier, now

    def clear(self) -> None:
        """Pin nobody."""
        self.identifier, self.since = "", 0

    def decide(self, pull: Pull) -> PriorityDecision:
        """Decide about a request of a pinned_client consumer."""
        if not self.identifier:
            return PriorityDecision.WRONG_PIN if pull.pin else PriorityDecision.PIN
        if pull.pin == self.identifier:
            return PriorityDecision.SERVE
        return PriorityDecision.WRONG_PIN if pull.pin else PriorityDecision.PASS


def overflow_decision(pull: Pull, pending: int, ack_pending: int) -> PriorityDecision:
    """Decide about a request of an overflow consumer.

    It is served if it has no minimum, if `pending` (messages not delivered yet) reaches its min_pending, or
    if `ack_pending` (messages not acked yet) reaches its min_ack_pending.
    """
    if pull.min_pending <= 0 and pull.min_ack_pending <= 0:
        return PriorityDecision.SERVE
    if 0 < pull.min_pending <= pending or 0 < pull.min_ack_pending <= ack_pending:
        return PriorityDecision.SERVE
    return PriorityDecision.PASS
