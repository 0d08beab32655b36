"""FastSender: the short way from a consumer to the one client that subscribes.

Promises the same as `Account.publish`, in the same order with it. When the plan of the subject is a
single client that takes messages as they are, a message costs two appends to its outbound list; whoever
sends calls `done` after a run, so that it is written. Everything else goes through the account.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ...accounts.plan import Plan, Target

_MOST_PREFIXES = 256


class FastSender:
    """Sends to one subject at a time, mostly the same as before."""

    __slots__ = ("_account", "_plan", "_prefixes", "_raw", "_subject", "_target")

    def __init__(self, account: Account) -> None:
        self._account = account
        self._subject = ""
        self._raw = b""
        self._plan: Plan | None = None
        self._target: Target | None = None
        self._prefixes: dict[str, bytes] = {}

    def send(self, to: str, shown: str, reply: str, header: bytes, body: bytes) -> int:
        """Publish to the subject `to`, seen as `shown`; gives how many took it."""
        if to != self._subject:
            self._subject, self._raw = to, to.encode("utf-8", "surrogateescape")
        plan = self._account.plans.get(self._raw)
        if plan is None or plan is not self._plan:
            plan = self._look()
        target = self._target
        if target is None or header:
            return self._account.publish(to, body, reply=reply, header=header, show_as=shown)
        prefix = self._prefixes.get(shown)
        if prefix is None:
            prefix = self._prefix(shown, target[0].sid)
        subscription, queue, append = target[0], target[1], target[2]
        subscription.delivered += 1
        append(prefix)
        append(b"%b %d\r\n%b\r\n" % (reply.encode(), len(body), body))
        queue.out_bytes += len(body)
        if not queue.flush_pending:
            queue.flush_pending = True
            self._account.flusher.pending_flush.append(queue)
        return 1

    def client(self, to: str) -> Target | None:
        """The one client that subscribes to `to`, if it takes messages as they are."""
        if to != self._subject:
            self._subject, self._raw = to, to.encode("utf-8", "surrogateescape")
        plan = self._account.plans.get(self._raw)
        if plan is None or plan is not self._plan:
            self._look()
        return self._target

    def done(self) -> None:
        """See that what was sent is written."""
        self._account.flusher.schedule()

    def _look(self) -> Plan:
        """Find out who subscribes to the subject now."""
        plan = self._plan = self._account.plan(self._raw)
        alone = plan.direct and len(plan.targets) == 1 and not plan.request
        # A leaf's frame carries the subject shown elsewhere: the router knows how.
        self._target = plan.targets[0] if alone and not plan.leafs else None
        self._prefixes.clear()
        return plan

    def _prefix(self, shown: str, sid: bytes) -> bytes:
        if len(self._prefixes) >= _MOST_PREFIXES:
            self._prefixes.clear()
        prefix = b"MSG %b %b " % (shown.encode("utf-8", "surrogateescape"), sid)
        self._prefixes[shown] = prefix
        return prefix
