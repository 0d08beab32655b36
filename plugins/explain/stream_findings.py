"""Why nothing arrives in a stream: pure functions from documents of the JetStream API to findings.

`of_stream` runs all checks of a stream. Each is a function of `StreamFacts`, and yields what it finds. What a
server did not tell is not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...cli import words
from ...cli.errors import ExitCode
from ...cli.proposal import command
from ...cli.words import listed
from ...protocol.subject import is_literal
from .finding import ERROR, NOTE, WARNING, Finding
from .origin_findings import of_origin, unsealed
from .retention_findings import of_retention
from .stream_facts import NEAR, StreamFacts, account_use

Info = Mapping[str, Any]
REPLICA_LAG = 1000  # operations; a replica of a busy stream is always a few behind


def of_stream(facts: StreamFacts) -> list[Finding]:
    """Return everything that is to be said about a stream."""
    return [each for check in CHECKS for each in check(facts)]


def of_cluster(cluster: Info | None, about: str, *, reports: str) -> Iterator[Finding]:
    """Yield what is wrong with the servers that have a stream or consumer.

    reports: the command that shows them.
    """
    if not cluster or not words.clustered(dict(cluster)):
        return
    peers = cluster.get("replicas") or []
    names = [str(peer.get("name", "")) for peer in peers]
    offline = [str(peer.get("name", "")) for peer in peers if peer.get("offline")]
    evidence = {"leader": cluster.get("leader", ""), "replicas": len(peers), "offline": len(offline)}
    if not cluster.get("leader"):
        yield Finding(
            "no_leader", ERROR,
            f"No server leads it, so nothing is stored or delivered. A majority of its servers has to be up: "
            f"{listed(names)}.",
            evidence, (reports,), about, ExitCode.UNAVAILABLE,
        )  # fmt: skip
    elif offline:
        yield Finding(
            "replica_offline", WARNING,
            f"{listed(offline)} cannot be reached. If one more server fails, a majority may be missing, and "
            "nothing is stored or delivered.",
            evidence, (reports,), about,
        )  # fmt: skip
    late = [peer for peer in peers if not peer.get("offline") and peer.get("lag", 0) > REPLICA_LAG]
    for peer in late:
        yield Finding(
            "replica_behind", WARNING,
            f"The replica on {peer.get('name', '')} is {words.counted(peer['lag'], 'operation')} behind.",
            {"lag": peer["lag"], "active": peer.get("active", 0)}, (reports,), about,
        )  # fmt: skip


def _servers(facts: StreamFacts) -> Iterator[Finding]:
    yield from of_cluster(
        facts.info.get("cluster"), facts.name, reports=command("stream", "info", facts.name)
    )
    lost = facts.state.get("lost") or {}
    if lost:
        count = len(lost.get("msgs") or [])
        yield Finding(
            "lost_messages", ERROR,
            f"The server could not read {words.counted(count, 'message')} from its disk: lost for good.",
            {"lost": count, "bytes": lost.get("bytes", 0)},
            (command("stream", "gaps", facts.name),), facts.name,
        )  # fmt: skip


def _subjects(facts: StreamFacts) -> Iterator[Finding]:
    config = facts.config
    if config.get("sealed"):
        yield Finding(
            "sealed", ERROR, "The stream is sealed: it takes no messages any more, and cannot be unsealed.",
            {"sealed": True}, unsealed(facts.name, config.get("subjects") or []), facts.name,
        )  # fmt: skip
    elif config.get("mirror"):
        origin = config["mirror"].get("name", "")
        yield Finding(
            "is_mirror", NOTE, f"It is a mirror of {origin}: it takes messages from there only, and has no "
            "subjects of its own.", {"mirror": origin}, (), facts.name,
        )  # fmt: skip
    elif not config.get("subjects"):
        yield Finding(
            "no_subjects", NOTE, "It has no subjects: messages come from its sources only.",
            {"sources": len(config.get("sources") or [])}, (), facts.name,
        )  # fmt: skip
    elif not facts.state.get("last_seq"):
        yield Finding(
            "never_stored", NOTE,
            f"Nothing was ever stored. The stream takes what is published to {listed(config['subjects'])}: "
            "nobody publishes there, or a permission, a mapping or a leaf connection keeps it away.",
            {"last_seq": 0}, (command("explain", "subject", _example(config["subjects"])),), facts.name,
        )  # fmt: skip


def never_published(facts: StreamFacts, mute: str) -> list[Finding]:
    """Return the finding that this user may not publish to a stream in which nothing was ever stored.

    mute: why it may not, in a sentence; empty for none.
    """
    if not mute:
        return []
    text = f"{mute} Nothing was ever stored: if its publishers connect as this user, that is why."
    commands = (command("explain", "subject", _example(facts.config["subjects"])),)
    return [Finding("publish_refused", WARNING, text, {"last_seq": 0}, commands, facts.name)]


def _example(subjects: list[str]) -> str:
    """Return one of the subjects that a message can be published to, or a word for it."""
    return next(filter(is_literal, subjects), "SUBJECT")


def _limits(facts: StreamFacts) -> Iterator[Finding]:
    config, state = facts.config, facts.state
    messages, size = state.get("messages", 0), state.get("bytes", 0)
    average = size // messages if messages else 0
    for name, unit, limit, used, next_one in (
        ("max_msgs", "messages", config.get("max_msgs", -1), messages, 1),
        ("max_bytes", "bytes", config.get("max_bytes", -1), size, max(1, average)),
    ):
        full = used + next_one > limit  # where messages are large, that may be long before the limit
        if limit <= 0 or (used * 100 < limit * NEAR and not full):
            continue
        evidence = {name: limit, unit: used, "discard": config.get("discard", "old")}
        larger = facts.edit(f"--{name.replace('_', '-')}", 2 * limit)
        repairs: tuple[str, ...] = (
            larger,
            facts.edit("--discard", "old"),
            command("stream", "purge", facts.name),
        )
        if facts.bucket and unit == "bytes":  # its values are to stay
            larger = command(facts.bucket[0], "edit", facts.bucket[1], "--max-bucket-size", 2 * limit)
            repairs = (larger, command(facts.bucket[0], "ls", facts.bucket[1]))
        count = f"It holds {words.number(used)} of at most {words.counted(limit, unit.removesuffix('s'))}"
        if config.get("discard") != "new":
            yield Finding(
                "limit_discards_old", NOTE,
                f"{count}: for each new message the oldest is removed, whether or not somebody has seen it.",
                evidence, (larger,), facts.name,
            )  # fmt: skip
        elif full:
            yield Finding(
                "limit_reached", ERROR,
                f"{count}, and its discard policy is new: {_refused(unit, limit - used, average)}.",
                evidence, repairs, facts.name,
            )  # fmt: skip
        else:
            yield Finding(
                "limit_near", WARNING,
                f"{count}, and its discard policy is new: soon further messages are refused.",
                evidence, (larger,), facts.name,
            )  # fmt: skip


def _refused(unit: str, left: int, average: int) -> str:
    """Return what is refused by a stream that is full, or nearly so."""
    if unit == "messages" or left <= 0:
        return "further messages are refused"
    return (
        f"what takes more than the {words.counted(left, 'byte')} left is refused, and on average a message "
        f"takes {words.number(average)}"
    )


def _subject_limit(facts: StreamFacts) -> Iterator[Finding]:
    limit = facts.config.get("max_msgs_per_subject", -1)
    if limit <= 0 or not facts.config.get("discard_new_per_subject"):
        return
    full = sorted(subject for subject, count in facts.subjects.items() if count >= limit)
    if full:
        yield Finding(
            "subject_limit_reached", ERROR,
            f"{words.number(len(full))} of {words.counted(len(facts.subjects), 'subject', 'holds', 'hold')} "
            f"{words.counted(limit, 'message')} each, and further ones on them are refused: {listed(full)}.",
            {"max_msgs_per_subject": limit, "full": len(full)},
            (facts.edit("--max-msgs-per-subject", 2 * limit), facts.edit("--no-discard-per-subject")),
            facts.name,
        )  # fmt: skip


def _sizes_and_ages(facts: StreamFacts) -> Iterator[Finding]:
    config, state = facts.config, facts.state
    if config.get("no_ack") and config.get("subjects"):
        yield Finding(
            "no_ack", NOTE,
            "It acknowledges no publish: clients that wait for that take each message for lost.",
            {"no_ack": True}, (facts.edit("--ack"),), facts.name,
        )  # fmt: skip
    if config.get("max_msg_size", -1) > 0:
        yield Finding(
            "max_msg_size", NOTE,
            f"Messages larger than {words.size(config['max_msg_size'])} are refused.",
            {"max_msg_size": config["max_msg_size"]}, (), facts.name,
        )  # fmt: skip
    age = config.get("max_age", 0)
    last = words.since(state.get("last_ts", ""), facts.info.get("ts", ""))
    if age > 0 and state.get("last_seq") and not state.get("messages") and last > age:
        yield Finding(
            "expired", NOTE,
            f"All messages have expired: they are kept for {words.go_span(age)}, and the last one was stored "
            f"{words.span(last)} ago.",
            {"max_age": words.go_span(age), "last_seq": state["last_seq"], "last_ts": state["last_ts"]},
            (facts.edit("--max-age", words.go_span(2 * age)),), facts.name,
        )  # fmt: skip


def _account(facts: StreamFacts) -> Iterator[Finding]:
    """Yield the limits of the account that are reached, or of the tier for as many replicas."""
    use = account_use(facts)
    if not use.near:
        return
    full = use.full
    where = f"tier R{use.tier} of the account" if use.tier else "account"
    sentence, commands = facts.origin.change(use.kind, 2 * use.limit, use.tier)
    yield Finding(
        "account_limit_reached" if full else "account_limit_near", ERROR if full else WARNING,
        f"The {where} uses {words.size(use.used)} of at most {words.size(use.limit)} of {use.kind}: "
        + ("" if full else "soon ") + f"further messages are refused.{sentence}",
        {f"max_{use.kind}": use.limit, use.kind: use.used},
        (command("stream", "report"), *commands), facts.name,
    )  # fmt: skip


def _origins(facts: StreamFacts) -> Iterator[Finding]:
    age = words.since(facts.info.get("created", ""), facts.info.get("ts", ""))
    for origin in facts.origins:
        yield from of_origin(origin, facts.name, age, facts.state.get("last_seq", 0))


CHECKS: tuple[Callable[[StreamFacts], Iterator[Finding]], ...] = (
    _servers,
    _subjects,
    _limits,
    _subject_limit,
    _sizes_and_ages,
    of_retention,
    _account,
    _origins,
)
