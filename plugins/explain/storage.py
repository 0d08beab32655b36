"""Which streams store a message, and what comes of it: consumers, copies, and what is published again.

Pure functions of documents as STREAM.INFO and CONSUMER.INFO have them; JSZ has the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...cli import words
from ...cli.words import listed
from ...protocol.subject import matches
from ...protocol.transform import SubjectTransform, TransformError
from .obstacle import obstacle
from .stream_facts import StreamFacts, filters_of
from .waypoint import ENDS, POSSIBLE, REACHED, UNKNOWN, Waypoint

Info = Mapping[str, Any]
FEW_CONSUMERS = 20  # that a waypoint has a step for


@dataclass(frozen=True)
class StoredStream:
    """A stream of an account, with its consumers; None if they were not looked at."""

    facts: StreamFacts
    consumers: tuple[Info, ...] | None = ()


def takes(config: Info, subject: str) -> bool:
    """Return whether a stream takes what is published to `subject`."""
    return any(matches(each, subject) for each in config.get("subjects") or [])


def transformed(rule: Info | None, subject: str) -> str | None:
    """Return what a transform (`src`, `dest`) makes of a subject; None if it does not concern it."""
    if not rule or not rule.get("dest"):
        return None
    try:
        return SubjectTransform(rule.get("src") or ">", rule["dest"]).apply(subject)
    except TransformError:
        return None


def store(waypoint: Waypoint, streams: Iterable[StoredStream]) -> list[tuple[str, str]]:
    """Add which streams store the message, and return what they publish again: (subject, stream)."""
    again: list[tuple[str, str]] = []
    every = list(streams)
    taking = [each for each in every if takes(each.facts.config, waypoint.subject)]
    for each in taking:
        facts = each.facts
        subject = transformed(facts.config.get("subject_transform"), waypoint.subject) or waypoint.subject
        under = f" under {subject}" if subject != waypoint.subject else ""
        found = obstacle(facts, subject, each.consumers)
        if found is not None and found.certain:
            waypoint.add("stream", ENDS, f"{facts.name} does not keep it: {found.text}", facts.name)
            continue
        if found is not None:
            text = f"{facts.name} stores it{under} only if there is room for it: {found.text}"
            waypoint.add("stream", POSSIBLE, text, facts.name)
        else:
            silent = ", and acknowledges nothing" if facts.config.get("no_ack") else ""
            waypoint.add("stream", REACHED, f"{facts.name} stores it{under}{silent}.", facts.name)
        _consumers(waypoint, each, subject)
        _copies(waypoint, facts.name, subject, every)
        sent = transformed(facts.config.get("republish"), subject)
        if sent is not None:
            again.append((sent, facts.name))
    if len(taking) > 1:
        names = [each.facts.name for each in taking]
        waypoint.add("stream", UNKNOWN, f"{listed(names)} overlap: each of them stores it.")
    if not taking:
        waypoint.add("stream", ENDS, "No stream of the account has the subject.")
    return again


def _consumers(waypoint: Waypoint, stored: StoredStream, subject: str) -> None:
    name = stored.facts.name
    if stored.consumers is None:
        waypoint.add("consumer", UNKNOWN, f"{name} has too many consumers to look at.", name)
        return
    choosing = [
        each for each in stored.consumers if any(matches(f, subject) for f in filters_of(each["config"]))
    ]
    for each in choosing[:FEW_CONSUMERS]:
        waypoint.add("consumer", *_delivery(each, name))
    if len(choosing) > FEW_CONSUMERS:
        waypoint.add("consumer", REACHED, f"So do {len(choosing) - FEW_CONSUMERS} more of {name}.", name)
    if stored.consumers and not choosing:
        text = f"Of {words.counted(len(stored.consumers), 'consumer')} of {name} none selects {subject}."
        waypoint.add("consumer", ENDS, text, name)


def _delivery(info: Info, stream: str) -> tuple[str, str, str]:
    """Return outcome, text and name of a consumer that selects the message."""
    config, name = info["config"], f"{stream} > {info['name']}"
    filters = [each for each in filters_of(config) if each != ">"]
    why = f" (filter {listed(filters)})" if filters else ""
    if info.get("paused"):
        return ENDS, f"{name} selects it{why}, and is paused.", name
    if config.get("deliver_subject"):
        to = config["deliver_subject"]
        if info.get("push_bound"):
            return REACHED, f"{name} delivers it to {to}{why}.", name
        return ENDS, f"{name} selects it{why}; nobody subscribes to {to}, where it delivers to.", name
    pulls = info.get("num_waiting", 0)
    if pulls:
        return REACHED, f"{name} delivers it{why}: {pulls} pull requests wait.", name
    return POSSIBLE, f"{name} selects it{why}, and delivers it when a client pulls.", name


def _copies(waypoint: Waypoint, stream: str, subject: str, every: Iterable[StoredStream]) -> None:
    """Add the streams beside it that copy from a stream."""
    for each in every:
        for kind, origin in _origins(each.facts.config):
            if origin.get("name") != stream or origin.get("external"):
                continue
            rules = origin.get("subject_transforms") or []
            only = [origin["filter_subject"]] if origin.get("filter_subject") else [r["src"] for r in rules]
            if only and not any(matches(one or ">", subject) for one in only):
                continue
            renamed = next((t for r in rules if (t := transformed(r, subject)) is not None), subject)
            under = f" under {renamed}" if renamed != subject else ""
            text = f"{each.facts.name} copies it{under}: {stream} is its {kind}."
            waypoint.add(kind, REACHED, text, each.facts.name)


def _origins(config: Info) -> Iterator[tuple[str, Info]]:
    if config.get("mirror"):
        yield "mirror", config["mirror"]
    for each in config.get("sources") or []:
        yield "source", each
