"""UpgradeRequest: the HTTP request of an accepted socket, until it is answered. No I/O.

Source: RFC 6455, 4.2, and nats-server's server/websocket.go: wsUpgrade.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import ipaddress
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

import h11

from ..connection.upgrade import Upgrade
from . import origins
from .deflate import OFFER, offered

if TYPE_CHECKING:
    from ..config.options import WebSocketOptions

_LONGEST = 1 << 16  # bytes of a request: a cookie may hold a JWT
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3
_KEY_BYTES = 16
NO_MASKING = "Nats-No-Masking"
LEAF_PATH = "/leafnode"
_MQTT_PATH = "/mqtt"


class Accepted(NamedTuple):
    """A request that is granted.

    response: what to send.
    leaf, mqtt: whether a leaf node asks, or an MQTT client; otherwise it is a client of NATS.
    masked: whether the peer will mask its frames.
    compress: whether compression was agreed on.
    """

    response: bytes
    leaf: bool
    mqtt: bool
    masked: bool
    compress: bool
    upgrade: Upgrade


class Refused(NamedTuple):
    """A request that is not granted, and why. `response` is what to send before the socket is closed."""

    response: bytes
    why: str


class UpgradeRequest:
    """Reads one request. `secure`: whether it comes over TLS. `mqtt`: whether MQTT is served."""

    def __init__(self, options: WebSocketOptions, *, secure: bool, mqtt: bool = False) -> None:
        self._options = options
        self._secure = secure
        self._mqtt = mqtt
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_LONGEST)

    def feed(self, data: bytes) -> Accepted | Refused | None:
        """Take what the socket brought. Return the answer, or None while the request is incomplete."""
        self._http.receive_data(data)
        try:
            event = self._http.next_event()
        except h11.RemoteProtocolError as error:
            return _refused(error.error_status_hint, str(error))
        if event is h11.NEED_DATA:
            return None
        if not isinstance(event, h11.Request):
            return _refused(HTTPStatus.BAD_REQUEST, "no request")
        answer = self._judge(event)
        if isinstance(answer, Accepted) and self._http.trailing_data[0]:
            return Refused(b"", "client sent data before handshake is complete")
        return answer

    def _judge(self, request: h11.Request) -> Accepted | Refused:
        headers: dict[str, list[str]] = {}
        for name, value in request.headers:
            headers.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
        path = request.target.decode("latin-1").partition("?")[0]

        def first(name: str) -> str:
            return headers.get(name, [""])[0]

        def has(name: str, wanted: str) -> bool:
            tokens = ",".join(headers.get(name, ())).split(",")
            return any(token.strip(" \t").lower() == wanted for token in tokens)

        bad = HTTPStatus.BAD_REQUEST
        mqtt = path.endswith(_MQTT_PATH)
        if mqtt and not self._mqtt:
            return _refused(HTTPStatus.NOT_FOUND, "mqtt websocket endpoint not enabled")
        if request.method != b"GET":
            return _refused(HTTPStatus.METHOD_NOT_ALLOWED, "request method must be GET")
        if not first("host"):
            return _refused(bad, "'Host' missing in request")
        if not has("upgrade", "websocket"):
            return _refused(bad, "invalid value for header 'Upgrade'")
        if not has("connection", "upgrade"):
            return _refused(bad, "invalid value for header 'Connection'")
        key = first("sec-websocket-key")
        if not _is_key(key):
            return _refused(bad, "invalid websocket key" if key else "key missing")
        if not has("sec-websocket-version", "13"):
            return _refused(bad, "invalid version")
        origin = first("origin") or first("sec-websocket-origin")
        why = origins.refusal(self._options, origin, first("host"), secure=self._secure)
        if why:
            return _refused(HTTPStatus.FORBIDDEN, f"origin not allowed: {why}")
        return self._accept(headers, key, leaf=path.endswith(LEAF_PATH), mqtt=mqtt)

    def _accept(self, headers: dict[str, list[str]], key: str, *, leaf: bool, mqtt: bool) -> Accepted:
        options = self._options
        compress = options.compression and offered(headers.get("sec-websocket-extensions", []))[0]
        unmasked = headers.get(NO_MASKING.lower(), [""])[0] == "true"
        lines = [
            "HTTP/1.1 101 Switching Protocols",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Accept: {accept_key(key)}",
        ]
        if compress:
            lines.append(f"Sec-WebSocket-Extensions: {OFFER}")
        if unmasked:
            lines.append(f"{NO_MASKING}: true")
        if mqtt:
            lines.append("Sec-WebSocket-Protocol: mqtt")
        lines += [f"{name}: {value}" for name, value in options.headers.items()]
        response = "\r\n".join([*lines, "", ""]).encode()
        forwarded = headers.get("x-forwarded-for", [""])[0]
        upgrade = Upgrade(_cookies(headers.get("cookie", [])), forwarded if _is_address(forwarded) else "")
        return Accepted(response, leaf, mqtt, not unmasked, compress, upgrade)


def accept_key(key: str) -> str:
    """Return the answer to a key, which shows that the server understood the request."""
    digest = hashlib.sha1(key.encode() + _GUID, usedforsecurity=False).digest()
    return base64.b64encode(digest).decode()


def _is_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == _KEY_BYTES
    except (binascii.Error, ValueError):
        return False


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _cookies(lines: list[str]) -> dict[str, str]:
    """Return cookies by name; the last of equal names counts."""
    found: dict[str, str] = {}
    for pair in ";".join(lines).split(";"):
        name, equals, value = pair.strip().partition("=")
        if name and equals:
            quoted = len(value) > 1 and value[0] == value[-1] == '"'
            found[name] = value[1:-1] if quoted else value
    return found


def _refused(status: int, why: str) -> Refused:
    text = HTTPStatus(status).phrase
    lines = [
        f"HTTP/1.1 {int(status)} {text}",
        "Content-Type: text/plain; charset=utf-8",
        "Sec-Websocket-Version: 13",
        "X-Content-Type-Options: nosniff",
        f"Content-Length: {len(text) + 1}",
        "Connection: close",
        "",
        f"{text}\n",
    ]
    return Refused("\r\n".join(lines).encode(), f"websocket handshake error: {why}")
