"""Reads a map into a dataclass of options, each key by the reader for the kind of its field."""

from __future__ import annotations

from typing import Any

from ..options.field import OptionSpec, specs
from ..tree import ConfigError, ConfigNode
from .context import OptionSlot, ReadContext, wrong

_keys: dict[type[Any], dict[str, tuple[str, OptionSpec]]] = {}


def keys_of(cls: type[Any]) -> dict[str, tuple[str, OptionSpec]]:
    """Return every spelling of every option of a dataclass, with its field and spec."""
    found = _keys.get(cls)
    if found is None:
        found = {key: (name, spec) for name, spec in specs(cls).items() for key in spec.keys}
        _keys[cls] = found
    return found


def read_into(context: ReadContext, target: Any, entries: dict[str, ConfigNode], path: str = "") -> None:
    """Set the options of `target` from the entries of a map. Errors go to the context; it never raises."""
    known = keys_of(type(target))
    for key, node in entries.items():
        found = known.get(key.lower())
        if found is None:
            context.unknown(key, node, known)
            continue
        name, spec = found
        slot = OptionSlot(target, name, key, spec, f"{path}.{name}" if path else name)
        context.positions[slot.path] = node.position
        try:
            setattr(target, name, context.readers[spec.kind](context, slot, node))
        except ConfigError as error:
            context.problems.extend(error.problems)


def read_section(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> Any:
    """Read a map into the option's dataclass. If a map is given twice, only the later one counts."""
    if not isinstance(node.value, dict):
        raise wrong(node, f"{slot.key} must be a map")
    assert slot.spec.section is not None
    made = slot.spec.section()
    read_into(context, made, node.value, slot.path)
    return made


def read_maps(
    context: ReadContext, slot: OptionSlot, node: ConfigNode, hint: str = "", *, of: str = "maps"
) -> list[tuple[str, ConfigNode, dict[str, ConfigNode]]]:
    """Return (path, item, its entries) for each map in a list.

    Raises ConfigError if it is not a list. An item that is not a map is recorded as a problem and left out.
    """
    if not isinstance(node.value, list):
        raise wrong(node, f"{slot.key} must be a list of {of}", hint)
    found = []
    for index, item in enumerate(node.value):
        if isinstance(item.value, dict):
            path = f"{slot.path}.{index}"
            context.positions[path] = item.position
            found.append((path, item, item.value))
        else:
            context.problems.extend(wrong(item, f"each of {slot.key} must be a map").problems)
    return found


def read_sections(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> list[Any]:
    """Read a list of maps, each into the option's dataclass."""
    assert slot.spec.section is not None
    found: list[Any] = []
    for path, _, entries in read_maps(context, slot, node):
        made = slot.spec.section()
        read_into(context, made, entries, path)
        found.append(made)
    return found
