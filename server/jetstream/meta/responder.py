"""Who responds: what one server does with an API request that it received, by the request's rule.

All servers subscribe to the API, so almost every request reaches every server, and each server decides alone.
The few requests that the meta leader may miss are forwarded to it (`api/cluster/router.py`).

Promises:
- While there are leaders, exactly one server answers; to a request for `EVERYBODY`, all do.
- Without a leader, the members answer with an error; to `STREAM_INFO`, with what they know.
- A server that can only suspect that nobody else answers (`LATER`) waits DELAY first, and its answer has no
  effect if another one came before.

Source: nats-server's server/jetstream_api.go: what each handler does in a cluster, such as
`jsStreamInfoRequest` and `jsConsumerInfoRequest`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

from ....protocol.errors import ApiError, api_error
from ....protocol.lazy_dataclass import dataclass
from .assignment import StreamAssignment
from .node_info import UNSEEN, NodeStatus
from .responder_rule import ResponderRule

DELAY = 500_000_000  # ns that a LATER answer waits
LEADERLESS_AFTER = 10_000_000_000  # ns without a leader after which a group counts as leaderless


class MetaRole(enum.Enum):
    """This server's role in the meta group. LEADERLESS: there has been no leader for LEADERLESS_AFTER."""

    LEADER = enum.auto()
    FOLLOWER = enum.auto()
    LEADERLESS = enum.auto()


class StreamRole(enum.Enum):
    """This server's role for the stream of the request; a consumer is where its stream is.

    ABSENT: there is no such stream.
    ELSEWHERE: other servers hold it.
    MEMBER: this server holds it and does not lead it.
    NEW: this server should lead the group, which has not had a leader yet.
    LEADER: this server leads it.
    LEADERLESS: this server holds it, and there has been no leader for LEADERLESS_AFTER.
    OFFLINE: other servers hold it, and none of them is online.
    """

    ABSENT = enum.auto()
    ELSEWHERE = enum.auto()
    MEMBER = enum.auto()
    NEW = enum.auto()
    LEADER = enum.auto()
    LEADERLESS = enum.auto()
    OFFLINE = enum.auto()


class ResponderAction(enum.Enum):
    """What a server does with a request."""

    ANSWER = enum.auto()
    SILENT = enum.auto()
    UNAVAILABLE = enum.auto()
    UNAVAILABLE_LATER = enum.auto()
    NO_STREAM = enum.auto()
    NO_CONSUMER = enum.auto()
    STREAM_OFFLINE_LATER = enum.auto()
    CONSUMER_OFFLINE_LATER = enum.auto()

    @property
    def later(self) -> bool:
        """Whether the answer waits for DELAY."""
        return self.name.endswith("_LATER")


_ERRORS = {
    ResponderAction.UNAVAILABLE: "JSClusterNotAvailErr",
    ResponderAction.UNAVAILABLE_LATER: "JSClusterNotAvailErr",
    ResponderAction.NO_STREAM: "JSStreamNotFoundErr",
    ResponderAction.NO_CONSUMER: "JSConsumerNotFoundErr",
    ResponderAction.STREAM_OFFLINE_LATER: "JSStreamOfflineErr",
    ResponderAction.CONSUMER_OFFLINE_LATER: "JSConsumerOfflineErr",
}


@dataclass(frozen=True, slots=True)
class ResponderState:
    """What a server's answer depends on besides the rule.

    meta: its role in the meta group.
    stream: its role for the request's stream.
    consumer: whether the request's consumer exists in the meta state.
    system: whether the request came in the system account.
    """

    meta: MetaRole
    stream: StreamRole = StreamRole.ABSENT
    consumer: bool = True
    system: bool = False


@dataclass(frozen=True, slots=True)
class LeaderStatus:
    """The leader of a group as the group's member here knows it; ids are those of the meta group.

    leader: a member's id, "" for none.
    since: for how long there has been none, ns.
    ever: whether there has been one.
    """

    leader: str = ""
    since: int = 0
    ever: bool = False


