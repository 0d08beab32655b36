"""Which web pages may connect: the checks of the Origin header. Pure.

Source: nats-server's server/websocket.go: checkOrigin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from ..config.options import WebSocketOptions


class PageOrigin(NamedTuple):
    """A scheme, host and port."""

    scheme: str
    host: str
    port: str

    @classmethod
    def parse(cls, text: str) -> PageOrigin:
        """Parse an origin, such as `https://example.com`. Raises ValueError."""
        parts = urlsplit(text)
        if not parts.scheme:
            raise ValueError(f"invalid origin {text!r}")
        return cls.of(parts.scheme, parts.netloc.rpartition("@")[2])

    @classmethod
    def of(cls, scheme: str, address: str) -> PageOrigin:
        """Return the origin of a host, with or without a port. Raises ValueError."""
        scheme = scheme.lower()
        parts = urlsplit(f"//{address}")
        port = parts.port  # raises ValueError
        default = 443 if scheme == "https" else 80
        return cls(scheme, parts.hostname or "", str(default if port is None else port))


def refusal(options: WebSocketOptions, origin: str, host: str, *, secure: bool) -> str:
    """Return why a page may not connect, "" if it may.

    origin: the Origin header. Programs that are no web pages send none, and may connect.
    host: the Host header.
    """
    if not origin or not (options.same_origin or options.allowed_origins):
        return ""
    try:
        page = PageOrigin.parse(origin)
        here = PageOrigin.of("https" if secure else "http", host)
        allowed = [PageOrigin.parse(each) for each in options.allowed_origins]
    except ValueError as error:
        return str(error)
    if options.same_origin and page != here:
        return "not same origin"
    if allowed and page not in allowed:
        return "not in the allowed list"
    return ""
