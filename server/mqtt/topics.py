"""Topics of MQTT as subjects of NATS, and back. Pure.

Levels become tokens: `a/b` is `a.b`. What a subject cannot hold is written with slashes: an empty level is a
token `/`, a dot is `//`. In filters, `+` is `*`, and `#` is `>`; since `a/#` means `a` too, it needs two
subscriptions (`level_above`). Source: nats-server's server/mqtt.go: mqttToNATSSubjectConversion.
"""

from __future__ import annotations

import re

# Levels that need no more than another separator, as nearly all do.
_PLAIN = re.compile(r"[^/.\s\x7f+#]+(?:/[^/.\s\x7f+#]+)*")
_UNSUPPORTED = frozenset(" \t\n\r\f\x7f")
_WILDCARDS = {"+": "*", "#": ">"}


class TopicError(Exception):
    """A topic that has no subject. Its text is the reason."""


def to_subject(topic: str, *, wildcards: bool = False) -> str:
    """Return the subject of a topic or, with `wildcards`, of a filter. Raises TopicError."""
    if _PLAIN.fullmatch(topic):
        return topic.replace("/", ".")
    out: list[str] = []
    last = len(topic) - 1
    for at, character in enumerate(topic):
        if character == "/":
            if not out or out[-1] == ".":
                out += ("/", ".")
            elif at == last or topic[at + 1] == "/":
                out += (".", "/")
            else:
                out.append(".")
        elif character == ".":
            out += ("/", "/")
        elif character in _WILDCARDS:
            if not wildcards:
                raise TopicError(f"wildcards not allowed in publish's topic: {topic!r}")
            out.append(_WILDCARDS[character])
        elif character in _UNSUPPORTED:
            raise TopicError("character not supported for MQTT topics")
        else:
            out.append(character)
    if out and out[-1] == ".":
        out.append("/")
    return "".join(out)


def to_topic(subject: bytes) -> bytes:
    """Return the topic of a literal subject."""
    if b"/" not in subject:
        return subject.replace(b".", b"/")
    out = bytearray()
    at, size = 0, len(subject)
    while at < size:
        character = subject[at]
        if character == ord("/"):
            following = subject[at + 1] if at + 1 < size else 0
            if following == ord("."):
                out += b"/"
                at += 1
            elif following == ord("/"):
                out += b"."
                at += 1
        else:
            out.append(ord("/") if character == ord(".") else character)
        at += 1
    return bytes(out)


def level_above(subject: str) -> str:
    """Return the subject that a filter ending in `#` has besides what is below it; "" if there is none."""
    return subject[:-2] if len(subject) > 2 and subject.endswith(".>") else ""


def is_reserved(subject: str) -> bool:
    """Return whether a filter begins with a wildcard, so that topics beginning with `$` are not for it."""
    return subject in ("*", ">") or subject.startswith("*.")
