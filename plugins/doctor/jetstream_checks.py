"""What is wrong with streams and consumers: pure functions from documents of the JetStream API to findings.

What `pyjs explain` would find in one stream or consumer is found by the same checks, for all of them. Only
what is wrong on its own is kept: that no client asks for messages just now is no fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ...cli import words
from ...cli.errors import ExitCode
from ...cli.proposal import command
from ...cli.words import listed
from ...protocol import dead_letters
from ...protocol.buckets.object_store import STREAM_PREFIX as OBJECTS
from ..explain.ack_findings import EXAMPLE, ack_subject
from ..explain.consumer_facts import ConsumerFacts, LetterKeeping
from ..explain.consumer_findings import of_consumer
from ..explain.finding import ERROR, NOTE, WARNING, Finding
from ..explain.origin_findings import MISSING, PRESENT, OriginFacts, origins_in
from ..explain.publisher import refusal
from ..explain.stream_facts import StreamFacts, filters_of
from ..explain.stream_findings import of_stream
from .facts import JetStreamFacts

Info = Mapping[str, Any]
NEAR = 90  # percent of a limit
SECOND = 1_000_000_000
LONG_WINDOW = 3600 * SECOND  # every message id of that time is kept in memory
SHORT_WINDOW = 10 * SECOND  # clients take that long to connect again, and then repeat a publish
OF_STREAMS = {
    "untaken",
    "held_back",
    "origin_missing",
    "origin_sealed",
    "origin_restarted",
    "origin_starts_later",
    "no_leader",
    "replica_offline",
    "replica_behind",
    "lost_messages",
    "limit_reached",
    "limit_near",
    "account_limit_reached",
    "account_limit_near",
    "no_interest",
    "origin_refuses",
    "origin_silent",
    "origin_behind",
}
OF_ACCOUNT = {"account_limit_reached", "account_limit_near"}
OF_CONSUMERS = {
    "shared_acks",
    "no_leader",
    "replica_offline",
    "replica_behind",
    "max_ack_pending",
    "never_acked",
    "given_up",
    "paused",
    "no_push_interest",
    "filter_impossible",
    "filter_matches_nothing",
}
MEANT = {"paused", "no_push_interest"}  # may be meant so: a warning, where nobody asked for this consumer
OF_LASTING = MEANT | {"filter_impossible", "filter_matches_nothing"}  # a watcher may wait for what comes


def of_jetstream(jetstream: JetStreamFacts) -> Iterator[Finding]:
    """Yield everything that is to be said about streams and consumers."""
    for name in jetstream.missing:
        yield Finding(
            "no_leader", ERROR, "Nobody answers for it: a majority of its servers has to be up.",
            {"leader": ""}, (command("server", "report", "health"),), name, ExitCode.UNAVAILABLE,
        )  # fmt: skip
    yield from _count(jetstream.account)
    yield from _tiers(jetstream.account)
    reported: set[str] = set()
    queues = {str(each["config"]["name"]): each for each in jetstream.streams}
    for info in jetstream.streams:
        facts = _facts(info, jetstream, queues)
        for each in of_stream(facts):
            if each.check == "sealed" and not facts.name.startswith(OBJECTS):
                yield replace(each, severity=NOTE)  # which is meant so, and publishers may not know
            elif each.check in OF_STREAMS - reported and each.severity != NOTE:
                yield each
                reported |= {each.check} & OF_ACCOUNT  # which is the same for every stream
        yield from _replicas(facts)
        yield from _window(facts)
        yield from _consumer_limit(facts)
        letters = queues.get(dead_letters.queue_name(facts.name))
        for consumer in jetstream.consumers.get(facts.name, ()):
            domains = jetstream.twins.get((facts.name, consumer["name"]), ())
            yield from _consumer(consumer, info, letters, domains)
    yield from _mute(jetstream)
    if jetstream.unread:
        yield Finding(
            "not_examined", NOTE,
            f"The consumers of {words.counted(jetstream.unread, 'stream')} were not examined.",
            {"streams": jetstream.unread}, (command("consumer", "report", "STREAM"),),
        )  # fmt: skip


def _facts(info: Info, jetstream: JetStreamFacts, streams: Mapping[str, Info]) -> StreamFacts:
    """Return what is known of a stream. streams: all that were told, by their names."""
    name = str(info["config"]["name"])
    return StreamFacts(
        info,
        jetstream.account,
        consumers=jetstream.consumers.get(name, ()),
        subjects=jetstream.subjects.get(name, {}),
        origins=tuple(_origin(OriginFacts(*each), jetstream, streams) for each in origins_in(info)),
        origin=jetstream.origin,
    )


def _origin(origin: OriginFacts, jetstream: JetStreamFacts, streams: Mapping[str, Info]) -> OriginFacts:
    """Return an origin with what is known of it, if it is in the same domain."""
    if origin.prefix:
        return origin
    if origin.name in streams:
        return replace(origin, seen=PRESENT, info=streams[origin.name])
    told = jetstream.complete and origin.name not in jetstream.missing
    return replace(origin, seen=MISSING) if told else origin


def _consumer(info: Info, stream: Info, letters: Info | None, domains: Iterable[str]) -> Iterator[Finding]:
    """Yield what is wrong with a consumer; fewer checks hold for one that a client makes for itself.

    letters: the STREAM.INFO of the dead letters of its stream; None if none are kept.
    domains: the others that have it by the same names.
    """
    lasting = bool(info["config"].get("durable_name")) or not info["config"].get("inactive_threshold")
    keeping = LetterKeeping.of(letters, stream["config"]["name"], info["name"])
    last = _unmatched(info) if lasting else {}
    facts = ConsumerFacts(info, stream, last, keeping=keeping, twins=tuple(domains))
    for each in of_consumer(facts):
        if each.check in OF_CONSUMERS and each.severity != NOTE and (lasting or each.check not in OF_LASTING):
            yield replace(each, severity=WARNING) if each.check in MEANT else each


def _mute(jetstream: JetStreamFacts) -> Iterator[Finding]:
    """Yield of which consumers, none of whose messages was ever acknowledged, this user may not do so."""
    refused: dict[str, str] = {}  # the sentence why, by consumer
    for info in [each for one in jetstream.consumers.values() for each in one]:
        facts = ConsumerFacts(info, {})
        waits = facts.count("num_ack_pending") or facts.count("num_redelivered")
        acked = facts.at("ack_floor", "consumer_seq") or facts.config.get("ack_policy", "none") == "none"
        if jetstream.publisher is None or acked or not waits:
            continue
        subject = ack_subject(facts, EXAMPLE)
        why = jetstream.publisher.mute("acknowledgements", partial(refusal, subject=subject))
        if why:
            refused[facts.about] = why
    if refused:
        first = next(iter(refused))
        yield Finding(
            "ack_refused", WARNING,
            f"{refused[first]} What it receives of {listed([*refused])} is never acknowledged.",
            {"consumers": list(refused)},
            (command("explain", "consumer", *first.split(" > ")),), first,
        )  # fmt: skip


def _unmatched(info: Info) -> dict[str, int]:
    """Return the filters that no stored message matches, each with 0, where nobody has to ask for that.

    Nothing waits for a consumer that has never delivered anything, although it takes what is stored.
    """
    config = info["config"]
    idle = not info.get("num_pending") and not (info.get("delivered") or {}).get("consumer_seq")
    filters = [each for each in filters_of(config) if each != ">"]
    return dict.fromkeys(filters, 0) if idle and config.get("deliver_policy", "all") == "all" else {}


def _count(account: Info) -> Iterator[Finding]:
    """Yield that the account may have few more streams, or a tier of it."""
    uses = {"The account": account} | {
        f"Tier {name} of the account": use for name, use in sorted((account.get("tiers") or {}).items())
    }
    for label, use in uses.items():
        limit, used = (use.get("limits") or {}).get("max_streams", -1), use.get("streams", 0)
        if limit > 0 and used * 100 >= limit * NEAR:
            yield Finding(
                "streams_limit", ERROR if used >= limit else WARNING,
                f"{label} has {words.number(used)} of at most {words.counted(limit, 'stream')}.",
                {"max_streams": limit, "streams": used}, (command("account", "info"),),
            )  # fmt: skip


def _tiers(account: Info) -> Iterator[Finding]:
    """Yield that the account has no limits for streams of one replica, which are most."""
    tiers = sorted(account.get("tiers") or {})
    if tiers and "R1" not in tiers:
        yield Finding(
            "tiers", NOTE,
            f"The account has limits for streams of tier {listed(tiers)} only: a stream with another number "
            "of replicas is refused, also where --replicas is not given.",
            {"tiers": tiers}, (command("account", "info"),),
        )  # fmt: skip


def _replicas(facts: StreamFacts) -> Iterator[Finding]:
    cluster = facts.info.get("cluster") or {}
    if cluster.get("name") and facts.config.get("num_replicas", 1) == 1:
        leader = cluster.get("leader", "")
        yield Finding(
            "one_replica", WARNING,
            f"It is in the cluster {cluster['name']} and on one server only: without {leader or 'that'} it "
            "cannot be used, and if its disk is lost, so are the messages.",
            {"num_replicas": 1, "cluster": cluster["name"], "leader": leader}, (facts.edit("--replicas", 3),),
            facts.name,
        )  # fmt: skip


def _window(facts: StreamFacts) -> Iterator[Finding]:
    window = facts.config.get("duplicate_window", 0)
    evidence = {"duplicate_window": words.go_span(window), "messages": facts.state.get("messages", 0)}
    if window > LONG_WINDOW:
        yield Finding(
            "long_duplicate_window", WARNING,
            f"Servers keep every message id of the last {words.go_span(window)} in memory.",
            evidence, (facts.edit("--dupe-window", "2m"),), facts.name,
        )  # fmt: skip
    elif 0 < window < SHORT_WINDOW and not facts.config.get("mirror"):
        yield Finding(
            "short_duplicate_window", NOTE,
            f"A message that is published again after {words.go_span(window)} is stored twice; clients may "
            "need longer to connect again.",
            evidence, (facts.edit("--dupe-window", "2m"),), facts.name,
        )  # fmt: skip


def _consumer_limit(facts: StreamFacts) -> Iterator[Finding]:
    """Yield that a stream may have no more consumers, by its own limit or the account's for each."""
    used = facts.state.get("consumer_count", 0)
    own = facts.config.get("max_consumers", -1)
    tier = (facts.account.get("tiers") or {}).get(f"R{facts.config.get('num_replicas', 1)}")
    of_account = ((tier or facts.account).get("limits") or {}).get("max_consumers", -1)
    limit = min((each for each in (own, of_account) if each > 0), default=0)
    if 0 < limit <= used:
        larger = (facts.edit("--max-consumers", 2 * limit),) if limit == own else ()
        yield Finding(
            "consumer_limit", WARNING,
            f"It has {words.number(used)} of at most {words.counted(limit, 'consumer')}; further ones are "
            "refused.",
            {"max_consumers": limit, "consumer_count": used},
            (command("consumer", "report", facts.name), *larger), facts.name,
        )  # fmt: skip
