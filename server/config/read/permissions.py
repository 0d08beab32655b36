"""Readers of permissions and connection types."""

from __future__ import annotations

from collections.abc import Iterable

from ....protocol.subject import is_valid
from ..options.authorization import (
    CONNECTION_TYPES,
    PermissionsOptions,
    ResponsePermission,
    SubjectPermission,
)
from ..tree import ConfigError, ConfigNode
from .context import OptionSlot, ReadContext, suggestion, wrong
from .values import go_duration, read_strings

_PUBLISH = ("publish", "pub", "import")
_SUBSCRIBE = ("subscribe", "sub", "export")
_RESPONSES = ("allow_responses", "publish_allow_responses")
_MAX = ("max", "max_msgs", "max_messages", "max_responses")
_EXPIRES = ("expires", "expiration", "ttl")


def _unknown(context: ReadContext, key: str, node: ConfigNode, known: Iterable[str], where: str) -> None:
    if not node.used:
        context.error(node.position, f'Unknown field "{key}" parsing {where}', suggestion(key, known))


def read_permissions(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> PermissionsOptions:
    """Read a permissions map, see PermissionsOptions.

    With allow_responses and no list of allowed subjects, only replies may be published.
    """
    if not isinstance(node.value, dict):
        raise wrong(node, f"{slot.key} must be a map")
    found = PermissionsOptions()
    for key, item in node.value.items():
        lower = key.lower()
        if lower in _PUBLISH:
            found.publish = _side(context, key, slot, item, queues=False)
        elif lower in _SUBSCRIBE:
            found.subscribe = _side(context, key, slot, item, queues=True)
        elif lower in _RESPONSES:
            found.allow_responses = _responses(context, slot, item)
        else:
            _unknown(context, key, item, (*_PUBLISH, *_SUBSCRIBE, *_RESPONSES), "permissions")
    if found.allow_responses is not None:
        if found.publish is None:
            found.publish = SubjectPermission()
        if found.publish.allow is None:
            found.publish.allow = []
    return found


def _side(
    context: ReadContext, key: str, slot: OptionSlot, node: ConfigNode, *, queues: bool
) -> SubjectPermission | None:
    if not isinstance(node.value, dict):
        return SubjectPermission(allow=_subjects(context, key, slot, node, queues=queues))
    if not node.value:
        return None
    found = SubjectPermission()
    for name, item in node.value.items():
        if name.lower() == "allow":
            found.allow = _subjects(context, name, slot, item, queues=queues)
        elif name.lower() == "deny":
            found.deny = _subjects(context, name, slot, item, queues=queues)
        else:
            _unknown(context, name, item, ("allow", "deny"), "subject permissions")
    return found


def _subjects(
    context: ReadContext, key: str, slot: OptionSlot, node: ConfigNode, *, queues: bool
) -> list[str]:
    subjects = read_strings(context, OptionSlot(slot.target, slot.name, key, slot.spec, slot.path), node)
    for subject in subjects:
        if is_valid(subject):
            continue
        words = subject.split()
        if not queues or len(words) != 2:
            raise ConfigError.at(node.position, f"subject {subject!r} is not a valid subject")
        if not is_valid(words[0]):
            raise ConfigError.at(node.position, f"subject {words[0]!r} is not a valid subject")
        if not is_valid(words[1]):
            raise ConfigError.at(node.position, f"queue {words[1]!r} is not a valid queue")
    return subjects


def _responses(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> ResponsePermission | None:
    if isinstance(node.value, bool):
        return ResponsePermission() if node.value else None
    if not isinstance(node.value, dict):
        raise wrong(node, "allow_responses must be true, false or a map")
    found = ResponsePermission()
    for key, item in node.value.items():
        if key.lower() in _MAX:
            if isinstance(item.value, bool) or not isinstance(item.value, int):
                raise wrong(item, f"{key} must be an integer")
            found.max_msgs = item.value or found.max_msgs
        elif key.lower() in _EXPIRES:
            if not isinstance(item.value, str):
                raise wrong(item, f"{key} must be a duration", 'such as "2m"')
            here = OptionSlot(slot.target, slot.name, key, slot.spec, slot.path)
            found.expires = go_duration(here, item, item.value) or found.expires
        else:
            _unknown(context, key, item, (*_MAX, *_EXPIRES), "permissions")
    return found


def read_connection_types(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> frozenset[str]:
    """Read kinds of connection, in capitals."""
    found = frozenset(t.upper() for t in read_strings(context, slot, node))
    for unknown in sorted(found.difference(CONNECTION_TYPES)):
        raise ConfigError.at(
            node.position, f"invalid connection type {unknown!r}", f"one of {', '.join(CONNECTION_TYPES)}"
        )
    return found
