"""What the certificate of a route or gateway proves: that its server may join. Pure.

Source: nats-server's server/auth.go: isRouterAuthorized, isGatewayAuthorized, dnsAltNameMatches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..config.distinguished_name import domain_components, go_subject

if TYPE_CHECKING:
    from .secure import TLSState


def names_user(secure: TLSState | None, user: str) -> bool:
    """Return whether a certificate has `user` among its names, or as its subject."""
    return bool(user) and secure is not None and user in _names(secure)


def names_host(secure: TLSState | None, urls: Iterable[str]) -> bool:
    """Return whether one of the certificate's DNS names is the host of one of these URLs.

    Case does not count. `*` as a name's first label stands for any one label.
    """
    if secure is None or not secure.certificates:
        return False
    hosts = [_labels(urlsplit(url if "://" in url else f"nats://{url}").hostname or "") for url in urls]
    names = [_labels(name) for kind, name in secure.names if kind == "DNS"]
    return any(_matches(name, host) for name in names for host in hosts)


def _names(secure: TLSState) -> Iterator[str]:
    if not secure.certificates:
        return
    yield from (name for kind, name in secure.names if kind in ("email", "DNS", "URI"))
    shown, components = go_subject(secure.subject), domain_components(secure.subject)
    if components:
        yield f"{shown},{components}"
    yield shown


def _labels(name: str) -> list[str]:
    return name.lower().split(".")


def _matches(name: list[str], host: list[str]) -> bool:
    first = 1 if name[0] == "*" else 0
    return len(name) == len(host) and name[first:] == host[first:]
