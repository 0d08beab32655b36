"""SubjectSpace: the subjects of one account, who subscribes to them, and who receives what is sent.

It is the data of an account that imports, responses and the account itself work on. Promises: interest
changes are seen by the next message (plans are invalidated at once), watchers are told of each change in
order. Publishes nothing and does no I/O.

A stream import shows part of another space here: each subscription that meets it has a shadow in that space,
which delivers to the same sink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...protocol.subject import ANY_REST, collide, has_wildcard, is_subset, matches
from ...protocol.subject_tree import SubjectTree
from ...protocol.transform import SubjectTransform, with_placeholders, without_placeholders
from .ack_routes import ACKS, AckRouteCache
from .exports import StreamExport
from .mapping import Mappings
from .plan import Draw, Plan, is_request
from .sublist import Sublist
from .subscription import ConnectionKind, InterestChange, MessageEndpoint, Subscription, SubscriptionOwner

_MOST_PLANS = 8192
_MOST_HEARERS = 1 << 16  # in all plans together: so much memory, and so much to free at once
_FEW_PLANS = 64

Watcher = Callable[[InterestChange], None]


class InterestWatch:
    """A watcher of interest, until cancelled. number: in the order in which they began, from 1."""

    __slots__ = ("_space", "callback", "number", "subject")

    def __init__(self, space: SubjectSpace, callback: Watcher, subject: str, number: int) -> None:
        self._space = space
        self.callback = callback
        self.subject = subject
        self.number = number

    def cancel(self) -> None:
        """Stop watching; harmless when done twice."""
        self._space.unwatch(self)


class SubjectSpace(SubscriptionOwner):
    """Interest, mappings and stream imports of the account `name`, and the plans that follow from them.

    plans: the hot path's cache, subject bytes -> Plan; `plan()` fills it.
    generation: counts the changes of interest and mappings.
    """

    def __init__(self, name: str, draw: Draw) -> None:
        self.name = name
        self.sublist = Sublist()
        self.mappings = Mappings()
        self.imports_streams: list[StreamImport] = []
        self.plans: dict[bytes, Plan] = {}
        self.ack_routes = AckRouteCache(self.sublist, draw)
        self.generation = 0
        self._hearers = 0  # in plans
        self._imports_at: SubjectTree[list[int]] = SubjectTree()  # places in imports_streams, by `local`
        self._watches: SubjectTree[dict[InterestWatch, None]] = SubjectTree()  # by subject, `>` for all
        self._last_watch = 0
        self._draw = draw

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
        """See InterestWatch.cancel."""
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

    # --- stream imports

    def set_stream_imports(
        self, streams: list[StreamImport], indexes: SubjectTree[list[int]]
    ) -> list[Subscription]:
        """Import these streams, `indexes` in the list by local subject; gives whose shadows follow."""
        self.imports_streams = streams
        self._imports_at = indexes
        return [s for s in self.sublist if _imports_streams(s)]

    def add_shadows(self, subscription: Subscription) -> None:
        """Subscribe, for one subscription, to what the account imports as streams."""
        if subscription.sink in self.sublist.leaving:
            return
        met = sorted(p for found in self._imports_at.colliding(subscription.subject) for p in found)
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


class StreamImport:
    """Messages of `exporter` under `subject`, seen here under `local`."""

    __slots__ = ("_given", "_reverse", "export", "exporter", "local", "subject", "transform")

    def __init__(self, exporter: SubjectSpace, export: StreamExport, subject: str, local: str) -> None:
        self.exporter = exporter
        self.export = export
        self.subject = subject
        self.local = without_placeholders(local)
        self._given = local
        self.transform, self._reverse = import_transforms(subject, local)

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for imports that are the same, down to the export they come through."""
        return id(self.exporter), id(self.export), self.subject, self._given

    def shadow_subject(self, wanted: str) -> str | None:
        """What to subscribe to in the exporter for an interest in `wanted` here; None: they do not meet."""
        if not collide(wanted, self.local):
            return None
        if wanted == self.local or is_subset(self.local, wanted):
            return self.subject
        overlap = intersection(wanted, self.local)
        return overlap if self._reverse is None else self._reverse.apply(overlap)


def _imports_streams(subscription: Subscription) -> bool:
    """Whether it gets imported streams through this server; a route's interest gets them through its own.

    The server's services do not: what another account publishes is no request here.
    """
    if subscription.parent is not None or subscription.kind in (ConnectionKind.IMPORT, ConnectionKind.ROUTER):
        return False
    return subscription.kind != ConnectionKind.INTERNAL or not is_request(
        subscription.subject.encode("utf-8", "surrogateescape")
    )


def intersection(a: str, b: str) -> str:
    """The pattern of what both `a` and `b` match; they must collide."""
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
    """exported -> local and back; (None, None) when they are the same. Raises TransformError."""
    if source == local:
        return None, None
    forward = SubjectTransform(source, with_placeholders(local), strict=True)
    return forward, forward.reverse()