def meta_role(me: str, leader_status: LeaderStatus) -> MetaRole:
    """Return the role of the member `me` in the meta group."""
    if leader_status.leader:
        return MetaRole.LEADER if leader_status.leader == me else MetaRole.FOLLOWER
    return MetaRole.LEADERLESS if leader_status.since > LEADERLESS_AFTER else MetaRole.FOLLOWER


def stream_role(
    stream: StreamAssignment | None,
    node_statuses: Mapping[str, NodeStatus],
    me: str,
    leader_status: LeaderStatus | None,
) -> StreamRole:
    """Return the role of `me` for a stream. leader_status: None if no group of it runs here (yet)."""
    if stream is None:
        return StreamRole.ABSENT
    if me not in stream.members:
        online = any(node_statuses.get(member, UNSEEN).online for member in stream.members)
        return StreamRole.ELSEWHERE if online else StreamRole.OFFLINE
    if not stream.replicated:
        return StreamRole.LEADER
    if leader_status is None:
        return StreamRole.MEMBER
    if leader_status.leader:
        return StreamRole.LEADER if leader_status.leader == me else StreamRole.MEMBER
    if leader_status.since > LEADERLESS_AFTER:
        return StreamRole.LEADERLESS
    return StreamRole.NEW if stream.preferred == me and not leader_status.ever else StreamRole.MEMBER


def action_for(rule: ResponderRule, state: ResponderState) -> ResponderAction:
    """Return what this server does with a request."""
    if rule is ResponderRule.EVERYBODY:
        return ResponderAction.ANSWER if state.system else ResponderAction.SILENT
    if rule is ResponderRule.SYSTEM:
        return (
            ResponderAction.ANSWER
            if state.system and state.meta is MetaRole.LEADER
            else ResponderAction.SILENT
        )
    if rule is ResponderRule.META:
        return _META[state.meta]
    return _stream_action(rule, state)


_META = {
    MetaRole.LEADER: ResponderAction.ANSWER,
    MetaRole.FOLLOWER: ResponderAction.SILENT,
    MetaRole.LEADERLESS: ResponderAction.UNAVAILABLE,
}
# What a server does that is not concerned: it answers only when there is no meta leader.
_ELSEWHERE = {
    MetaRole.LEADER: ResponderAction.SILENT,
    MetaRole.FOLLOWER: ResponderAction.SILENT,
    MetaRole.LEADERLESS: ResponderAction.UNAVAILABLE_LATER,
}


def _stream_action(rule: ResponderRule, state: ResponderState) -> ResponderAction:
    stream, meta = state.stream, state.meta
    of_consumer = rule in {ResponderRule.CONSUMER, ResponderRule.CONSUMER_INFO}
    if stream is StreamRole.ABSENT or (of_consumer and not state.consumer):
        if meta is not MetaRole.LEADER:
            return _ELSEWHERE[meta]
        return ResponderAction.NO_STREAM if stream is StreamRole.ABSENT else ResponderAction.NO_CONSUMER
    if stream is StreamRole.LEADER:
        return ResponderAction.ANSWER
    if stream is StreamRole.OFFLINE:
        if meta is not MetaRole.LEADER:
            return _ELSEWHERE[meta]
        return ResponderAction.CONSUMER_OFFLINE_LATER if of_consumer else ResponderAction.STREAM_OFFLINE_LATER
    if stream is StreamRole.LEADERLESS:
        return ResponderAction.ANSWER if rule is ResponderRule.STREAM_INFO else ResponderAction.UNAVAILABLE
    if stream is StreamRole.NEW and rule in {ResponderRule.STREAM_INFO, ResponderRule.CONSUMER_INFO}:
        return ResponderAction.ANSWER
    return _ELSEWHERE[meta]


def error_of(act: ResponderAction) -> ApiError | None:
    """Return the error to answer with; None for ANSWER and SILENT."""
    constant = _ERRORS.get(act)
    return None if constant is None else api_error(constant)
