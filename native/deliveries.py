"""Delivering publishes while they are found, as long as that takes nothing but their plans.

Subjects are looked up in (plans, shared, prefix, receivers, seen, ends, literal, routes, interest):

plans: by subject; see `server.accounts.plan`.
shared, prefix: the plans of subjects that begin with `prefix`, which ends with a dot, and are not in `plans`:
    by the token that follows it, if there are more. None where they have none in common.
routes: the plans of subjects that begin alike, by `route_keys`, for those that are not in `plans` either. If
    the first key has none in common (None), the second may have; a subject in `literal` needs one of its own.
receivers, ends, literal: as in `frame_replies`, for all other subjects that have no plan.
interest: (root, leaving, ways), for all others: the root of the tree of patterns, those whose subscriptions
    do not count any more, and what replies are led elsewhere. A subject for which there is neither a plan nor
    a receiver is looked up in the tree, and in `literal`. None if a plan is needed in any case.
seen: how often subjects were delivered by the last two, by their hashes. One that comes often needs a plan if
    there is room for it, and one that comes more often than that in any case.
"""

from __future__ import annotations

import re
from typing import Any, Final

from .matching import covers
from .publishes import scan_publishes

# Replies of clients that begin so must be looked at: see `server.accounts.fanout`.
RESERVED_STARTS = frozenset((b"_R", b"_G", b"$J"))
_ACK = b"$JS.ACK."  # and those of servers, if there is an `@` in them,
_WAY = b"_GR_."  # or a way back through gateways before them
_WIDE = 1024  # deliveries of wide plans after which the caller looks at the clock
_MOST_SEEN = 8192
_MOST_PLANS: Final = 8192
_OFTEN: Final = 8  # deliveries without a plan after which there should be one
_ALWAYS: Final = 64  # the same if there are as many plans as may be, so that one must go
_MOST_INBOXES: Final = 4096
_MOST_NODES: Final = 16  # on one level of the tree
_MOST_FOUND: Final = 16  # subscriptions
_MOST_GROUPS: Final = 8  # that a frame names
_MOST_TOKENS: Final = 16  # of a subject that shares its route
_LONGEST_HEAD: Final = 128  # bytes of its first tokens
_NAME = rb"[^ \t\r\n]+"
_START = rb"(%b) (?:\+ (%b)|\|)((?: %b){1,%d}) " % (_NAME, _NAME, _NAME, _MOST_GROUPS)
_fields = re.compile(_START + rb"()([0-9]{1,9})\r\n").match
_header_fields = re.compile(_START + rb"([0-9]{1,9}) ([0-9]{1,9})\r\n").match
# subject, reply, header_size, size, tail, groups
_Publish = tuple[bytes, bytes, int, int, bytes, tuple[bytes, ...]]


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
    kind: the place in `targets_for` of the targets for this sender; 0 is a client. The others are servers,
        whose publishes may name queue groups, `subject + reply group...` or `subject | group...`. They go to
        the targets, and to one of `shares` for each of these groups.
    traced: what the header of a message that must be looked at holds.
    pending_flush: the queues with something to write; receives those that had nothing.
    run: receives (subject, reply, header_size, size, tail) of each, `together` of them at most.
    most, longest, largest, verbs: as in `scan_publishes`.
    """
    count, total, queued, receiver = 0, 0, 0, None
    while count < most and len(run) < together and queued < _WIDE:
        publish, stop = _next_publish(data, pos, longest, largest, verbs, rules, traced, kind)
        if publish is None:
            break
        subject, _reply, header_size, size, _tail, _groups = publish
        plan = _plan(subject, lookups)
        if plan is not None and header_size and not plan.headers:
            break
        one = None if plan is None or kind else _batch_subscription(plan)
        if run and (one is None or one is not receiver):
            break
        if one is not None:
            receiver = one
            run.append(publish[:5])
        else:
            targets = _targets(plan, kind, publish) if plan else _unplanned(lookups, publish)
            if targets is None:
                break
            queued += plan.wide if plan else 0
            _queue(targets, publish, pending_flush)
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
    kind: int,
) -> tuple[_Publish | None, int]:
    """Return the publish that begins at `pos`, and where it ends; None if it needs more with any plan."""
    found: list[Any] = []
    stop = scan_publishes(data, pos, 1, longest, largest, verbs, found)
    publish: _Publish | None = (*found[0][1:], ()) if found else None
    if publish is None and kind:
        publish, stop = _publish_for_groups(data, pos, longest, largest, verbs)
    if publish is None:
        return None, pos
    subject, reply, header_size, size, tail, _ = publish
    if (
        (_names_more(reply) if kind else reply[:2] in RESERVED_STARTS)
        or (header_size and tail.find(traced, 0, len(tail) - 2 - size + header_size) >= 0)
        or (rules is not None and not _permits(rules, subject))
    ):
        return None, pos
    return publish, stop


def _names_more(reply: bytes) -> bool:
    """Return whether the reply of a server's publish says more than where to reply."""
    return (reply.startswith(_ACK) and b"@" in reply) or reply.startswith(_WAY)


