"""The fan-out: what one read of a producer brought, given to everyone who receives it.

One loop for clients, leafs, routes and the server itself. It serves publishes as long as each goes the quick
way, by appending two slices to the queue of every target, and gives back the first operation that needs more:
one that is no publish, one whose message must be looked at, one for which the turn has no time left. The
producer serves that one and calls again.

Promises: operations are served in order; a target receives here what `route` would have given it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from ...protocol.reserved import ACK, GATEWAY_REPLY, SERVICE_REPLY
from ...protocol.tracing import MARK as TRACED
from ...protocol.wire.ops import HPUB, PUB, Op
from .ack_routes import ACKS
from .plan import Plan, Target
from .subscription import ConnectionKind, Publish, Subscription

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..clock import Clock
    from .flusher import OutboundQueue
    from .space import SubjectSpace

# Replies to which no client may have others answer.
RESERVED_REPLIES = tuple(prefix.encode() for prefix in (SERVICE_REPLY, ACK, GATEWAY_REPLY))
_FIRST_OF_RESERVED = frozenset(b"_$")
_TOGETHER = 32  # publishes that a reader is given first; then twice as many, as long as the turn lasts
_CLIENT = ConnectionKind.CLIENT.value

# The first operation that needs more (None: all are served), of a publish its plan (None: there was no time
# to make one), and how many messages were served before it, of how many bytes.
Served = tuple[Op | None, Plan | None, int, int]


class Producer(Protocol):
    """Whoever the operations come from.

    until: when the turn is over (ns): then no more plans are made.
    headers: it may send messages with headers.
    """

    headers: bool
    until: int

    @property
    def clock(self) -> Clock:
        """What `until` is compared with."""

    def rests(self, operations: Iterator[Op]) -> bool:
        """Whether nothing more is served now; then it has kept the rest of `operations`."""

    def serve_special(self, plan: Plan, operation: Op, operations: Iterator[Op]) -> bool:
        """Do what a special plan asks for once its targets are served; gives what `rests` gives."""


def fan_out(
    operations: Iterator[Op],
    space: SubjectSpace,
    kind: int,
    pending_flush: list[OutboundQueue],
    producer: Producer | None = None,
) -> Served:
    """Serve the publishes that `operations` begins with, of a producer of this kind; see `Served`.

    producer: None for the server itself, which gets back what has no plan or has headers.
    """
    known = space.plans.get
    count = size_sum = 0
    reader: Subscription | None = None
    run: list[Publish] | None = None
    together = _TOGETHER
    operation: Op | None
    plan: Plan | None = None
    for operation in operations:
        if (code := operation[0]) > HPUB:
            break
        _, subject, reply, header_size, size, tail = operation
        plan = known(subject)
        if plan is None and producer is not None and producer.clock.now() < producer.until:
            plan = space.uncached_plan(subject, kind)
        if (
            plan is None
            or (
                reply
                and reply[0] in _FIRST_OF_RESERVED
                and (reply.startswith(RESERVED_REPLIES) if kind == _CLIENT else _carries_subject(reply))
            )
            or (
                code != PUB
                and (
                    producer is None
                    or not (producer.headers and header_size and plan.headers)
                    or tail.find(TRACED, 0, len(tail) - size + header_size) >= 0
                )
            )
        ):
            break
        targets: Sequence[Target] | None = plan.targets_for[kind]
        if run and plan.reader is not reader:
            _hand_over(reader, run)
        if targets is None:
            if kind != _CLIENT or not plan.simple:
                break
            if plan.reader is not None:
                count += 1
                size_sum += size
                reader = plan.reader
                run = run or []
                run.append((subject, reply, header_size, size, tail))
                if len(run) == together:
                    _hand_over(reader, run)
                    if producer is not None and producer.rests(operations):
                        return None, None, count, size_sum
                    together <<= 1  # no more than was served quickly so far
                continue
            targets = plan.pick()
        count += 1
        size_sum += size
        for subscription, queue, append, prefix, header_prefix in targets:
            subscription.delivered += 1
            append(header_prefix if header_size else prefix)
            append(tail)
            queue.out_bytes += size
            if not queue.flush_pending:
                queue.flush_pending = True
                pending_flush.append(queue)
        if plan.special and producer is not None and producer.serve_special(plan, operation, operations):
            return None, None, count, size_sum
    else:
        operation = plan = None
    if run and reader is not None and reader.reader is not None:
        reader.delivered += len(run)
        reader.reader(run)
    return operation, plan, count, size_sum


def _carries_subject(reply: bytes) -> bool:
    """Whether the subject that a delivery is shown under travels in its reply, see `split_delivery`."""
    return reply.startswith(ACKS) and b"@" in reply


def _hand_over(reader: Subscription | None, run: list[Publish]) -> None:
    """Let a reader have the publishes gathered for it."""
    if reader is not None and reader.reader is not None:
        reader.delivered += len(run)
        reader.reader(run)
    run.clear()
