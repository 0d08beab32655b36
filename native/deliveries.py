"""Delivering publishes while they are found, as long as that takes nothing but their plans."""

from __future__ import annotations

from typing import Any

from .publishes import HPUB, scan_publishes

# Replies that begin so must be looked at: see `server.accounts.fanout`.
RESERVED_STARTS = frozenset((b"_R", b"_G", b"$J"))


def deliver_publishes(
    plans: dict[bytes, Any],
    shared: dict[bytes, Any],
    prefix: bytes,
    kind: int,
    traced: bytes,
    pending_flush: list[Any],
    run: list[Any],
    together: int,
    data: bytes,
    pos: int,
    most: int,
    longest: int,
    largest: int,
    verbs: tuple[bytes, bytes],
) -> tuple[int, int, int, Any]:
    """Deliver the publishes that begin at `pos`; return (position, count, size, receiver).

    `count` publishes, with `size` bytes of headers and payloads together, end at the position. What begins
    there is the first that is no whole publish of the common form (see `scan_publishes`), or that needs more
    than to be queued for the targets of its plan: it has no plan, or one that is not the same for each
    message; its reply or its header must be looked at; or somebody must be told that nobody received it.

    Publishes that only a batch subscription receives are appended to `run`, for the caller to pass on. The
    pass ends when `run` is full, and at the next publish that is not for this receiver; None if it is empty.

    plans: by subject; see `server.accounts.plan`.
    shared, prefix: the plans of subjects that begin with `prefix`, which ends with a dot, and are not in
        `plans`: by the token that follows it, if there are more. None where they have no plan in common.
    kind: the place in `targets_for` of the targets for this sender.
    traced: what the header of a message that must be looked at holds.
    pending_flush: the queues with something to write; receives those that had nothing.
    run: receives (subject, reply, header_size, size, tail) of each, `together` of them at most.
    most, longest, largest, verbs: as in `scan_publishes`.
    """
    count, total, receiver = 0, 0, None
    while count < most and len(run) < together:
        found: list[Any] = []
        stop = scan_publishes(data, pos, 1, longest, largest, verbs, found)
        if not found:
            break
        code, subject, reply, header_size, size, tail = found[0]
        plan = plans.get(subject) or _shared_plan(subject, shared, prefix)
        if plan is None or reply[:2] in RESERVED_STARTS:
            break
        header_end = len(tail) - 2 - size + header_size
        if code == HPUB and (not plan.headers or tail.find(traced, 0, header_end) >= 0):
            break
        targets = plan.targets_for[kind]
        if targets is None:
            one = plan.batch_subscription
            if not plan.simple or one is None or (run and one is not receiver):
                break
            receiver, targets = one, ()
            run.append((subject, reply, header_size, size, tail))
        elif run or (plan.special and (reply or not plan.silent)):
            break
        _queue(targets, header_size, size, tail, pending_flush)
        count, total, pos = count + 1, total + size, stop
    return pos, count, total, receiver


def _shared_plan(subject: bytes, shared: dict[bytes, Any], prefix: bytes) -> Any:
    """Return the plan that the subject shares with others, None if there is none."""
    start = len(prefix)
    end = subject.find(b".", start)
    if end < 0 or not subject.startswith(prefix) or subject.endswith(b".") or b".." in subject:
        return None
    return shared.get(subject[start:end])


def _queue(
    targets: tuple[Any, ...], header_size: int, size: int, tail: bytes, pending_flush: list[Any]
) -> None:
    """Queue one message for all targets."""
    for subscription, queue, append, prefix, header_prefix in targets:
        subscription.delivered += 1
        append(header_prefix if header_size else prefix)
        append(tail)
        queue.out_bytes += size
        if not queue.flush_pending:
            queue.flush_pending = True
            pending_flush.append(queue)
