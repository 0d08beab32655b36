"""Readers of plain values. Each returns the normalised value of a node, or raises ConfigError."""

from __future__ import annotations

import re
from pathlib import Path

from ....protocol.duration import DurationError, parse_go
from ....protocol.subject import is_valid
from ..options.field import SECOND
from ..tree import ConfigError, ConfigNode
from .context import OptionSlot, ReadContext, wrong

_LETTERS = {"K": 10, "M": 20, "G": 30, "T": 40}
_HIGH_TIMEOUT = 60 * SECOND


def read_bool(_: ReadContext, slot: OptionSlot, node: ConfigNode) -> bool:
    """Read true/false, yes/no, on/off without quotes."""
    if not isinstance(node.value, bool):
        raise wrong(node, f"{slot.key} must be true or false", "without quotes")
    return node.value


def read_int(_: ReadContext, slot: OptionSlot, node: ConfigNode) -> int:
    """Read an integer within the option's bounds, which may have a size suffix."""
    if isinstance(node.value, bool) or not isinstance(node.value, int):
        raise wrong(node, f"{slot.key} must be an integer", "without quotes")
    spec = slot.spec
    if spec.minimum is not None and node.value < spec.minimum:
        raise ConfigError.at(node.position, f"{slot.key} must be at least {spec.minimum}, got {node.value}")
    if spec.maximum is not None and node.value > spec.maximum:
        raise ConfigError.at(
            node.position, f"{slot.key} value is too big: {node.value}, the most is {spec.maximum}"
        )
    return node.value


def read_storage(_: ReadContext, slot: OptionSlot, node: ConfigNode) -> int:
    """Read a size of JetStream: an integer, or a string ending in one of K, M, G, T (powers of 1024)."""
    value = node.value
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    elif value == "":
        size = 0
    elif isinstance(value, str):
        number, letter = value[:-1], value[-1:]
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", number) or letter not in _LETTERS:
            raise ConfigError.at(
                node.position,
                f"{slot.key}: sizes in quotes must be a number and one of K, M, G, T, got {value!r}",
                "without quotes, 10GB and 10GiB are fine",
            )
        size = int(number) << _LETTERS[letter]
    else:
        raise wrong(node, f"{slot.key} must be a size")
    if slot.spec.minimum is not None and size < slot.spec.minimum:
        raise ConfigError.at(node.position, f"{slot.key} must be at least {slot.spec.minimum}, got {size}")
    return size


def read_string(_: ReadContext, slot: OptionSlot, node: ConfigNode) -> str:
    """Read a string."""
    if not isinstance(node.value, str):
        raise wrong(node, f"{slot.key} must be a string", "quote it")
    return node.value