def _publish_for_groups(
    data: bytes, pos: int, longest: int, largest: int, verbs: tuple[bytes, bytes]
) -> tuple[_Publish | None, int]:
    """Return the publish that begins at `pos`, if it is whole and names queue groups, and where it ends."""
    headed = bool(verbs[1]) and data.startswith(verbs[1], pos)
    if not headed and not (verbs[0] and data.startswith(verbs[0], pos)):
        return None, pos
    at = pos + len(verbs[headed])
    found = (_header_fields if headed else _fields)(data, at)
    if found is None:
        return None, pos
    subject, reply, groups, header_digits, digits = found.groups(b"")
    header_size, size = int(header_digits or 0), int(digits)
    stop = found.end() + size + 2
    if (
        (headed and not 0 < header_size <= size)
        or size > largest
        or found.end() - 2 - at > longest
        or data[stop - 2 : stop] != b"\r\n"
    ):
        return None, pos
    sizes_at = found.start(4) if headed else found.start(5)
    tail = (reply + b" " if reply else b"") + data[sizes_at:stop]
    return (subject, reply, header_size, size, tail, tuple(groups[1:].split(b" "))), stop


def _batch_subscription(plan: Any) -> Any:
    """Return the subscription that alone receives what clients send, many at a time, or None."""
    return plan.batch_subscription if plan.simple and plan.targets_for[0] is None else None


def _targets(plan: Any, kind: int, publish: _Publish) -> Any:
    """Return the targets of one message, None if it needs more."""
    _, reply, _, _, _, groups = publish
    if plan.callbacks or (reply and (plan.silent or (plan.beyond and not kind))):
        return None
    targets = plan.targets_for[kind]
    if targets is None and not kind and plan.simple:
        return plan.pick()
    if targets is None or not groups:
        return targets
    shares = [plan.shares.get(group) for group in groups]
    if not all(shares):
        return None
    return [*targets, *(share[int(plan.draw() * len(share)) if len(share) > 1 else 0] for share in shares)]


def _plan(subject: bytes, lookups: tuple[Any, ...]) -> Any:
    """Return the plan of a subject, None if none is known."""
    plan = lookups[0].get(subject) or _shared_plan(subject, *lookups[1:3])
    return plan or _stream_plan(subject, *lookups[6:8])


def _shared_plan(subject: bytes, shared: dict[bytes, Any], prefix: bytes) -> Any:
    """Return the plan that the subject shares with others, None if there is none."""
    start = len(prefix)
    end = subject.find(b".", start)
    if end < 0 or not subject.startswith(prefix) or subject.endswith(b".") or b".." in subject:
        return None
    return shared.get(subject[start:end])


def route_keys(subject: bytes) -> tuple[bytes, ...]:
    """Return the keys that a literal subject shares with others of as many tokens, widest first.

    They are its first token, and its first two if there are more, each with a dot for each token after it.
    None if the subject has one token, an empty one or a wildcard, or is unusually long.
    """
    tokens = subject.split(b".")
    if not 1 < len(tokens) <= _MOST_TOKENS or b"" in tokens or b"*" in tokens or b">" in tokens:
        return ()
    heads = (tokens[0],) if len(tokens) == 2 else (tokens[0], b".".join(tokens[:2]))
    if len(heads[-1]) > _LONGEST_HEAD:
        return ()
    return tuple(head + b"." * (len(tokens) - 1 - place) for place, head in enumerate(heads))


def _stream_plan(subject: bytes, literal: Any, routes: dict[bytes, Any]) -> Any:
    """Return the plan that the subject shares with others that begin alike, None if none is known."""
    for key in route_keys(subject) if routes else ():
        if key not in routes:
            return None
        if (plan := routes[key]) is not None:
            return None if literal and subject.decode("utf-8", "surrogateescape") in literal else plan
    return None


