"""Reader of subject mappings."""

from __future__ import annotations

from ....protocol.subject import is_valid
from ....protocol.transform import SubjectTransform, TransformError
from ..options.accounts import DestinationOptions, MappingOptions
from ..tree import ConfigError, ConfigNode
from .context import OptionSlot, ReadContext, suggestion, wrong

_KEYS = ("destination", "dest", "weight", "cluster")


def read_mappings(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> list[MappingOptions]:
    """Read mappings in order: source -> "destination", a map, or a list of maps."""
    if not isinstance(node.value, dict):
        raise wrong(node, f"{slot.key} must be a map", "as {source: destination}")
    found: list[MappingOptions] = []
    for source, item in node.value.items():
        context.positions[f"{slot.path}.{source}"] = item.position
        try:
            found.append(_mapping(context, source, item))
        except ConfigError as error:
            context.problems.extend(error.problems)
    return found


def _mapping(context: ReadContext, source: str, node: ConfigNode) -> MappingOptions:
    if not is_valid(source):
        raise ConfigError.at(node.position, f'Subject "{source}" is not a valid subject')
    if isinstance(node.value, str):
        destinations = [DestinationOptions(node.value)]
    elif isinstance(node.value, list):
        destinations = [_destination(context, item) for item in node.value]
    else:
        destinations = [_destination(context, node)]
    seen: set[tuple[str, str]] = set()
    totals: dict[str, int] = {}
    for destination in destinations:
        what = f'Error adding mapping for "{source}" to "{destination.subject}"'
        if (destination.subject, destination.cluster) in seen:
            raise ConfigError.at(node.position, f"{what}: duplicate entry")
        seen.add((destination.subject, destination.cluster))
        totals[destination.cluster] = totals.get(destination.cluster, 0) + destination.weight
        if totals[destination.cluster] > 100:
            raise ConfigError.at(node.position, f"{what}: total weight needs to be <= 100")
        try:
            SubjectTransform(source, destination.subject)
        except TransformError as error:
            raise ConfigError.at(node.position, f"{what}: {error}") from None
    return MappingOptions(source, destinations)


def _destination(context: ReadContext, node: ConfigNode) -> DestinationOptions:
    if not isinstance(node.value, dict):
        raise wrong(
            node, "Expected an entry for the mapping destination", "as {destination: SUBJECT, weight: 50%}"
        )
    found = DestinationOptions("", -1)
    for key, item in node.value.items():
        lower = key.lower()
        if lower in ("destination", "dest"):
            found.subject = _text(item, key)
        elif lower == "weight":
            found.weight = _weight(item)
        elif lower == "cluster":
            found.cluster = _text(item, key)
        else:
            context.error(
                item.position, f'Unknown field "{key}" for mapping destination', suggestion(key, _KEYS)
            )
    if found.weight < 0:
        raise ConfigError.at(node.position, f'Missing weight for mapping destination "{found.subject}"')
    return found


def _text(node: ConfigNode, key: str) -> str:
    if not isinstance(node.value, str):
        raise wrong(node, f"{key} must be a string")
    return node.value


def _weight(node: ConfigNode) -> int:
    value = node.value
    if isinstance(value, str):
        text = value.removesuffix("%")
        if not (text.isascii() and text.isdecimal() and len(text) < 4):
            raise ConfigError.at(
                node.position, f'Invalid weight "{value}" for mapping destination', "0 to 100"
            )
        value = int(text)
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(node, "weight must be an integer or a percentage")
    if not 0 <= value <= 100:
        raise ConfigError.at(node.position, f"Invalid weight {value} for mapping destination", "0 to 100")
    return value
