"""The rules for a consumer's configuration, and its defaults.

A configuration is checked by itself, within its stream, beside the stream's other consumers, and as an update
of another one.

Promises: defaults, order of checks, error codes and texts are the reference's. A pedantic request gets error
10157 wherever a value that it gave would change. Nothing is created or changed here, except that `check`
fills the defaults into the copy that it returns, and `fill_in` into its argument.
"""

import re
from collections.abc import Iterable

from ....protocol import duration
from ....protocol.api.consumer import ConsumerConfig
from ....protocol.api.stream import StreamConfig
from ....protocol.errors import ApiError, api_error
from ....protocol.lazy_dataclass import dataclass
from ....protocol.subject import is_literal, is_subset, is_valid
from ....protocol.subject_tree import TooEntangled, index_tree, nesting
from ...clock import SECOND
from ...slices import Steps, at_once

ACK_WAIT = 30 * SECOND
INACTIVE = 5 * SECOND
PINNED = 120 * SECOND
MAX_ACK_PENDING = 1000
MAX_WAITING = 512
# Sourcing consumers, like all with the flow control ack policy, send a heartbeat each second.
SOURCING_HEARTBEAT = SECOND
MAX_NAME = 255
STEP = 1024  # filters checked in one step
MAX_DESCRIPTION = 4 * 1024
MAX_METADATA = 128 * 1024
_BAD_NAME = re.compile(r"[\s.*>/\\\x00]")
_GROUP = re.compile(r"[A-Za-z0-9/_=-]{1,16}\Z")
_START = {"all": "all", "last": "last", "last_per_subject": "last per subject", "new": "new"}
# Fields that no update may change, with their names in the reference's error texts, in the reference's order
_FIXED = (
    ("deliver_policy", "deliver policy"),
    ("mem_storage", "storage type"),
    ("direct", "direct"),
    ("sourcing", "sourcing"),
    ("opt_start_seq", "start sequence"),
    ("opt_start_time", "start time"),
    ("ack_policy", "ack policy"),
    ("replay_policy", "replay policy"),
    ("idle_heartbeat", "heart beats"),
    ("flow_control", "flow control"),
)


@dataclass(frozen=True, slots=True)
class ConsumerBounds:
    """Limits from outside the stream; 0 or less for none.

    max_ack_pending: the server's limit of pending messages.
    account_max_ack_pending: the account's limit of pending messages.
    max_request_batch: the server's limit for the batch of a pull request.
    """

    max_ack_pending: int = 0
    account_max_ack_pending: int = 0
    max_request_batch: int = 0


def check(
    config: ConsumerConfig,
    stream: StreamConfig,
    bounds: ConsumerBounds | None = None,
    *,
    pedantic: bool = False,
    recovering: bool = False,
    filter_check: "FilterCheck | None" = None,
) -> ConsumerConfig:
    """Return a copy of `config` with its defaults, checked by every rule that needs no other consumer.

    pedantic: refuse values that would be adjusted.
    recovering: the configuration was accepted once, so rules that came later do not apply.
    filter_check: the result of `checking_filters`, if it was called before.

    Raises ApiError.
    """
    bounds = bounds or ConsumerBounds()
    made = config.replace()
    fill_in(made, stream, bounds, pedantic=pedantic)
    _check_names(made)
    _check_replicas(made, stream, recovering=recovering)
    _check_waits(made)
    if made.ack_policy == "flow_control":
        _check_flow_control_policy(made)
    if made.backoff and made.max_deliver != -1 and len(made.backoff) > made.max_deliver:
        raise api_error("JSConsumerMaxDeliverBackoffErr")
    if len(made.description.encode()) > MAX_DESCRIPTION:
        raise api_error("JSConsumerDescriptionTooLongErrF", max=MAX_DESCRIPTION)
    if made.deliver_subject:
        _check_push(made, stream)
    else:
        _check_pull(made, stream, bounds)
    _check_bounds(made, stream, bounds)
    if made.direct:
        if not made.deliver_subject:
            raise api_error("JSConsumerDirectRequiresPushErr")
        if made.durable_name:
            raise api_error("JSConsumerDirectRequiresEphemeralErr")
    if filter_check is None:
        filter_check = at_once(checking_filters(made))
    if filter_check.error is not None:
        raise filter_check.error
    _check_start(made)
    _check_rest(made)
    _check_priority(made)
    return made


def is_asset_name(name: str) -> bool:
    """Return whether a consumer may have this name."""
    return bool(name) and _BAD_NAME.search(name) is None


def _invalid(text: str) -> ApiError:
    return api_error("JSStreamInvalidConfigF", err=text)


