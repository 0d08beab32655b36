"""Plans: everyone who receives one literal subject, worked out once and kept until interest changes.

A plan never changes: it is dropped, and another one is made. A `simple` plan has only receivers that take
every message as it is, and internal callbacks. The fan-out serves it by appending two slices to the queue of
each `Target`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, product
from math import prod
from typing import TYPE_CHECKING

from ...native import PlanFields
from ...protocol.reserved import ACK, GATEWAY_REPLY
from .subscription import ConnectionKind, MessageEndpoint, Subscription
from .traced_message import without_fallbacks

if TYPE_CHECKING:
    from .flusher import OutboundQueue
    from .mapping import Mapping
    from .sublist import Sublist


Draw = Callable[[], float]  # a random number in [0, 1)
# subscription, connection, connection.out.append, prefix without headers, prefix with headers, and the queue
# groups that a leaf or route must serve, each with a blank after it
Target = tuple[Subscription, "OutboundQueue", Callable[[bytes], None], bytes, bytes, bytes]
Targets = tuple[Target, ...]
# Targets of which one tuple is served; where the share of each ends (see `_ends`)
Choice = tuple[tuple[Targets, ...], tuple[int, ...] | None]


_CLIENT, _LEAF, _ROUTER, _INTERNAL, _GATEWAY = (
    ConnectionKind.CLIENT,
    ConnectionKind.LEAF,
    ConnectionKind.ROUTER,
    ConnectionKind.INTERNAL,
    ConnectionKind.GATEWAY,
)

_SERVERS = (_LEAF, _ROUTER, _GATEWAY)


class QueueGroup:
    """A queue group of a subject. Each member is chosen as often as its weight says.

    queue: the name of the group.
    members: those in this cluster: clients, internal subscribers and, by their weight, routes.
    remotes: the more distant ones, which are served only if no member takes the message: leafs, and what a
    route announces on behalf of a leaf (`origin`).
    gateways: other clusters, the nearest one first, which are served only if none of these takes it.
    routed: whether a message may have to go to another server, for one of its members.
    """

    __slots__ = ("_draw", "_ends", "_remote_ends", "gateways", "members", "queue", "remotes", "routed")

    def __init__(self, queue: str, members: list[Subscription], draw: Draw) -> None:
        self.queue = queue.encode("utf-8", "surrogateescape")
        self._draw = draw
        near: list[Subscription] = []
        distant: list[Subscription] = []
        gateways: list[Subscription] = []
        routed = False
        for member in members:
            kind = member.kind
            if kind is _GATEWAY:
                gateways.append(member)
            elif kind is not _LEAF and kind is not _ROUTER:
                near.append(member)
            elif kind is _LEAF or member.origin:
                distant.append(member)
            elif member.weight > 0:
                near.append(member)
                routed = True
        self.members, self.remotes = tuple(near), tuple(distant)
        self.gateways = tuple(sorted(gateways, key=lambda member: member.sink.rtt)) if gateways else ()
        self._ends = _ends([m.weight if m.kind is _ROUTER else 1 for m in near]) if routed else None
        self._remote_ends = _ends([max(1, m.weight) for m in distant]) if distant else None
        self.routed = routed or not near

    def candidates(self) -> list[tuple[Subscription, int]]:
        """Return those of whom one receives a client's message, with the weight of each."""
        if not self.members:
            return [(member, max(1, member.weight)) for member in self.remotes]
        return [(member, member.weight if member.kind is _ROUTER else 1) for member in self.members]

    def first(self) -> int:
        """Choose one of `members`, which must not be empty, and return its position."""
        return self._drawn(len(self.members), self._ends)

    def first_remote(self) -> int:
        """Choose one of `remotes`, which must not be empty, and return its position."""
        return self._drawn(len(self.remotes), self._remote_ends)

    def _drawn(self, count: int, ends: tuple[int, ...] | None) -> int:
        draw = self._draw()
        return int(draw * count) if ends is None else bisect_right(ends, int(draw * ends[-1]))


def _ends(weights: list[int]) -> tuple[int, ...] | None:
    """Return where the share of each member ends, if all shares are laid side by side; None if all are equal.

    A peer may announce any weight: a large one takes no more memory or time than a small one.
    """
    return tuple(accumulate(weights)) if any(weight != 1 for weight in weights) else None


_NARROW = 16
_MOST_MIXED = 64  # ways to choose the members of all groups that have members on other servers
_MOST_WEIGHT = 2**53  # of all those ways: a float has no larger integer exactly
# By the kind of the sender: CLIENT, LEAF, ROUTER, INTERNAL, GATEWAY.
TargetsFor = tuple[Targets | None, Targets | None, Targets | None, Targets | None, Targets | None]
_NOBODY: TargetsFor = ((), (), (), None, ())
_CAREFUL: TargetsFor = (None, None, None, None, None)
# Clients may not publish to these: replies through gateways, and Raft (except in the system account).
RESERVED = (GATEWAY_REPLY.encode(), b"$GR.", b"$NRG.")
# On these subjects the server itself serves: JetStream's API, acks, flow control, the system's services.
_REQUESTS = (b"$JS.API.", ACK.encode(), b"$JS.FC.", b"$SYS.REQ.", b"$SYS.DEBUG.")


