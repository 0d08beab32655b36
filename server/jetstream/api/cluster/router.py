"""ClusterApiRouter: decides which of the servers serves a request of the API.

Promises:
- A request is served here, refused here, or left to another server, as `responder.action_for` decides.
- A request that waits is decided again before it is refused.
- Members hold the requests that they leave to a leader until they have heard from it since, because a leader
  that is gone is noticed only after a while. The next leader therefore serves what came in between, as soon
  as there is one; without one it is refused.
- A request that the former leader may have served is not served twice, unless that does no harm
  (`ApiEndpoint.repeatable`) and the former leader died before it could tell (`ServedRequests`); it is refused
  if the meta group has decided something about the same stream or consumer since.

The meta leader may not receive the first requests of an account: servers look an account up when they learn
that another one has it, which takes as long as their resolver does. Such a request waits on the server
whose client sent it. Once the leader receives requests of that account, the server sends it to the meta
leader and to nobody else; after FORWARD_TIMEOUT it is dropped. This is only done between servers that are
joined by routes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from .....protocol import gojson
from .....protocol.lazy_dataclass import dataclass
from .....protocol.wire.encode import tail
from ....accounts.subscription import ConnectionKind, RoutedMessage
from ....clock import SECOND
from ...cluster.proposer import FORWARD_SUBJECT
from ...cluster.served_requests import digest
from ...meta.effect import (
    ConsumerCreated,
    ConsumerDeleted,
    ConsumerUpdated,
    Effect,
    StreamCreated,
    StreamDeleted,
    StreamUpdated,
)
from ...meta.responder import (
    DELAY,
    ResponderAction,
    action_for,
    error_of,
)
from ...meta.responder_rule import ResponderRule
from ..request import Handler, Request
from .table import handlers
from .waiting import LONGEST_WAIT, MOST_WAITING, PAUSE, pause_for_leader, pause_for_meta_leader

if TYPE_CHECKING:
    from ....accounts.account import Account
    from ....accounts.subscription import MessageEndpoint
    from ...cluster.context import ClusterContext
    from ...cluster.view import ClusterView

OPENING = 3 * SECOND  # ns that a stream may take to open
FORWARD_TIMEOUT = 5 * SECOND  # ns that a request waits until the leader can receive it
RequestTarget = tuple[str, str, str]  # account, stream, consumer ("" for those that a request does not name)


@dataclass(eq=False, slots=True)
class _Waiting:
    """A request that is routed, and may have to wait.

    since: when it came, ns.
    tick: when it came, in ticks.
    decided: whether the meta group has decided something about the same stream or consumer since.
    served: whether another server has served it.
    """

    pattern: str
    request: Request
    serve: Callable[[], None]
    target: RequestTarget
    since: int
    tick: int
    decided: bool = False
    served: bool = False


class ClusterApiRouter:
    """Routes the API requests of all accounts.

    handlers: by pattern, for the requests that several servers answer together.
    """

    def __init__(self, cluster: ClusterContext) -> None:
        self.handlers: Mapping[str, Handler] = handlers(cluster)
        self._view = cluster.view
        self._ticker = cluster.ticker
        self._served = cluster.served
        cluster.served.listeners.append(self._reported)
        self._waiting: dict[RequestTarget, list[_Waiting]] = {}
        self._count = 0

    def admit(self, pattern: str, request: Request, serve: Callable[[], None]) -> None:
        """See api.table.ApiRouter."""
        target = (request.account.name, *_names(pattern, request.tokens))
        now, tick = request.context.clock.now(), self._ticker.count
        waiting = _Waiting(pattern, request, serve, target, now, tick)
        if _is_unheard(self._view, request) and self._rule(pattern, request)[0] is ResponderRule.META:
            _ForwardedRequest(self._view, request, lambda: self._check(waiting)).start()
        else:
            self._check(waiting)

    def decided(self, effect: Effect) -> None:
        """Note a decision of the meta group: its leader has served what waits about the same."""
        if not self._waiting or self._view.is_leader:
            return
        if isinstance(effect, StreamCreated | StreamUpdated | StreamDeleted):
            target = (effect.stream.account, effect.stream.name, "")
        elif isinstance(effect, ConsumerCreated | ConsumerUpdated | ConsumerDeleted):
            target = (effect.consumer.account, effect.consumer.stream, effect.consumer.name)
        else:
            return
        for waiting in self._waiting.get(target, ()):
            waiting.decided = True

    def _reported(self, served: frozenset[bytes]) -> None:
        """Note what another server has served."""
        for same in self._waiting.values():
            for waiting in same:
                request = waiting.request
                waiting.served = waiting.served or digest(request.account.name, request.message) in served

    def _check(self, waiting: _Waiting) -> None:
        """Serve, refuse, delay or ignore a request, by what is known now."""
        if waiting.served:
            self._forget(waiting)
            return
        pattern, request = waiting.pattern, waiting.request
        rule, stream, consumer = self._rule(pattern, request)
        account, clock = request.account.name, request.context.clock
        act = action_for(rule, self._view.responder_state(account, stream, consumer))
        pause = self._pause(waiting, rule, act, stream)
        if pause and self._wait(waiting):
            clock.call_later(pause, lambda: self._check(waiting))
            return
        self._forget(waiting)
        if act is ResponderAction.ANSWER:
            if waiting.decided:
                _refuse(request, ResponderAction.UNAVAILABLE)
            else:
                if rule is ResponderRule.META or request.endpoint.repeatable:  # others may hold it
                    self._served.note(account, request.message)
                waiting.serve()
        elif act.later:
            clock.call_later(DELAY, lambda: self._refuse_again(pattern, request, act))
        else:
            _refuse(request, act)

    def _wait(self, waiting: _Waiting) -> bool:
        """Let a request wait; return whether there is room for it."""
        same = self._waiting.setdefault(waiting.target, [])
        if waiting in same:
            return True
        if self._count < MOST_WAITING:
            same.append(waiting)
            self._count += 1
            return True
        if not same:
            del self._waiting[waiting.target]
        return False

    def _forget(self, waiting: _Waiting) -> None:
        same = self._waiting.get(waiting.target, [])
        if waiting in same:
            same.remove(waiting)
            self._count -= 1
            if not same:
                del self._waiting[waiting.target]

    def _refuse_again(self, pattern: str, request: Request, act: ResponderAction) -> None:
        """Refuse a request after a pause, if it would still be refused in the same way."""
        rule, stream, consumer = self._rule(pattern, request)
        if action_for(rule, self._view.responder_state(request.account.name, stream, consumer)) is act:
            _refuse(request, act)

    def _rule(self, pattern: str, request: Request) -> tuple[ResponderRule, str, str]:
        """Return the rule of a request and what it is about: (rule, stream, consumer)."""
        stream, consumer = _names(pattern, request.tokens)
        if self._is_streams_own(pattern, request, stream):
            return ResponderRule.STREAM, stream, ""
        return request.endpoint.rule, stream, consumer

    def _pause(self, waiting: _Waiting, rule: ResponderRule, act: ResponderAction, stream: str) -> int:
        """Return the ns to wait before the next look, 0 if it is known which server the request is for.

        The request may become this server's in a moment: there is no leader, or it may be gone, or the stream
        that this server leads is not open yet. All servers that hold the request look again, and the one that
        leads by then serves it.
        """
        view, request = self._view, waiting.request
        account, age = request.account, request.context.clock.now() - waiting.since
        if age >= LONGEST_WAIT:
            return 0
        if rule is ResponderRule.META:
            if act is not ResponderAction.SILENT:
                return 0
            return pause_for_meta_leader(view, self._ticker, waiting.tick)
        assigned = view.state.stream(account.name, stream)
        if assigned is None or view.me not in assigned.members:
            return 0
        local = view.local_streams.get((account.name, stream))
        if act is ResponderAction.ANSWER:
            return PAUSE if (local is None or local.stream is None) and age < OPENING else 0
        repeatable = request.endpoint.repeatable
        if not repeatable or act is not ResponderAction.SILENT or not assigned.replicated:
            return 0
        leader_status = None if local is None else local.leader_status()
        if local is None or leader_status is None or not leader_status.leader:
            return PAUSE
        group = None if local.membership is None else local.membership.group
        return pause_for_leader(group, self._ticker, waiting.tick)

    def _is_streams_own(self, pattern: str, request: Request, stream: str) -> bool:
        """Return whether the stream's leader alone handles a request, for a mirror's or source's consumer.

        A stream that needs acknowledgements needs a durable consumer, which is decided like any other.
        """
        if (
            not pattern.startswith(("CONSUMER.CREATE.", "CONSUMER.DURABLE."))
            or b'"direct"' not in request.body
        ):
            return False
        try:
            config = gojson.decode(request.body)["config"]
            direct, sourcing = config.get("direct"), config.get("sourcing")
        except (ValueError, TypeError, KeyError, AttributeError):
            return False  # the server that validates the request answers with what is wrong
        if direct is not True:
            return False
        found = self._view.state.stream(request.account.name, stream)
        if found is None or sourcing is not True:
            return True
        return (found.config.get("retention") or "limits") == "limits"


def _refuse(request: Request, act: ResponderAction) -> None:
    error = error_of(act)
    if error is not None:
        request.fail(error)


def _names(pattern: str, tokens: list[str]) -> tuple[str, str]:
    """Return the (stream, consumer) of a request; "" for those that its subject does not name."""
    parts = pattern.split(".")
    if "*" not in parts:
        return "", ""
    at = parts.index("*")
    named = len(parts) > at + 1 and len(tokens) > at + 1
    return tokens[at], tokens[at + 1] if named else ""


# --- what the leader did not receive


def _is_unheard(view: ClusterView, request: Request) -> bool:
    """Return whether a client here sent a request that the leader elsewhere cannot have received."""
    message, leader = request.message, view.leader_status.leader
    source = message.source
    if source is None or source.kind != ConnectionKind.CLIENT or leader in ("", view.me):
        return False
    unheard = _route_to_leader(view, request.account.account, message.subject) is None
    return unheard and _route_to_leader(view, view.system, FORWARD_SUBJECT) is not None


class _ForwardedRequest:
    """A request that the meta leader did not receive.

    serve: serves it here, if this server leads by then.
    """

    def __init__(self, view: ClusterView, request: Request, serve: Callable[[], None]) -> None:
        self._view = view
        self._account = request.account.account
        self._message = request.message
        self._clock = request.context.clock
        self._serve = serve
        self._time_left = FORWARD_TIMEOUT

    def start(self) -> None:
        """Wait until the leader can receive the request."""
        self._time_left -= PAUSE
        if self._time_left > 0:
            self._clock.call_later(PAUSE, self._check)

    def _check(self) -> None:
        message, view = self._message, self._view
        if view.leader_status.leader == view.me:
            self._serve()
            return
        route = _route_to_leader(view, self._account, message.subject)
        if route is None:
            self.start()
            return
        raw, reply = (text.encode("utf-8", "surrogateescape") for text in (message.subject, message.reply))
        size = len(message.header) + len(message.body)
        assert message.source is not None
        msg = RoutedMessage(
            message.source,
            raw,
            reply,
            len(message.header),
            size,
            tail(reply, message.header, message.body),
        )
        route.deliver_to_server(msg, ())
        self._account.flusher.schedule()


def _route_to_leader(view: ClusterView, account: Account, subject: str) -> MessageEndpoint | None:
    """Return an account's part of the route to the leader, if there is interest in the subject there."""
    raw = subject.encode("utf-8", "surrogateescape")
    process = view.process(view.leader_status.leader)
    plan = account.plans.get(raw) or account.plan(raw)
    routes = (each.sink for each in plan.remotes if each.kind == ConnectionKind.ROUTER)
    return next((route for route in routes if route.server_id == process), None)