def _check_names(config: ConsumerConfig) -> None:
    if config.name and not is_asset_name(config.name):
        raise _invalid(r"consumer name can not contain '.', '*', '>', '\', '/'")
    if config.durable_name and not is_asset_name(config.durable_name):
        raise _invalid(r"consumer durable name can not contain '.', '*', '>', '\', '/'")


def _check_replicas(config: ConsumerConfig, stream: StreamConfig, *, recovering: bool) -> None:
    replicas = config.num_replicas
    if replicas > 0 and replicas > stream.num_replicas:
        raise api_error("JSConsumerReplicasExceedsStream")
    if replicas < 0:
        raise api_error("JSReplicasCountCannotBeNegative")
    if stream.retention != "limits" and not recovering and replicas not in (0, stream.num_replicas):
        raise api_error("JSConsumerReplicasShouldMatchStream")


def _check_waits(config: ConsumerConfig) -> None:
    if any(wait < 0 for wait in config.backoff):
        raise api_error("JSConsumerBackOffNegativeErr")
    if config.ack_wait < 0:
        raise api_error("JSConsumerAckWaitNegativeErr")


def _check_flow_control_policy(config: ConsumerConfig) -> None:
    if not config.deliver_subject:
        raise api_error("JSConsumerAckFCRequiresPushErr")
    if not config.flow_control:
        raise api_error("JSConsumerAckFCRequiresFCErr")
    if config.idle_heartbeat != SOURCING_HEARTBEAT:
        raise _invalid("flow control ack policy heartbeat needs to be 1s")
    if config.max_ack_pending <= 0:
        raise api_error("JSConsumerAckFCRequiresMaxAckPendingErr")
    if config.ack_wait or config.backoff:
        raise api_error("JSConsumerAckFCRequiresNoAckWaitErr")
    if config.max_deliver > 0:
        raise api_error("JSConsumerAckFCRequiresNoMaxDeliverErr")


def _check_push(config: ConsumerConfig, stream: StreamConfig) -> None:
    if not is_literal(config.deliver_subject) and is_valid(config.deliver_subject):
        raise api_error("JSConsumerDeliverToWildcardsErr")
    if not is_valid(config.deliver_subject):
        raise api_error("JSConsumerInvalidDeliverSubject")
    if any(is_subset(config.deliver_subject, subject) for subject in stream.subjects):
        raise api_error("JSConsumerDeliverCycleErr")
    if config.max_waiting:
        raise api_error("JSConsumerPushMaxWaitingErr")
    if config.max_ack_pending > 0 and config.ack_policy == "none":
        raise api_error("JSConsumerMaxPendingAckPolicyRequiredErr")
    if 0 < config.idle_heartbeat < 100_000_000:
        raise api_error("JSConsumerSmallHeartbeatErr")


def _check_pull(config: ConsumerConfig, stream: StreamConfig, bounds: ConsumerBounds) -> None:
    if config.ack_policy == "none" and stream.retention == "workqueue":
        raise api_error("JSConsumerPullRequiresAckErr")
    if config.rate_limit_bps > 0:
        raise api_error("JSConsumerPullWithRateLimitErr")
    if config.idle_heartbeat > 0:
        raise api_error("JSConsumerHBRequiresPushErr")
    if config.flow_control:
        raise api_error("JSConsumerFCRequiresPushErr")
    if 0 < config.max_expires < 1_000_000:
        raise api_error("JSConsumerMaxRequestExpiresTooSmall")
    if 0 < bounds.max_request_batch < config.max_batch:
        raise api_error("JSConsumerMaxRequestBatchExceededF", limit=bounds.max_request_batch)


def _check_bounds(config: ConsumerConfig, stream: StreamConfig, bounds: ConsumerBounds) -> None:
    limits = stream.consumer_limits
    for limit in (bounds.max_ack_pending, bounds.account_max_ack_pending, limits.max_ack_pending):
        if 0 < limit < config.max_ack_pending:
            raise api_error("JSConsumerMaxPendingAckExcessErrF", limit=limit)
    if 0 < limits.inactive_threshold < config.inactive_threshold:
        limit_text = duration.format_go(limits.inactive_threshold)
        raise api_error("JSConsumerInactiveThresholdExcess", limit=limit_text)


@dataclass(frozen=True, slots=True)
class FilterCheck:
    """The result of checking a configuration's filters.

    error: why they are not accepted; None if they are.
    """

    error: ApiError | None