class Plan(PlanFields):
    """Who receives one literal subject.

    subject, text: the subject, as bytes and as str.
    mapping: the mapping that applies to the subject, if there is one.
    plain: the local subscriptions without a queue group.
    remotes: those of leafs, routes and gateways.
    groups: the queue groups.
    targets: those that every message goes to.
    choices: of each of these, one tuple of targets is served; draw says which.
    shares: by the name of a queue group: its members here, for messages of servers, which name the groups.
    callbacks: the internal subscriptions.
    targets_for: the targets by the kind of the sender. None if they differ from message to message, or if
    messages of that kind must be looked at one by one.
    wide: how many targets one message may have, chosen ones too, if that is many; else 0.
    way: the plan of the subject by which a reply goes back through gateways, if it has to (`reply_ways`).
    batch_subscription: the only receiver, if that is a subscription with a batch callback. It may be the only
    member of a queue group; then only clients' messages go to it together.

    The flags, set once when the plan is made:

    request   the server itself serves on this subject, see `is_request`
    silent    nobody receives it, and no mapping leads elsewhere
    simple    `targets`, `choices` and `callbacks` are all that receive it; otherwise they are empty
    headers   all targets accept headers
    leafs     some targets are other servers: `route` serves what comes from a leaf, or is shown under
              another subject
    direct    there are targets, but neither choices nor callbacks
    special   there is more to do, or to look at: `wide`, `callbacks`, `silent` or `beyond` is set
    beyond    some targets of clients are gateways: a publish with a reply, which may have to name its way
              back, must be looked at
    """

    __slots__ = (
        "direct",
        "groups",
        "leafs",
        "mapping",
        "plain",
        "remotes",
        "request",
        "subject",
        "text",
        "way",
    )

    batch_subscription: Subscription | None
    callbacks: tuple[Subscription, ...]
    choices: tuple[Choice, ...]
    draw: Draw
    shares: dict[bytes, Targets]
    targets: Targets
    targets_for: TargetsFor

    def __init__(
        self, subject: bytes, text: str, sublist: Sublist, mapping: Mapping | None, draw: Draw
    ) -> None:
        self.subject = subject
        self.text = text
        self.mapping = mapping
        self.draw = draw
        self.way: Plan | None = None
        self.request = is_request(subject)
        plain, groups = sublist.match(text)
        if sublist.fallbacks:
            plain = without_fallbacks(plain)
        self.plain: tuple[Subscription, ...] = ()
        self.remotes: tuple[Subscription, ...] = ()
        self.groups: tuple[QueueGroup, ...] = ()
        self.targets = ()
        self.choices = ()
        self.shares = {}
        self.callbacks = ()
        self.batch_subscription = None
        self.direct = False
        self.headers = True
        self.leafs = self.beyond = False
        self.wide = 0
        self.silent = self.special = not plain and not groups and mapping is None
        self.simple = mapping is None and not subject.startswith(RESERVED)
        self.targets_for = _NOBODY if self.simple else _CAREFUL
        if self.silent:
            return
        if plain:
            self.plain = tuple(
                [
                    s
                    for s in plain
                    if (kind := s.kind) is not _LEAF and kind is not _ROUTER and kind is not _GATEWAY
                ]
            )
            if len(self.plain) < len(plain):
                self.remotes = tuple([s for s in plain if s.kind in _SERVERS])
        if groups:
            self.groups = tuple([QueueGroup(queue, members, draw) for queue, members in groups.items()])
        self.simple = self.simple and self._simplify()
        if not self.simple:
            self.targets_for = _CAREFUL
        elif self.remotes or groups:
            self._add_gateways()

    @property
    def subscription_count(self) -> int:
        """The number of subscriptions and targets in it, which its memory depends on."""
        mixed = sum(len(way) for ways, ends in self.choices for way in ways if ends is not None)
        return mixed + len(self.plain) + len(self.remotes) + sum(len(group.members) for group in self.groups)

    def pick(self) -> list[Target]:
        """Return the targets of one message: all of `targets`, and one of each of `choices`."""
        draw, picked = self.draw, [*self.targets]
        for choice, ends in self.choices:
            count = len(choice)
            if ends is not None:
                picked += choice[bisect_right(ends, int(draw() * ends[-1]))]
            else:
                picked += choice[0] if count == 1 else choice[int(draw() * count)]
        return picked

    def under(self, subject: bytes, text: str) -> Plan:
        """Return the same plan for another subject with the same receivers.

        See `ack_routes` and `direct_get_routes`.
        """
        plan = Plan.__new__(Plan)
        plan.subject, plan.text, plan.mapping = subject, text, None
        plan.plain, plan.groups, plan.remotes = self.plain, self.groups, self.remotes
        plan.targets, plan.choices, plan.callbacks = self.targets, self.choices, self.callbacks
        plan.headers, plan.silent, plan.simple, plan.wide = self.headers, self.silent, self.simple, self.wide
        plan.targets_for, plan.request, plan.draw = self.targets_for, self.request, self.draw
        plan.leafs, plan.direct, plan.batch_subscription = self.leafs, self.direct, self.batch_subscription
        plan.special, plan.shares, plan.way, plan.beyond = self.special, self.shares, None, self.beyond
        return plan

    @classmethod
    def to_one(cls, subject: bytes, subscription: Subscription, queue: OutboundQueue) -> Plan:
        """Return the plan of a subject that only this client's subscription receives, as it is."""
        plan = cls.__new__(cls)
        plan.subject, plan.text, plan.mapping = subject, subject.decode("utf-8", "surrogateescape"), None
        lead = b"MSG %b %b " % (subject, subscription.sid)
        targets = ((subscription, queue, queue.out.append, lead, b"H" + lead, b""),)
        plan.plain, plan.groups, plan.remotes = (subscription,), (), ()
        plan.targets, plan.choices, plan.callbacks, plan.batch_subscription = targets, (), (), None
        plan.targets_for = (targets, targets, targets, targets, targets)
        plan.headers, plan.simple, plan.direct = queue.headers, True, True
        plan.silent = plan.special = plan.leafs = plan.request = plan.beyond = False
        plan.wide, plan.draw, plan.shares, plan.way = 0, _never, {}, None
        return plan

    def _simplify(self) -> bool:
        if self.groups and not self.plain and not self.remotes and len(self.groups) == 1:
            (group,) = self.groups
            if len(group.members) == 1 and not group.remotes and _takes_batches(group.members[0]):
                self.batch_subscription = group.members[0]
                self.targets_for = _CAREFUL  # a server names the groups that its messages are for
                return True
        callbacks = [s for s in self.plain if s.kind is _INTERNAL and s.transform is None]
        clients = self.plain
        if callbacks:
            clients = tuple([s for s in clients if s.kind is not _INTERNAL or s.transform is not None])
        targets = self._clients(clients)
        if targets is None:
            return False
        near = len(targets)
        servers = self._servers()
        if servers is None:
            return False
        mixed = [group for group in self.groups if group.routed and (group.members or group.remotes)]
        choices: list[Choice] = []
        if not mixed:
            targets += servers.values()
        elif (choice := self._mix(mixed, servers)) is None:
            return False
        else:
            choices.append(choice)
        for group in self.groups:
            members = self._clients([m for m in group.members if m.kind is not _ROUTER])
            if members is None:
                return False
            if members:
                self.shares[group.queue] = tuple(members)
            if not group.routed:
                choices.append((tuple([(member,) for member in members]), None))
        self.leafs = bool(servers or mixed)
        most = len(targets) + sum(max(map(len, ways)) for ways, _ in choices)
        self.wide = most if most > _NARROW else 0
        self.targets, self.choices, self.callbacks = tuple(targets), tuple(choices), tuple(callbacks)
        routes = all(target[0].kind == ConnectionKind.ROUTER for target in servers.values())
        self.special = bool(self.wide or callbacks)
        self.direct = bool(targets) and not choices and not callbacks
        if not targets and not choices and len(callbacks) == 1 and _takes_batches(callbacks[0]):
            self.batch_subscription = callbacks[0]
        self.targets_for = (
            self.targets if not choices and self.batch_subscription is None else None,
            None if self.leafs else self.targets,
            self.targets[:near] if routes else None,  # a route's messages go to no other route
            self.targets if self.direct and not self.request else None,
            None if mixed or self.request else self.targets,  # a request says which cluster it comes from
        )
        return True

    def lead_back(self, way: Plan) -> None:
        """Have what this cluster sends to the subject go by another plan; see `way`."""
        self.way = way
        self.silent = self.simple = self.direct = self.special = self.beyond = False
        self.batch_subscription = None
        self.targets_for = _CAREFUL

    def _add_gateways(self) -> None:
        """Add the targets of other clusters, to which only messages of this cluster go."""
        found: dict[MessageEndpoint, Target | None] = {}
        for subscription in self.remotes:
            if subscription.kind is _GATEWAY and subscription.sink not in found:
                found[subscription.sink] = self._server(subscription)
        for group in self.groups:
            if group.gateways and not group.members and not group.remotes:
                nearest = group.gateways[0]
                target = found.get(nearest.sink) or self._server(nearest)
                if target is not None:
                    target = (*target[:5], b"%b%b " % (target[5], group.queue))
                found[nearest.sink] = target
        if not found:
            return
        _, _, routed, _, arrived = self.targets_for
        self.direct, self.batch_subscription = False, None
        gateways = [target for target in found.values() if target is not None]
        if len(gateways) < len(found):  # one of them does not take every message as it is
            self.simple = False
            self.targets_for = None, None, routed, None, arrived
            return
        self.beyond = self.leafs = self.special = True
        self.targets = (*self.targets, *gateways)
        self.targets_for = None if self.choices else self.targets, None, routed, None, arrived

    def _servers(self) -> dict[MessageEndpoint, Target] | None:
        """Return the targets of leafs and routes, each once however many of its interests match.

        Return None if one of them does not take every message as it is.
        """
        found: dict[MessageEndpoint, Target] = {}
        for subscription in self.remotes:
            if subscription.kind is not _GATEWAY and subscription.sink not in found:
                target = self._server(subscription)
                if target is None:
                    return None
                found[subscription.sink] = target
        return found

    def _server(self, subscription: Subscription) -> Target | None:
        """Return the target of one leaf or route; None if it does not take every message as it is."""
        server = subscription.sink
        queue = server.outbound
        if queue is None or not server.fast:
            return None
        shown = self.subject
        if subscription.transform is not None:
            shown = subscription.shown(self.text)
        if not server.may_send(shown.decode("utf-8", "surrogateescape")):
            return None
        prefix, header_prefix = server.prefixes(shown)
        self.headers = self.headers and queue.headers
        return subscription, queue, queue.out.append, prefix, header_prefix, b""

    def _mix(self, groups: list[QueueGroup], servers: dict[MessageEndpoint, Target]) -> Choice | None:
        """Return all ways to choose a member of each of these groups, whose members are on several servers.

        Each way has the targets of all `servers`, because a server gets one frame for everything that it has
        to serve. Return None if there are too many ways, if their weights are too large, or if somebody does
        not take every message as it is.
        """
        candidates = [group.candidates() for group in groups]
        if not 0 < prod(map(len, candidates)) <= _MOST_MIXED:
            return None
        ways: list[Targets] = []
        weights: list[int] = []
        for chosen in product(*candidates):
            served = dict(servers)
            clients: list[Target] = []
            for group, (member, _) in zip(groups, chosen, strict=True):
                server, target = member.sink, None
                if member.kind is _LEAF or member.kind is _ROUTER:
                    target = served.get(server) or self._server(member)
                    if target is not None:
                        served[server] = (*target[:5], b"%b%b " % (target[5], group.queue))
                elif found := self._clients((member,)):
                    target = found[0]
                    clients.append(target)
                if target is None:
                    return None
            ways.append((*clients, *served.values()))
            weights.append(prod([weight for _, weight in chosen]))
        ends = tuple(accumulate(weights))
        # Each peer says what weight its members have: the product must be one that a float draws exactly.
        return (tuple(ways), ends) if 0 < ends[-1] <= _MOST_WEIGHT else None

    def _clients(self, subscriptions: Sequence[Subscription]) -> list[Target] | None:
        """Return the targets of these clients; None if one of them does not take every message as it is."""
        targets: list[Target] = []
        lead = b"MSG %b " % self.subject
        header_lead = b"H" + lead
        for subscription in subscriptions:
            sink = subscription.sink
            queue = sink.outbound
            if subscription.kind is not _CLIENT or subscription.max or not sink.fast or queue is None:
                return None
            if not queue.headers:
                self.headers = False
            end = subscription.sid + b" "
            if subscription.transform is None:
                prefix, header_prefix = lead + end, header_lead + end
            else:
                prefix = b"MSG %b %b" % (subscription.shown(self.text), end)
                header_prefix = b"H" + prefix
            targets.append((subscription, queue, queue.out.append, prefix, header_prefix, b""))
        return targets


def _takes_batches(subscription: Subscription) -> bool:
    """Return whether the server itself subscribes, with a batch callback."""
    internal = subscription.kind is _INTERNAL and subscription.transform is None
    return internal and subscription.batch_callback is not None


def _never() -> float:
    """Draw nothing: there is no choice."""
    return 0.0


def is_request(subject: bytes) -> bool:
    """Return whether a message on `subject` is a request to a server's own services, of any domain."""
    if not subject.startswith(b"$"):
        return False
    if subject.startswith(_REQUESTS):
        return True
    tokens = subject.split(b".", 5)
    if tokens[0] == b"$JS":
        return tokens[2:3] == [b"API"]
    return tokens[:2] == [b"$SYS", b"ACCOUNT"] and tokens[3:5] == [b"CLAIMS", b"UPDATE"]
