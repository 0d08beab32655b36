"""SystemApiRouter: which requests of the system account this server serves, and when.

Promises: as `ClusterApiRouter` does with those of other accounts, members hold a request for the meta leader
until they have heard from it since, so that one that comes around an election or a hand-over is served by the
next leader, once. It stays without an answer only if there is no leader for LONGEST_WAIT, as on the
reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .....protocol.lazy_dataclass import dataclass
from ...cluster.served_requests import LATELY, digest
from ...meta.responder import ResponderAction, action_for
from ...meta.responder_rule import ResponderRule
from .waiting import LONGEST_WAIT, MOST_WAITING, pause_for_meta_leader

if TYPE_CHECKING:
    from ....accounts.subscription import Message
    from ...cluster.context import ClusterContext


@dataclass(eq=False, slots=True)
class _Waiting:
    """A request, with when it came: in ns, and in ticks."""

    message: Message
    serve: Callable[[], None]
    since: int
    tick: int


class SystemApiRouter:
    """Admits the requests of the system account in a cluster."""

    def __init__(self, cluster: ClusterContext) -> None:
        self._cluster = cluster
        self._view = cluster.view
        self._system = cluster.view.system
        self._waiting: list[_Waiting] = []
        self._served: frozenset[bytes] = frozenset()  # by the last leader that handed over
        self._until = 0  # ns; until then one of these requests may still be on its way to this server
        cluster.served.listeners.append(self._reported)

    def admit(self, rule: ResponderRule, message: Message, serve: Callable[[], None]) -> None:
        """Serve a request, now or after a while, or leave it to another server."""
        now = self._cluster.clock.now()
        if rule is ResponderRule.EVERYBODY:
            serve()
        elif now >= self._until or digest(self._system.name, message) not in self._served:
            self._check(_Waiting(message, serve, now, self._cluster.ticker.count))

    def _check(self, waiting: _Waiting) -> None:
        cluster, known, system = self._cluster, waiting in self._waiting, self._system.name
        act = action_for(ResponderRule.SYSTEM, self._view.responder_state(system))
        pause = pause_for_meta_leader(self._view, cluster.ticker, waiting.tick)
        if act is ResponderAction.ANSWER:
            pause = 0
            cluster.served.note(system, waiting.message)
            waiting.serve()
        late = cluster.clock.now() - waiting.since >= LONGEST_WAIT
        if pause and not late and (known or len(self._waiting) < MOST_WAITING):
            if not known:
                self._waiting.append(waiting)
            cluster.clock.call_later(pause, lambda: self._again(waiting))
        elif known:
            self._waiting.remove(waiting)

    def _again(self, waiting: _Waiting) -> None:
        if waiting in self._waiting:
            self._check(waiting)

    def _reported(self, served: frozenset[bytes]) -> None:
        """Drop what another server has served."""
        system = self._system.name
        self._served, self._until = served, self._cluster.clock.now() + LATELY
        self._waiting = [
            waiting for waiting in self._waiting if digest(system, waiting.message) not in served
        ]