def checking_filters(config: ConsumerConfig) -> Steps[FilterCheck]:
    """Check the filters by themselves, in steps: each must be valid, and none may overlap."""
    if config.filter_subject and config.filter_subjects:
        return FilterCheck(api_error("JSConsumerDuplicateFilterSubjects"))
    if config.filter_subject and not is_valid(config.filter_subject):
        return FilterCheck(_invalid("invalid subject"))
    if "" in config.filter_subjects:
        return FilterCheck(api_error("JSConsumerEmptyFilter"))
    filters = config.filters
    for start in range(0, len(filters), STEP):
        if start:
            yield
        if not all(map(is_valid, filters[start : start + STEP])):
            return FilterCheck(_invalid("invalid subject"))
    if len(filters) > 1:
        try:
            if (yield from nesting(filters)):
                return FilterCheck(api_error("JSConsumerOverlappingSubjectFilters"))
        except TooEntangled as error:
            return FilterCheck(_invalid(str(error)))
    return FilterCheck(None)


def _check_start(config: ConsumerConfig) -> None:
    def refuse(policy: str, what: str) -> ApiError:
        return api_error(
            "JSConsumerInvalidPolicyErrF",
            err=f"consumer delivery policy is deliver {policy}, but optional {what}",
        )

    policy = config.deliver_policy
    if policy in _START:
        if config.opt_start_seq:
            raise refuse(_START[policy], "start sequence is also set")
        if config.opt_start_time is not None:
            raise refuse(_START[policy], "start time is also set")
        if policy == "last_per_subject" and not config.filters:
            raise refuse(_START[policy], "filter subject is not set")
    elif policy == "by_start_sequence":
        if not config.opt_start_seq:
            raise refuse("by start sequence", "start sequence is not set")
        if config.opt_start_time is not None:
            raise refuse("by start sequence", "start time is also set")
    elif policy == "by_start_time":
        if config.opt_start_time is None:
            raise refuse("by start time", "start time is not set")
        if config.opt_start_seq:
            raise refuse("by start time", "start start sequence is also set")


def sample_percentage(text: str) -> int:
    """Read `sample_freq` ("30" or "30%"), 0 if it is empty. Raises ApiError 10095 if it is invalid."""
    if not text:
        return 0
    bare = text.removesuffix("%")
    if not re.fullmatch(r"[+-]?[0-9]+", bare):
        raise api_error(
            "JSConsumerInvalidSamplingErrF", err=f'strconv.Atoi: parsing "{bare}": invalid syntax'
        )
    if int(bare) < 0:
        raise api_error("JSConsumerInvalidSamplingErrF", err="<nil>")
    return int(bare)


def _check_rest(config: ConsumerConfig) -> None:
    sample_percentage(config.sample_freq)
    if config.flow_control and not config.idle_heartbeat:
        raise api_error("JSConsumerWithFlowControlNeedsHeartbeats")
    if config.durable_name and config.name and config.name != config.durable_name:
        raise api_error("JSConsumerCreateDurableAndNameMismatch")
    if sum(len(k.encode()) + len(v.encode()) for k, v in config.metadata.items()) > MAX_METADATA:
        raise api_error("JSConsumerMetadataLengthErrF", limit=f"{MAX_METADATA // 1024}KB")


def _check_priority(config: ConsumerConfig) -> None:
    if config.priority_policy == "none":
        if config.priority_groups:
            raise api_error("JSConsumerPriorityGroupWithPolicyNone")
        if config.priority_timeout > 0:
            raise api_error("JSConsumerPinnedTTLWithoutPriorityPolicyNone")
        return
    if config.deliver_subject:
        raise api_error("JSConsumerPushWithPriorityGroupErr")
    if not config.priority_groups:
        raise api_error("JSConsumerPriorityPolicyWithoutGroup")
    for group in config.priority_groups:
        if not group:
            raise api_error("JSConsumerEmptyGroupName")
        check_group(group)


def check_group(group: str) -> None:
    """Check the name of a priority group. Raises ApiError 10162."""
    if not _GROUP.match(group):
        raise api_error("JSConsumerInvalidGroupNameErr")


def check_work_queue(config: ConsumerConfig, siblings: Iterable[ConsumerConfig], *, update: bool) -> None:
    """Check a consumer of a work queue stream beside the stream's other consumers. Raises ApiError.

    It must use explicit acks (or flow control acks) and deliver all, and no message may be for two consumers.
    siblings: the configurations of the others, without internal ones.
    update: whether the consumer exists; then only its filters are checked.
    """
    filters = config.filters
    others = list(siblings)
    if not update:
        if config.ack_policy not in ("explicit", "flow_control"):
            raise api_error("JSConsumerWQRequiresExplicitAckErr")
        if config.deliver_policy != "all":
            raise api_error("JSConsumerWQConsumerNotDeliverAllErr")
        if others and not filters:
            raise api_error("JSConsumerWQMultipleUnfilteredErr")
    tree = index_tree(filters)
    for other in others:
        theirs = other.filters
        if not theirs or any(tree.covering(one) or any(tree.within(one)) for one in theirs):
            raise api_error("JSConsumerWQConsumerNotUniqueErr")