def read_name(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> str:
    """Read a string without spaces."""
    text = read_string(context, slot, node)
    if " " in text:
        raise ConfigError.at(node.position, f"{slot.key} cannot contain spaces, got {text!r}")
    return text


def read_choice(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> str:
    """Read one of the option's choices, in lower case."""
    text = read_string(context, slot, node)
    if text.lower() not in slot.spec.choices:
        allowed = ", ".join(f"'{c}'" for c in slot.spec.choices)
        raise ConfigError.at(node.position, f"{slot.key} must be one of {allowed}, got {text!r}")
    return text.lower()


def expand(context: ReadContext, text: str) -> str:
    """Return a path with `~` and `$VAR` replaced."""
    text = re.sub(
        r"\$(?:\{(\w+)\}|(\w+))", lambda m: context.environment.get(m.group(1) or m.group(2), ""), text
    )
    return str(Path(text).expanduser()) if text.startswith("~") else text


def read_path(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> str:
    """Read a path as written; only in `credentials` are `~` and variables replaced."""
    text = read_string(context, slot, node)
    return expand(context, text) if slot.name == "credentials" else text


def go_duration(slot: OptionSlot, node: ConfigNode, text: str) -> int:
    """Return the nanoseconds of a Go duration. Raises ConfigError."""
    try:
        return parse_go(text)
    except DurationError as error:
        raise ConfigError.at(
            node.position, f"error parsing {slot.key}: {error}", 'as "1h2m3s"; days are not known'
        ) from None


def read_duration(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> int:
    """Read a Go duration, or (with a warning) an integer of seconds. Return ns.

    Source: nats-server's server/opts.go: parseDuration.
    """
    if isinstance(node.value, str):
        return go_duration(slot, node, node.value)
    if isinstance(node.value, bool) or not isinstance(node.value, int):
        raise wrong(node, f"{slot.key} must be a duration", 'such as "30s"')
    context.warn(
        node.position,
        f"{slot.key} should be converted to a duration",
        f'{node.value} is taken as seconds; an unquoted 1m is 1000000, write "1m"',
    )
    return node.value * SECOND


def read_strict_duration(_: ReadContext, slot: OptionSlot, node: ConfigNode) -> int:
    """Read a Go duration in quotes and return ns. Integers are refused."""
    if not isinstance(node.value, str):
        raise wrong(node, f"{slot.key} must be a duration", 'such as "30s", in quotes')
    nanoseconds = go_duration(slot, node, node.value)
    least = slot.spec.minimum if slot.spec.minimum is not None else 0
    if nanoseconds < least:
        seconds = f"minimum is {least // SECOND} seconds" if least else "needs to be positive"
        raise ConfigError.at(node.position, f"invalid {slot.key} of {node.value}, {seconds}")
    return nanoseconds


def read_seconds(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> int:
    """Read a timeout, as a number of seconds or a duration, and return ns. A long one causes a warning."""
    value = node.value
    if isinstance(value, str):
        nanoseconds = go_duration(slot, node, value)
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong(node, f"{slot.key} must be a number of seconds or a duration")
    else:
        nanoseconds = round(value * SECOND)
    if nanoseconds > _HIGH_TIMEOUT and "authorization" in slot.path:
        context.warn(
            node.position,
            f"timeout of {nanoseconds // SECOND} seconds is high, consider keeping it under 60 seconds",
            "an unquoted 1m is 1000000 seconds, write '1m'",
        )
    return nanoseconds


def read_sync_interval(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> int:
    """Read a duration, or "always", which is 0. Return ns."""
    if isinstance(node.value, str) and node.value.lower() == "always":
        return 0
    return read_duration(context, slot, node)


def read_strings(_: ReadContext, slot: OptionSlot, node: ConfigNode) -> list[str]:
    """Read a string or a list of strings."""
    if isinstance(node.value, str):
        return [node.value]
    if not isinstance(node.value, list):
        raise wrong(node, f"{slot.key} must be a string or a list of strings")
    found: list[str] = []
    for item in node.value:
        if not isinstance(item.value, str):
            raise wrong(item, f"each of {slot.key} must be a string")
        found.append(item.value)
    return found


def read_tags(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> list[str]:
    """Read tags, in lower case and without duplicates."""
    return list(dict.fromkeys(t.strip().lower() for t in read_strings(context, slot, node)))


def read_subjects(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> list[str]:
    """Read subjects, which may have wildcards."""
    found = read_strings(context, slot, node)
    for subject in found:
        if not is_valid(subject):
            raise ConfigError.at(node.position, f"subject {subject!r} is not a valid subject")
    return found


def read_string_map(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> dict[str, str]:
    """Read a map of strings."""
    if not isinstance(node.value, dict):
        raise wrong(node, f"{slot.key} must be a map")
    found: dict[str, str] = {}
    for key, item in node.value.items():
        if not isinstance(item.value, str):
            raise wrong(item, f"{slot.key}: the value of {key!r} must be a string", "quote it")
        found[key] = item.value
        context.positions[f"{slot.path}.{key}"] = item.position
    return found


def read_bool_map(_: ReadContext, slot: OptionSlot, node: ConfigNode) -> dict[str, bool]:
    """Read a map of bools."""
    if not isinstance(node.value, dict):
        raise wrong(node, f"{slot.key} must be a map")
    found: dict[str, bool] = {}
    for key, item in node.value.items():
        if not isinstance(item.value, bool):
            raise wrong(item, f"{slot.key}: the value of {key!r} must be true or false")
        found[key] = item.value
    return found
