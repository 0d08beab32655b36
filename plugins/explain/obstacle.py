"""What keeps one message from a stream that takes its subject: pure functions from findings.

A finding of `stream_findings` is about the whole stream: it may not concern this message. A lost message or a
source that is down does not keep a new one away, a full subject only what is published to it, and a stream
with a few bytes left only what is larger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...protocol.subject import matches
from .finding import ERROR, Finding
from .stream_facts import StreamFacts, filters_of
from .stream_findings import of_stream

Info = Mapping[str, Any]
ALL_MESSAGES = {"no_leader", "offline", "sealed", "no_interest"}  # findings that concern every message
OF_ROOM = {"limit_reached", "account_limit_reached"}
# Bytes that a message takes beside subject, headers and body: fileStoreMsgSize and memStoreMsgSize of
# nats-server (server/filestore.go, server/memstore.go).
FRAME = {"file": 30, "memory": 16}


@dataclass(frozen=True)
class Obstacle:
    """What keeps a message away. certain: whether it does so whatever the message's size."""

    text: str
    certain: bool = True


def obstacle(facts: StreamFacts, subject: str, consumers: Sequence[Info] | None) -> Obstacle | None:
    """Return what keeps a message from a stream; None if nothing that is known does.

    subject: under which the stream would store it.
    consumers: of the stream; None if they were not looked at.
    """
    room = None
    for found in of_stream(facts):
        if found.severity != ERROR:
            continue
        if found.check in ALL_MESSAGES or _has_no_room(found, facts, subject):
            return Obstacle(found.text)
        if found.check in OF_ROOM and room is None:
            room = Obstacle(found.text, certain=False)
    if facts.config.get("retention") == "interest" and consumers and not _selected(consumers, subject):
        return Obstacle(
            f"it keeps messages only while a consumer is interested in them, and none selects {subject}."
        )
    return room


def _selected(consumers: Sequence[Info], subject: str) -> bool:
    return any(matches(each, subject) for one in consumers for each in filters_of(one["config"]))


def _has_no_room(found: Finding, facts: StreamFacts, subject: str) -> bool:
    """Return whether not even an empty message on this subject has room."""
    config, evidence = facts.config, found.evidence
    most = config.get("max_msgs_per_subject", -1)
    if found.check == "subject_limit_reached":
        return bool(facts.subjects.get(subject, 0) >= most)
    smallest = len(subject.encode()) + FRAME.get(config.get("storage", "file"), 0)
    if found.check == "account_limit_reached":
        kind = "memory" if "memory" in evidence else "storage"
        return bool(evidence[f"max_{kind}"] - evidence[kind] < smallest)
    replaces = most > 0 and not config.get("discard_new_per_subject")  # an older one on its subject
    if found.check != "limit_reached" or replaces:
        return False
    if "max_msgs" in evidence:
        return True
    return bool(evidence["max_bytes"] - evidence["bytes"] < smallest)
