"""What is wrong with the acknowledgements of a consumer: too many are missing, none comes, or too late."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...cli import words
from ...cli.proposal import command
from ...cli.words import listed
from .consumer_facts import ConsumerFacts
from .finding import ERROR, WARNING, Finding

Info = Mapping[str, Any]
SECOND = 1_000_000_000
USUAL = 30 * SECOND  # the ack wait of a consumer that does not set one
RESETTABLE = {"all", "by_start_sequence", "by_start_time"}  # the other policies have no way back
EXAMPLE = "1.1.1.1.0"  # the end of an ack's subject, of a message that need not exist
LONG = 300 * SECOND  # an ack wait after which people look for a fault before it is over


def of_acks(facts: ConsumerFacts) -> Iterator[Finding]:
    """Yield what is wrong with acknowledgements; nothing where none are expected."""
    if facts.config.get("ack_policy", "none") != "none":
        for check in CHECKS:
            yield from check(facts)


def given_up(facts: ConsumerFacts) -> tuple[int, bool]:
    """Return how many messages were delivered as often as they may be and not acknowledged; whether exactly.

    Servers count a message as redelivered until it is acknowledged, and as pending until it is given up. What
    may be delivered only once is never counted as redelivered: but if nothing is pending, and the ack floor
    is below what was delivered, what is between was given up, or acknowledged.
    """
    if facts.config.get("max_deliver", -1) <= 0 or facts.config.get("ack_policy", "none") == "none":
        return 0, True
    pending = facts.count("num_ack_pending")
    count = facts.count("num_redelivered") - pending
    if count > 0:
        return count, True
    between = facts.at("delivered", "consumer_seq") - facts.at("ack_floor", "consumer_seq")
    return (0, True) if pending else (between, False)


def ack_subject(facts: ConsumerFacts, rest: str) -> str:
    """Return what is published to acknowledge messages of a consumer, or one of them.

    rest: the deliveries, sequences and times of a message, or `>` for all.
    """
    return f"$JS.ACK.{facts.info['stream_name']}.{facts.info['name']}.{rest}"


def _mute(facts: ConsumerFacts) -> Iterator[Finding]:
    if not facts.mute:
        return
    yield Finding(
        "ack_refused", ERROR,
        f"{facts.mute} What it receives of this consumer is never acknowledged"
        + (f", and given up after {words.counted(facts.config['max_deliver'], 'attempt')}."
           if facts.config.get("max_deliver", -1) > 0 else ", and comes again and again."),
        {"subject": ack_subject(facts, ">")}, (_may_it(facts),), facts.about,
    )  # fmt: skip


def _may_it(facts: ConsumerFacts) -> str:
    """Return the command by which a client's user finds out whether its acknowledgements arrive."""
    subject = ack_subject(facts, EXAMPLE)
    if not facts.domain:
        return command("explain", "subject", subject)
    return command("explain", "subject", subject, "--sys", "CONTEXT")  # who is told of leaf connections


def _twins(facts: ConsumerFacts) -> Iterator[Finding]:
    if facts.twins:
        yield Finding(
            "shared_acks", WARNING,
            f"The domain {listed(list(facts.twins))} has a stream and a consumer of the same names. "
            "Acknowledgements do not name a domain: what a client of one acknowledges counts for the other, "
            "which then does not deliver its own message. Only a deny list of the leaf connection that has "
            f"{ack_subject(facts, '>')} keeps them apart, or another name.",
            {"domains": list(facts.twins)}, (_may_it(facts), facts.line("copy", "NAME")), facts.about,
        )  # fmt: skip


def _full(facts: ConsumerFacts) -> Iterator[Finding]:
    waiting, most = facts.count("num_ack_pending"), facts.config.get("max_ack_pending", 0)
    if not 0 < most <= waiting:
        return
    sooner = not facts.config.get("backoff") and facts.config.get("ack_wait", 0) >= LONG
    wait = (facts.line("edit", "--wait", words.go_span(USUAL)),) if sooner else ()
    advice = " A shorter ack wait holds for these messages, too." if sooner else ""
    yield Finding(
        "max_ack_pending", ERROR,
        f"{words.number(waiting)} of at most {words.counted(most, 'delivered message', 'waits', 'wait')} for "
        f"an acknowledgement: nothing further is delivered until one comes, or its ack wait of "
        f"{_waits(facts.config)} is over.{advice}",
        _evidence(facts), (*wait, facts.line("edit", "--max-pending", 2 * most)), facts.about,
    )  # fmt: skip


