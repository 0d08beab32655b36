"""AckRouteCache: acks of one consumer differ in their numbers only, and no pattern tells them apart.

Each ack has a subject of its own, so that a cache by literal subject never has it. What is worked out
here once is the plan of all acks of a consumer, `$JS.ACK.<stream>.<consumer>.*.*.*.*.*` (or the longer
form with domain and account), provided that every interest in one of them is an interest in all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.subject import is_subset
from .plan import Draw, Plan

if TYPE_CHECKING:
    from .sublist import Sublist

ACKS = b"$JS.ACK."
_FIRST = frozenset({"$JS", "*", ">"})
_MOST = 4096


class AckRouteCache:
    """The plans of one account's ack subjects, by what their patterns can tell apart."""

    __slots__ = ("_draw", "_plans", "_sublist")

    def __init__(self, sublist: Sublist, draw: Draw) -> None:
        self._sublist = sublist
        self._draw = draw
        self._plans: dict[tuple[bytes, int], Plan | None] = {}

    def plan(self, subject: bytes) -> Plan | None:
        """The plan of an ack subject (one that starts with `ACKS`), by the name of one with the same route.

        None: work it out by itself.
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

    def _find(self, key: tuple[bytes, int], subject: bytes) -> Plan | None:
        head, dots = key
        pattern = head.decode("utf-8", "surrogateescape") + ".*" * (dots - head.count(b"."))
        alike = all(is_subset(pattern, s.subject) for s in self._sublist.on_acks(pattern))
        text = subject.decode("utf-8", "surrogateescape")
        plan: Plan | None = Plan(subject, text, self._sublist, None, self._draw) if alike else None
        if plan is not None and (not plan.simple or plan.targets or plan.choices):
            plan = None
        if len(self._plans) >= _MOST:
            self._plans.clear()
        self._plans[key] = plan
        return plan

    def forget(self, subject: str) -> None:
        """Interest in `subject` (wildcards allowed) has changed."""
        if self._plans and subject.partition(".")[0] in _FIRST:
            self._plans.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._plans.clear()
