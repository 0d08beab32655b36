"""SubjectSpace: the subjects of one account, their subscriptions, and who receives what is sent.

This is the data of an account that imports, responses and the account itself work on. Promises: the next
message sees every change of interest (plans are invalidated at once), and watchers are told of the changes
in order. Publishes nothing and does no I/O.

A stream import shows a part of another space here: each subscription that overlaps with it has a shadow in
that space, which delivers to the same sink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from ...native import NodeFields
from ...protocol.subject import ANY_REST, collide, has_wildcard, is_subset, matches
from ...protocol.subject_tree import SubjectTree
from ...protocol.tracing import MARK as TRACED
from ...protocol.transform import SubjectTransform, with_placeholders, without_placeholders
from .ack_routes import ACKS, AckRouteCache
from .direct_get_routes import DIRECT_GETS, DirectGetRouteCache
from .exports import StreamExport
from .inbox_routes import InboxRouteCache, Receiver
from .mapping import Mappings
from .plan import Draw, Plan, is_request
from .stream_routes import StreamRouteCache
from .sublist import Sublist
from .subscription import (
    ConnectionKind,
    InterestChange,
    MessageEndpoint,
    Subscription,
    SubscriptionOwner,
)
from .traced_message import ShadowSubscription

if TYPE_CHECKING:
    from .flusher import OutboundQueue

_MOST_PLANS = 8192
_MOST_PLANNED = 1 << 16  # in all plans together: limits their memory, and what is freed at once
_FEW_PLANS = 64
_CLIENT = ConnectionKind.CLIENT.value
_SHARED = (ACKS, DIRECT_GETS)
_IMPORT_ELSEWHERE = (ConnectionKind.IMPORT, ConnectionKind.ROUTER, ConnectionKind.GATEWAY)

# What `native.deliver_publishes` looks subjects up in.
Lookups = tuple[
    dict[bytes, Plan],
    dict[bytes, Plan | None],
    bytes,
    dict[bytes, Receiver | None],
    dict[int, int],
    Mapping[bytes, int],
    Mapping[str, object],
    dict[bytes, Plan | None],
    tuple[NodeFields, dict[MessageEndpoint, int], dict[bytes, bytes]] | None,
]

InterestCallback = Callable[[InterestChange], None]


class InterestWatch:
    """A watcher of interest, until it is cancelled.

    number: counts the watches of a space from 1, in the order in which they began.
    """

    __slots__ = ("_space", "callback", "number", "subject")

    def __init__(self, space: SubjectSpace, callback: InterestCallback, subject: str, number: int) -> None:
        self._space = space
        self.callback = callback
        self.subject = subject
        self.number = number

    def cancel(self) -> None:
        """Stop watching; harmless when called twice."""
        self._space.unwatch(self)


class SubjectSpace(SubscriptionOwner):
    """The interest, mappings and stream imports of the account `name`, and the plans that follow from them.

    plans: the cache of the hot path, from subject bytes to Plan; `plan()` fills it.
    pending_flush: the queues that the flusher writes next; the fan-out adds to it.
    lookups: what subjects without a mapping are looked up in, see `native.deliveries`; `mapped_lookups`, if
        there are mappings, which leave nothing but the plans. `routed_lookups`: for what comes from other
        servers.
    ways: replies that go back through gateways for now, with the subjects that lead there (`reply_ways`).
    generation: counts the changes of interest and mappings.
    trace_mark: what the header of a message holds that perhaps asks for a trace.
    """

    def __init__(self, name: str, pending_flush: list[OutboundQueue], draw: Draw) -> None:
        self.name = name
        self.pending_flush = pending_flush
        self.sublist = Sublist()
        self.mappings = Mappings()
        self.imports_streams: list[StreamImport] = []
        self.plans: dict[bytes, Plan] = {}
        self.ack_routes = AckRouteCache(self.sublist, draw)
        self.direct_get_routes = DirectGetRouteCache(self.sublist, draw)
        self.stream_routes = StreamRouteCache(self.sublist)
        self.inbox_routes = InboxRouteCache(self.sublist)
        self.generation = 0
        self.trace_mark = TRACED
        self.ways: dict[bytes, bytes] = {}
        self._planned = 0  # subscriptions in all plans together
        self._seen: dict[int, int] = {}  # how often hashes of subjects came without a plan, which may be long
        inboxes = self.inbox_routes.receivers, self._seen, self.sublist.ends, self.sublist.literal
        shared = self.direct_get_routes.plans, DIRECT_GETS
        interest = self.sublist.root, self.sublist.leaving, self.ways
        self.lookups: Lookups = (self.plans, *shared, *inboxes, self.stream_routes.plans, interest)
        self.routed_lookups: Lookups = (self.plans, {}, b".", *inboxes, {}, interest)
        self.mapped_lookups: Lookups = (self.plans, {}, b".", {}, {}, {}, {}, {}, None)
        self._imports_at: SubjectTree[list[int]] = SubjectTree()  # indexes in imports_streams, by `local`
        self._watches: SubjectTree[dict[InterestWatch, None]] = SubjectTree()  # by subject, `>` for all
        self._last_watch = 0
        self._draw = draw

    # --- interest

    def add_subscription(self, subscription: Subscription) -> None:
        """Add a subscription here and to the streams that the account imports.

        It receives from the next message on.
        """
        subscription.account = self
        subscription.closed = False
        subscription.settle()
        self.sublist.insert(subscription)
        self._invalidate(subscription.subject)
        if self.imports_streams and _imports_streams(subscription):
            self.add_shadows(subscription)
        if self._watches:
            self._announce(subscription, subscription.weight)

    def remove_subscription(self, subscription: Subscription) -> None:
        """Remove a subscription, which receives nothing more. Harmless when called twice."""
        subscription.closed = True
        if not self.sublist.remove(subscription):
            return
        if subscription.sink not in self.sublist.leaving:  # no plan holds those that leave
            self._invalidate(subscription.subject)
        self.remove_shadows(subscription)
        if self._watches:
            self._announce(subscription, -subscription.weight)

    def subscription_changed(self, subscription: Subscription) -> None:
        """Drop the plans that hold the subscription: its max, or its sink's `fast`, has changed."""
        subscription.settle()
        self._invalidate(subscription.subject)
        for shadow in subscription.shadows or ():
            if shadow.account is not None:
                shadow.max = subscription.max
                shadow.account.subscription_changed(shadow)

    def set_weight(self, subscription: Subscription, weight: int) -> None:
        """Set the number of members that a remote queue group has now."""
        delta = weight - subscription.weight
        subscription.weight = weight
        self._invalidate(subscription.subject)
        if delta and self._watches:
            self._announce(subscription, delta)

    def subscriptions(self) -> Iterator[Subscription]:
        """Return an iterator over all present interest, imports included."""
        leaving = self.sublist.leaving
        if not leaving:
            return iter(self.sublist)
        return (each for each in self.sublist if each.sink not in leaving)

    def announces_end(self, watch: InterestWatch, subscription: Subscription) -> bool:
        """Return whether a watcher will be told when this subscription is removed.

        It will not if the subscription was already leaving when the watch began.
        """
        leaving = self.sublist.leaving
        return not leaving or watch.number <= leaving.get(subscription.sink, watch.number)

    def leave(self, sink: MessageEndpoint) -> None:
        """Stop finding the subscriptions of `sink`, before they are removed; see `leaving`."""
        self.sublist.leaving[sink] = self._last_watch
        self.forget_plans()

    def watch_interest(self, callback: InterestCallback, subject: str = ANY_REST) -> InterestWatch:
        """Call `callback` for every change of interest from now on that overlaps with `subject`."""
        self._last_watch += 1
        watch = InterestWatch(self, callback, subject, self._last_watch)
        self._watches.setdefault(subject, {})[watch] = None
        return watch

    def unwatch(self, watch: InterestWatch) -> None:
        """End a watch; see InterestWatch.cancel."""
        watches = self._watches.get(watch.subject)
        if watches is not None:
            watches.pop(watch, None)
            if not watches:
                self._watches.pop(watch.subject)

    def _announce(self, subscription: Subscription, delta: int) -> None:
        subject, queue = subscription.subject, subscription.queue
        concerned = [watch for watches in self._watches.colliding(subject) for watch in watches]
        if self.sublist.leaving:
            concerned = [watch for watch in concerned if self.announces_end(watch, subscription)]
        if concerned:
            count = self.sublist.weight(subject, queue)
            change = InterestChange(subject, queue, count, subscription.kind, delta, subscription)
            for watch in concerned:
                watch.callback(change)

    # --- plans

    def plan(self, subject: bytes) -> Plan:
        """Return the plan of the literal `subject`, from the cache if nothing has changed."""
        plan = self.plans.get(subject)
        if plan is None:
            text = subject.decode("utf-8", "surrogateescape")
            mapping = None if self.mappings.empty else self.mappings.find(text)
            way = self.ways.get(subject) if self.ways else None
            if mapping is None and way is None and (shared := self._shared_plan(subject)) is not None:
                return shared.under(subject, text)
            if self._planned >= _MOST_PLANNED:
                self._clear_plans()
            elif len(self.plans) >= _MOST_PLANS:
                self._drop_oldest_plans()
            plan = self.plans[subject] = Plan(subject, text, self.sublist, mapping, self._draw)
            self._planned += plan.subscription_count
            if way is not None:
                shown = way.decode("utf-8", "surrogateescape")
                plan.lead_back(Plan(way, shown, self.sublist, None, self._draw))
        return plan

    def _shared_plan(self, subject: bytes) -> Plan | None:
        """Return the plan that an ack or a direct get shares with others of its kind, if it does."""
        if subject.startswith(ACKS):
            return self.ack_routes.plan(subject)
        return self.direct_get_routes.plan(subject) if subject.startswith(DIRECT_GETS) else None

    def uncached_plan(self, subject: bytes, kind: int) -> Plan:
        """Return the plan of a literal subject that is not in the cache, for what comes from this kind.

        An inbox gets a plan of its own, in the cache, only when it comes again: mostly it does not. For what
        comes from clients, a plan with a batch subscription may bear another subject of the same route.
        """
        if not self.mappings.empty or subject in self.ways:
            return self.plan(subject)
        if subject.startswith(_SHARED):
            plan = self._shared_plan(subject) if kind == _CLIENT else None
            if plan is not None and plan.batch_subscription is not None:
                return plan
        elif kind == _CLIENT and (plan := self.stream_routes.plan(subject)) is not None:
            return plan
        elif (seen := hash(subject)) not in self._seen and (receiver := self.inbox_routes.receiver(subject)):
            if len(self._seen) >= _MOST_PLANS:
                self._seen.clear()
            self._seen[seen] = 1
            return Plan.to_one(subject, *receiver)
        plan = self.plan(subject)
        if kind == _CLIENT and plan.batch_subscription is not None:
            self.stream_routes.learn(subject, plan)
        return plan

    def prepare(self, subject: bytes) -> bool:
        """Work out who receives a literal subject of a client, for `lookups`.

        Return False if that is not what they lack.
        """
        if subject in self.plans or (subject.startswith(_SHARED) and subject not in self.ways):
            return False
        unmapped = self.mappings.empty and subject not in self.ways
        if unmapped:
            if self.stream_routes.plan(subject) is not None:
                return True
            if hash(subject) not in self._seen and self.inbox_routes.receiver(subject) is not None:
                return True
        plan = self.plan(subject)
        if unmapped and plan.batch_subscription is not None:
            self.stream_routes.learn(subject, plan)
        return True

    def mapped(self, subject: str) -> str | None:
        """Return the subject that a message published to `subject` goes to, None if it is lost."""
        mapping = None if self.mappings.empty else self.mappings.find(subject)
        return subject if mapping is None else mapping.choose(subject, self._draw)

    def set_way(self, reply: bytes, subject: bytes | None) -> None:
        """Have what is sent here to a literal `reply` go to `subject` from now on; None ends that."""
        if subject is not None:
            self.ways[reply] = subject
        else:
            self.ways.pop(reply, None)
        plan = self.plans.pop(reply, None)
        if plan is not None:
            self._planned -= plan.subscription_count

    def forget_plans(self) -> None:
        """Drop all plans: the next message makes new ones."""
        self.generation += 1
        self.ack_routes.clear()
        self.direct_get_routes.clear()
        self.stream_routes.clear()
        self.inbox_routes.clear()
        self._clear_plans()

    def _drop_oldest_plans(self) -> None:
        """Make room for some. Most of those that are used now stay, also if a few more are used than fit."""
        plans = self.plans
        for oldest in list(islice(plans, _MOST_PLANS >> 5)):
            self._planned -= plans.pop(oldest).subscription_count

    def _clear_plans(self) -> None:
        self.plans.clear()
        self._planned = 0

    def _invalidate(self, subject: str) -> None:
        self.generation += 1
        self.ack_routes.forget(subject)
        self.direct_get_routes.forget(subject)
        plans = self.plans
        if not has_wildcard(subject):
            plans.pop(subject.encode("utf-8", "surrogateescape"), None)
            return
        self.stream_routes.clear()
        self.inbox_routes.clear()
        if len(plans) > _FEW_PLANS:
            self._clear_plans()
        else:
            for stale in [raw for raw, plan in plans.items() if matches(subject, plan.text)]:
                del plans[stale]

    # --- stream imports

    def set_stream_imports(
        self, streams: list[StreamImport], indexes: SubjectTree[list[int]]
    ) -> list[Subscription]:
        """Import these streams. Return the subscriptions whose shadows the caller must renew.

        indexes: the indexes of the streams in the list, by local subject.
        """
        self.imports_streams = streams
        self._imports_at = indexes
        return [s for s in self.sublist if _imports_streams(s)]

    def add_shadows(self, subscription: Subscription) -> None:
        """Add the shadows of one subscription, in the accounts whose streams it receives."""
        if subscription.sink in self.sublist.leaving:
            return
        met = sorted(p for found in self._imports_at.colliding(subscription.subject) for p in found)
        for stream in (self.imports_streams[index] for index in met):
            subject = stream.shadow_subject(subscription.subject)
            if subject is None:
                continue
            shadow = ShadowSubscription(subject, subscription, allow_trace=stream.allow_trace)
            shadow.transform = stream.transform
            if subscription.shadows is None:
                subscription.shadows = []
            subscription.shadows.append(shadow)
            stream.exporter.add_subscription(shadow)

    def remove_shadows(self, subscription: Subscription) -> None:
        """Remove the shadows of one subscription."""
        shadows, subscription.shadows = subscription.shadows or (), None
        for shadow in shadows:
            if shadow.account is not None:
                shadow.account.remove_subscription(shadow)


