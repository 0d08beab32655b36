"""StreamRouteCache: one cached plan for all subjects of a stream, as far as they share their first tokens.

A stream may have a million subjects, each of them published to now and then: a plan for each costs more than
all else that a publish takes, and a cache by literal subject does not hold them. But mostly the stream alone
receives all subjects that have the first token in common, or the first two, as with the keys of a bucket. If
each pattern that matches one of them matches all of them, they share one plan. Subjects that somebody
subscribes to literally are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...native.deliveries import route_keys
from ...protocol.subject import is_subset
from .plan import Draw, Plan

if TYPE_CHECKING:
    from .sublist import Sublist

_OURS = (b"$", b"_")  # begin subjects that this server may serve, and inboxes
_BUCKETS = (b"$KV.", b"$O.")
_MOST = 4096


class StreamRouteCache:
    """The plans of one account's streams, by what `native.deliveries.route_keys` returns.

    It holds at most `_MOST` plans, and is emptied when it would hold more.

    plans: what is known so far; None where the subjects share no plan.
    """

    __slots__ = ("_draw", "_sublist", "plans")

    def __init__(self, sublist: Sublist, draw: Draw) -> None:
        self._sublist = sublist
        self._draw = draw
        self.plans: dict[bytes, Plan | None] = {}

    def plan(self, subject: bytes) -> Plan | None:
        """Return the plan of a subject that only a stream receives; it may bear another subject.

        None means that this subject needs a plan of its own.
        """
        text = subject.decode("utf-8", "surrogateescape")
        if text in self._sublist.literal:
            return None
        for key in route_keys(subject):
            plan = self.plans[key] if key in self.plans else self._find(key, subject, text)
            if plan is not None:
                return plan
        return None

    def _find(self, key: bytes, subject: bytes, text: str) -> Plan | None:
        head = key.rstrip(b".")
        pattern = head.decode("utf-8", "surrogateescape") + ".*" * (len(key) - len(head))
        plan: Plan | None = None
        if (not key.startswith(_OURS) or key.startswith(_BUCKETS)) and all(
            is_subset(pattern, one.subject) for one in self._sublist.colliding(pattern)
        ):
            plan = Plan(subject, text, self._sublist, None, self._draw)
            if plan.batch_subscription is None:
                plan = None
        if len(self.plans) >= _MOST:
            self.plans.clear()
        self.plans[key] = plan
        return plan

    def clear(self) -> None:
        """Forget everything, because the interest in a pattern has changed."""
        if self.plans:
            self.plans.clear()
