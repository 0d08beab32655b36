"""The HTTP that a leaf node speaks: CONNECT to a proxy, and the request for an upgrade. No I/O.

Source: RFC 6455, 4.1, and nats-server's server/leafnode.go: leafNodeSolicitWSConnection.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import h11

from .deflate import OFFER, offered
from .request import NO_MASKING, accept_key

_LONGEST = 1 << 16  # bytes of an answer
_OK = 200
_SWITCHING = 101


class SolicitationError(Exception):
    """The proxy or the hub does not grant what it was asked for."""


class Agreement(NamedTuple):
    """What the hub grants. `rest` is what it has sent after that."""

    compress: bool
    masks: bool
    rest: bytes


class _Exchange:
    """One request and its answer. `wrong` begins the error if the answer is no HTTP."""

    wrong: ClassVar[str]

    def __init__(self, method: str, target: str, headers: list[tuple[str, str]]) -> None:
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LONGEST)
        sent = self._http.send(h11.Request(method=method, target=target, headers=headers))
        self.request = (sent or b"") + (self._http.send(h11.EndOfMessage()) or b"")

    def _answer(self, data: bytes) -> h11.Response | h11.InformationalResponse | None:
        """Take what the socket brought. Return the answer, None while it is incomplete."""
        self._http.receive_data(data)
        try:
            event = self._http.next_event()
        except h11.RemoteProtocolError as error:
            raise SolicitationError(f"{self.wrong}: {error}") from error
        if event is h11.NEED_DATA:
            return None
        if not isinstance(event, (h11.Response, h11.InformationalResponse)):
            raise SolicitationError(f"{self.wrong}: no answer")
        return event

    def _rest(self) -> bytes:
        return bytes(self._http.trailing_data[0])


class Tunnel(_Exchange):
    """Asks a proxy for a connection to `authority`, `host:port`. `login`: user and password, if it asks."""

    wrong = "invalid answer of the proxy"

    def __init__(self, authority: str, login: tuple[str, str] | None) -> None:
        headers = [("Host", authority)]
        if login is not None:
            token = base64.b64encode(":".join(login).encode()).decode()
            headers.append(("Proxy-Authorization", f"Basic {token}"))
        super().__init__("CONNECT", authority, headers)

    def feed(self, data: bytes) -> bool:
        """Take what the socket brought. Return whether the tunnel is open. Raises SolicitationError."""
        answer = self._answer(data)
        if answer is None:
            return False
        if answer.status_code != _OK:
            reason = bytes(answer.reason).decode("latin-1")
            raise SolicitationError(f"proxy CONNECT failed: {answer.status_code} {reason}".rstrip())
        if self._rest():
            raise SolicitationError("the proxy sent something that nobody asked for")
        return True


class UpgradeExchange(_Exchange):
    """Asks the hub at `authority`, `host:port`, for WebSocket."""

    wrong = "invalid websocket connection"

    def __init__(
        self,
        authority: str,
        path: str,
        random_bytes: Callable[[int], bytes],
        *,
        compress: bool,
        no_masking: bool,
    ) -> None:
        self._key = base64.b64encode(random_bytes(16)).decode()
        self._compress = compress
        self._no_masking = no_masking
        headers = [
            ("Host", authority),
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Key", self._key),
            ("Sec-WebSocket-Version", "13"),
        ]
        if compress:
            headers.append(("Sec-WebSocket-Extensions", OFFER))
        if no_masking:
            headers.append((NO_MASKING, "true"))
        super().__init__("GET", path, headers)

    def feed(self, data: bytes) -> Agreement | None:
        """Take what the socket brought. Return what was agreed on. Raises SolicitationError."""
        answer = self._answer(data)
        if answer is None:
            return None
        headers: dict[str, list[str]] = {}
        for name, value in answer.headers:
            headers.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))

        def one(name: str) -> str:
            return headers.get(name, [""])[0]

        if (
            answer.status_code != _SWITCHING
            or one("upgrade").lower() != "websocket"
            or one("connection").lower() != "upgrade"
            or one("sec-websocket-accept") != accept_key(self._key)
        ):
            raise SolicitationError(f"{self.wrong}: HTTP status {answer.status_code}")
        compress, no_context = offered(headers.get("sec-websocket-extensions", []))
        if compress and not (self._compress and no_context):
            raise SolicitationError("compression negotiation error")
        unmasked = self._no_masking and one(NO_MASKING.lower()) == "true"
        return Agreement(compress, not unmasked, self._rest())
