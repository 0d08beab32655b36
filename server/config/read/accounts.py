"""Readers of accounts: the `accounts` key, exports, imports, limits of JetStream, message traces."""

from __future__ import annotations

from typing import Any

from ....protocol.subject import is_literal
from ..options.accounts import (
    AccountJetStream,
    AccountOptions,
    ExportOptions,
    ImportOptions,
    LatencyOptions,
    TraceDestination,
)
from ..tree import ConfigError, ConfigNode
from .context import OptionSlot, ReadContext, wrong
from .keys import is_public_key
from .section import read_into, read_maps
from .values import go_duration, read_bool, read_string, read_strings

RESERVED = ("$G",)
_EXAMPLE = "as [{stream: subject}, {service: subject}]"
_RESPONSE_TYPES = {
    "single": "singleton",
    "singleton": "singleton",
    "stream": "stream",
    "chunk": "chunked",
    "chunked": "chunked",
}
_THRESHOLD = ("response_threshold", "threshold", "response_max_time", "response_time")
_EXPORT_KEYS = (
    "stream", "service", "accounts", "account_token_position", "response_type", "response", *_THRESHOLD,
    "latency", "allow_trace",
)  # fmt: skip
_IMPORT_KEYS = ("stream", "service", "prefix", "to", "share", "allow_trace")