class StreamImport:
    """Messages of `exporter` under `subject`, which subscribers here see under `local`.

    given: the local subject as it was given, with the placeholders that `local` has as wildcards.
    transform: from the exported subject to the local one; None if they are equal.
    allow_trace: whether traces may show where the messages go here.
    """

    __slots__ = ("_reverse", "allow_trace", "export", "exporter", "given", "local", "subject", "transform")

    def __init__(
        self,
        exporter: SubjectSpace,
        export: StreamExport,
        subject: str,
        local: str,
        *,
        allow_trace: bool = False,
    ) -> None:
        self.exporter = exporter
        self.export = export
        self.subject = subject
        self.local = without_placeholders(local)
        self.given = local
        self.allow_trace = allow_trace
        self.transform, self._reverse = import_transforms(subject, local)

    @property
    def key(self) -> tuple[object, ...]:
        """A value that is equal for equal imports, down to the export they come through."""
        return id(self.exporter), id(self.export), self.subject, self.given, self.allow_trace

    def shadow_subject(self, wanted: str) -> str | None:
        """Return what to subscribe to in the exporter for interest in `wanted` here.

        None means that the two do not overlap.
        """
        if not collide(wanted, self.local):
            return None
        if wanted == self.local or is_subset(self.local, wanted):
            return self.subject
        overlap = intersection(wanted, self.local)
        return overlap if self._reverse is None else self._reverse.apply(overlap)


