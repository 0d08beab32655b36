"""Readers of blocks with forms of their own: jetstream, compression, details of TLS and others."""

from __future__ import annotations

import re
from typing import Any

from ..options.jetstream import JetStreamOptions
from ..options.leafnodes import CompressionOptions
from ..tree import ConfigError, ConfigNode
from .context import OptionSlot, ReadContext, suggestion, wrong
from .keys import is_public_key
from .section import read_into
from .values import go_duration, read_bool, read_duration, read_string, read_strings

COMPRESSION = {
    "off": "off", "disabled": "off", "false": "off", "accept": "accept", "on": "on", "enabled": "on",
    "true": "on", "s2_fast": "s2_fast", "fast": "s2_fast", "s2_better": "s2_better", "better": "s2_better",
    "s2_best": "s2_best", "best": "s2_best", "s2_auto": "s2_auto", "auto": "s2_auto",
    "not supported": "not supported",
}  # fmt: skip


def read_jetstream(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> JetStreamOptions:
    """Read true, false, "enabled", "disabled", or a map. A map enables it unless it has `enabled: false`."""
    value = node.value
    if isinstance(value, bool):
        return JetStreamOptions(enabled=value)
    if isinstance(value, str):
        if value.lower() not in ("enabled", "enable", "disabled", "disable"):
            raise ConfigError.at(
                node.position, f"Expected 'enabled' or 'disabled' for string value, got '{value}'"
            )
        return JetStreamOptions(enabled=value.lower().startswith("enable"))
    if not isinstance(value, dict):
        raise wrong(node, f"{slot.key} must be true, false, enabled, disabled or a map")
    found = JetStreamOptions(enabled=True)
    read_into(context, found, value, slot.path)
    found.unique_tag = found.unique_tag.strip().lower()
    return found


def read_compression(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> CompressionOptions:
    """Read a bool, a mode, or {mode, rtt_thresholds}. "on" is s2_fast for a cluster, s2_auto for leafs."""
    on = "s2_fast" if slot.path.startswith("cluster") else "s2_auto"
    value = node.value
    if isinstance(value, bool):
        return CompressionOptions(on if value else "off")
    if isinstance(value, str):
        return CompressionOptions(_mode(node, value, on))
    if not isinstance(value, dict):
        raise wrong(node, f'field "{slot.key}" should be a boolean, a mode or a map')
    found = CompressionOptions(on)
    for key, item in value.items():
        if key.lower() == "mode":
            found.mode = _mode(item, read_string(context, slot, item), on)
        elif key.lower() in ("rtt_thresholds", "thresholds", "rtts", "rtt"):
            found.rtt_thresholds = [go_duration(slot, item, t) for t in read_strings(context, slot, item)]
            if len(found.rtt_thresholds) > 4:
                raise ConfigError.at(item.position, 'compression mode "s2_auto" takes at most 4 thresholds')
            rising = [t for t in found.rtt_thresholds if t]
            if rising != sorted(rising):
                raise ConfigError.at(item.position, "compression thresholds must be in ascending order")
        else:
            context.unknown(key, item, ("mode", "rtt_thresholds"))
    return found


def _mode(node: ConfigNode, text: str, on: str) -> str:
    mode = COMPRESSION.get(text.lower())
    if mode is None:
        raise ConfigError.at(
            node.position, f'unsupported compression mode "{text}"', suggestion(text, COMPRESSION)
        )
    return on if mode == "on" else mode


def read_tls_version(_: ReadContext, slot: OptionSlot, node: ConfigNode) -> str:
    """Read "1.2" or "1.3". A version without quotes is a number and refused.

    Source: nats-server's server/opts.go: parseTLSVersion.
    """
    if not isinstance(node.value, str):
        raise wrong(node, f"{slot.key} must be a string", 'as "1.2" or "1.3", in quotes')
    if node.value not in slot.spec.choices:
        raise ConfigError.at(node.position, f"unsupported minimum TLS version: {node.value}", "1.2 or 1.3")
    return node.value


def read_pinned_certs(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> list[str]:
    """Read SHA-256 sums in hexadecimal, as lower case."""
    found = [text.lower() for text in read_strings(context, slot, node)]
    for text in found:
        if not re.fullmatch(r"[0-9a-f]{64}", text):
            raise ConfigError.at(
                node.position, f"{slot.key}: {text!r} is not the SHA-256 of a public key", "64 hex digits"
            )
    return found


def read_handshake_first(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> bool | int:
    """Read False, True, or how long (ns) to wait for the client before INFO is sent unencrypted."""
    if isinstance(node.value, bool):
        return node.value
    text = read_string(context, slot, node).strip().lower()
    if text in ("true", "on"):
        return True
    if text in ("false", "off"):
        return False
    if text in ("auto", "auto_fallback"):
        return 50_000_000
    return go_duration(slot, node, text)


def _free_map(
    context: ReadContext, slot: OptionSlot, node: ConfigNode, keys: dict[str, str]
) -> dict[str, object]:
    """Read a bool (as {"enabled": …}) or a map of known keys, which is kept as written."""
    if isinstance(node.value, bool):
        return {"enabled": node.value}
    if not isinstance(node.value, dict):
        raise wrong(node, f"{slot.key} must be true, false or a map")
    found: dict[str, object] = {"enabled": True}
    for key, item in node.value.items():
        kind = keys.get(key.lower())
        if kind is None:
            context.unknown(key, item, keys)
            continue
        here = OptionSlot(slot.target, slot.name, key, slot.spec, slot.path)
        reader: Any = {
            "string": read_string,
            "strings": read_strings,
            "bool": read_bool,
            "duration": read_duration,
        }[kind]
        found[key.lower()] = reader(context, here, item)
    return found


def read_ocsp(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> dict[str, object]:
    """Read OCSP stapling: a bool or {mode, url, urls}."""
    found = _free_map(context, slot, node, {"mode": "string", "url": "string", "urls": "strings"})
    mode = str(found.get("mode", "auto")).lower()
    if mode not in ("auto", "always", "must", "never"):
        raise ConfigError.at(node.position, f"unsupported ocsp mode {mode!r}", "auto, always, must or never")
    return found


def read_ocsp_cache(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> dict[str, object]:
    """Read the cache of OCSP answers: a bool or {type, local_store, preserve_revoked, save_interval}."""
    keys = {
        "type": "string", "local_store": "string", "preserve_revoked": "bool", "save_interval": "duration"
    }  # fmt: skip
    return _free_map(context, slot, node, keys)


def read_ocsp_peer(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> dict[str, object]:
    """Read the OCSP checks of peers: a bool or a map."""
    keys = {
        "verify": "bool", "ca_timeout": "duration", "allowed_clockskew": "duration",
        "cache_ttl_when_next_update_unset": "duration", "warn_only": "bool", "unknown_is_good": "bool",
        "allow_when_ca_unreachable": "bool",
    }  # fmt: skip
    return _free_map(context, slot, node, keys)


def read_cluster_migrate(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> bool:
    """Read a bool, or {leader_migrate_delay}, which also sets the delay."""
    if isinstance(node.value, bool):
        return node.value
    if not isinstance(node.value, dict):
        raise wrong(node, f"Expected boolean or map for {slot.key}")
    for key, item in node.value.items():
        if key.lower() == "leader_migrate_delay":
            here = OptionSlot(slot.target, slot.name, key, slot.spec, slot.path)
            slot.target.leader_migrate_delay = read_duration(context, here, item)
        else:
            context.unknown(key, item, ("leader_migrate_delay",))
    return True


def read_leaf_version(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> str:
    """Read a version of at least 2.8.0."""
    text = read_string(context, slot, node)
    match = re.fullmatch(r"v?(\d+)\.(\d+)\.(\d+)(?:[-+].*)?", text)
    if match is None:
        raise ConfigError.at(node.position, f"invalid leafnode minimum version {text!r}", "as 2.8.0")
    if tuple(map(int, match.groups())) < (2, 8, 0):
        raise ConfigError.at(node.position, f"the minimum version should be at least 2.8.0, got {text}")
    return text


def read_proxies(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> list[str]:
    """Read the public keys in {trusted: [{key: NKEY}]}."""
    if not isinstance(node.value, dict):
        raise wrong(node, f"{slot.key} must be a map")
    found: list[str] = []
    for key, item in node.value.items():
        if key.lower() != "trusted":
            context.unknown(key, item, ("trusted",))
            continue
        if not isinstance(item.value, list):
            raise wrong(item, "trusted must be a list of maps")
        for entry in item.value:
            if not isinstance(entry.value, dict):
                raise wrong(entry, "each trusted proxy must be a map")
            for name, value in entry.value.items():
                if name.lower() not in ("key", "public_key"):
                    context.unknown(name, value, ("key", "public_key"))
                elif not isinstance(value.value, str) or not any(
                    is_public_key(value.value, k) for k in "NCOAUX"
                ):
                    raise ConfigError.at(value.position, f"proxy key {value.value!r} is not a public nkey")
                else:
                    found.append(value.value)
    return found


def read_reconnect(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> int:
    """Read the time between attempts to reach a hub."""
    return read_duration(context, OptionSlot(slot.target, slot.name, "reconnect", slot.spec, slot.path), node)
