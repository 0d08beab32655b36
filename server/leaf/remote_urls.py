"""RemoteUrls: the addresses of one remote, which are tried in turn. Pure.

They are those of the configuration, and those in the hub's INFO.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from urllib.parse import unquote, urlsplit

from ...protocol.lazy_dataclass import dataclass

_PORT = 7422
_MOST_DISCOVERED = 256  # which are tried before the configured ones


@dataclass(frozen=True, slots=True)
class RemoteUrl:
    """One address of a hub.

    user, password: those in the URL; None if absent.
    """

    scheme: str
    host: str
    port: int
    user: str | None = None
    password: str | None = None
    path: str = ""

    @classmethod
    def parse(cls, url: str) -> RemoteUrl:
        """Parse a URL. Raises ValueError if it has no host."""
        parts = urlsplit(url)
        if not parts.hostname:
            raise ValueError(f"no host in {url!r}")
        user = None if parts.username is None else unquote(parts.username)
        password = None if parts.password is None else unquote(parts.password)
        return cls(parts.scheme, parts.hostname, parts.port or _PORT, user, password, parts.path)

    @property
    def secure(self) -> bool:
        """Whether the scheme asks for TLS."""
        return self.scheme in {"tls", "wss"}

    @property
    def websocket(self) -> bool:
        """Whether the scheme asks for WebSocket."""
        return self.scheme in {"ws", "wss"}

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def proxy_address(url: str) -> tuple[str, int]:
    """Return the host and port of an HTTP proxy."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


class RemoteUrls:
    """The addresses of one remote. Those that the hub has sent come first, as the latest information."""

    __slots__ = ("_configured", "_index", "_urls")

    def __init__(self, urls: Iterable[str], shuffle: Callable[[list[RemoteUrl]], None] | None) -> None:
        self._configured = [RemoteUrl.parse(url) for url in urls]
        if shuffle is not None:
            shuffle(self._configured)
        self._urls = list(self._configured)
        self._index = -1

    def __len__(self) -> int:
        return len(self._urls)

    @property
    def user(self) -> tuple[str | None, str | None]:
        """User and password of the first configured URL that has a user, for discovered addresses too."""
        return next(((t.user, t.password) for t in self._configured if t.user is not None), (None, None))

    @property
    def host(self) -> str:
        """A configured host name, with which a certificate is checked if an address has no name."""
        return self._configured[0].host

    def next(self) -> RemoteUrl:
        """Return the next address; the first follows the last."""
        self._index = (self._index + 1) % len(self._urls)
        return self._urls[self._index]

    def discovered(self, addresses: Iterable[str]) -> None:
        """Replace the discovered addresses by the hub's new list of `host:port`.

        If a configured URL asks for TLS, so do they, because they get the same user and password.
        """
        known = {(t.host, t.port) for t in self._configured}
        secure = any(t.secure for t in self._configured)
        scheme = "tls" if secure else "nats-leaf"
        if self._configured[0].websocket:
            scheme = "wss" if secure else "ws"
        found = []
        for address in islice(addresses, _MOST_DISCOVERED):
            try:
                target = RemoteUrl.parse(f"{scheme}://{address}")
            except ValueError:
                continue
            if (target.host, target.port) not in known:
                found.append(target)
        current = self._urls[self._index] if self._index >= 0 else None
        self._urls = [*found, *self._configured]
        self._index = self._urls.index(current) if current in self._urls else -1
