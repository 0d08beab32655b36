"""Opening a connection: socket, TLS, INFO, CONNECT and the first PONG."""

from __future__ import annotations

import json
import socket
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from ..protocol.lazy_dataclass import dataclass
from ..protocol.wire import encode
from ..version import __version__
from . import identity
from .address import ConnectionOptions, bare
from .errors import AuthorizationError, ClientError, ConnectionLost, NoServers
from .frames import LONGEST_LINE

if TYPE_CHECKING:
    import ssl

PORT = 4222
RECEIVE_BUFFER = 4 << 20  # bytes the kernel may buffer for us, so that the server rarely waits


@dataclass(slots=True)
class HandshakeResult:
    """A connection whose login succeeded; `rest` is what was read beyond the first PONG."""

    socket: socket.socket
    url: str  # without user and password
    info: dict[str, Any]
    rest: bytes


def open_first(address: ConnectionOptions, urls: list[str]) -> HandshakeResult:
    """Connect to the first of `urls` that accepts us.

    Raises AuthorizationError if one refused us and no other accepted us, else NoServers with each one's
    reason.
    """
    refused: AuthorizationError | None = None
    reasons: list[tuple[str, Exception]] = []
    for url in urls:
        try:
            return _open(address, url)
        except AuthorizationError as error:
            refused = refused or error
        except (ClientError, OSError, ValueError) as error:
            reasons.append((url, error))
    if refused is not None:
        raise refused
    words = "; ".join(f"{bare(url)}: {_words(error)}" for url, error in reasons)
    raise NoServers(
        f"no server can be connected to: {words or 'no address was given'}", [error for _, error in reasons]
    )


def _words(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _open(address: ConnectionOptions, text: str) -> HandshakeResult:
    url = urlsplit(text if "://" in text else f"nats://{text}")
    if url.scheme not in {"nats", "tls"}:
        raise ClientError(f"{url.scheme}:// is not supported: use nats:// or tls://")
    if not url.hostname:
        raise ClientError("there is no host in this address")
    # Reading the certificate authorities can take longer than a server waits for a client that must speak
    # first.
    context = identity.tls_context(address) if address.tls_first else None
    # As bytes, since a str would load the encoding of international names.
    host: Any = url.hostname.encode() if url.hostname.isascii() else url.hostname
    if address.socks_proxy:
        from .socks import SocksProxy

        sock = SocksProxy.of(address.socks_proxy).open(url.hostname, url.port or PORT, address.timeout)
    else:
        sock = socket.create_connection((host, url.port or PORT), timeout=address.timeout)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        return _ServerHandshake(address, url, sock).enter(context)
    except BaseException:
        sock.close()
        raise


class _ServerHandshake:
    """One attempt to log in, within the timeout of the address."""

    def __init__(self, address: ConnectionOptions, url: SplitResult, sock: socket.socket) -> None:
        self._address = address
        self._url = url
        self._socket = sock
        self._buffer = b""
        self._encrypted = False
        self._deadline = time.monotonic() + address.timeout

    def enter(self, first: ssl.SSLContext | None) -> HandshakeResult:
        """Log in. `first` is the TLS context for servers that expect TLS before they send INFO."""
        if first is not None:
            self._encrypt(first)
        info = self._info()
        if first is None and self._must_encrypt(info):
            self._encrypt(identity.tls_context(self._address))
        self._socket.sendall(self._connect(info))
        while (line := self._line()) != b"PONG":
            if line.startswith(b"-ERR"):
                raise self._refusal(line)
            if line.startswith(b"INFO "):
                info = json.loads(line[5:])
        where = f"{self._url.scheme}://{self._url.netloc.rpartition('@')[2]}"
        return HandshakeResult(self._socket, where, info, self._buffer)

    def _must_encrypt(self, info: dict[str, Any]) -> bool:
        wanted = identity.wants_tls(self._address, self._url)
        if wanted and not (info.get("tls_required") or info.get("tls_available")):
            raise ClientError("TLS was asked for, but the server has none")
        return wanted or bool(info.get("tls_required"))

    def _encrypt(self, context: ssl.SSLContext) -> None:
        import ssl

        try:
            self._socket = context.wrap_socket(self._socket, server_hostname=self._url.hostname)
        except ssl.SSLError as error:
            raise ClientError(f"the TLS handshake failed: {error.reason or error}; see tlsCa") from None
        self._encrypted = True

    def _info(self) -> dict[str, Any]:
        line = self._line()
        if not line.startswith(b"INFO "):
            raise ClientError("what answers is not a NATS server")
        info: dict[str, Any] = json.loads(line[5:])
        return info

    def _connect(self, info: dict[str, Any]) -> bytes:
        fields = {
            "verbose": False,
            "pedantic": False,
            "lang": "python-pyjs",
            "version": __version__,
            "protocol": 1,
            "name": self._address.name,
            "headers": True,
            "no_responders": True,
            "tls_required": self._encrypted,
            **identity.credentials(self._address, self._url, str(info.get("nonce") or "")),
        }
        return encode.connect(fields) + encode.PING

    def _refusal(self, line: bytes) -> ClientError:
        text = line[4:].strip().strip(b"'").decode("utf-8", "replace")
        lowered = text.lower()
        if "authorization" in lowered or "authentication" in lowered or "account" in lowered:
            return AuthorizationError(
                f"{bare(self._url.geturl())} refused the connection: {text}; "
                "see creds, nkey, user, password and token",
                said=text,
            )
        return ClientError(text)

    def _line(self) -> bytes:
        """Return the next line. Raises ConnectionLost or OSError."""
        while (at := self._buffer.find(b"\r\n")) < 0:
            left = self._deadline - time.monotonic()
            if left <= 0 or len(self._buffer) > LONGEST_LINE:
                raise ClientError("no NATS server answered in time")
            self._socket.settimeout(left)
            data = self._socket.recv(LONGEST_LINE)
            if not data:
                raise ConnectionLost("the server closed the connection")
            self._buffer += data
        line, self._buffer = self._buffer[:at], self._buffer[at + 2 :]
        return line
