"""Why nothing arrives in a stream: pure functions from documents of the JetStream API to findings.

`of_stream` runs all checks of a stream. Each is a function of `StreamFacts`, and yields what it finds. What a
server did not tell is not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...cli import words
from ...cli.errors import ExitCode
from ...cli.proposal import command
from ...protocol.subject import is_literal, is_subset
from .account_origin import UNTOLD, AccountOrigin
from .finding import ERROR, NOTE, WARNING, Finding
from .origin_findings import OriginFacts, of_origin

Info = Mapping[str, Any]
NEAR = 90  # percent of a limit
REPLICA_LAG = 1000  # operations; a replica of a busy stream is always a few behind
FEW = 5  # names in a sentence


@dataclass(frozen=True)
class StreamFacts:
    """What was asked about a stream.

    info: the answer of STREAM.INFO.
    account: the answer of INFO; empty if it may not be asked.
    consumers: the answers of CONSUMER.INFO, where the retention depends on them.
    subjects: how many messages each subject has, where that is a limit.
    origins: what it mirrors, or takes from.
    origin: where the account is made; asked for where that is told.
    """

    info: Info
    account: Info = field(default_factory=dict)
    consumers: tuple[Info, ...] = ()
    subjects: Mapping[str, int] = field(default_factory=dict)
    origins: tuple[OriginFacts, ...] = ()
    origin: AccountOrigin = UNTOLD

    @property
    def name(self) -> str:
        """The stream's name."""
        return str(self.config.get("name", ""))

    @property
    def config(self) -> Info:
        """Its configuration."""
        found: Info = self.info["config"]
        return found

    @property
    def state(self) -> Info:
        """Its state."""
        found: Info = self.info["state"]
        return found

    def edit(self, *flags: object) -> str:
        """Return the command that changes its configuration."""
        return command("stream", "edit", self.name, *flags)


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


def listed(names: list[str]) -> str:
    """Return some names in a sentence, and how many more there are."""
    if len(names) <= FEW:
        return ", ".join(names)
    return f"{', '.join(names[:FEW])} and {len(names) - FEW} more"


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
            {"sealed": True}, (command("stream", "copy", facts.name, f"{facts.name}-2"),), facts.name,
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
                evidence, (larger, facts.edit("--discard", "old"), command("stream", "purge", facts.name)),
                facts.name,
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


def _interest(facts: StreamFacts) -> Iterator[Finding]:
    if facts.config.get("retention") != "interest":
        return
    subjects = list(facts.config.get("subjects") or [">"])
    evidence = {"retention": "interest", "consumers": facts.state.get("consumer_count", 0)}
    if not facts.state.get("consumer_count"):
        yield Finding(
            "no_interest", ERROR,
            "It keeps messages only while a consumer is interested in them, and it has none: publishes are "
            "acknowledged, and nothing is stored.",
            evidence, (command("consumer", "add", facts.name, "NAME", "--pull", "--defaults"),), facts.name,
        )  # fmt: skip
        return
    if len(facts.consumers) != facts.state["consumer_count"]:
        return  # not all of them are known: one of the others may be interested
    wanted = [each for consumer in facts.consumers for each in filters_of(consumer["config"])]
    ignored = [each for each in subjects if not any(is_subset(each, of) for of in wanted)]
    if ignored:
        yield Finding(
            "partial_interest", WARNING,
            f"It keeps messages only while a consumer is interested in them. No single filter covers all of "
            f"{listed(ignored)}: what no consumer filters there is acknowledged and dropped.",
            evidence | {"filters": wanted},
            (command("consumer", "add", facts.name, "NAME", "--pull", "--filter", ignored[0], "--defaults"),),
            facts.name,
        )  # fmt: skip


def filters_of(config: Info) -> list[str]:
    """Return what a consumer filters; `>` if it takes everything."""
    single = config.get("filter_subject")
    return [single] if single else list(config.get("filter_subjects") or [">"])


@dataclass(frozen=True)
class AccountUse:
    """How much of `memory` or `storage` (the kind) an account uses, of at most `limit`; -1 for no limit.

    next_one: bytes of a usual message.
    tier: the replicas of the tier that the limit is of; 0 for the whole account.
    """

    kind: str
    limit: int
    used: int
    next_one: int
    tier: int = 0

    @property
    def full(self) -> bool:
        """Whether a usual message has no room: where they are large, that may be long before the limit."""
        return 0 < self.limit < self.used + self.next_one

    @property
    def near(self) -> bool:
        """Whether the limit is nearly reached, or reached."""
        return self.full or 0 < self.limit * NEAR <= self.used * 100


def account_use(facts: StreamFacts) -> AccountUse:
    """Return how much the account uses where a stream is stored, or its tier for as many replicas."""
    tiers = facts.account.get("tiers") or {}
    replicas = facts.config.get("num_replicas", 1)
    tier = tiers.get(f"R{replicas}")
    use = tier or facts.account
    kind = "memory" if facts.config.get("storage") == "memory" else "storage"
    limit = (use.get("limits") or {}).get(f"max_{kind}", -1)
    messages = facts.state.get("messages", 0)
    next_one = max(1, facts.state.get("bytes", 0) // messages if messages else 1)
    used = use.get(kind, 0)
    if tier:
        used //= max(1, replicas)  # the limit of a tier is one for each replica, its usage that of all
    return AccountUse(kind, limit, used, next_one, replicas if tier else 0)


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
        yield from of_origin(origin, facts.name, age)


CHECKS: tuple[Callable[[StreamFacts], Iterator[Finding]], ...] = (
    _servers,
    _subjects,
    _limits,
    _subject_limit,
    _sizes_and_ages,
    _interest,
    _account,
    _origins,
)
