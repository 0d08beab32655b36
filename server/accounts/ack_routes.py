"""AckRouteCache: one cached plan for all acks of a consumer.

Each ack is published to a subject of its own, so a cache by literal subject never has it. But the subjects of
one consumer's acks, `$JS.ACK.<stream>.<consumer>.*.*.*.*.*` (or the longer form with domain and account),
differ only in the numbers after the consumer's name. If each subscription that matches one of them matches
all of them, then all have the same receivers and share one plan. A subscription to some of the acks, such as
`$JS.ACK.S.C.1.>`, ends that: each ack of that consumer then needs a plan of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...native import scan_acks
from ...protocol.reserved import ACK
from ...protocol.subject import is_subset
from .plan import Draw, Plan
from .subscription import AckSubscription

if TYPE_CHECKING:
    from .sublist import Sublist

ACKS = ACK.encode()
ACK_PUBLISH = b"PUB " + ACKS  # how most acks of a client begin
_FIRST = frozenset({"$JS", "*", ">"})
_MOST = 4096


class AckRouteCache:
    """The plans of one account's ack subjects, by what their patterns can tell apart.

    It holds at most `_MOST` plans, and is emptied when it would hold more.
    """

    __slots__ = ("_draw", "_plans", "_sublist")

    def __init__(self, sublist: Sublist, draw: Draw) -> None:
        self._sublist = sublist
        self._draw = draw
        self._plans: dict[tuple[bytes, int], Plan | None] = {}

    def plan(self, subject: bytes) -> Plan | None:
        """Return the plan of an ack subject, which starts with `ACKS`.

        The plan may bear the subject of another ack that has the same route. None means that the acks of this
        consumer do not share a plan, so that this subject needs one of its own.
        """
        dots = subject.count(b".")
        if dots == 8:
            head = subject.rsplit(b".", 5)[0]
        elif dots >= 10:
            head = b".".join(subject.split(b".", 6)[:6])
        else:
            return None
        key = head, dots
        plan = self._plans.get(key)
        if plan is None:
            if key in self._plans:
                return None
            plan = self._find(key, subject)
        return plan

    def deliver(
        self,
        data: bytes,
        pos: int,
        max_count: int,
        max_arguments: int,
        max_size: int,
        verbs: tuple[bytes, bytes],
    ) -> tuple[int, int, int]:
        """Deliver the plain acks that begin at `pos`, if only a consumer receives them and takes them so.

        Return (position, count, size): where the next publish begins, how many acks were delivered, and the
        bytes of their payloads. Nothing is delivered before `plan` has made the plan of that consumer's acks.
        Only for an account whose mappings do not concern acks.

        max_count: how many are delivered at most.
        max_arguments: bytes between the verb and the end of its line. max_size: bytes of a payload.
        verbs: as in `native.scan_publishes`.
        """
        seqs: list[int] = []
        replies: list[tuple[int, bytes]] = []
        stop, size, head, dots = scan_acks(
            data, pos, max_count, max_arguments, max_size, verbs, seqs, replies
        )
        plan = self._plans.get((head, dots))
        receiver = None if plan is None else plan.batch_subscription
        if not isinstance(receiver, AckSubscription) or not receiver.ack_callback(seqs, replies):
            return pos, 0, 0
        receiver.delivered += len(seqs)
        return stop, len(seqs), size

    def _find(self, key: tuple[bytes, int], subject: bytes) -> Plan | None:
        head, dots = key
        pattern = head.decode("utf-8", "surrogateescape") + ".*" * (dots - head.count(b"."))
        alike = all(is_subset(pattern, s.subject) for s in self._sublist.colliding(pattern))
        text = subject.decode("utf-8", "surrogateescape")
        plan: Plan | None = Plan(subject, text, self._sublist, None, self._draw) if alike else None
        if plan is not None and (not plan.simple or plan.targets or plan.choices):
            plan = None
        if len(self._plans) >= _MOST:
            self._plans.clear()
        self._plans[key] = plan
        return plan

    def forget(self, subject: str) -> None:
        """Forget what depends on the interest in `subject` (wildcards allowed), which has changed."""
        if self._plans and subject.partition(".")[0] in _FIRST:
            self._plans.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._plans.clear()
