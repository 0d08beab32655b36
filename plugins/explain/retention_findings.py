"""What a stream keeps too long or not at all, where its consumers decide that: interest and work queues."""

from __future__ import annotations

from collections.abc import Iterator

from ...cli import words
from ...cli.proposal import command
from ...cli.words import listed
from ...protocol.subject import is_subset, matches
from .finding import ERROR, NOTE, WARNING, Finding
from .stream_facts import NEAR, Info, StreamFacts, account_use, filters_of

INTEREST, WORK_QUEUE = "interest", "workqueue"
BY_CONSUMERS = (INTEREST, WORK_QUEUE)
MOST_HOLDERS = 3  # consumers that are named because messages wait for them


def of_retention(facts: StreamFacts) -> Iterator[Finding]:
    """Yield what its consumers keep in a stream, or do not; nothing where only its limits decide."""
    retention = facts.config.get("retention")
    if retention == INTEREST:
        yield from _interest(facts)
    elif retention == WORK_QUEUE:
        yield from _untaken(facts)
    if retention in BY_CONSUMERS and facts.consumers:
        yield from _served(facts)
    if retention in BY_CONSUMERS and _nearly_full(facts):
        yield from _withheld(facts)


def _served(facts: StreamFacts) -> Iterator[Finding]:
    """Yield that it is empty because messages went, which they do at once where nobody wants them."""
    last = facts.state.get("last_seq", 0)
    if last and not facts.state.get("messages"):
        interest = facts.config.get("retention") == INTEREST
        text = "It is empty: what was stored was acknowledged" + (
            " by all who select it, or was published while no consumer selected it." if interest else "."
        )
        yield Finding("all_taken", NOTE, text, {"messages": 0, "last_seq": last}, (), facts.name)


def may_be_untaken(facts: StreamFacts) -> bool:
    """Return whether no consumer of a work queue may select some of its messages, by its subjects."""
    work_queue = facts.config.get("retention") == WORK_QUEUE
    return bool(work_queue and facts.consumers and facts.state.get("messages") and _uncovered(facts))


def _uncovered(facts: StreamFacts) -> list[str]:
    """Return the stream's subjects that no single filter of its consumers covers."""
    wanted = _wanted(facts)
    subjects = list(facts.config.get("subjects") or [">"])
    return [each for each in subjects if not any(is_subset(each, one) for one in wanted)]


def _wanted(facts: StreamFacts) -> list[str]:
    return [each for consumer in facts.consumers for each in filters_of(consumer["config"])]


def _known(facts: StreamFacts) -> bool:
    """Return whether all consumers are known: one of the others may take what these do not."""
    return len(facts.consumers) == int(facts.state.get("consumer_count", 0))


def _add(facts: StreamFacts, *flags: str) -> str:
    return command("consumer", "add", facts.name, "NAME", "--pull", *flags, "--defaults")


def _interest(facts: StreamFacts) -> Iterator[Finding]:
    evidence = {"retention": INTEREST, "consumers": facts.state.get("consumer_count", 0)}
    if not facts.state.get("consumer_count"):
        yield Finding(
            "no_interest", ERROR,
            "It keeps messages only while a consumer is interested in them, and it has none: publishes are "
            "acknowledged, and nothing is stored.",
            evidence, (_add(facts),), facts.name,
        )  # fmt: skip
    elif _known(facts) and (ignored := _uncovered(facts)):
        yield Finding(
            "partial_interest", WARNING,
            f"It keeps messages only while a consumer is interested in them. No single filter covers all of "
            f"{listed(ignored)}: what no consumer filters there is acknowledged and dropped.",
            evidence | {"filters": _wanted(facts)}, (_add(facts, "--filter", ignored[0]),), facts.name,
        )  # fmt: skip


def _untaken(facts: StreamFacts) -> Iterator[Finding]:
    """Yield that nobody takes messages of a work queue: they stay until a limit removes them."""
    count = facts.state.get("messages", 0)
    evidence = {"retention": WORK_QUEUE, "messages": count, "consumers": facts.state.get("consumer_count", 0)}
    if not count or not _known(facts):
        return
    if not facts.consumers:
        yield Finding(
            "untaken", WARNING,
            f"It is a work queue without a consumer: nobody takes its {words.counted(count, 'message')}, and "
            "they stay until a limit of the stream is reached.",
            evidence, (_add(facts),), facts.name,
        )  # fmt: skip
        return
    wanted = _wanted(facts)
    left = {
        subject: number
        for subject, number in sorted(facts.subjects.items())
        if not any(matches(each, subject) for each in wanted)
    }
    if left:
        what = listed([f"{subject} ({words.number(number)})" for subject, number in left.items()])
        yield Finding(
            "untaken", WARNING,
            f"It is a work queue, and no consumer selects {words.counted(sum(left.values()), 'message')} of "
            f"it: nobody takes what is on {what}, and it stays until a limit of the stream is reached.",
            evidence | {"untaken": sum(left.values()), "filters": wanted},
            (_add(facts, "--filter", next(iter(left))), command("stream", "subjects", facts.name)),
            facts.name,
        )  # fmt: skip


def _nearly_full(facts: StreamFacts) -> bool:
    config, state = facts.config, facts.state
    limits = ((config.get("max_msgs", -1), "messages"), (config.get("max_bytes", -1), "bytes"))
    return account_use(facts).near or any(
        0 < limit * NEAR <= 100 * state.get(used, 0) for limit, used in limits
    )


def _withheld(facts: StreamFacts) -> Iterator[Finding]:
    """Yield the consumers that the oldest messages of a stream wait for that is nearly full."""
    owing = sorted((each for each in facts.consumers if _open(each)), key=_floor)
    if not owing or not facts.state.get("messages"):
        return
    oldest = [each for each in owing if _floor(each) == _floor(owing[0])][:MOST_HOLDERS]
    names = [f"{facts.name} > {each['name']}" for each in oldest]
    first = oldest[0]
    numbers = {name: first.get(name, 0) for name in ("num_pending", "num_ack_pending")}
    yield Finding(
        "held_back", WARNING,
        f"Messages stay until those who select them have acknowledged them. {listed(names)} "
        f"{'holds' if len(names) == 1 else 'hold'} back the oldest: "
        f"{words.number(numbers['num_pending'])} not delivered, "
        f"{words.number(numbers['num_ack_pending'])} not acknowledged, since sequence "
        f"{words.number(_floor(first) + 1)}.",
        {"consumers": names, "ack_floor": _floor(first), **numbers},
        (
            command("explain", "consumer", facts.name, first["name"]),
            command("consumer", "rm", facts.name, first["name"]),
        ),
        facts.name,
    )  # fmt: skip


def _open(info: Info) -> int:
    """Return how many messages wait for a consumer."""
    return int(info.get("num_pending", 0)) + int(info.get("num_ack_pending", 0))


def _floor(info: Info) -> int:
    """Return the sequence up to which a consumer has acknowledged everything."""
    return int((info.get("ack_floor") or {}).get("stream_seq", 0))
