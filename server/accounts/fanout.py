"""The fan-out: queues the publishes of one read for everyone who receives them.

There is one loop for clients, leafs, routes and the server itself. It serves publishes as long as it can do
so by appending two slices to the queue of each target. It stops at the first operation that needs more, and
returns it: an operation that is no publish, a publish that must be looked at, or one without a plan when the
turn has no time left to make one. The caller serves that operation, and calls again.

Promises: operations are served in order, and a target receives here what `route` would have sent to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from ...native import deliver_publishes
from ...protocol.reserved import ACK, GATEWAY_REPLY, SERVICE_REPLY
from ...protocol.wire.ops import HPUB, PUB, Op
from .ack_routes import ACKS
from .plan import Plan, Target
from .subscription import ConnectionKind, Publish, RunSubscription, Subscription

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..clock import Clock
    from .space import SubjectSpace

# Replies to which no client may have others answer.
RESERVED_REPLIES = tuple(prefix.encode() for prefix in (SERVICE_REPLY, ACK, GATEWAY_REPLY))
_GATEWAY_REPLY = GATEWAY_REPLY.encode()
_RESERVED_STARTS = frozenset(prefix[:2] for prefix in RESERVED_REPLIES)
TOGETHER = 32  # publishes that a batch callback gets first; then twice as many, as long as the turn lasts
_CLIENT = ConnectionKind.CLIENT.value

# The first operation that needs more, None if all are served; its plan, None if it is a publish and there was
# no time to make one; and how many messages were served before it, of how many bytes together.
Served = tuple[Op | None, Plan | None, int, int]


class Producer(Protocol):
    """The connection that the operations come from.

    There is none for those of the server itself, which need a plan in the cache and have no headers.

    headers: whether it may send messages with headers.
    until: when its turn is over, in ns; no more plans are made then.
    """

    headers: bool
    until: int

    @property
    def clock(self) -> Clock:
        """The clock that `until` is compared with."""

    def must_pause(self, operations: Iterator[Op]) -> bool:
        """Return whether to serve nothing more now; the rest of `operations` is then kept."""

    def serve_special(self, plan: Plan, operation: Op, operations: Iterator[Op]) -> bool:
        """Do what a special plan needs after its targets are served. Return what `must_pause` returns."""


def fan_out(
    operations: Iterator[Op], space: SubjectSpace, kind: int, producer: Producer | None = None
) -> Served:
    """Serve the publishes that `operations` begins with, which come from a connection of this kind."""
    known, pending_flush, traced = space.plans.get, space.pending_flush, space.trace_mark
    headers = producer is not None and producer.headers
    count, size_sum, together = 0, 0, TOGETHER
    receiver: Subscription | None = None
    run: list[Publish] = []  # for the receiver
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
            or (reply and reply[:2] in _RESERVED_STARTS and _is_reserved(reply, kind))
            or (reply and plan.beyond and kind == _CLIENT)
            or (code != PUB and not (headers and header_size and plan.headers))
            or (header_size and tail.find(traced, 0, len(tail) - size + header_size) >= 0)
        ):
            break
        if run and plan.batch_subscription is not receiver:
            _hand_over(receiver, run)
        targets: Sequence[Target] | None = plan.targets_for[kind]
        if targets is None and (kind != _CLIENT or not plan.simple):
            break
        count += 1
        size_sum += size
        if targets is None and plan.batch_subscription is not None:
            receiver = plan.batch_subscription
            run.append((subject, reply, header_size, size, tail))
            if len(run) == together:
                _hand_over(receiver, run)
                if producer is not None and producer.must_pause(operations):
                    return None, None, count, size_sum
                together <<= 1  # no more than was served quickly so far
            continue
        for one, queue, append, prefix, header_prefix, groups in plan.pick() if targets is None else targets:
            one.delivered += 1
            lead = header_prefix if header_size else prefix
            append(_naming(lead, reply, groups) if groups else lead)
            append(tail[len(reply) + 1 :] if groups and reply else tail)
            queue.out_bytes += size
            if not queue.flush_pending:
                queue.flush_pending = True
                pending_flush.append(queue)
        if plan.special and producer is not None and producer.serve_special(plan, operation, operations):
            return None, None, count, size_sum
    else:
        operation = plan = None
    if run and receiver is not None and receiver.batch_callback is not None:
        receiver.delivered += len(run)  # as `_hand_over`, once a read
        receiver.batch_callback(run)
    return operation, plan, count, size_sum


def _naming(lead: bytes, reply: bytes, groups: bytes) -> bytes:
    """Return what precedes the sizes of a message to a server that must serve these queue groups."""
    return b"%b+ %b %b" % (lead, reply, groups) if reply else b"%b| %b" % (lead, groups)


def deliver_together(
    plan: Plan, traced: bytes, operation: Op, operations: Iterator[Op]
) -> tuple[int, int, Iterator[Op]] | None:
    """Pass the deliveries of another server's consumer that come in a row to the only one who receives them.

    They are publishes on one subject whose replies are ack subjects, `operation` and those that follow it.
    Return (count, size, the operations after them); None if nothing was done. traced: as
    `SubjectSpace.trace_mark`.
    """
    receiver = plan.batch_subscription
    if not isinstance(receiver, RunSubscription) or receiver.batch_callback is None:
        return None
    run: list[Publish] = []
    one: Op | None = operation
    size_sum = 0
    while one is not None and one[0] <= HPUB and one[1] == plan.subject:
        _, _, reply, header_size, size, tail = one
        if not reply.startswith(ACKS):
            break
        if header_size and tail.find(traced, 0, len(tail) - size + header_size) >= 0:
            break
        run.append(one[1:])
        size_sum += size
        one = next(operations, None)
    if not run:
        return None
    receiver.delivered += len(run)
    receiver.batch_callback(run)
    return len(run), size_sum, operations if one is None else chain((one,), operations)


def deliver_routed(
    space: SubjectSpace,
    kind: int,
    data: bytes,
    pos: int,
    most: int,
    longest: int,
    largest: int,
    verbs: tuple[bytes, bytes],
) -> tuple[int, int, int, int]:
    """Deliver the publishes of a leaf or route from `pos` on, as `fan_out` would, in one pass.

    Return (position, count, size, how many deliveries of wide plans are queued). Publishes that name queue
    groups are among them, if the groups have members here. See `native.deliver_publishes` for the others.
    """
    lookups = space.routed_lookups if space.mappings.empty else space.mapped_lookups
    limits = most, longest, largest, verbs
    return deliver_publishes(
        lookups, None, kind, space.trace_mark, space.pending_flush, [], 1, data, pos, *limits
    )[:4]


def _is_reserved(reply: bytes, kind: int) -> bool:
    """Return whether a publish with this reply must be looked at.

    From a client it is an error. From another server, the subject that a delivery is shown under may travel
    in the reply (see `leaf.frames.split_delivery`), or a way back through gateways (see `reply_ways`).
    """
    if kind == _CLIENT:
        return reply.startswith(RESERVED_REPLIES)
    return (reply.startswith(ACKS) and b"@" in reply) or reply.startswith(_GATEWAY_REPLY)


def _hand_over(receiver: Subscription | None, run: list[Publish]) -> None:
    """Call a batch callback with the publishes that were gathered for it, and empty the list."""
    if receiver is not None and receiver.batch_callback is not None:
        receiver.delivered += len(run)
        receiver.batch_callback(run)
    run.clear()