def read_accounts(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> dict[str, AccountOptions]:
    """Read accounts by name, in order, from a list of names or a map. Variables among them are skipped."""
    accounts: dict[str, AccountOptions] = {}
    if isinstance(node.value, list):
        for item in node.value:
            if not isinstance(item.value, str):
                raise wrong(item, "each account must be a name")
            if item.value in accounts:
                context.error(item.position, f"Duplicate Account Entry: {item.value}")
            elif _allowed(context, item.value, item):
                accounts[item.value] = AccountOptions(name=item.value)
                context.positions[f"accounts.{item.value}"] = item.position
        return accounts
    if not isinstance(node.value, dict):
        raise wrong(node, f"{slot.key} must be a map or a list of names")
    for name, item in node.value.items():
        if item.used:
            continue
        if not isinstance(item.value, dict):
            context.error(item.position, f"Expected map entries for accounts: {name!r} is {item.kind}")
        elif _allowed(context, name, item):
            account = AccountOptions(name=name)
            path = f"accounts.{name}"
            context.positions[path] = item.position
            read_into(context, account, item.value, path)
            if account.nkey and not is_public_key(account.nkey, "A"):
                context.error(
                    context.positions[f"{path}.nkey"],
                    f'Not a valid public nkey for an account: "{account.nkey}"',
                )
            for user in account.users:
                user.account = name
            accounts[name] = account
    return accounts


def _allowed(context: ReadContext, name: str, node: ConfigNode) -> bool:
    if name in RESERVED:
        context.error(node.position, f'"{name}" is a Reserved Account')
        return False
    return True


def read_account_jetstream(
    context: ReadContext, slot: OptionSlot, node: ConfigNode
) -> AccountJetStream | None:
    """Read true, false, "enabled", "disabled", or a map of limits. Return None if JetStream is off."""
    value = node.value
    if isinstance(value, bool):
        return AccountJetStream() if value else None
    if isinstance(value, str):
        if value.lower() in ("enabled", "enable"):
            return AccountJetStream()
        if value.lower() in ("disabled", "disable"):
            return None
        raise ConfigError.at(
            node.position, f"Expected 'enabled' or 'disabled' for string value, got '{value}'"
        )
    if not isinstance(value, dict):
        raise wrong(node, f"{slot.key} must be true, false, enabled, disabled or a map")
    found = AccountJetStream()
    read_into(context, found, value, slot.path)
    return found


def _here(slot: OptionSlot, key: str) -> OptionSlot:
    return OptionSlot(slot.target, key.lower(), key, slot.spec, slot.path)


def read_exports(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> list[ExportOptions]:
    """Read exports. Each has exactly one of `stream` and `service`."""
    found: list[ExportOptions] = []
    for _, item, entries in read_maps(context, slot, node, _EXAMPLE):
        export = ExportOptions("", "")
        service_only: dict[str, ConfigNode] = {}
        for key, value in entries.items():
            _export_key(context, _here(slot, key), value, export, service_only)
        if not export.kind:
            context.error(item.position, "an export needs a stream or a service")
            continue
        if export.kind == "stream" and service_only:
            name, value = next(iter(service_only.items()))
            context.error(value.position, f"Detected {name} directive on non-service")
            continue
        found.append(export)
    return found


def _export_key(
    context: ReadContext,
    slot: OptionSlot,
    node: ConfigNode,
    export: ExportOptions,
    service_only: dict[str, ConfigNode],
) -> None:
    key = slot.name
    if key in ("stream", "service"):
        if export.kind:
            raise ConfigError.at(node.position, f"Detected {key} but already saw a {export.kind}")
        export.kind, export.subject = key, read_string(context, slot, node)
    elif key == "accounts":
        if not isinstance(node.value, list):
            raise wrong(node, "accounts must be a list of names")
        export.accounts = read_strings(context, slot, node)
    elif key == "account_token_position":
        export.account_token_position = _integer(node, slot.key)
    elif key in ("response_type", "response"):
        service_only["response"] = node
        text = read_string(context, slot, node).lower()
        if text not in _RESPONSE_TYPES:
            raise ConfigError.at(
                node.position, f'Unknown response type: "{text}"', "single, stream or chunked"
            )
        export.response_type = _RESPONSE_TYPES[text]
    elif key in _THRESHOLD:
        service_only["response"] = node
        if not isinstance(node.value, str):
            raise wrong(node, "Expected response threshold to be a parseable time duration", 'such as "2s"')
        export.response_threshold = go_duration(slot, node, node.value)
    elif key == "latency":
        service_only["latency"] = node
        export.latency = _latency(node)
    elif key == "allow_trace":
        service_only["allow_trace"] = node
        export.allow_trace = read_bool(context, slot, node)
    else:
        context.unknown(slot.key, node, _EXPORT_KEYS)


def _integer(node: ConfigNode, key: str) -> int:
    if isinstance(node.value, bool) or not isinstance(node.value, int) or node.value < 0:
        raise wrong(node, f"{key} must be a positive integer")
    return node.value


def _percent(node: ConfigNode, what: str) -> int:
    value: Any = node.value
    if isinstance(value, str):
        text = value.removesuffix("%")
        value = int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else -1
    elif isinstance(value, bool) or not isinstance(value, int):
        raise wrong(node, f"{what} must be a percentage")
    if not 1 <= value <= 100:
        raise ConfigError.at(node.position, f"bad sampling percentage, should be 1-100: {node.value}")
    return int(value)


def _latency(node: ConfigNode) -> LatencyOptions:
    if isinstance(node.value, str):
        return LatencyOptions(node.value)
    if not isinstance(node.value, dict):
        raise wrong(node, "Expected latency entry to be a map or string")
    subject = node.value.get("subject")
    if subject is None:
        raise ConfigError.at(node.position, "Latency subject required, but missing")
    if not isinstance(subject.value, str):
        raise wrong(subject, "Expected latency subject to be a string")
    sampling = node.value.get("sampling")
    if sampling is None:
        return LatencyOptions(subject.value)
    if isinstance(sampling.value, str) and sampling.value.strip().lower() == "headers":
        return LatencyOptions(subject.value, 0)
    return LatencyOptions(subject.value, _percent(sampling, "latency sampling"))


def read_imports(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> list[ImportOptions]:
    """Read imports. Each has exactly one of `stream` and `service`, a map of account and subject."""
    found: list[ImportOptions] = []
    for path, item, entries in read_maps(context, slot, node, _EXAMPLE):
        made = ImportOptions("", "", "")
        for key, value in entries.items():
            _import_key(context, _here(slot, key), value, made)
            context.positions[f"{path}.{key.lower()}"] = value.position
        if not made.kind:
            context.error(item.position, "an import needs a stream or a service")
        elif made.kind == "stream" and made.to and made.prefix:
            context.error(item.position, "Stream import can not have a 'prefix' and a 'to' property")
        elif made.kind == "service" and made.allow_trace:
            context.error(item.position, "Detected allow_trace directive on a non-stream")
        else:
            found.append(made)
    return found


def _import_key(context: ReadContext, slot: OptionSlot, node: ConfigNode, made: ImportOptions) -> None:
    key = slot.name
    if key in ("stream", "service"):
        if made.kind:
            raise ConfigError.at(node.position, f"Detected {key} but already saw a {made.kind}")
        made.kind = key
        made.account, made.subject = _source(context, slot, node)
    elif key == "prefix":
        made.prefix = read_string(context, slot, node)
    elif key == "to":
        made.to = read_string(context, slot, node)
    elif key == "share":
        made.share = read_bool(context, slot, node)
    elif key == "allow_trace":
        made.allow_trace = read_bool(context, slot, node)
    else:
        context.unknown(slot.key, node, _IMPORT_KEYS)


def _source(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> tuple[str, str]:
    if not isinstance(node.value, dict):
        raise wrong(node, f"{slot.key} entry should be a map", "as {account: NAME, subject: SUBJECT}")
    found = {"account": "", "subject": ""}
    for key, item in node.value.items():
        if key.lower() in found:
            found[key.lower()] = read_string(context, _here(slot, key), item)
        else:
            context.unknown(key, item, found)
    if not found["account"] or not found["subject"]:
        raise ConfigError.at(node.position, "Expect an account name and a subject")
    return found["account"], found["subject"]


def read_msg_trace(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> TraceDestination | None:
    """Read a subject, or {dest, sampling}. Sampling without a subject is ignored with a warning."""
    if isinstance(node.value, str):
        return TraceDestination(_destination(node, node.value)) if node.value else None
    if not isinstance(node.value, dict):
        raise wrong(node, f"{slot.key} must be a subject or a map")
    dest, sampling = "", 100
    for key, item in node.value.items():
        if key.lower() == "dest":
            dest = _destination(item, read_string(context, _here(slot, key), item))
        elif key.lower() == "sampling":
            sampling = _percent(item, "sampling")
        else:
            context.unknown(key, item, ("dest", "sampling"))
    if not dest:
        context.warn(node.position, "Trace destination sampling ignored since no destination was set")
        return None
    return TraceDestination(dest, sampling)


def _destination(node: ConfigNode, subject: str) -> str:
    if not is_literal(subject):
        raise ConfigError.at(node.position, f'Trace destination "{subject}" is not valid')
    return subject
