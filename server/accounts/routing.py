"""Routing: which kinds of connections may send to which, and the delivery of one message by its plan.

A message that is traced takes the same way; what becomes of it is noted in its trace. If it is only to be
traced, everybody that would receive it counts as having taken it, but only other servers get it.

Promises at most one delivery for each plain subscription, for each queue group, and for each leaf or route.
Never blocks, and keeps no message.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from ...protocol import headers
from ...protocol.reserved import SERVICE_REPLY
from ...protocol.tracing import HOP
from .plan import Plan, QueueGroup
from .server_trace import ENDED, LEAF, NO_ECHO, NOT_PERMITTED, UNSEEN, UNSUPPORTED
from .subscription import ConnectionKind
from .traced_message import ShadowSubscription, StreamSubscription, TracedMessage

if TYPE_CHECKING:
    from collections.abc import Callable

    from .server_trace import ServerTrace
    from .subscription import RoutedMessage, Subscription


class DeliveryRule(enum.Enum):
    """When a message from one kind of source may go to one kind of sink."""

    ALWAYS = enum.auto()
    ECHO = enum.auto()  # to the publisher itself only if it wants its own messages
    OTHER_LEAF = enum.auto()  # never to the leaf it came from, nor to another leaf of the same cluster
    NOT_FROM_HUB = enum.auto()  # only if the source leaf is a spoke of ours
    ONLY_TO_SPOKES = (
        enum.auto()
    )  # only to a spoke of ours and not to its sender's cluster; or a service's reply
    RETURNED = enum.auto()  # only replies that came back to their cluster through a gateway
    ONWARD = enum.auto()  # only these, if no service awaits them, and what came through a service import
    RESPONSE = enum.auto()  # only responses of services, on subjects with the prefix SERVICE_REPLY
    NEVER = enum.auto()


_C, _L, _R, _I, _G, _S = (
    ConnectionKind.CLIENT,
    ConnectionKind.LEAF,
    ConnectionKind.ROUTER,
    ConnectionKind.INTERNAL,
    ConnectionKind.GATEWAY,
    ConnectionKind.IMPORT,
)

RULES: dict[tuple[ConnectionKind, ConnectionKind], DeliveryRule] = {
    (_C, _C): DeliveryRule.ECHO,
    (_C, _L): DeliveryRule.ALWAYS,
    (_C, _R): DeliveryRule.ALWAYS,
    (_C, _I): DeliveryRule.ALWAYS,
    (_C, _G): DeliveryRule.ALWAYS,
    (_C, _S): DeliveryRule.ALWAYS,
    (_L, _C): DeliveryRule.ALWAYS,
    (_L, _L): DeliveryRule.OTHER_LEAF,
    (_L, _R): DeliveryRule.NOT_FROM_HUB,
    (_L, _I): DeliveryRule.ALWAYS,
    (_L, _G): DeliveryRule.ALWAYS,
    (_L, _S): DeliveryRule.ALWAYS,
    (_R, _C): DeliveryRule.ALWAYS,
    (_R, _L): DeliveryRule.ONLY_TO_SPOKES,
    (_R, _R): DeliveryRule.RETURNED,
    (_R, _I): DeliveryRule.ALWAYS,
    (_R, _G): DeliveryRule.ONWARD,
    (_R, _S): DeliveryRule.RESPONSE,
    (_I, _C): DeliveryRule.ALWAYS,
    (_I, _L): DeliveryRule.ALWAYS,
    (_I, _R): DeliveryRule.ALWAYS,
    (_I, _I): DeliveryRule.ALWAYS,
    (_I, _G): DeliveryRule.ALWAYS,
    (_I, _S): DeliveryRule.ALWAYS,
    (_G, _C): DeliveryRule.ALWAYS,
    (_G, _L): DeliveryRule.ALWAYS,
    (_G, _R): DeliveryRule.ALWAYS,
    (_G, _I): DeliveryRule.ALWAYS,
    (_G, _G): DeliveryRule.ONWARD,
    (_G, _S): DeliveryRule.RESPONSE,
}

_SERVICE_REPLY = SERVICE_REPLY.encode()
_LOCAL = (_C, _I)  # kinds of senders whose replies a way back is for
# The same table by number, because the hash of an enum member is slow.
_BY_NUMBER = [
    [RULES.get((source, sink), DeliveryRule.NEVER) for sink in ConnectionKind] for source in ConnectionKind
]


def may_deliver(msg: RoutedMessage, subscription: Subscription) -> bool:
    """Return whether `RULES` lets `subscription` receive `msg`.

    The sink itself applies its permissions and limits.
    """
    source = msg.source
    sink = subscription.sink
    rule = _BY_NUMBER[source.kind][subscription.kind]
    if rule is DeliveryRule.ALWAYS:
        return True
    if rule is DeliveryRule.ECHO:
        return sink is not source or bool(msg.chain) or sink.echo
    if rule is DeliveryRule.OTHER_LEAF:
        same_cluster = bool(source.remote_cluster) and source.remote_cluster == sink.remote_cluster
        return sink is not source and not same_cluster
    if rule is DeliveryRule.NOT_FROM_HUB:
        return not source.is_spoke
    if rule is DeliveryRule.ONLY_TO_SPOKES:
        if source.remote_cluster and source.remote_cluster == sink.remote_cluster:
            return False
        return not sink.is_spoke or msg.subject.startswith(_SERVICE_REPLY)
    if rule is DeliveryRule.RESPONSE:
        return msg.subject.startswith(_SERVICE_REPLY)
    if rule is DeliveryRule.RETURNED:
        return msg.returned
    if rule is DeliveryRule.ONWARD:
        return bool(msg.chain) or (msg.returned and not msg.subject.startswith(_SERVICE_REPLY))
    return False


def route(plan: Plan, msg: RoutedMessage, queues: tuple[bytes, ...] | None = None) -> int:
    """Deliver `msg` to everyone in `plan`, and return how many took it.

    queues: the groups to serve, for a message from a leaf or route that names them; None serves all.

    The caller applies mappings: `plan` is the one of the mapped subject. An answer of the server is never a
    request: nobody receives one on a subject of the server's services, here or on another server.
    """
    if plan.request and msg.answer:
        return 0
    if plan.way is not None and (msg.chain or msg.source.kind in _LOCAL):
        return route(plan.way, msg.renamed(plan.way.subject))
    deliver = _deliver if msg.trace is None else _trace
    delivered = 0
    for subscription in plan.plain:
        if deliver(subscription, msg):
            delivered += 1
    # One frame per remote connection, however many of its interests match.
    remote: dict[int, tuple[Subscription, list[bytes]]] = {}
    for subscription in plan.remotes:
        if may_deliver(msg, subscription):
            remote.setdefault(id(subscription.sink), (subscription, []))
    for group in plan.groups:
        if queues is not None and group.queue not in queues:
            continue
        taken, chosen = _serve(group, msg, deliver)
        if taken:
            delivered += 1
        elif chosen is not None:
            remote.setdefault(id(chosen.sink), (chosen, []))[1].append(group.queue)
    for subscription, names in remote.values():
        delivered += _send(subscription, msg, plan.text, tuple(names))
    return delivered


def _send(subscription: Subscription, msg: RoutedMessage, text: str, queues: tuple[bytes, ...]) -> bool:
    """Send a message on the subject `text` to another server. Return whether it went.

    queues: the queue groups that it must serve.
    """
    server = subscription.sink
    if subscription.parent is not None and msg.chain:
        return False
    if subscription.transform is not None:
        msg = msg.renamed(subscription.shown(text))
    if isinstance(msg, TracedMessage):
        return _trace_to_server(subscription, msg, text, queues)
    subject = msg.subject.decode("utf-8", "surrogateescape")
    return server.may_send(subject) and server.deliver_to_server(msg, queues)


def _serve(
    group: QueueGroup, msg: RoutedMessage, deliver: Callable[[Subscription, RoutedMessage], bool]
) -> tuple[bool, Subscription | None]:
    """Deliver the message to one member of a group, beginning with the one that is drawn.

    Return whether a member on this server took it. If not, return the member of another server to send it to,
    None if there is none. Leafs come after this cluster, and other clusters last.
    """
    members = group.members
    count = len(members)
    start = group.first() if count else 0
    for i in range(count):
        member = members[(start + i) % count]
        if member.kind != ConnectionKind.ROUTER:
            if deliver(member, msg):
                return True, None
        elif may_deliver(msg, member):
            return False, member
    remotes = group.remotes
    count = len(remotes)
    start = group.first_remote() if count else 0
    for i in range(count):
        member = remotes[(start + i) % count]
        if may_deliver(msg, member):
            return False, member
    for member in group.gateways:
        if may_deliver(msg, member):
            return False, member
    return False, None


def _deliver(subscription: Subscription, msg: RoutedMessage) -> bool:
    if subscription.closed or not may_deliver(msg, subscription):
        return False
    # What came through a service import is not exported again as a stream.
    if subscription.parent is not None and msg.chain:
        return False
    return subscription.sink.deliver(subscription, msg)


def _trace(subscription: Subscription, msg: RoutedMessage) -> bool:
    """Deliver a traced message on this server, as `_deliver` does, and note it."""
    assert isinstance(msg, TracedMessage)
    trace, kind = msg.trace, subscription.kind
    assert trace is not None
    if not may_deliver(msg, subscription):
        if kind == ConnectionKind.CLIENT:
            _note(trace, subscription, NO_ECHO)
        return False
    if isinstance(subscription, ShadowSubscription):
        if msg.chain:
            return False
        if not _export(trace, subscription, (msg.shown or msg.subject).decode("utf-8", "surrogateescape")):
            return trace.only or _deliver(subscription, msg.untraced())
    if kind == ConnectionKind.CLIENT:
        sink = subscription.sink
        error = ENDED if subscription.closed else sink.refusal(subscription, msg)
        _note(trace, subscription, error)
        if trace.only or subscription.closed:
            return not error
        return sink.deliver(subscription, msg)
    holder = subscription.parent or subscription
    if isinstance(holder, StreamSubscription):
        seen = msg.shown or subscription.shown(msg.subject.decode("utf-8", "surrogateescape"))
        return holder.trace(msg if seen == msg.subject else TracedMessage(msg.renamed(seen), trace), trace)
    return (trace.only and kind == ConnectionKind.INTERNAL) or _deliver(subscription, msg)


def _trace_to_server(
    subscription: Subscription, msg: TracedMessage, text: str, queues: tuple[bytes, ...]
) -> bool:
    """Send a traced message to a leaf or route, which traces it further, and note it.

    text: the subject in the account that the message is in.
    """
    trace, server = msg.trace, subscription.sink
    assert trace is not None
    if isinstance(subscription, ShadowSubscription) and not _export(trace, subscription, text):
        return trace.only or (
            _permitted(subscription, msg) and server.deliver_to_server(msg.untraced(), queues)
        )
    point, hop, account = server.trace_point(), trace.next_hop(), _account(subscription)
    refused = point.kind == LEAF and not server.may_send(trace.onward)  # the peer would refuse the message
    error = "" if point.traces and not refused else UNSUPPORTED if trace.only else UNSEEN
    if not _permitted(subscription, msg):
        error = NOT_PERMITTED
    trace.passed(point, hop, account=account, error=error)
    if error and (error != UNSEEN or refused):
        return error == UNSEEN and server.deliver_to_server(msg.untraced(), queues)
    header = headers.set(msg.header, HOP, hop.encode())
    return server.deliver_to_server(msg.rewritten(msg.subject, msg.reply, header, msg.chain), queues)


def _permitted(subscription: Subscription, msg: RoutedMessage) -> bool:
    """Return whether the server that subscribes may receive the message."""
    return subscription.sink.may_send(msg.subject.decode("utf-8", "surrogateescape"))


def _export(trace: ServerTrace, shadow: ShadowSubscription, text: str) -> bool:
    """Note that another account imports a message on `text`. Return whether the trace goes on there.

    If not, it does not say either how the message is called there.
    """
    if shadow.allow_trace:
        text = shadow.shown(text).decode("utf-8", "surrogateescape")
    trace.exported(_account(shadow), text)
    return shadow.allow_trace


def _account(subscription: Subscription) -> str:
    """Return the name of the account that a subscription belongs to; of a shadow, the importer's."""
    account = (subscription.parent or subscription).account
    return "" if account is None else account.name


def _note(trace: ServerTrace, subscription: Subscription, error: str) -> None:
    if trace.full:
        trace.omitted += 1
        return
    trace.sent(
        subscription.sink.trace_point(),
        account=_account(subscription),
        subject=subscription.subject,
        queue=subscription.queue,
        error=error,
    )
