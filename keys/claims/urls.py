"""URLs as the token format reads them: more strictly than Python, and with its own error texts."""

from __future__ import annotations

import re

from ...protocol.lazy_dataclass import dataclass

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(.*)", re.ASCII | re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class UrlError(ValueError):
    """The text is not a URL."""


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of a URL that claims are validated by.

    user: whether it has credentials.
    """

    scheme: str
    host: str
    path: str
    user: bool


def parse(text: str) -> Url:
    """Parse a URL. Raises UrlError with the error text of the format."""
    if _CONTROL.search(text):
        raise UrlError(f'parse "{text}": net/url: invalid control character in URL')
    if text.startswith(":"):
        raise UrlError(f'parse "{text}": missing protocol scheme')
    found = _SCHEME.fullmatch(text.partition("#")[0])
    scheme, rest = (found[1].lower(), found[2]) if found else ("", text.partition("#")[0])
    rest = rest.partition("?")[0]
    if scheme and not rest.startswith("/"):
        return Url(scheme, "", "", user=False)
    if not scheme and ":" in rest.partition("/")[0]:
        raise UrlError(f'parse "{text}": first path segment in URL cannot contain colon')
    if not rest.startswith("//"):
        return Url(scheme, "", rest, user=False)
    authority, slash, path = rest[2:].partition("/")
    user, at, host = authority.rpartition("@")
    return Url(scheme, _host(host, text), slash + path, user=bool(at or user))


def _host(host: str, text: str) -> str:
    """Return a host without its port. Raises UrlError."""
    if host.startswith("["):
        inside, bracket, port = host[1:].rpartition("]")
        if not bracket:
            raise UrlError(f"parse \"{text}\": missing ']' in host")
    else:
        inside, colon, number = host.rpartition(":")
        inside, port = (inside, colon + number) if colon else (number, "")
    if port and not re.fullmatch(r":[0-9]*", port, re.ASCII):
        raise UrlError(f'parse "{text}": invalid port "{port}" after host')
    if " " in inside:
        raise UrlError(f'parse "{text}": invalid character " " in host name')
    return inside
