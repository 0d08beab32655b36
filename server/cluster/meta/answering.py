"""Who answers: for each subject of the API, what one server does with a request that it heard.

Every server hears every request, because all of them listen; so nothing is forwarded, and each decides alone.
Promises: while there are leaders exactly one server answers. Without a leader members say so; who merely
suspects it (`LATER`) waits DELAY first, and its answer is of no use when another came before.

Two subjects are not here but listened for only by who answers (`LISTENERS`): a request finds nobody, and
fails at once, while there is none. Source: JetStream API, who answers in a cluster.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from ....protocol.errors import ApiError, api_error
from .assignment import StreamAssignment
from .server import UNSEEN, Sight

DELAY = 500_000_000  # ns that an answer LATER waits
PATIENCE = 10_000_000_000  # ns without a leader until a group counts as leaderless


class Meta(enum.Enum):
    """This server in the meta group. LEADERLESS: nobody has led it for PATIENCE."""

    LEADER = enum.auto()
    FOLLOWER = enum.auto()
    LEADERLESS = enum.auto()


class Asset(enum.Enum):
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


class Rule(enum.Enum):
    """Whose request it is."""

    META = enum.auto()  # the meta leader's
    STREAM = enum.auto()  # the stream leader's
    STREAM_INFO = enum.auto()  # as STREAM, but members without a leader tell what they know
    CONSUMER = enum.auto()  # the leader's of a consumer's stream
    CONSUMER_INFO = enum.auto()  # as CONSUMER, but a member that is to lead tells what it knows
    SYSTEM = enum.auto()  # the meta leader's, from the system account only
    EVERYBODY = enum.auto()  # of all servers, from the system account only


class Act(enum.Enum):
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
    Act.UNAVAILABLE: "JSClusterNotAvailErr",
    Act.UNAVAILABLE_LATER: "JSClusterNotAvailErr",
    Act.NO_STREAM: "JSStreamNotFoundErr",
    Act.NO_CONSUMER: "JSConsumerNotFoundErr",
    Act.STREAM_OFFLINE_LATER: "JSStreamOfflineErr",
    Act.CONSUMER_OFFLINE_LATER: "JSConsumerOfflineErr",
}

# subject after `$JS.API.` -> whose it is
RULES: dict[str, Rule] = {
    "INFO": Rule.META,
    "STREAM.CREATE.*": Rule.META,
    "STREAM.UPDATE.*": Rule.META,
    "STREAM.NAMES": Rule.META,
    "STREAM.LIST": Rule.META,
    "STREAM.DELETE.*": Rule.META,
    "STREAM.RESTORE.*": Rule.META,
    "STREAM.PEER.REMOVE.*": Rule.META,
    "STREAM.PEER.EVACUATE.*": Rule.META,
    "STREAM.CANCEL_MOVE.*": Rule.META,
    "STREAM.INFO.*": Rule.STREAM_INFO,
    "STREAM.PURGE.*": Rule.STREAM,
    "STREAM.MSG.GET.*": Rule.STREAM,
    "STREAM.MSG.DELETE.*": Rule.STREAM,
    "STREAM.SNAPSHOT.*": Rule.STREAM,
    "STREAM.LEADER.STEPDOWN.*": Rule.STREAM,
    "CONSUMER.CREATE.*": Rule.META,
    "CONSUMER.CREATE.*.>": Rule.META,
    "CONSUMER.DURABLE.CREATE.*.*": Rule.META,
    "CONSUMER.NAMES.*": Rule.META,
    "CONSUMER.LIST.*": Rule.META,
    "CONSUMER.DELETE.*.*": Rule.META,
    "CONSUMER.PAUSE.*.*": Rule.META,
    "CONSUMER.INFO.*.*": Rule.CONSUMER_INFO,
    "CONSUMER.RESET.*.*": Rule.CONSUMER,
    "CONSUMER.UNPIN.*.*": Rule.CONSUMER,
    "CONSUMER.LEADER.STEPDOWN.*.*": Rule.CONSUMER,
    "META.LEADER.STEPDOWN": Rule.SYSTEM,
    "META.RESCUE": Rule.EVERYBODY,
    "SERVER.REMOVE": Rule.SYSTEM,
    "SERVER.EVACUATE": Rule.SYSTEM,
    "ACCOUNT.PURGE.*": Rule.SYSTEM,
    "ACCOUNT.STREAM.MOVE.*.*": Rule.SYSTEM,
    "ACCOUNT.STREAM.CANCEL_MOVE.*.*": Rule.SYSTEM,
}

# subject after `$JS.API.` -> who listens: the stream's leader, or every member that is current, as one queue.
LISTENERS: dict[str, str] = {
    "CONSUMER.MSG.NEXT.*.*": "leader",
    "DIRECT.GET.*": "current members",
    "DIRECT.GET.*.>": "current members",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """Where this server stands. consumer: whether the consumer of the request exists (in the meta state)."""

    meta: Meta
    asset: Asset = Asset.ABSENT
    consumer: bool = True
    system: bool = False  # the request is of the system account


@dataclass(frozen=True, slots=True)
class Led:
    """A group as its member here knows it. leader: "" for none; since: ns that there has been none.

    ever: whether it has had one. The ids are the meta group's.
    """

    leader: str = ""
    since: int = 0
    ever: bool = False


def meta_of(me: str, led: Led) -> Meta:
    """Where this server stands in the meta group."""
    if led.leader:
        return Meta.LEADER if led.leader == me else Meta.FOLLOWER
    return Meta.LEADERLESS if led.since > PATIENCE else Meta.FOLLOWER


def asset_of(stream: StreamAssignment | None, sights: Mapping[str, Sight], me: str, led: Led | None) -> Asset:
    """Where this server stands with a stream. led: None where no group of it runs here (yet)."""
    if stream is None:
        return Asset.ABSENT
    if me not in stream.members:
        online = any(sights.get(member, UNSEEN).online for member in stream.members)
        return Asset.ELSEWHERE if online else Asset.OFFLINE
    if not stream.replicated:
        return Asset.LEADER
    if led is None:
        return Asset.MEMBER
    if led.leader:
        return Asset.LEADER if led.leader == me else Asset.MEMBER
    if led.since > PATIENCE:
        return Asset.LEADERLESS
    return Asset.NEW if stream.preferred == me and not led.ever else Asset.MEMBER


def rule_for(pattern: str, *, internal: bool = False, retention: str = "limits") -> Rule:
    """The rule of a subject's pattern.

    A consumer that another stream's mirror or source asks for (`internal`) is its stream's own matter, unless
    the stream needs acknowledgements, and with them a consumer that lasts. Raises KeyError.
    """
    rule = RULES[pattern]
    creates = pattern.startswith(("CONSUMER.CREATE.", "CONSUMER.DURABLE."))
    return Rule.STREAM if internal and creates and retention == "limits" else rule


def decide(rule: Rule, standing: Standing) -> Act:
    """What this server does with the request."""
    if rule is Rule.EVERYBODY:
        return Act.ANSWER if standing.system else Act.SILENT
    if rule is Rule.SYSTEM:
        return Act.ANSWER if standing.system and standing.meta is Meta.LEADER else Act.SILENT
    if rule is Rule.META:
        return _META[standing.meta]
    return _asset(rule, standing)


_META = {Meta.LEADER: Act.ANSWER, Meta.FOLLOWER: Act.SILENT, Meta.LEADERLESS: Act.UNAVAILABLE}
# what who is not concerned does: only a missing meta leader is worth a word
_ELSEWHERE = {Meta.LEADER: Act.SILENT, Meta.FOLLOWER: Act.SILENT, Meta.LEADERLESS: Act.UNAVAILABLE_LATER}


def _asset(rule: Rule, standing: Standing) -> Act:
    asset, meta = standing.asset, standing.meta
    of_consumer = rule in {Rule.CONSUMER, Rule.CONSUMER_INFO}
    if asset is Asset.ABSENT or (of_consumer and not standing.consumer):
        if meta is not Meta.LEADER:
            return _ELSEWHERE[meta]
        return Act.NO_STREAM if asset is Asset.ABSENT else Act.NO_CONSUMER
    if asset is Asset.LEADER:
        return Act.ANSWER
    if asset is Asset.OFFLINE:
        if meta is not Meta.LEADER:
            return _ELSEWHERE[meta]
        return Act.CONSUMER_OFFLINE_LATER if of_consumer else Act.STREAM_OFFLINE_LATER
    if asset is Asset.LEADERLESS:
        return Act.ANSWER if rule is Rule.STREAM_INFO else Act.UNAVAILABLE
    if asset is Asset.NEW and rule in {Rule.STREAM_INFO, Rule.CONSUMER_INFO}:
        return Act.ANSWER
    return _ELSEWHERE[meta]


def error_of(act: Act) -> ApiError | None:
    """The error to answer with; None for ANSWER and SILENT."""
    constant = _ERRORS.get(act)
    return None if constant is None else api_error(constant)
