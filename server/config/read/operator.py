"""Readers of operator mode's blocks: the resolver, and the preloaded accounts."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..options.field import MINUTE
from ..options.operator import ResolverOptions
from ..tree import ConfigError, ConfigNode
from .context import OptionSlot, ReadContext, wrong
from .section import read_into
from .values import read_string_map

_URL = re.compile(r'url(?:\(\s*"?([^\s")]*)"?\s*\))?', re.IGNORECASE)
_FORMS = 'MEM, URL("url"), or a map with dir and type (full or cache)'


def read_resolver(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> ResolverOptions:
    """Read `MEMORY`, `URL("...")`, or a map of type full, cache or mem."""
    value = node.value
    if isinstance(value, str):
        if re.search("mem", value, re.IGNORECASE):
            return ResolverOptions(kind="memory")
        match = _URL.match(value.strip())
        if match is None or not match.group(1):
            raise ConfigError.at(node.position, f"error parsing account resolver, should be {_FORMS}")
        return ResolverOptions(kind="url", url=match.group(1))
    if not isinstance(value, dict):
        raise wrong(node, "error parsing operator resolver", f"should be {_FORMS}")
    entries = {key.lower(): item for key, item in value.items()}
    kind_node = entries.pop("type", None)
    if kind_node is None or not isinstance(kind_node.value, str):
        raise ConfigError.at(node.position, f"error parsing account resolver, should be {_FORMS}")
    kind = {"mem": "memory"}.get(kind_node.value.lower(), kind_node.value.lower())
    if kind not in ("memory", "full", "cache"):
        raise ConfigError.at(kind_node.position, f"error parsing account resolver, should be {_FORMS}")
    found = ResolverOptions(kind=kind)
    read_into(context, found, entries, slot.path)
    _check_resolver(context, found, entries, node)
    return found


def _check_resolver(
    context: ReadContext, found: ResolverOptions, entries: dict[str, ConfigNode], node: ConfigNode
) -> None:
    if found.kind == "memory":
        return
    if not found.dir:
        context.error(node.position, "dir has no value and needs to point to a directory")
    elif not _usable(Path(found.dir)):
        context.error(entries["dir"].position, "dir needs to point to an accessible directory")
    if found.timeout <= 0:
        context.error(entries["timeout"].position, "timeout is too small", "above 0")
    foreign = {"cache": ("interval", "allow_delete", "hard_delete"), "full": ("ttl",)}[found.kind]
    for key in foreign:
        if key in entries and entries[key].value is not False:
            context.error(entries[key].position, f"{found.kind.upper()} does not accept {key}")
    if found.kind == "full" and "hard_delete" in entries and not found.allow_delete:
        context.error(entries["hard_delete"].position, "hard_delete has no effect without delete")
    if found.kind == "cache":
        found.interval = 0
        if found.limit is None:
            found.limit = 1000
    elif found.interval == 0:
        found.interval = MINUTE


def _usable(folder: Path) -> bool:
    """Whether the path is a directory that can be written to, or does not exist yet."""
    return os.access(folder, os.W_OK | os.X_OK) and folder.is_dir() if folder.exists() else True


def read_preload(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> dict[str, str]:
    """Read tokens of accounts by public key. Each must be of its account, but may be signed by anyone."""
    found = read_string_map(context, slot, node)
    if found:
        from ....keys import AccountClaims, IdentityError, decode
    for key, token in found.items():
        position = context.positions[f"{slot.path}.{key}"]
        try:
            claims = decode(token.strip(), AccountClaims, v1=True)
        except IdentityError as error:
            context.error(position, f"invalid account JWT of {key}: {error}")
            continue
        if claims.sub != key:
            context.error(position, f"the account JWT of {key} is that of {claims.sub}")
    return found
