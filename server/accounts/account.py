"""Account: a space of subjects. All subscriptions and publishes go through one.

Promises: interest changes are seen by the next message (plans are invalidated at once), watchers are told of
each change in order, callbacks of internal subscribers run synchronously on the loop. Never does I/O.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from ...protocol.subject import ANY_REST, has_wildcard, is_valid, matches
from ...protocol.subject_tree import SubjectTree
from ...protocol.wire.encode import tail as tail_of
from ..slices import at_once
from .ack_routes import ACKS, AckRouteCache
from .exports import ServiceExport, StreamExport
from .imports import ServiceImport, StreamImport
from .mapping import Mappings
from .plan import Draw, Plan, is_request
from .reload_imports import replace_imports
from .responses import ServiceResponses
from .routing import route
from .sublist import Sublist
from .subscription import (
    INTERNAL,
    ConnectionKind,
    InterestChange,
    InternalEndpoint,
    Message,
    MessageEndpoint,
    ReadCallback,
    RoutedMessage,
    Subscription,
    SubscriptionOwner,
)

if TYPE_CHECKING:
    from ..config.options import AccountJetStream, AccountOptions
    from .account_token import AccountToken
    from .flusher import Flusher
    from .users import User

UNLIMITED = -1
_MOST_PLANS = 8192
_MOST_HEARERS = 1 << 16  # in all plans together: so much memory, and so much to free at once
_FEW_PLANS = 64

Watcher = Callable[[InterestChange], None]


class InterestWatch:
    """A watcher of interest, until cancelled. number: in the order in which they began, from 1."""

    __slots__ = ("_account", "callback", "number", "subject")

    def __init__(self, account: Account, callback: Watcher, subject: str, number: int) -> None:
        self._account = account
        self.callback = callback
        self.subject = subject
        self.number = number

    def cancel(self) -> None:
        """Stop watching; harmless when done twice."""
        self._account.unwatch(self)


class ConnectionLimits:
    """Limits of an account; -1 is unlimited. payload in bytes."""

    __slots__ = ("connections", "leafs", "payload", "subscriptions")

    def __init__(
        self,
        connections: int = UNLIMITED,
        subscriptions: int = UNLIMITED,
        payload: int = UNLIMITED,
        leafs: int = UNLIMITED,
    ) -> None:
        self.connections = connections
        self.subscriptions = subscriptions
        self.payload = payload
        self.leafs = leafs


class AccountConnection(Protocol):
    """A client or a leaf that is connected to an account. id: the later, the higher."""

    id: int

    def fail(self, text: str, reason: str) -> None:
        """Tell it why, then close it."""


def _hand_out(plan: Plan, header: bytes, size: int, tail: bytes, shown: bytes) -> int:
    """The quick way of the server's own messages to clients that take them as they are."""
    for subscription, queue, _, prefix, header_prefix in plan.targets:
        subscription.delivered += 1
        if shown:
            lead = b"%b %b %b " % (b"HMSG" if header else b"MSG", shown, subscription.sid)
        else:
            lead = header_prefix if header else prefix
        queue.send_message(lead, tail, size)
    return len(plan.targets)


def _imports_streams(subscription: Subscription) -> bool:
    """Whether it gets imported streams through this server; a route's interest gets them through its own.

    The server's services do not: what another account publishes is no request here.
    """
    if subscription.parent is not None or subscription.kind in (ConnectionKind.IMPORT, ConnectionKind.ROUTER):
        return False
    return subscription.kind != ConnectionKind.INTERNAL or not is_request(
        subscription.subject.encode("utf-8", "surrogateescape")
    )