def _never(facts: ConsumerFacts) -> Iterator[Finding]:
    delivered, acked = facts.at("delivered", "consumer_seq"), facts.at("ack_floor", "consumer_seq")
    waiting, most = facts.count("num_ack_pending"), facts.config.get("max_ack_pending", 0)
    last = (facts.info.get("delivered") or {}).get("last_active", "")
    longest = max(facts.config.get("backoff") or [facts.config.get("ack_wait", 0)])
    late = words.since(last, facts.info.get("ts", "")) > longest
    full = 0 < most <= waiting
    if not (delivered and waiting and not acked and (late or full or facts.count("num_redelivered"))):
        return
    # What waits comes again only after its ack wait: a full consumer delivers nothing until then.
    take = () if full else (facts.line("next", "--ack"),)
    yield Finding(
        "never_acked", WARNING,
        f"{words.counted(delivered, 'message', 'was', 'were')} delivered, and the first of them was "
        f"never acknowledged; {words.number(waiting)} {'waits' if waiting == 1 else 'wait'} for it. The "
        f"client has to acknowledge each message, and its user has to be allowed to publish to "
        f"{ack_subject(facts, '>')}.{_far(facts)}",
        {**_evidence(facts), "delivered": delivered, "ack_floor": acked}, (*take, _may_it(facts)),
        facts.about,
    )  # fmt: skip


def _far(facts: ConsumerFacts) -> str:
    """Return what else keeps acknowledgements from a consumer of another domain."""
    if not facts.domain:
        return ""
    return f" From here it crosses a leaf connection to the domain {facts.domain}, which may deny it."


def _given_up(facts: ConsumerFacts) -> Iterator[Finding]:
    count, exact = given_up(facts)
    if not count:
        return
    number = words.counted(count, "message", "was", "were")
    acked, delivered = (facts.at(each, "stream_seq") for each in ("ack_floor", "delivered"))
    often = facts.config["max_deliver"]
    # By its sequence: the ack floor to which servers go back without one is beyond what was given up.
    starts = facts.config.get("deliver_policy", "all") in RESETTABLE and acked < delivered
    again = (facts.line("reset", "--sequence", acked + 1),) if starts else ()
    none = "" if acked else (
        " No message was ever acknowledged: the client does not, dies before, or its user may not publish to "
        f"{ack_subject(facts, '>')}."
    )  # fmt: skip
    yield Finding(
        "given_up", WARNING if acked else ERROR,
        f"{number if exact else f'Up to {number}'} given up: delivered "
        f"{words.counted(often, 'time')} and not acknowledged. The consumer does not deliver "
        f"{'it' if count == 1 else 'them'} any more.{none}{_kept_since(facts)}",
        {"num_redelivered": facts.count("num_redelivered"),
         "num_ack_pending": facts.count("num_ack_pending"), "max_deliver": often, "ack_floor": acked,
         "delivered": delivered},
        (*(() if acked else (_may_it(facts),)), *again, *_letters(facts)), facts.about,
    )  # fmt: skip


def _kept_since(facts: ConsumerFacts) -> str:
    if facts.keeping.letters:
        return " Dead letters of it are kept."
    return " What it gives up is kept as dead letters; there is none now." if facts.keeping.kept else ""


def _letters(facts: ConsumerFacts) -> Iterator[str]:
    """Yield the commands that show dead letters and replay them, or keep those to come."""
    stream, consumer = facts.info["stream_name"], facts.info["name"]
    if facts.keeping.letters:
        yield command("dlq", "ls", stream, "--consumer", consumer)
        yield command("dlq", "show", stream, "ID")
        yield command("dlq", "replay", stream, "--consumer", consumer)
    if not facts.keeping.kept:
        yield command("dlq", "add", stream)


def _again(facts: ConsumerFacts) -> Iterator[Finding]:
    config, pending = facts.config, facts.count("num_ack_pending")
    count = facts.count("num_redelivered")
    if config.get("max_deliver", -1) > 0:
        count = min(count, pending)  # the others are given up
    if count <= 0:
        return
    often = config.get("max_deliver", -1)
    after = f"; after {often} deliveries a message is given up" if often > 0 else ""
    evidence = _evidence(facts) | {
        "num_redelivered": facts.count("num_redelivered"),
        "ack_wait": _waits(config),
    }
    longer = ("--backoff", "linear") if config.get("backoff") else (
        "--wait", words.go_span(2 * config.get("ack_wait", USUAL))
    )  # fmt: skip
    yield Finding(
        "redelivered", WARNING,
        f"{words.counted(count, 'message', 'was', 'were')} delivered more than once and not acknowledged: "
        f"processing takes longer than the ack wait of {_waits(config)}, clients nak them, or end without an "
        f"ack{after}.",
        evidence | ({"max_deliver": often} if often > 0 else {}), (facts.line("edit", *longer),),
        facts.about,
    )  # fmt: skip


def _evidence(facts: ConsumerFacts) -> dict[str, Any]:
    return {
        "num_ack_pending": facts.count("num_ack_pending"),
        "max_ack_pending": facts.config.get("max_ack_pending", 0),
        "num_pending": facts.count("num_pending"),
    }


def _waits(config: Info) -> str:
    """Return how long acknowledgements are waited for."""
    steps = config.get("backoff") or [config.get("ack_wait", 0)]
    return listed([words.go_span(each) for each in steps])


CHECKS: tuple[Callable[[ConsumerFacts], Iterator[Finding]], ...] = (
    _mute,
    _twins,
    _full,
    _never,
    _given_up,
    _again,
)
