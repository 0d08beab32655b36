"""Under which subjects a stream stores messages from now on, by its configuration.

Promises: a subject that a message may yet be stored under is never missing; some that none comes under may be
there, since what origins hold is not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...protocol.subject import ANY_REST, collide, is_subset
from ...protocol.transform import without_placeholders
from .origin_findings import origins_in

Info = Mapping[str, Any]


def kept_subjects(config: Info) -> list[str]:
    """Return the subjects, some with wildcards, under which a stream stores what comes."""
    rule = config.get("subject_transform") or {}
    found: list[str] = []
    for each in config.get("subjects") or []:
        found += _transformed(each, rule)
    for _, origin, _ in origins_in({"config": config}):
        brought = _brought(origin)
        # What an origin brings is transformed, too, in some versions of servers.
        found += [*brought, *(one for each in brought for one in _transformed(each, rule))]
    return list(dict.fromkeys(found))


def may_keep(config: Info, pattern: str) -> bool:
    """Return whether a stream may yet store a message that `pattern` matches."""
    return any("{{" in each or collide(pattern, each) for each in kept_subjects(config))  # {{…}} is anything


def _transformed(subject: str, rule: Info) -> list[str]:
    """Return what a transform (`src`, `dest`) leaves of messages on `subject`, and what it makes of them."""
    source = rule.get("src") or ANY_REST
    if not rule.get("dest") or not collide(subject, source):
        return [subject]
    made = without_placeholders(rule["dest"])
    return [made] if is_subset(subject, source) else [subject, made]


def _brought(origin: Info) -> list[str]:
    """Return the subjects of what comes from a mirror or source."""
    if origin.get("filter_subject"):
        return [origin["filter_subject"]]
    rules = origin.get("subject_transforms") or []
    return [
        without_placeholders(each["dest"]) if each.get("dest") else each.get("src") or ANY_REST
        for each in rules
    ] or [ANY_REST]
