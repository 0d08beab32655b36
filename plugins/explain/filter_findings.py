"""What is wrong with the filters of a consumer: nothing is stored that they match, or ever will be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...cli import words
from ...cli.proposal import command
from ...cli.words import listed
from .consumer_facts import ConsumerFacts
from .finding import ERROR, NOTE, WARNING, Finding
from .kept_subjects import kept_subjects, may_keep
from .near_filter import near_filter
from .stream_facts import Info, filters_of


def of_filters(facts: ConsumerFacts) -> Iterator[Finding]:
    """Yield the filters that match nothing, or nothing that comes from now on.

    What a consumer had may be gone by now: then a filter without messages is only worth a note, and nothing
    in a stream that removes what is acknowledged.
    """
    config = facts.stream["config"]
    used = bool(facts.at("delivered", "consumer_seq"))
    void = [each for each in filters_of(facts.config) if not may_keep(config, each)]
    empty = [each for each, sequence in facts.last.items() if not sequence and each not in void]
    if not facts.state.get("messages") or (used and config.get("retention") != "limits"):
        empty = []
    alone = len(empty) + len(void) == len(filters_of(facts.config))
    for each in void:
        yield _void(facts, each, alone=alone)
    for each in empty:
        yield _unmatched(facts, each, used=used, alone=alone)


def voids(stream: Info, consumers: Iterable[Info]) -> Iterator[Finding]:
    """Yield the filters of a stream's consumers that nothing matches which comes from now on.

    stream: the answer of STREAM.INFO.
    """
    for info in consumers:
        facts = ConsumerFacts(info, stream)
        for each in of_filters(facts):
            if each.check == "filter_impossible":
                yield each


def _void(facts: ConsumerFacts, subject: str, *, alone: bool) -> Finding:
    """Return that no message will be stored any more that a filter matches.

    alone: whether the consumer has no other filter that may match something.
    """
    config = facts.stream["config"]
    kept = kept_subjects(config)
    near = near_filter(subject, [each for each in facts.subjects if may_keep(config, each)] or kept)
    pending, last = facts.count("num_pending"), facts.last.get(subject, 0)
    stores = f"it stores {listed(kept)}" if kept else "it has no subjects, and copies nothing"
    before = bool(last or pending or facts.at("delivered", "consumer_seq"))
    if before:
        text = f"The stream stores no more messages on {subject}: {stores}."
        text += f" The last one there is {words.number(last)}." if last else ""
    else:
        text = f"The stream can never hold a message on {subject}: {stores}."
    shown = command("stream", "info", facts.info["stream_name"])
    return Finding(
        "filter_impossible", ERROR if alone and not pending else WARNING,
        text + _meant(near),
        {"filter": subject, "num_pending": pending, **({"last_seq": last} if last else {})},
        (_change(facts, near if alone else ""), *([shown] if before else [])), facts.about,
    )  # fmt: skip


def _unmatched(facts: ConsumerFacts, subject: str, *, used: bool, alone: bool) -> Finding:
    """Return that no stored message is on a filter.

    used: whether the consumer has had messages.
    """
    near = near_filter(subject, facts.subjects or kept_subjects(facts.stream["config"]))
    stored = facts.subjects or tuple(facts.stream["config"].get("subjects") or ())
    away = "" if near or used else (
        " What is published there does not come here: nobody publishes it, or a permission or "
        "mapping keeps it away."
    )  # fmt: skip
    return Finding(
        "filter_matches_nothing", NOTE if used else WARNING,
        f"Of {words.counted(facts.state['messages'], 'stored message')} none is on {subject}; stored "
        f"are {listed(list(stored))}.{_meant(near) or away}",
        {"filter": subject, "num_pending": facts.count("num_pending")},
        (
            command("stream", "subjects", facts.info["stream_name"]),
            _change(facts, near if alone else "")
            if near
            else command("explain", "subject", _filled(subject)),
        ),
        facts.about,
    )  # fmt: skip


def _meant(near: str) -> str:
    return f" Did you mean {near}?" if near else ""


def _change(facts: ConsumerFacts, near: str) -> str:
    return facts.line("edit", "--filter", near or "SUBJECT")


def _filled(subject: str) -> str:
    """Return a subject that a filter matches, to be filled in."""
    return ".".join("NAME" if each in ("*", ">") else each for each in subject.split("."))
