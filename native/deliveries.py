"""Delivering publishes while they are found, as long as that takes nothing but their plans.

Subjects are looked up in (plans, shared, prefix, receivers, seen, ends, literal):

plans: by subject; see `server.accounts.plan`.
shared, prefix: the plans of subjects that begin with `prefix`, which ends with a dot, and are not in `plans`:
    by the token that follows it, if there are more. None where they have none in common.
receivers, ends, literal: as in `frame_replies`, for all other subjects that have no plan.
seen: the hashes of subjects that were delivered so. When one comes again, it needs a plan.
"""

from __future__ import annotations

from typing import Any

from .publishes import scan_publishes

# Replies that begin so must be looked at: see `server.accounts.fanout`.
RESERVED_STARTS = frozenset((b"_R", b"_G", b"$J"))
_WIDE = 1024  # deliveries of wide plans after which the caller looks at the clock
_MOST_SEEN = 8192


def deliver_publishes(
    lookups: tuple[Any, ...],
    rules: tuple[Any, Any] | None,
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
) -> tuple[int, int, int, int, Any]:
    """Deliver the publishes that begin at `pos`; return (position, count, size, queued, receiver).

    `count` publishes, with `size` bytes of headers and payloads together, end at the position. What begins
    there is the first that is no whole publish of the common form (see `scan_publishes`), or that needs more
    than to be queued for the targets of its plan: it has no plan, or one that is not the same for each
    message; its reply or its header must be looked at; or somebody must be told that nobody received it.

    Publishes that only a batch subscription receives are appended to `run`, for the caller to pass on. The
    pass ends when `run` is full, and at the next publish that is not for this receiver; None if it is empty.
    `queued` is the number of deliveries by wide plans; the pass ends when there are many.

    lookups: what subjects are looked up in; see the module.
    rules: (allow, deny): the patterns of what may be published, each a tuple of tokens; allow is None for
        all. What they do not allow needs more. None for a sender that may publish everything.
    kind: the place in `targets_for` of the targets for this sender; 0 is a client.
    traced: what the header of a message that must be looked at holds.
    pending_flush: the queues with something to write; receives those that had nothing.
    run: receives (subject, reply, header_size, size, tail) of each, `together` of them at most.
    most, longest, largest, verbs: as in `scan_publishes`.
    """
    count, total, queued, receiver = 0, 0, 0, None
    while count < most and len(run) < together and queued < _WIDE:
        publish, stop = _next_publish(data, pos, longest, largest, verbs, rules, traced)
        if publish is None:
            break
        subject, reply, header_size, size, tail = publish
        plan = lookups[0].get(subject) or _shared_plan(subject, *lookups[1:3])
        if plan is not None and header_size and not plan.headers:
            break
        one = None if plan is None or kind else _batch_subscription(plan)
        if run and (one is None or one is not receiver):
            break
        if one is not None:
            receiver = one
            run.append(publish)
        else:
            targets = _targets(plan, kind, reply) if plan else _inbox(lookups, subject, header_size)
            if targets is None:
                break
            queued += plan.wide if plan else 0
            _queue(targets, header_size, size, tail, pending_flush)
        count, total, pos = count + 1, total + size, stop
    return pos, count, total, queued, receiver


def _next_publish(
    data: bytes,
    pos: int,
    longest: int,
    largest: int,
    verbs: tuple[bytes, bytes],
    rules: tuple[Any, Any] | None,
    traced: bytes,
) -> tuple[tuple[bytes, bytes, int, int, bytes] | None, int]:
    """Return the publish that begins at `pos`, and where it ends; None if it needs more with any plan."""
    found: list[Any] = []
    stop = scan_publishes(data, pos, 1, longest, largest, verbs, found)
    if not found:
        return None, pos
    _, subject, reply, header_size, size, tail = found[0]
    if (
        reply[:2] in RESERVED_STARTS
        or (header_size and tail.find(traced, 0, len(tail) - 2 - size + header_size) >= 0)
        or (rules is not None and not _permits(rules, subject))
    ):
        return None, pos
    return (subject, reply, header_size, size, tail), stop


def _batch_subscription(plan: Any) -> Any:
    """Return the subscription that alone receives what clients send, many at a time, or None."""
    return plan.batch_subscription if plan.simple and plan.targets_for[0] is None else None


def _targets(plan: Any, kind: int, reply: bytes) -> Any:
    """Return the targets of one message, None if it needs more."""
    if plan.callbacks or (plan.silent and reply):
        return None
    targets = plan.targets_for[kind]
    if targets is None and not kind and plan.simple:
        return plan.pick()
    return targets


def _shared_plan(subject: bytes, shared: dict[bytes, Any], prefix: bytes) -> Any:
    """Return the plan that the subject shares with others, None if there is none."""
    start = len(prefix)
    end = subject.find(b".", start)
    if end < 0 or not subject.startswith(prefix) or subject.endswith(b".") or b".." in subject:
        return None
    return shared.get(subject[start:end])


def _inbox(lookups: tuple[Any, ...], subject: bytes, header_size: int) -> tuple[Any, ...] | None:
    """Return the only target of a subject without a plan; None if it needs more, or has come before."""
    _, _, _, receivers, seen, ends, literal = lookups
    head, _, last = subject.rpartition(b".")
    found = receivers.get(head)
    if found is None or not last or last in ends:
        return None
    subscription, queue = found
    key = hash(subject)
    if (
        key in seen
        or (header_size and not queue.headers)
        or (literal and subject.decode("utf-8", "surrogateescape") in literal)
    ):
        return None
    if len(seen) >= _MOST_SEEN:
        seen.clear()
    seen.add(key)
    lead = b"MSG %b %b " % (subject, subscription.sid)
    return ((subscription, queue, queue.out.append, lead, b"H" + lead),)


def _permits(rules: tuple[Any, Any], subject: bytes) -> bool:
    """Return whether a literal subject is allowed, and not denied. False for any other subject."""
    allow, deny = rules
    tokens = subject.split(b".")
    if b"" in tokens or b"*" in tokens or b">" in tokens:
        return False
    if allow is not None and not any(_covers(pattern, tokens) for pattern in allow):
        return False
    return not any(_covers(pattern, tokens) for pattern in deny)


def _covers(pattern: tuple[bytes, ...], tokens: list[bytes]) -> bool:
    """Return whether the pattern, whose last token may be `>`, covers these tokens."""
    if pattern[-1:] == (b">",):
        pattern = pattern[:-1]
        if len(tokens) <= len(pattern):
            return False
    elif len(tokens) != len(pattern):
        return False
    return all(wanted in {b"*", given} for wanted, given in zip(pattern, tokens, strict=False))


def _queue(targets: Any, header_size: int, size: int, tail: bytes, pending_flush: list[Any]) -> None:
    """Queue one message for all targets."""
    for subscription, queue, append, prefix, header_prefix in targets:
        subscription.delivered += 1
        append(header_prefix if header_size else prefix)
        append(tail)
        queue.out_bytes += size
        if not queue.flush_pending:
            queue.flush_pending = True
            pending_flush.append(queue)