def _imports_streams(subscription: Subscription) -> bool:
    """Return whether a subscription gets imported streams through this server.

    The interest of a route or gateway gets them through its own server. The services of this server get none:
    what another account publishes is not a request here.
    """
    if subscription.parent is not None or subscription.kind in _IMPORT_ELSEWHERE:
        return False
    return subscription.kind != ConnectionKind.INTERNAL or not is_request(
        subscription.subject.encode("utf-8", "surrogateescape")
    )


def intersection(a: str, b: str) -> str:
    """Return the pattern that matches what both `a` and `b` match; they must collide."""
    left, right = a.split("."), b.split(".")
    tokens: list[str] = []
    for i in range(max(len(left), len(right))):
        x = left[i] if i < len(left) else ">"
        y = right[i] if i < len(right) else ">"
        if x == ">":
            return ".".join([*tokens, *right[i:]])
        if y == ">":
            return ".".join([*tokens, *left[i:]])
        tokens.append(y if x == "*" else x)
    return ".".join(tokens)


def import_transforms(source: str, local: str) -> tuple[SubjectTransform | None, SubjectTransform | None]:
    """Return the transforms from exported to local subjects and back, (None, None) if these are equal.

    Raises TransformError if a transform is impossible.
    """
    if source == local:
        return None, None
    forward = SubjectTransform(source, with_placeholders(local), strict=True)
    return forward, forward.reverse()