def _unplanned(lookups: tuple[Any, ...], publish: _Publish) -> tuple[Any, ...] | None:
    """Return the targets of a subject without a plan; None if it needs more, or comes often."""
    plans, seen, subject = lookups[0], lookups[4], publish[0]
    if publish[5]:
        return None
    key = hash(subject)
    sights = seen.get(key, 0)
    if sights >= _ALWAYS or (sights >= _OFTEN and len(plans) < _MOST_PLANS):
        seen[key] = 0
        return None
    targets = _inbox(lookups, publish) or _interested(lookups, publish)
    if targets is None:
        return None
    if key not in seen and len(seen) >= _MOST_SEEN:
        seen.clear()
    seen[key] = sights + 1
    return targets


def _inbox(lookups: tuple[Any, ...], publish: _Publish) -> tuple[Any, ...] | None:
    """Return the only target of a subject that begins as others do; None if there is none for all of them."""
    receivers, _, ends, literal = lookups[3:7]
    subject, header_size = publish[0], publish[2]
    head, _, last = subject.rpartition(b".")
    found = receivers.get(head)
    if found is None or not last or last in ends:
        return None
    subscription, queue = found
    if header_size and not queue.headers:
        return None
    if literal and subject.decode("utf-8", "surrogateescape") in literal:
        return None
    return (_as_it_is(subject, subscription, queue),)


def _as_it_is(subject: bytes, subscription: Any, queue: Any) -> tuple[Any, ...]:
    """Return the target for a client that takes the message as it is."""
    lead = b"MSG %b %b " % (subject, subscription.sid)
    return subscription, queue, queue.out.append, lead, b"H" + lead, b""


def _interested(lookups: tuple[Any, ...], publish: _Publish) -> tuple[Any, ...] | None:
    """Return the targets of a subject that the tree knows; None if it needs more."""
    receivers, literal, interest = lookups[3], lookups[6], lookups[8]
    subject, reply, header_size = publish[:3]
    room = len(receivers) < _MOST_INBOXES
    unknown = room and subject.startswith(b"_") and subject.rpartition(b".")[0] not in receivers
    if interest is None or interest[1] or subject in interest[2] or unknown:
        return None
    found = direct_receivers(subject, header_size > 0, interest[0], literal)
    if found is None or (reply and not found):
        return None
    return tuple(_as_it_is(subject, one, one.direct) for one in found)


def direct_receivers(subject: bytes, headed: bool, root: Any, literal: Any) -> list[Any] | None:
    """Return who receives a subject, if all take the message as it is; None if it needs more.

    It does so, too, if there are many of them or of the patterns that begin alike, if the subject is reserved
    for servers, or if it is not literal.
    """
    tokens = subject.decode("utf-8", "surrogateescape").split(".")
    if subject.startswith((b"$", b"_GR_")) or "" in tokens or "*" in tokens or ">" in tokens:
        return None
    buckets, level = [literal.get(".".join(tokens))], [root]
    for token in tokens:
        following: list[Any] = []
        for node in level:
            buckets.append(node.rest)
            following += [node.children[one] for one in (token, "*") if one in node.children]
        if len(following) > _MOST_NODES:
            return None
        level = following
    buckets += [node.here for node in level]
    found: list[Any] = []
    for bucket in buckets:
        plain = getattr(bucket, "plain", None)  # what is absent has none
        if plain is not None:
            if bucket.groups or len(plain) > _MOST_FOUND - len(found):
                return None
            found += plain
    if any(one.direct is None or (headed and not one.direct.headers) for one in found):
        return None
    return found


def _permits(rules: tuple[Any, Any], subject: bytes) -> bool:
    """Return whether a literal subject is allowed, and not denied. False for any other subject."""
    allow, deny = rules
    tokens = subject.split(b".")
    if b"" in tokens or b"*" in tokens or b">" in tokens:
        return False
    if allow is not None and not any(covers(pattern, tokens) for pattern in allow):
        return False
    return not any(covers(pattern, tokens) for pattern in deny)


def _queue(targets: Any, publish: _Publish, pending_flush: list[Any]) -> None:
    """Queue one message for all targets."""
    _, reply, header_size, size, tail, _ = publish
    for subscription, queue, append, prefix, header_prefix, groups in targets:
        subscription.delivered += 1
        lead = header_prefix if header_size else prefix
        if groups:
            append(lead + (b"+ %b " % reply if reply else b"| ") + groups)
            append(tail[len(reply) + 1 :] if reply else tail)
        else:
            append(lead)
            append(tail)
        queue.out_bytes += size
        if not queue.flush_pending:
            queue.flush_pending = True
            pending_flush.append(queue)
