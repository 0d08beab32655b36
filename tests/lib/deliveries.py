"""What `deliver_publishes` reads and writes: fake plans, subscriptions and queues, and a pass with them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import pytest
from lib.publishes import Scan
from pyjs.native import deliveries
from pyjs.protocol.subject import has_wildcard
from pyjs.protocol.subject_tree import SubjectTree

_native = pytest.importorskip("pyjs.native._native", reason="there was no compiler")


class Subscriber(_native.SubscriptionFields):  # type: ignore[misc, name-defined]
    """A subscription, and how often it was delivered to."""

    def __init__(self, number: int, direct: Receiver | None = None) -> None:
        self.delivered = 0
        self.direct = direct
        self.sid = b"%d" % number


class Bucket(_native.BucketFields):  # type: ignore[misc, name-defined]
    """The subscriptions of one pattern."""

    def __init__(self, plain: list[Subscriber], groups: dict[str, Any]) -> None:
        self.plain = dict.fromkeys(plain)
        self.groups = groups


class Receiver(_native.QueueFields):  # type: ignore[misc, name-defined]
    """A queue with its subscription, and what was queued."""

    def __init__(self, number: int) -> None:
        self.subscription = Subscriber(number, self)
        self.out_bytes = 0
        self.headers = number == 0
        self.flush_pending = False
        self.out: list[bytes] = []

    @property
    def seen(self) -> tuple[int, int, bool, list[bytes]]:
        return self.subscription.delivered, self.out_bytes, self.flush_pending, self.out


class FakePlan(_native.PlanFields):  # type: ignore[misc, name-defined]
    """What `deliver_publishes` reads of a plan."""

    def __init__(self, targets_for: tuple[Any, ...], **fields: Any) -> None:
        nothing: dict[str, Any] = {"batch_subscription": None, "draw": None, "shares": {}, "wide": 0}
        nobody = {"targets": (), "choices": (), "callbacks": ()}
        flags = {"headers": True, "simple": True, "special": False, "silent": False, "beyond": False}
        for name, value in ({"targets_for": targets_for} | nothing | nobody | flags | fields).items():
            setattr(self, name, value)

    def pick(self) -> list[Any]:
        """As `Plan.pick` does."""
        picked = [*self.targets]
        for ways, ends in self.choices:
            if ends is not None:
                picked += ways[bisect_right(ends, int(self.draw() * ends[-1]))]
            else:
                picked += ways[0] if len(ways) == 1 else ways[int(self.draw() * len(ways))]
        return picked


GROUPS = (b"", b"", b"", b"g h ", b"", b"g ", b"", b"", b"", b"")  # by the number of a target
BATCH_SUBSCRIPTIONS = {
    7: "one",
    8: "other",
}  # by the first number of a plan; 9 is a plan without targets of its own


Drawn = tuple[bytes, list[int], bool, bool, bool]


def choices_of(targets: tuple[Any, ...]) -> tuple[Any, ...]:
    """One way only; one of all, equally often; nobody or all of them, one time in four."""
    return (((targets[:1],), None), (tuple((one,) for one in targets), None), (((), targets), (3, 4)))


def plan_of(drawn: Drawn, receivers: list[Receiver], draws: Iterator[float]) -> FakePlan:
    """The first number says what kind of plan it is: see BATCH_SUBSCRIPTIONS, and the conditions below."""
    _, numbers, headers, special, silent = drawn
    targets = tuple(
        (one.subscription, one, one.out.append, b"M%d " % n, b"H%d " % n, GROUPS[n])
        for n, one in ((n, receivers[n % 3]) for n in numbers)
    )
    first = numbers[0] if numbers else None
    batch = BATCH_SUBSCRIPTIONS.get(first) if first else None
    return FakePlan(
        targets_for=(None if batch or first in {6, 9} else targets, targets if special else None),
        headers=headers,
        special=special,
        silent=silent,
        beyond=special and first == 3,
        simple=not (batch and silent) and first != 9,
        batch_subscription=batch,
        targets=targets[1:2],
        choices=choices_of(targets) if first == 6 else (),
        shares={b"a": targets, b"b": targets[:1], b"+": targets[1:], b"none": ()},
        callbacks=("callback",) if special and first == 1 else (),
        wide=600 if special and first == 2 else 0,
        draw=lambda: next(draws),
    )


Interested = tuple[
    str, list[int], bool
]  # a pattern, the numbers of its receivers, whether a group is among them


def interest_of(
    drawn: list[Interested], receivers: list[Receiver]
) -> tuple[SubjectTree[Bucket], dict[str, Bucket]]:
    """Receiver 3 does not take messages as they are."""
    tree: SubjectTree[Bucket] = SubjectTree()
    literal: dict[str, Bucket] = {}
    subscribers = [*(one.subscription for one in receivers), Subscriber(3)]
    for pattern, numbers, grouped in drawn:
        bucket = Bucket([subscribers[number] for number in numbers], {"g": {}} if grouped else {})
        if has_wildcard(pattern):
            tree[pattern] = bucket
        else:
            literal[pattern] = bucket
    return tree, literal


def deliver(
    function: Any,
    drawn: list[Drawn],
    scan: Scan,
    rules: Any = None,
    kind: int = 0,
    others: bool = False,
    interested: list[Interested] | None = None,
    *,
    leaving: bool = False,
    ways: dict[bytes, bytes] | None = None,
    seen: dict[int, int] | None = None,
    many: int = 0,
) -> Any:
    """Deliver what `scan` has with plans as drawn; return the result, and what everybody got.

    others: whether some inboxes have receivers besides the usual one.
    interested: the patterns that subjects without a plan are looked up with; None if they are not.
    many: how many plans and inboxes there are besides.
    """
    receivers = [Receiver(number) for number in range(3)]
    draws = iter([0.9, 0.1, 0.5] * 100)
    plans = {one[0]: plan_of(one, receivers, draws) for one in drawn}
    inboxes = {b"i": (receivers[0].subscription, receivers[0]), b"j": None}
    if others:
        inboxes[b""] = (receivers[1].subscription, receivers[1])
    seen = {hash(b"i.seen"): 8} if seen is None else dict(seen)
    flush: list[Receiver] = []
    run: list[Any] = []
    data, pos, *limits = scan
    shared = {subject.rpartition(b".")[2]: plan for subject, plan in plans.items()} | {b"none": None}
    ends, literal = ({b"end": 1}, {"i.lit": 1}) if others else ({}, {})
    routes: dict[bytes, Any] = {b"l.": None, b"m.": plans.get(b"m.1")}
    for number, (subject, plan) in enumerate(plans.items()):
        for key in deliveries.route_keys(subject):
            routes[key] = plan if number % 2 else None
    interest = None
    if interested is not None:
        tree, literals = interest_of(interested, receivers)
        literal |= literals
        interest = tree.root, {"sink": 1} if leaving else {}, ways or {}
    plans |= {b"plan %d" % number: FakePlan((None, None)) for number in range(many)}
    inboxes |= {b"inbox %d" % number: None for number in range(many)}
    lookups = plans, shared, b"a.", inboxes, seen, ends, literal, routes, interest
    result = function(lookups, rules, kind, b"TRACE", flush, run, 3, data, pos, *limits)
    return result, [one.seen for one in receivers], [receivers.index(one) for one in flush], run, seen
