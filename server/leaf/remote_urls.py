"""The addresses of one remote: configured ones and those in its hub's INFO, tried in turn. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

_PORT = 7422


@dataclass(frozen=True, slots=True)
class RemoteUrl:
    """One address. secure: TLS is asked for by the scheme. user and password of the URL, None if absent."""

    scheme: str
    host: str
    port: int
    user: str | None = None
    password: str | None = None

    @classmethod
    def parse(cls, url: str) -> RemoteUrl:
        """Raises ValueError when it is no URL with a host."""
        parts = urlsplit(url)
        if not parts.hostname:
            raise ValueError(f"no host in {url!r}")
        user = None if parts.username is None else unquote(parts.username)
        password = None if parts.password is None else unquote(parts.password)
        return cls(parts.scheme, parts.hostname, parts.port or _PORT, user, password)

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


class RemoteUrls:
    """Where to dial next. What the hub sent comes first in the list, as it is the latest word."""

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
        """User and password of the first configured URL that has them: they hold for discovered ones too."""
        return next(((t.user, t.password) for t in self._configured if t.user is not None), (None, None))

    @property
    def host(self) -> str:
        """A host name that was configured: what a certificate is checked for if an address has none."""
        return self._configured[0].host

    def next(self) -> RemoteUrl:
        """The next one, round and round."""
        self._index = (self._index + 1) % len(self._urls)
        return self._urls[self._index]

    def discovered(self, addresses: Iterable[str]) -> None:
        """The hub's list of `host:port`; it replaces the one before."""
        known = {(t.host, t.port) for t in self._configured}
        found = []
        for address in addresses:
            try:
                target = RemoteUrl.parse(f"nats-leaf://{address}")
            except ValueError:
                continue
            if (target.host, target.port) not in known:
                found.append(target)
        current = self._urls[self._index] if self._index >= 0 else None
        self._urls = [*found, *self._configured]
        self._index = self._urls.index(current) if current in self._urls else -1