# -- defaults

_NEGATIVE_TO_ZERO = (
    "max_waiting",
    "max_batch",
    "max_expires",
    "max_bytes",
    "idle_heartbeat",
    "inactive_threshold",
    "priority_timeout",
)


def fill_in(config: ConsumerConfig, stream: StreamConfig, bounds: ConsumerBounds, *, pedantic: bool) -> None:
    """Fill the defaults into `config` itself.

    Raises ApiError 10157 if `pedantic` and a given value would change.
    """
    _tame(config, pedantic=pedantic)
    pull = not config.deliver_subject
    if pull and config.max_waiting == 0:
        config.max_waiting = MAX_WAITING
    if config.ack_wait == 0 and config.ack_policy in ("explicit", "all"):
        config.ack_wait = ACK_WAIT
    if config.backoff:
        if pedantic and config.ack_wait != config.backoff[0]:
            raise _pedantic("first backoff value has to equal batch AckWait")
        config.ack_wait = config.backoff[0]
    _from_stream(config, stream, pedantic=pedantic)
    if config.max_ack_pending == 0 and config.ack_policy != "none":
        limits = [n for n in (bounds.max_ack_pending, bounds.account_max_ack_pending) if n > 0]
        config.max_ack_pending = min([MAX_ACK_PENDING, *limits])
    if pull and config.max_batch == 0 and bounds.max_request_batch > 0:
        if pedantic:
            raise _pedantic("max_request_batch must be set if it's JetStream limits are set")
        config.max_batch = bounds.max_request_batch
    if config.priority_policy == "pinned_client" and config.priority_timeout == 0:
        config.priority_timeout = PINNED
    if config.ack_policy == "flow_control" and not pedantic:
        config.flow_control = True
        config.idle_heartbeat = SOURCING_HEARTBEAT


def _tame(config: ConsumerConfig, *, pedantic: bool) -> None:
    if config.max_deliver < -1 and pedantic:
        raise _pedantic("max_deliver must be set to -1")
    if config.max_deliver <= 0:
        config.max_deliver = -1
    if config.max_waiting < 0 and pedantic:
        raise _pedantic("max_waiting must not be negative")
    if config.max_ack_pending < -1:
        if pedantic:
            raise _pedantic("max_ack_pending must be set to -1")
        config.max_ack_pending = -1
    for name in _NEGATIVE_TO_ZERO:
        if getattr(config, name) < 0:
            if pedantic:
                raise _pedantic(f"{name} must not be negative")
            setattr(config, name, 0)


def _from_stream(config: ConsumerConfig, stream: StreamConfig, *, pedantic: bool) -> None:
    limits = stream.consumer_limits
    for name in ("max_ack_pending", "inactive_threshold"):
        if getattr(config, name) == 0:
            if pedantic and getattr(limits, name) > 0:
                raise _pedantic(f"{name} must be set if it's configured in stream limits")
            setattr(config, name, getattr(limits, name))


def _pedantic(text: str) -> Exception:
    return api_error("JSPedanticErrF", err=text)


# -- updates


def check_update(old: ConsumerConfig, new: ConsumerConfig, *, bound: bool) -> None:
    """Check an update of a consumer. bound: whether somebody listens on the old deliver subject.

    Raises ApiError 10012 with the reason, or 10013 if the deliver subject changes while it is bound.
    """
    for field, words in _FIXED:
        if getattr(old, field) != getattr(new, field):
            raise _refuse(f"{words} can not be updated")
    if old.deliver_subject != new.deliver_subject:
        if not old.deliver_subject:
            raise _refuse("can not update pull consumer to push based")
        if not new.deliver_subject:
            raise _refuse("can not update push consumer to pull based")
        if bound:
            raise api_error("JSConsumerNameExistErr")
    if old.max_waiting != new.max_waiting:
        raise _refuse("max waiting can not be updated")


def _refuse(text: str) -> ApiError:
    return api_error("JSConsumerCreateErrF", err=text)


def same(old: ConsumerConfig, new: ConsumerConfig) -> bool:
    """Return whether two configurations are equal, apart from metadata that servers add (`_nats.`)."""
    return _plain(old) == _plain(new)


def _plain(config: ConsumerConfig) -> dict[str, object]:
    value = config.to_json()
    metadata = {k: v for k, v in config.metadata.items() if not k.startswith("_nats.")}
    value["metadata"] = metadata
    return value
