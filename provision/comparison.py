"""Two configurations compared field by field: what differs, whether an update can do it, what is lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .declared import CONSUMER, KEY_VALUE, OBJECT_STORE, OWNER
from .model import SPANS
from .observed_state import ObservedConsumer, ObservedStream
from .units import span_text
from .written import value_of

# Fields that no update of a stream changes (nats-server's `configUpdateCheck`).
FIXED = ("storage", "persist_mode", "allow_msg_counter")
# Fields that an update may switch on, but not off again.
ONE_WAY = ("sealed", "deny_delete", "deny_purge", "allow_msg_ttl", "allow_msg_schedules")
# Fields that no update of a consumer changes (nats-server's `checkNewConsumerConfig`).
CONSUMER_FIXED = (
    "deliver_policy",
    "opt_start_seq",
    "opt_start_time",
    "ack_policy",
    "replay_policy",
    "idle_heartbeat",
    "flow_control",
    "max_waiting",
    "mem_storage",
)
WANTED = "messages that only it wants"
# The names of fields in buckets, where they are others.
BUCKET_NAMES = {
    "max_age": "ttl",
    "max_msgs_per_subject": "history",
    "max_msg_size": "max_value_size",
    "subject_delete_marker_ttl": "marker_ttl",
    "num_replicas": "replicas",
}


@dataclass(frozen=True)
class Change:
    """A field that differs. field: its name in documents; old, new: None if it is not set."""

    field: str
    old: Any
    new: Any

    def text(self) -> str:
        """Return it in words: `max_age: 1h0m0s -> 2h0m0s`."""
        name = self.field.rpartition(".")[2]
        return f"{self.field}: {_shown(name, self.old)} -> {_shown(name, self.new)}"

    def new_text(self) -> str:
        """Return the new value in words: `max_age: 2h0m0s`."""
        return f"{self.field}: {_shown(self.field.rpartition('.')[2], self.new)}"


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, int) and name in SPANS:
        return span_text(value)
    if isinstance(value, int) and value == -1:
        return "unlimited"
    return _in_words(value_of(name, value)) or "none"


def _in_words(value: Any) -> str:
    """Return a value as a document in one line has it, but for the outer brackets of a list."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(_in_words, value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_in_words(each)}" for key, each in value.items()) + "}"
    return str(value)


def changes(kind: str, old: Mapping[str, Any], new: Mapping[str, Any], owner: str) -> tuple[Change, ...]:
    """Return the fields that differ between two normal documents.

    owner: who changes it; the mark of an owner that is there stays, if nobody in particular does.
    """
    names = BUCKET_NAMES if kind in (KEY_VALUE, OBJECT_STORE) else {}
    found = []
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if name == "metadata":
            found += list(_of_metadata(before or {}, after or {}, owner))
        elif before != after:
            found.append(Change(names.get(name, name), _or_false(before, after), _or_false(after, before)))
    return tuple(found)


def _of_metadata(old: Mapping[str, str], new: Mapping[str, str], owner: str) -> Iterator[Change]:
    for key in dict.fromkeys([*old, *new]):
        if old.get(key) != new.get(key) and (key != OWNER or owner):
            yield Change(f"metadata.{key}", old.get(key), new.get(key))


def _or_false(value: Any, other: Any) -> Any:
    """Return a value, and what it is if it is not set: the opposite of true is false, and not nothing."""
    if value is None and isinstance(other, bool):
        return False
    return 0 if value is None and isinstance(other, int) else value


def unchangeable(kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the fields that differ and that no update can change."""
    if kind == CONSUMER:
        found = [name for name in CONSUMER_FIXED if old.get(name) != new.get(name)]
        turned = bool(old.get("deliver_subject")) != bool(new.get("deliver_subject"))
        return [*found, *(["deliver_subject"] if turned else [])]
    found = [name for name in FIXED if old.get(name) != new.get(name)]
    found += [name for name in ONE_WAY if old.get(name) and not new.get(name)]
    retentions = {old.get("retention"), new.get("retention")}
    found += ["retention"] if len(retentions) > 1 and "workqueue" in retentions else []
    # Removing the mirror makes an ordinary stream of it; nothing else is possible with one.
    found += ["mirror"] if new.get("mirror") and old.get("mirror") != new.get("mirror") else []
    return found


def stream_losses(facts: ObservedStream, new: Mapping[str, Any], now: int) -> Iterator[str]:
    """Yield what an update of a stream would remove, in words.

    now: nanoseconds since the epoch.
    """
    state, old = facts.state, facts.config
    if not state.messages:
        return
    count, size = int(new.get("max_msgs", -1)), int(new.get("max_bytes", -1))
    age, each = int(new.get("max_age", 0)), int(new.get("max_msgs_per_subject", -1))
    if 0 < count < state.messages:
        yield f"{state.messages - count} of {state.messages} messages: max_msgs"
    if 0 < size < state.bytes:
        yield f"{state.bytes - size} of {state.bytes} bytes of messages: max_bytes"
    if age and (not old.max_age or age < old.max_age) and state.first_ts < now - age:
        yield f"messages older than {span_text(age)}: max_age"
    if each > 0 and not 0 < old.max_msgs_per_subject <= each and state.messages > state.num_subjects:
        yield f"up to {state.messages - state.num_subjects} messages: max_msgs_per_subject"
    if old.retention == "limits" and new.get("retention") == "interest":
        yield f"up to {state.messages} messages, those that no consumer wants: retention"


def consumer_losses(facts: ObservedConsumer, retention: str) -> Iterator[str]:
    """Yield what is lost with a consumer, in words."""
    yield (f"its place in the stream: {facts.unacknowledged} not acknowledged, {facts.pending} not delivered")
    if retention == "interest" and facts.unacknowledged + facts.pending:
        yield WANTED


def filter_losses(facts: ObservedConsumer, retention: str, new: Mapping[str, Any]) -> Iterator[str]:
    """Yield what other filters of a consumer remove from its stream, in words.

    Source: nats-server, `updateConfig` in consumer.go.
    """
    waiting = facts.unacknowledged + facts.pending
    if retention == "interest" and waiting and sorted(facts.config.filters) != new.get("filter_subjects", []):
        yield WANTED
