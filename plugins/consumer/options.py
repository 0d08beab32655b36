"""The flags for a consumer's configuration, and how they change one.

`add`, `copy` and `edit` use them. Only flags that were given change anything.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import click

from ...cli.errors import UsageError
from ...cli.param import DURATION, PAIR, split_list
from ...cli.setting import Given, Setting, put
from ...protocol import duration, subject, timestamp
from ...protocol.api.consumer import ConsumerConfig

MINUTE = 60_000_000_000
POLICIES = {
    "all": "all",
    "last": "last",
    "new": "new",
    "next": "new",
    "subject": "last_per_subject",
    "last_per_subject": "last_per_subject",
}

_WHOLE = click.IntRange(min=0)

SETTINGS: tuple[Setting, ...] = (
    Setting("--ack", click.Choice(("none", "all", "explicit", "flow_control")), "ack_policy",
            "Acknowledgement policy", only="add"),
    Setting("--bps", _WHOLE, "rate_limit_bps", "Bits per second that are delivered at most", only="add"),
    Setting("--backoff", click.Choice(("linear", "none")), "", "Wait longer from redelivery to redelivery"),
    Setting("--backoff-steps", click.IntRange(min=1), "", "Number of steps (default: 10)"),
    Setting("--backoff-min", DURATION, "", "The shortest wait (default: 1m)"),
    Setting("--backoff-max", DURATION, "", "The longest wait (default: 20m)"),
    Setting("--deliver", str, "",
            "Where to start: all, new, last, subject, 1h, a sequence or time", only="add"),
    Setting("--deliver-group", str, "deliver_group", "Deliver only to this queue group", only="add"),
    Setting("--description", str, "description", "A description of the Consumer"),
    Setting("--ephemeral", bool, "", "Let the Consumer go when nobody uses it", only="add"),
    Setting("--filter", str, "", "Only messages of these subjects", multiple=True),
    Setting("--flow-control", bool, "flow_control", "Control the flow to a push Consumer", only="add"),
    Setting("--heartbeat", DURATION, "",
            "Send heartbeats to a push Consumer this often (-1: none)", only="add"),
    Setting("--headers-only/--no-headers-only", bool, "headers_only", "Deliver only the headers"),
    Setting("--max-deliver", int, "max_deliver", "Deliver a message this often at most (-1: unlimited)"),
    Setting("--max-outstanding", int, "max_ack_pending", "As --max-pending"),
    Setting("--max-pending", int, "max_ack_pending", "How many messages may wait for acknowledgement"),
    Setting("--max-waiting", _WHOLE, "max_waiting", "How many pull requests may wait", only="add"),
    Setting("--max-pull-batch", _WHOLE, "max_batch", "Largest batch of a pull request"),
    Setting("--max-pull-expire", DURATION, "max_expires", "Longest expiry of a pull request"),
    Setting("--max-pull-bytes", _WHOLE, "max_bytes", "Most bytes of a pull request"),
    Setting("--pull", bool, "", "Deliver when asked for messages", only="add"),
    Setting("--replay", click.Choice(("instant", "original")), "replay_policy",
            "Deliver at once, or as the messages came", only="add"),
    Setting("--sample", int, "", "Percentage of acknowledgements to sample"),
    Setting("--target", str, "deliver_subject", "Push to this subject"),
    Setting("--wait", DURATION, "", "How long to wait for an acknowledgement"),
    Setting("--inactive-threshold", DURATION, "inactive_threshold", "Unused for this long, it is removed"),
    Setting("--memory", bool, "mem_storage", "Keep its state in memory", only="add"),
    Setting("--replicas", _WHOLE, "num_replicas", "Replicas of its state (default: as the Stream)"),
    Setting("--metadata", PAIR, "", "Metadata as KEY=VALUE", multiple=True),
    Setting("--pause", str, "", "Deliver nothing until this time, or for this long", only="add"),
    Setting("--pinned-groups", str, "", "Priority groups whose client is pinned", multiple=True, only="add"),
    Setting("--pinned-ttl", DURATION, "priority_timeout", "How long a client stays pinned", only="add"),
    Setting("--overflow-groups", str, "", "Priority groups that take overflow", multiple=True, only="add"),
    Setting("--prioritized-groups", str, "", "Priority groups by priority", multiple=True, only="add"),
)  # fmt: skip

GROUPS = {
    "pinned_groups": "pinned_client",
    "overflow_groups": "overflow",
    "prioritized_groups": "prioritized",
}


def apply(config: ConsumerConfig, given: Given) -> None:
    """Change `config` by the flags given. Raises CliError for invalid values."""
    if given.get("pull") and given.get("target"):
        raise UsageError("a Consumer pushes or is pulled from", "give --pull or --target, not both")
    put(config, SETTINGS, given)
    if given.get("pull"):
        config.deliver_subject = config.deliver_group = ""
    if given.get("deliver"):
        start_at(config, given["deliver"])
    if given.get("filter"):
        filter_by(config, split_list(given["filter"]))
    if given.get("heartbeat") is not None:
        config.idle_heartbeat = max(0, given["heartbeat"])
    if given.get("wait") is not None:
        config.ack_wait = max(0, given["wait"])
    if given.get("sample") is not None:
        config.sample_freq = _sampling(given["sample"])
    if given.get("metadata"):
        config.metadata = dict(given["metadata"])
    if given.get("pause"):
        config.pause_until = until(given["pause"])
    if given.get("backoff"):
        _back_off(config, given)
    _prioritize(config, given)


def start_at(config: ConsumerConfig, policy: str) -> None:
    """Set where delivery starts. Raises ValueError if it is not a policy, duration, sequence or time."""
    config.opt_start_seq, config.opt_start_time = 0, None
    if policy in POLICIES:
        config.deliver_policy = POLICIES[policy]
        if config.deliver_policy == "last_per_subject" and not config.filters:
            config.filter_subject = ">"
    elif policy.isdecimal():
        config.deliver_policy, config.opt_start_seq = "by_start_sequence", int(policy)
    else:
        config.deliver_policy, config.opt_start_time = "by_start_time", _moment(policy)


def _moment(text: str) -> int:
    try:
        return time.time_ns() - duration.parse(text)
    except duration.DurationError:
        pass
    try:
        return timestamp.parse_rfc3339(text)
    except ValueError:
        raise ValueError(
            f'"{text}" is no start policy: all, new, last, subject, 1h, a message sequence or a time'
        ) from None


def filter_by(config: ConsumerConfig, subjects: list[str]) -> None:
    """Deliver only messages with these subjects; none means all. Raises ValueError for an invalid one."""
    wrong = [each for each in subjects if not subject.is_valid(each)]
    if wrong:
        raise ValueError(f'"{" ".join(wrong)}" is not a valid subject')
    config.filter_subject = subjects[0] if len(subjects) == 1 else ""
    config.filter_subjects = subjects if len(subjects) > 1 else []
    if not subjects and config.deliver_policy == "last_per_subject":
        config.filter_subject = ">"


def _sampling(percent: int) -> str:
    if not 0 <= percent <= 100:
        raise UsageError("sample percent is not between 0 and 100", "see --sample")
    return str(percent) if percent else ""


def until(text: str) -> int:
    """Return a point in time (ns): `2006-01-02 15:04:05` in UTC, an RFC 3339 time, or a duration from now."""
    if re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", text):
        try:
            moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
        except ValueError:
            raise UsageError(f'"{text}" is not a time') from None
        return int(moment.timestamp()) * 1_000_000_000
    try:
        return time.time_ns() + duration.parse(text)
    except duration.DurationError:
        pass
    try:
        return timestamp.parse_rfc3339(text)
    except ValueError:
        raise UsageError(
            f'"{text}" is neither a time nor a duration', "such as 1h30m or '2006-01-02 15:04:05' (UTC)"
        ) from None


def _back_off(config: ConsumerConfig, given: Given) -> None:
    if given["backoff"] == "none":
        config.backoff = []
        return
    steps = given.get("backoff_steps") or 10
    least = given.get("backoff_min") or MINUTE
    most = given.get("backoff_max") or 20 * MINUTE
    if least > most:
        raise UsageError("--backoff-min is longer than --backoff-max")
    config.backoff = [least + step * ((most - least) // steps) for step in range(steps)]
    if config.max_deliver <= 0:
        config.max_deliver = steps + 1  # the server demands more deliveries than waits


def _prioritize(config: ConsumerConfig, given: Given) -> None:
    chosen = [(name, policy) for name, policy in GROUPS.items() if given.get(name)]
    if len(chosen) > 1:
        raise UsageError("a Consumer has one kind of priority groups", "give one of the --…-groups flags")
    for name, policy in chosen:
        config.priority_policy = policy
        config.priority_groups = split_list(given[name])
