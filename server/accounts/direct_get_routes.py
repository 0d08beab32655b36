"""DirectGetRouteCache: one cached plan for all messages of a stream that are read by their subject.

A client reads the value of a key by a request to `$JS.API.DIRECT.GET.<stream>.<subject>`: each key has a
request subject of its own, and a bucket has more keys than a cache by literal subject holds. If each
subscription that matches one of a stream's request subjects matches all of them, then all have the same
receivers and share one plan. A subscription to some of them ends that: each then needs a plan of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.reserved import DIRECT_GET
from ...protocol.subject import is_subset
from .plan import Draw, Plan

if TYPE_CHECKING:
    from .sublist import Sublist

DIRECT_GETS = DIRECT_GET.encode()
_NAME = len(DIRECT_GETS)
_FIRST = frozenset({"$JS", "*", ">"})
_MOST = 4096


class DirectGetRouteCache:
    """The plans of one account's direct gets by subject, one for each stream.

    It holds at most `_MOST` plans, and is emptied when it would hold more.

    plans: what is known so far, by the name of the stream; None where its subjects share no plan.
    """

    __slots__ = ("_draw", "_sublist", "plans")

    def __init__(self, sublist: Sublist, draw: Draw) -> None:
        self._sublist = sublist
        self._draw = draw
        self.plans: dict[bytes, Plan | None] = {}

    def plan(self, subject: bytes) -> Plan | None:
        """Return the plan of a request subject, which starts with `DIRECT_GETS`.

        The plan may bear the subject of another message of the same stream. None means that this subject
        needs a plan of its own.
        """
        end = subject.find(b".", _NAME)
        if end <= _NAME or subject.endswith(b".") or b".." in subject:
            return None  # nothing is read by its subject, or nobody receives it
        stream = subject[_NAME:end]
        try:
            return self.plans[stream]
        except KeyError:
            return self._find(stream, subject)

    def _find(self, stream: bytes, subject: bytes) -> Plan | None:
        pattern = f"{DIRECT_GET}{stream.decode('utf-8', 'surrogateescape')}.>"
        plan: Plan | None = None
        if stream not in {b"*", b">"} and all(
            is_subset(pattern, one.subject) for one in self._sublist.colliding(pattern)
        ):
            plan = Plan(subject, subject.decode("utf-8", "surrogateescape"), self._sublist, None, self._draw)
            if plan.batch_subscription is None:
                plan = None
        if len(self.plans) >= _MOST:
            self.plans.clear()
        self.plans[stream] = plan
        return plan

    def forget(self, subject: str) -> None:
        """Forget what depends on the interest in `subject` (wildcards allowed), which has changed."""
        if self.plans and subject.partition(".")[0] in _FIRST:
            self.plans.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.plans.clear()
