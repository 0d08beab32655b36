"""Pull requests: how one is read, what refuses it, and the queue in which they wait.

Promises: requests are served in turn, one message each (by priority first, for prioritized consumers); an
oversized or malformed request gets the reference's status line. Never sends and never reads a clock: `parse`
and `refuse` give values, the queue gives requests.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from ....protocol import duration
from ....protocol.api.consumer import ConsumerConfig
from ....protocol.api.messages import PullRequest
from ....protocol.errors import ApiError
from . import statuses


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

    def deadline(self) -> int:
        """Tell when this request next wants something: a heartbeat or its end; 0 for never."""
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
    if not 0 <= pull.priority <= 9:
        return statuses.error(400, "Bad Request - Priority must be between 0 and 9")
    return _refuse_group(pull, config, policy, pinned)


def _refuse_group(pull: Pull, config: ConsumerConfig, policy: str, pinned: str) -> bytes:
    if policy == "none":
        return b""
    if not pull.group:
        return statuses.error(400, "Bad Request - Priority Group missing")
    if pull.group not in (config.priority_groups or ()):
        return statuses.error(400, "Bad Request - Invalid Priority Group")
    if pinned and pull.pin and pull.pin != pinned:
        return statuses.PIN_MISMATCH
    return b""


class WaitQueue:
    """The requests that wait, in the order in which they are served. At most `limit` of them."""

    __slots__ = ("_pulls", "limit", "no_wait", "prioritized")

    def __init__(self, limit: int, *, prioritized: bool) -> None:
        self.limit = limit
        self.prioritized = prioritized
        self.no_wait = 0  # how many of them want an answer at the end of the stream
        self._pulls: deque[Pull] = deque()

    def __len__(self) -> int:
        return len(self._pulls)

    def __iter__(self) -> Iterator[Pull]:
        return iter(self._pulls)

    def full(self) -> bool:
        """Tell whether no more request is taken."""
        return len(self._pulls) >= self.limit

    def add(self, pull: Pull) -> bool:
        """Put a request in its place; False if the queue is full."""
        if self.full():
            return False
        self._insert(pull)
        self.no_wait += pull.no_wait
        return True

    def _insert(self, pull: Pull) -> None:
        pulls = self._pulls
        if not self.prioritized or not pulls or pulls[-1].priority <= pull.priority:
            pulls.append(pull)
            return
        for place, other in enumerate(pulls):
            if other.priority > pull.priority:
                pulls.insert(place, pull)
                return

    def head(self) -> Pull | None:
        """Give the request that is served next."""
        return self._pulls[0] if self._pulls else None

    def cycle(self) -> None:
        """Let the next request stand back behind all others."""
        self._pulls.rotate(-1)

    def served(self) -> None:
        """Count one message for the head: it leaves when its batch is full, else it stands back."""
        pulls = self._pulls
        head = pulls[0]
        head.left -= 1
        head.delivered += 1
        if head.left <= 0:
            self.drop_head()
        elif len(pulls) > 1:
            pulls.popleft()
            self._insert(head)

    def drop_head(self) -> None:
        """Remove the head."""
        self.no_wait -= self._pulls.popleft().no_wait

    def keep(self, pulls: list[Pull]) -> None:
        """Keep only these, in this order."""
        self._pulls = deque(pulls)
        self.no_wait = sum(pull.no_wait for pull in pulls)

    def wanted(self) -> int:
        """Tell how many messages all requests together ask for."""
        return sum(pull.left for pull in self._pulls)

    def deadline(self) -> int:
        """Tell when the first of them wants something; 0 for never."""
        return min((at for pull in self._pulls if (at := pull.deadline())), default=0)