class Account(SubscriptionOwner):
    """One account: interest, plans, exports, imports, mappings, limits, and who is connected.

    plans: the hot path's cache, subject bytes -> Plan; `plan()` fills it.
    connections, leafs: counted by the listeners.
    elsewhere: (clients, leafs) connected to other servers, by server id.
    serves_jetstream: set by JetStream as long as it serves the account.
    grants: the account's limits there by tier ("" is the account as a whole); None: it has no JetStream.
    account_token: of an account made from a token, whose public key is then the name.
    display: what people call it.
    """

    def __init__(
        self,
        name: str,
        flusher: Flusher,
        *,
        random_bytes: Callable[[int], bytes] = random.randbytes,
        draw: Draw = random.random,
    ) -> None:
        self.name = name
        self.options: AccountOptions | None = None
        self.nkey = ""
        self.display = name
        self.account_token: AccountToken | None = None
        self.grants: dict[str, AccountJetStream] | None = None
        self.plans: dict[bytes, Plan] = {}
        self._hearers = 0  # in plans
        self.generation = 0
        self.sublist = Sublist()
        self.ack_routes = AckRouteCache(self.sublist, draw)
        self.exports_streams: list[StreamExport] = []
        self.exports_services: list[ServiceExport] = []
        self.imports_streams: list[StreamImport] = []
        self._stream_imports_at: SubjectTree[list[int]] = (
            SubjectTree()
        )  # places in imports_streams by `local`
        self.imports_services: list[ServiceImport] = []
        self.mappings = Mappings()
        self.limits = ConnectionLimits()
        self.users: dict[str, User] = {}
        self.connections: set[AccountConnection] = set()
        self.leafs: set[AccountConnection] = set()
        self.elsewhere: dict[str, tuple[int, int]] = {}
        self.serves_jetstream = False
        self.flusher = flusher
        self.responses = ServiceResponses(self, flusher.clock, random_bytes)
        self._watches: SubjectTree[dict[InterestWatch, None]] = (
            SubjectTree()
        )  # by watched subject, `>` for all
        self._last_watch = 0
        self._draw = draw
        self._sink = InternalEndpoint()
        self.in_msgs = self.in_bytes = self.out_msgs = self.out_bytes = 0

    def __repr__(self) -> str:
        return f"<Account {self.name}>"

    @property
    def label(self) -> str:
        """The name for logs: with what people call it, if that is another."""
        return self.name if self.display == self.name else f"{self.name}/{self.display}"

    # --- connections, those to other servers of the cluster included

    def elsewhere_sums(self) -> tuple[int, int]:
        """How many clients and leafs are connected to other servers."""
        numbers = self.elsewhere.values()
        return sum(clients for clients, _ in numbers), sum(leafs for _, leafs in numbers)

    @property
    def full(self) -> bool:
        """Whether one more client would be too many."""
        return 0 <= self.limits.connections <= len(self.connections) + self.elsewhere_sums()[0]

    @property
    def full_of_leafs(self) -> bool:
        """Whether one more leaf would be too many."""
        return 0 <= self.limits.leafs <= len(self.leafs) + self.elsewhere_sums()[1]

    # --- internal subscribers and publishers

    def subscribe(
        self,
        subject: str,
        callback: Callable[[Message], None],
        *,
        queue: str = "",
        reader: ReadCallback | None = None,
    ) -> Subscription:
        """Subscribe to `subject` (wildcards allowed) in the server itself. The callback must not block.

        reader: see Subscription. Raises ValueError for an invalid subject.
        """
        if not is_valid(subject):
            raise ValueError(f"invalid subject {subject!r}")
        subscription = Subscription(subject, self._sink, queue=queue, callback=callback)
        subscription.reader = reader
        self.add_subscription(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Unsubscribe; harmless when done twice."""
        self.remove_subscription(subscription)

    def publish(
        self,
        subject: str,
        body: bytes = b"",
        *,
        reply: str = "",
        header: bytes = b"",
        source: MessageEndpoint | None = None,
        show_as: str = "",
        own: bool = False,
    ) -> int:
        """Send a message as `source` (the server itself if None); gives how many took it.

        own: the server asks of its own accord. All else that it sends is an answer, whatever the subject is
        that somebody chose for it, and nobody receives it where it would be a request (see `is_request`).
        show_as: `subject` decides who receives it, clients see `show_as`. Mappings do not apply.
        """
        raw = subject.encode("utf-8", "surrogateescape")
        plan = self.plans.get(raw)
        if plan is None:
            plan = self.plan(raw)
        if plan.silent or (plan.request and source is None and not own):
            return 0
        raw_reply = reply.encode("utf-8", "surrogateescape")
        size = len(header) + len(body)
        tail = tail_of(raw_reply, header, body)
        shown = show_as.encode("utf-8", "surrogateescape")
        plainly = (plan.headers or not header) and not (shown and plan.leafs)
        if plan.direct and plainly and source is None:
            delivered = _hand_out(plan, header, size, tail, shown)
            self.flusher.schedule()
            return delivered
        sender = INTERNAL if source is None else source
        answer = source is None and not own
        msg = RoutedMessage(sender, raw, raw_reply, len(header), size, tail, shown, answer=answer)
        delivered = route(plan, msg)
        self.flusher.schedule()
        return delivered

    def publish_each(self, messages: Iterable[tuple[bytes, bytes]]) -> None:
        """Send many messages (subject, body), in order, as `publish` for each."""
        plans, pending_flush = self.plans, self.flusher.pending_flush
        for subject, body in messages:
            plan = plans.get(subject)
            if plan is None:
                if self._send_once(subject, body):
                    continue
                plan = self.plan(subject)
            if not plan.direct or plan.request:
                self.publish(plan.text, body)
                continue
            size = len(body)
            tail = b"%d\r\n%b\r\n" % (size, body)
            for subscription, queue, append, prefix, _ in plan.targets:
                subscription.delivered += 1
                append(prefix)
                append(tail)
                queue.out_bytes += size
                if not queue.flush_pending:
                    queue.flush_pending = True
                    pending_flush.append(queue)
        self.flusher.schedule()

    def _send_once(self, subject: bytes, body: bytes) -> bool:
        """Send to the one client subscribed to `subject` by a pattern, as inboxes are; else False.

        Such a subject hardly comes again: a plan would cost more than it saves, and drive others out.
        """
        text = subject.decode("utf-8", "surrogateescape")
        plain, groups = self.sublist.match(text)
        if groups or len(plain) != 1 or is_request(subject):
            return False
        subscription = plain[0]
        sink = subscription.sink
        queue = sink.outbound
        if subscription.kind != ConnectionKind.CLIENT or not sink.fast or queue is None:
            return False
        if subscription.subject == text or subscription.transform is not None or subscription.max:
            return False
        subscription.delivered += 1
        size = len(body)
        prefix = b"MSG %b %b " % (subject, subscription.sid)
        queue.send_message(prefix, b"%d\r\n%b\r\n" % (size, body), size)
        return True

    # --- interest

    def add_subscription(self, subscription: Subscription) -> None:
        """Let it receive from the next message on, here and where the account imports streams from."""
        subscription.account = self
        subscription.closed = False
        self.sublist.insert(subscription)
        self._invalidate(subscription.subject)
        if self.imports_streams and _imports_streams(subscription):
            self.add_shadows(subscription)
        if self._watches:
            self._announce(subscription, subscription.weight)

    def remove_subscription(self, subscription: Subscription) -> None:
        """Let it receive nothing more; harmless when done twice."""
        subscription.closed = True
        if not self.sublist.remove(subscription):
            return
        if subscription.sink not in self.sublist.leaving:  # no plan holds those that leave
            self._invalidate(subscription.subject)
        self.remove_shadows(subscription)
        if self._watches:
            self._announce(subscription, -subscription.weight)

    def subscription_changed(self, subscription: Subscription) -> None:
        """Its max, or its connection's `fast`, changed: plans that hold it are no longer right."""
        self._invalidate(subscription.subject)
        for shadow in subscription.shadows or ():
            if shadow.account is not None:
                shadow.max = subscription.max
                shadow.account.subscription_changed(shadow)

    def set_weight(self, subscription: Subscription, weight: int) -> None:
        """A remote queue group has `weight` members now."""
        delta = weight - subscription.weight
        subscription.weight = weight
        self._invalidate(subscription.subject)
        if delta and self._watches:
            self._announce(subscription, delta)

    def has_interest(self, subject: str, *, own: bool = False) -> bool:
        """Whether anyone would receive what the server sends to the literal `subject`: here, on leafs, or on
        imports and pending responses. own: as in `publish`.
        """
        if not own and is_request(subject.encode("utf-8", "surrogateescape")):
            return False
        response = self.responses.find(subject)
        if response is not None:
            return response.asker.has_interest(response.reply.decode("utf-8", "surrogateescape"))
        return self.sublist.has_match(subject)

    def subscriptions(self) -> Iterator[Subscription]:
        """All present interest, imports included."""
        leaving = self.sublist.leaving
        if not leaving:
            return iter(self.sublist)
        return (each for each in self.sublist if each.sink not in leaving)

    def tells(self, watch: InterestWatch, subscription: Subscription) -> bool:
        """Whether a watcher will be told of the end of present interest: not if it leaves, and has left for
        those who began to watch since.
        """
        leaving = self.sublist.leaving
        return not leaving or watch.number <= leaving.get(subscription.sink, watch.number)

    def leave(self, sink: MessageEndpoint) -> None:
        """Find no subscription of `sink` any more, before its subscriptions are removed: see `leaving`."""
        self.sublist.leaving[sink] = self._last_watch
        self.forget_plans()

    def watch_interest(self, callback: Watcher, subject: str = ANY_REST) -> InterestWatch:
        """Tell `callback` of every change from now on; with a literal `subject` only of those that match
        it.
        """
        self._last_watch += 1
        watch = InterestWatch(self, callback, subject, self._last_watch)
        self._watches.setdefault(subject, {})[watch] = None
        return watch

    def unwatch(self, watch: InterestWatch) -> None:
        """See Watch.cancel."""
        watches = self._watches.get(watch.subject)
        if watches is not None:
            watches.pop(watch, None)
            if not watches:
                self._watches.pop(watch.subject)

    def _announce(self, subscription: Subscription, delta: int) -> None:
        subject, queue = subscription.subject, subscription.queue
        concerned = [watch for watches in self._watches.colliding(subject) for watch in watches]
        if self.sublist.leaving:
            concerned = [watch for watch in concerned if self.tells(watch, subscription)]
        if concerned:
            count = self.sublist.weight(subject, queue)
            change = InterestChange(subject, queue, count, subscription.kind, delta, subscription)
            for watch in concerned:
                watch.callback(change)

    # --- plans

    def plan(self, subject: bytes) -> Plan:
        """Who receives the literal `subject`; from the cache when nothing changed."""
        plan = self.plans.get(subject)
        if plan is None:
            text = subject.decode("utf-8", "surrogateescape")
            mapping = self.mappings.find(text) if self.mappings else None
            if mapping is None and subject.startswith(ACKS):
                plan = self.ack_routes.plan(subject)
                if plan is not None:
                    return plan.under(subject, text)
            if len(self.plans) >= _MOST_PLANS or self._hearers >= _MOST_HEARERS:
                self._clear_plans()
            plan = self.plans[subject] = Plan(subject, text, self.sublist, mapping, self._draw)
            self._hearers += plan.hearers
        return plan

    def shared_plan(self, subject: bytes) -> Plan:
        """As `plan`; but one with a reader may bear another subject that has the same ack route."""
        if subject.startswith(ACKS) and not self.mappings and subject not in self.plans:
            plan = self.ack_routes.plan(subject)
            if plan is not None and plan.reader is not None:
                return plan
        return self.plan(subject)

    def mapped(self, subject: str) -> str | None:
        """The subject that a message published to `subject` really goes to; None: it is lost."""
        mapping = self.mappings.find(subject) if self.mappings else None
        return subject if mapping is None else mapping.choose(subject, self._draw)

    def forget_plans(self) -> None:
        """Work everything out anew from the next message on."""
        self.generation += 1
        self.ack_routes.clear()
        self._clear_plans()

    def _clear_plans(self) -> None:
        self.plans.clear()
        self._hearers = 0

    def _invalidate(self, subject: str) -> None:
        self.generation += 1
        self.ack_routes.forget(subject)
        plans = self.plans
        if not has_wildcard(subject):
            plans.pop(subject.encode("utf-8", "surrogateescape"), None)
        elif len(plans) > _FEW_PLANS:
            self._clear_plans()
        else:
            for stale in [raw for raw, plan in plans.items() if matches(subject, plan.text)]:
                del plans[stale]

    # --- imports

    def add_shadows(self, subscription: Subscription) -> None:
        """Subscribe, for one subscription, to what the account imports as streams."""
        if subscription.sink in self.sublist.leaving:
            return
        met = sorted(p for found in self._stream_imports_at.colliding(subscription.subject) for p in found)
        for stream in (self.imports_streams[place] for place in met):
            subject = stream.shadow_subject(subscription.subject)
            if subject is None:
                continue
            shadow = Subscription(
                subject,
                subscription.sink,
                queue=subscription.queue,
                sid=subscription.sid,
                callback=subscription.callback,
                weight=subscription.weight,
                origin=subscription.origin,
            )
            shadow.max = subscription.max
            shadow.transform = stream.transform
            shadow.parent = subscription
            if subscription.shadows is None:
                subscription.shadows = []
            subscription.shadows.append(shadow)
            stream.exporter.add_subscription(shadow)

    def remove_shadows(self, subscription: Subscription) -> None:
        """Undo add_shadows."""
        shadows, subscription.shadows = subscription.shadows or (), None
        for shadow in shadows:
            if shadow.account is not None:
                shadow.account.remove_subscription(shadow)

    def set_imports(self, streams: Iterable[StreamImport], services: Iterable[ServiceImport]) -> None:
        """Replace all imports; live subscriptions follow at once.

        Those that stay the same stay the same objects, and responses awaited through them still come.
        """
        at_once(replace_imports(self, streams, services))

    def set_stream_imports(
        self, streams: list[StreamImport], indexes: SubjectTree[list[int]]
    ) -> list[Subscription]:
        """Import these streams, `indexes` in the list by local subject; gives whose shadows follow."""
        self.imports_streams = streams
        self._stream_imports_at = indexes
        return [s for s in self.sublist if _imports_streams(s)]

    def stop(self) -> None:
        """Leave no timer running."""
        self.responses.stop()
