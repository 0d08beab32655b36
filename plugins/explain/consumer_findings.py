"""Why a consumer delivers nothing: pure functions from documents of the JetStream API to findings.

`of_consumer` runs all checks of a consumer. Each is a function of `ConsumerFacts`, and yields what it finds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...cli import words
from ...cli.proposal import command
from ...cli.words import listed
from .ack_findings import given_up, of_acks
from .consumer_facts import ConsumerFacts
from .filter_findings import of_filters
from .finding import ERROR, NOTE, WARNING, Finding
from .stream_findings import of_cluster

Info = Mapping[str, Any]
SECOND = 1_000_000_000


def of_consumer(facts: ConsumerFacts) -> list[Finding]:
    """Return everything that is to be said about a consumer."""
    return [each for check in CHECKS for each in check(facts)]


def _servers(facts: ConsumerFacts) -> Iterator[Finding]:
    yield from of_cluster(facts.info.get("cluster"), facts.about, reports=facts.line("info"))


def _paused(facts: ConsumerFacts) -> Iterator[Finding]:
    if facts.info.get("paused"):
        left = words.span(facts.count("pause_remaining"))
        yield Finding(
            "paused", ERROR, f"It is paused, for another {left}: nothing is delivered until then.",
            {"pause_until": facts.config.get("pause_until", ""), "pause_remaining": left},
            (facts.line("resume"),), facts.about,
        )  # fmt: skip


def _start(facts: ConsumerFacts) -> Iterator[Finding]:
    policy = facts.config.get("deliver_policy", "all")
    if policy in ("last", "last_per_subject"):
        which = "the last message" if policy == "last" else "the last message of each subject"
        yield Finding(
            "starts_last", NOTE, f"It began with {which} at its creation; none before is delivered.",
            {"deliver_policy": policy, "created": facts.info["created"]},
            (facts.line("copy", "NAME", "--deliver", "all"),), facts.about,
        )  # fmt: skip
    if facts.at("delivered", "consumer_seq"):
        return
    last = facts.state.get("last_seq", 0)
    if policy == "by_start_sequence" and facts.config.get("opt_start_seq", 0) > last:
        start = facts.config["opt_start_seq"]
        yield Finding(
            "starts_later", WARNING,
            f"It begins at sequence {words.number(start)}, and the last one of the stream is "
            f"{words.number(last)}: {words.counted(start - last - 1, 'more message', 'has', 'have')} to come "
            "before.",
            {"opt_start_seq": start, "last_seq": last}, (facts.line("copy", "NAME", "--deliver", last or 1),),
            facts.about,
        )  # fmt: skip
    elif policy == "by_start_time" and _ahead(facts):
        start_time = facts.config.get("opt_start_time", "")
        yield Finding(
            "starts_later", WARNING,
            f"It begins with messages of {words.when(start_time)}, and that time has not come.",
            {"opt_start_time": start_time}, (facts.line("copy", "NAME", "--deliver", "all"),), facts.about,
        )  # fmt: skip
    elif policy == "new" and facts.state.get("messages") and not facts.count("num_pending"):
        yield Finding(
            "starts_new", NOTE,
            f"It delivers only what is stored after its creation at {words.when(facts.info['created'])}; "
            "nothing that it selects was.",
            {"deliver_policy": policy, "created": facts.info["created"], "last_seq": last},
            (facts.line("copy", "NAME", "--deliver", "all"),), facts.about,
        )  # fmt: skip


def _ahead(facts: ConsumerFacts) -> bool:
    start = words.parse_time(facts.config.get("opt_start_time", ""))
    now = words.parse_time(facts.info.get("ts", ""))
    return start is not None and now is not None and start > now


def _pulls(facts: ConsumerFacts) -> Iterator[Finding]:
    config = facts.config
    if config.get("deliver_subject"):
        return
    pending, waiting = facts.count("num_pending"), facts.count("num_waiting")
    most, groups = config.get("max_waiting", 0), list(config.get("priority_groups") or [])
    if facts.unasked:
        yield Finding(
            "pull_refused", NOTE if waiting else ERROR,
            f"{facts.unasked} It gets nothing of this consumer"
            + (", while others ask for messages." if waiting else ", and nobody else asks."),
            {"num_pending": pending, "num_waiting": waiting}, (command("account", "info"),), facts.about,
        )  # fmt: skip
    elif not waiting and pending:
        yield Finding(
            "no_pulls", WARNING,
            f"{words.counted(pending, 'message', 'is', 'are')} to be delivered, and no client asks: a pull "
            f"consumer delivers only on request.{_group(groups)}",
            {"num_pending": pending, "num_waiting": 0, **({"priority_groups": groups} if groups else {})},
            (_request(facts, groups),), facts.about,
        )  # fmt: skip
    elif 0 < most <= waiting:
        yield Finding(
            "max_waiting", ERROR,
            f"{words.number(waiting)} of at most {words.counted(most, 'pull request', 'waits', 'wait')}: "
            "further ones are refused. Ask for larger batches, or by fewer clients; the limit cannot be "
            "changed.",
            {"num_waiting": waiting, "max_waiting": most},
            (facts.line("copy", "NAME", "--max-waiting", 2 * most),), facts.about,
        )  # fmt: skip
    limits = {name: config[name] for name in ("max_batch", "max_bytes") if config.get(name)}
    if config.get("max_expires"):
        limits["max_expires"] = words.go_span(config["max_expires"])
    if limits:
        yield Finding(
            "pull_limits", NOTE, "Pull requests beyond these limits are refused.",
            limits, (), facts.about,
        )  # fmt: skip


def _group(groups: list[str]) -> str:
    """Return what requests have to name, in a sentence; empty where there are no priority groups."""
    return f" Each request has to name one of its groups, or is refused: {listed(groups)}." if groups else ""


def _request(facts: ConsumerFacts, groups: list[str]) -> str:
    """Return the command that asks for a message."""
    if not groups:
        return facts.line("next", "--count", 1)
    subject = f"$JS.API.CONSUMER.MSG.NEXT.{facts.info['stream_name']}.{facts.info['name']}"
    return command("req", subject, json.dumps({"batch": 1, "expires": SECOND, "group": groups[0]}))


def _pushes(facts: ConsumerFacts) -> Iterator[Finding]:
    config = facts.config
    subject, group = config.get("deliver_subject"), config.get("deliver_group", "")
    if not subject:
        return
    bound = bool(facts.info.get("push_bound"))
    if facts.deaf:
        yield Finding(
            "subscribe_refused", NOTE if bound else ERROR,
            f"{facts.deaf} Messages of this consumer go there"
            + (", and others hear them." if bound else ", and nobody hears them."),
            {"deliver_subject": subject, "deliver_group": group}, (command("account", "info"),), facts.about,
        )  # fmt: skip
    elif not bound:
        as_member = f" in the queue group {group}" if group else ""
        yield Finding(
            "no_push_interest", ERROR,
            f"Nobody subscribes to {subject}{as_member}, where it delivers to.",
            {"deliver_subject": subject, "deliver_group": group, "num_pending": facts.count("num_pending")},
            (command("sub", subject, *(("--queue", group) if group else ())), facts.line("sub")), facts.about,
        )  # fmt: skip
    rate = config.get("rate_limit_bps", 0)
    if rate and facts.count("num_pending"):
        yield Finding(
            "rate_limit", NOTE, f"It delivers at most {words.size(rate // 8)} in a second.",
            {"rate_limit_bps": rate, "num_pending": facts.count("num_pending")}, (), facts.about,
        )  # fmt: skip


def _unused(facts: ConsumerFacts) -> Iterator[Finding]:
    """Yield that an unused consumer is going to be removed."""
    threshold = facts.config.get("inactive_threshold", 0)
    if threshold and not facts.info.get("push_bound") and not facts.count("num_waiting"):
        yield Finding(
            "inactive", NOTE,
            f"Nobody uses it: {words.go_span(threshold)} after its last use the server removes it.",
            {"inactive_threshold": words.go_span(threshold)},
            (facts.line("edit", "--inactive-threshold", words.go_span(2 * threshold)),), facts.about,
        )  # fmt: skip


def _forms(facts: ConsumerFacts) -> Iterator[Finding]:
    """Yield in which form messages come, where that looks like a fault."""
    config = facts.config
    if config.get("headers_only"):
        yield Finding(
            "headers_only", NOTE, "It delivers headers without bodies; Nats-Msg-Size says how large each is.",
            {"headers_only": True}, (facts.line("edit", "--no-headers-only"),), facts.about,
        )  # fmt: skip
    if config.get("replay_policy") == "original" and facts.count("num_pending"):
        yield Finding(
            "replay_original", NOTE,
            "It delivers messages at the pace at which they were stored: what came an hour apart comes an "
            "hour apart.",
            {"replay_policy": "original", "num_pending": facts.count("num_pending")},
            (facts.line("copy", "NAME", "--replay", "instant"),), facts.about,
        )  # fmt: skip


def _missed(facts: ConsumerFacts) -> Iterator[Finding]:
    delivered, first = facts.at("delivered", "stream_seq"), facts.state.get("first_seq", 0)
    if facts.at("delivered", "consumer_seq") and first > delivered + 1:
        count = first - delivered - 1
        replaced = facts.stream["config"].get("max_msgs_per_subject", -1) > 0
        yield Finding(
            "removed_before", NOTE if replaced else WARNING,
            f"Up to {words.counted(count, 'message', 'was', 'were')} removed from the stream before "
            f"delivery, by a limit: sequences {words.number(delivered + 1)} to {words.number(first - 1)}.",
            {"delivered": delivered, "first_seq": first},
            (command("stream", "info", facts.info["stream_name"]),), facts.about,
        )  # fmt: skip


def _pinned(facts: ConsumerFacts) -> Iterator[Finding]:
    if facts.config.get("priority_policy") != "pinned_client":
        return
    for group in facts.info.get("priority_groups") or []:
        if group.get("pinned_client_id"):
            yield Finding(
                "pinned", NOTE,
                f"The group {group['group']} is pinned to one client; the others of it get nothing.",
                {"group": group["group"], "pinned_client_id": group["pinned_client_id"]},
                (facts.line("unpin", group["group"]),), facts.about,
            )  # fmt: skip


def _progress(facts: ConsumerFacts) -> Iterator[Finding]:
    """Yield how far it is, if nothing is left to deliver."""
    if facts.count("num_pending"):
        return
    evidence = {"num_pending": 0, "delivered": facts.at("delivered", "stream_seq")}
    stream = facts.info["stream_name"]
    if not facts.state.get("messages"):
        yield Finding(
            "stream_empty", NOTE, "The stream holds no messages.", evidence,
            (command("explain", "stream", stream),), facts.about,
        )  # fmt: skip
    elif facts.count("num_ack_pending"):
        yield Finding(
            "in_flight", NOTE,
            "Everything is delivered; "
            f"{words.counted(facts.count('num_ack_pending'), 'message', 'is', 'are')} with clients and "
            "not acknowledged yet.",
            evidence | {"num_ack_pending": facts.count("num_ack_pending")}, (), facts.about,
        )  # fmt: skip
    elif facts.at("delivered", "consumer_seq") and not given_up(facts)[0]:
        yield Finding(
            "all_delivered", NOTE,
            f"Everything that it selects is delivered, up to sequence {words.number(evidence['delivered'])}.",
            evidence, (), facts.about,
        )  # fmt: skip


CHECKS: tuple[Callable[[ConsumerFacts], Iterator[Finding]], ...] = (
    _servers,
    _paused,
    of_filters,
    _start,
    of_acks,
    _pulls,
    _pushes,
    _unused,
    _forms,
    _missed,
    _pinned,
    _progress,
)
