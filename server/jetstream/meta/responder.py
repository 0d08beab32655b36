"""Who responds: what one server does with a request of the API that it received, by the request's rule.

Every server receives every request, because all of them subscribe; so nothing is forwarded, and each decides
alone. Promises: while there are leaders exactly one server answers. Without a leader members answer with an
error; who merely suspects it (`LATER`) waits DELAY first, and its answer is of no use when another came
before. Source: JetStream API, who answers in a cluster.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from ....protocol.errors import ApiError, api_error
from .assignment import StreamAssignment
from .node_info import UNSEEN, NodeStatus

DELAY = 500_000_000  # ns that an answer LATER waits
PATIENCE = 10_000_000_000  # ns without a leader until a group counts as leaderless


class MetaRole(enum.Enum):
    """This server in the meta group. LEADERLESS: nobody has led it for PATIENCE."""

    LEADER = enum.auto()
    FOLLOWER = enum.auto()
    LEADERLESS = enum.auto()


class StreamRole(enum.Enum):
    """This server and the stream of the request (a consumer is where its stream is).

    ABSENT: there is no such stream. NEW: a member, that should lead a group that has not had a leader yet.
    LEADERLESS: a member, and nobody has led for PATIENCE. OFFLINE: no member is there.
    """

    ABSENT = enum.auto()
    ELSEWHERE = enum.auto()
    MEMBER = enum.auto()
    NEW = enum.auto()
    LEADER = enum.auto()
    LEADERLESS = enum.auto()
    OFFLINE = enum.auto()


class ResponderRule(enum.Enum):
    """Whose request it is. Each request's rule is in the tables of the API, see `api.table`."""

    META = enum.auto()  # the meta leader's
    STREAM = enum.auto()  # the stream leader's
    STREAM_INFO = enum.auto()  # as STREAM, but members without a leader answer with what they know
    CONSUMER = enum.auto()  # the leader's of a consumer's stream
    CONSUMER_INFO = enum.auto()  # as CONSUMER, but a member that is to lead answers with what it knows
    SYSTEM = enum.auto()  # the meta leader's, from the system account only
    EVERYBODY = enum.auto()  # of all servers, from the system account only


class ResponderAction(enum.Enum):
    """What to do with the request."""

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
        """Whether the answer waits DELAY."""
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
    """This server's part in a request. consumer: whether its consumer exists (in the meta state)."""

    meta: MetaRole
    stream: StreamRole = StreamRole.ABSENT
    consumer: bool = True
    system: bool = False  # the request is of the system account


@dataclass(frozen=True, slots=True)
class LeaderStatus:
    """A group as its member here knows it. leader: "" for none; since: ns that there has been none.

    ever: whether it has had one. The ids are the meta group's.
    """

    leader: str = ""
    since: int = 0
    ever: bool = False


def meta_role(me: str, leader_status: LeaderStatus) -> MetaRole:
    """This server's role in the meta group."""
    if leader_status.leader:
        return MetaRole.LEADER if leader_status.leader == me else MetaRole.FOLLOWER
    return MetaRole.LEADERLESS if leader_status.since > PATIENCE else MetaRole.FOLLOWER


def stream_role(
    stream: StreamAssignment | None,
    node_statuses: Mapping[str, NodeStatus],
    me: str,
    leader_status: LeaderStatus | None,
) -> StreamRole:
    """This server's role for a stream. leader_status: None where no group of it runs here (yet)."""
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
    if leader_status.since > PATIENCE:
        return StreamRole.LEADERLESS
    return StreamRole.NEW if stream.preferred == me and not leader_status.ever else StreamRole.MEMBER


def action_for(rule: ResponderRule, state: ResponderState) -> ResponderAction:
    """What this server does with the request."""
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
# what a server does that is not concerned: it answers only when there is no meta leader
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
    """The error to answer with; None for ANSWER and SILENT."""
    constant = _ERRORS.get(act)
    return None if constant is None else api_error(constant)
