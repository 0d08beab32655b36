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
from .plan import Plan

if TYPE_CHECKING:
    from .sublist import Sublist

_OURS = (b"$", b"_")  # begin subjects that this server may serve, and inboxes
_BUCKETS = (b"$KV.", b"$O.")
_MOST = 4096


class StreamRouteCache:
    """The plans of one account's streams, by what `native.deliveries.route_keys` returns.

    It holds at most `_MOST` plans, and is emptied when it would hold more.

    plans: what was learnt so far; None where the subjects share no plan. Only a stream adds to it, so that
    where none is, nothing is looked up.
    """

    __slots__ = ("_sublist", "plans")

    def __init__(self, sublist: Sublist) -> None:
        self._sublist = sublist
        self.plans: dict[bytes, Plan | None] = {}

    def plan(self, subject: bytes) -> Plan | None:
        """Return the plan that a subject shares with others; it may bear another subject.

        None means that this subject needs a plan of its own, from which something can perhaps be learnt.
        """
        plans = self.plans
        for key in route_keys(subject) if plans else ():
            if key not in plans:
                return None
            if (plan := plans[key]) is not None:
                return None if self._is_literal(subject) else plan
        return None

    def learn(self, subject: bytes, plan: Plan) -> None:
        """Let subjects that begin as `subject` does share its plan, if only the same stream receives them."""
        receiver, plans = plan.batch_subscription, self.plans
        if receiver is None or self._is_literal(subject):
            return
        if subject.startswith(_OURS) and not subject.startswith(_BUCKETS):
            return
        keys = route_keys(subject)
        for key in keys:
            if key not in plans:
                head = key.rstrip(b".")
                pattern = head.decode("utf-8", "surrogateescape") + ".*" * (len(key) - len(head))
                alike = is_subset(pattern, receiver.subject)
                if not (alike or key is keys[0]):
                    return  # an entry for it would help nobody
                if len(plans) >= _MOST:
                    plans.clear()
                plans[key] = plan if alike and self._only_covered(pattern) else None
            if plans[key] is not None:
                return

    def _only_covered(self, pattern: str) -> bool:
        """Return whether all patterns that match a part of this one match all of it."""
        return all(is_subset(pattern, one.subject) for one in self._sublist.colliding(pattern))

    def _is_literal(self, subject: bytes) -> bool:
        """Return whether somebody subscribes to exactly this subject."""
        literal = self._sublist.literal
        return bool(literal) and subject.decode("utf-8", "surrogateescape") in literal

    def clear(self) -> None:
        """Forget everything, because the interest in a pattern has changed."""
        if self.plans:
            self.plans.clear()
