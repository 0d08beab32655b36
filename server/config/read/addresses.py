"""Readers of addresses: `listen` and port keys, advertised addresses, URLs."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from ..tree import ConfigError, ConfigNode
from .context import OptionSlot, ReadContext, wrong
from .values import read_int, read_string, read_strings

LEAF_PORT = 7422


def split_address(text: str, node: ConfigNode, key: str) -> tuple[str, int]:
    """Split `host:port`, `:port` or `[v6]:port`. The host may be ""."""
    match = re.fullmatch(r"(?:\[([^\]]*)\]|([^:\[\]]*)):(.*)", text)
    if match is None:
        raise ConfigError.at(
            node.position, f"{key}: could not parse address string {text!r}", 'as "host:port"'
        )
    port = match.group(3)
    if not re.fullmatch(r"[+-]?[0-9]+", port):
        raise ConfigError.at(node.position, f"{key}: could not parse port {port!r}")
    return match.group(1) or match.group(2) or "", int(port)


def _port(node: ConfigNode, key: str, port: int) -> int:
    if not -1 <= port <= 65535:
        raise ConfigError.at(
            node.position, f"{key}: {port} is no port", "0 to 65535, or -1 for any free port"
        )
    return port


def _listen(node: ConfigNode, key: str) -> tuple[str, int]:
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        return "", _port(node, key, node.value)
    if isinstance(node.value, str):
        host, port = split_address(node.value, node, key)
        return host, _port(node, key, port)
    raise wrong(node, f"{key} must be a port or host:port")


def _read(context: ReadContext, slot: OptionSlot, node: ConfigNode, *, listen: bool, host: str) -> int:
    if not listen:
        return _port(node, slot.key, read_int(context, slot, node))
    address, port = _listen(node, slot.key)
    if address:
        setattr(slot.target, host, address)
    return port


def read_client_port(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> int:
    """Read the port of the client listener: 0 is the default 4222, -1 is any free port (0 in the options)."""
    port = _read(context, slot, node, listen=slot.key.lower() == "listen", host="host")
    return {0: 4222, -1: 0}.get(port, port)


def read_port(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> int | None:
    """Read the port of another listener: 0 is none (None in the options), -1 is any free port (0)."""
    port = _read(context, slot, node, listen=slot.key.lower() == "listen", host="host")
    return {0: None, -1: 0}.get(port, port)


def read_monitor_port(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> int | None:
    """Read a port for monitoring; `http` and `https` are addresses. 0 is off, -1 is any free port."""
    port = _read(context, slot, node, listen=slot.key.lower() in ("http", "https"), host="http_host")
    return {0: None, -1: 0}.get(port, port)


def read_advertise(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> str:
    """Read `host:port` or `host`. It is checked further when the server starts, as in nats-server."""
    text = read_string(context, slot, node)
    if any(c.isspace() for c in text):
        raise ConfigError.at(node.position, f"{slot.key} must be host:port, got {text!r}")
    return text


def _check_url(text: str, node: ConfigNode, what: str) -> str:
    text = text.strip()
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ConfigError.at(node.position, f"error parsing {what} url [{redacted(text)!r}]") from None
    if not parts.scheme or not parts.hostname or port == 0:
        raise ConfigError.at(
            node.position, f"error parsing {what} url [{redacted(text)!r}]", "as nats://host:port"
        )
    return text


def redacted(url: str) -> str:
    """Return a URL without its password."""
    return re.sub(r"(//[^:@/]*):.*@", r"\1:xxxxx@", url)


def read_urls(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> list[str]:
    """Read URLs. A duplicate is dropped with a warning."""
    if isinstance(node.value, str) and slot.key.lower() == "routes":
        raise wrong(node, f"{slot.key} must be a list of URLs")
    what = {"routes": "route"}.get(slot.key.lower(), slot.path.split(".", 1)[0])
    items = node.value if isinstance(node.value, list) else [node]
    found: list[str] = []
    for url, item in zip(read_strings(context, slot, node), items, strict=True):
        if url in found:
            context.warn(item.position, f"Duplicate {what} entry detected", redacted(url))
            continue
        found.append(_check_url(url, item, what))
    return found


def read_leaf_urls(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> list[str]:
    """Read the URLs of a remote and add the default port. Either all are websocket URLs, or none."""
    found: list[str] = []
    for url in read_urls(context, slot, node):
        parts = urlsplit(url)
        port = parts.port or {"ws": 80, "wss": 443}.get(parts.scheme.lower(), LEAF_PORT)
        address = parts.netloc if parts.port else f"{parts.netloc.rstrip(':')}:{port}"
        found.append(f"{parts.scheme.lower()}://{address}{parts.path}")
    schemes = {url.startswith(("ws://", "wss://")) for url in found}
    if len(schemes) > 1:
        raise ConfigError.at(
            node.position,
            "remote leaf node configuration cannot have a mix of websocket and non-websocket urls",
        )
    return found
