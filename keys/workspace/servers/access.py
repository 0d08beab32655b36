"""The access to servers: the URL, the user, the timeout, and the TLS files."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from ....protocol.lazy_dataclass import dataclass
from ...errors import WorkspaceError
from .. import accountserver

SCHEMES = ("http", "https", "nats", "tls", "ws", "wss")
SHORTEST, LONGEST = 1, 60
_CURVES = {"p256": "prime256v1", "p384": "secp384r1", "p521": "secp521r1", "x25519": "X25519"}


@dataclass(frozen=True, slots=True)
class Tls:
    """TLS files and settings; "" for those that are not given.

    first: whether TLS starts before the server's INFO.
    """

    first: bool = False
    ca: str = ""
    cert: str = ""
    key: str = ""
    curves: str = ""

    def with_environment(self, environment: Mapping[str, str]) -> Tls:
        """Return it completed from NATS_CA, NATS_CERT and NATS_KEY."""
        return Tls(
            self.first,
            self.ca or environment.get("NATS_CA", ""),
            self.cert or environment.get("NATS_CERT", ""),
            self.key or environment.get("NATS_KEY", ""),
            self.curves,
        )

    def context(self) -> ssl.SSLContext | None:
        """Return the TLS context to connect with; None if no settings are given. Raises WorkspaceError."""
        if not (self.first or self.ca or self.cert or self.key or self.curves):
            return None
        if bool(self.cert) != bool(self.key):
            raise WorkspaceError("a client certificate and its key belong together: give both")
        try:
            made = ssl.create_default_context(cafile=self.ca or None)
            if self.cert:
                made.load_cert_chain(self.cert, self.key)
        except (OSError, ssl.SSLError) as error:
            raise WorkspaceError(f"TLS files cannot be used: {error}") from None
        if self.curves:
            made.set_ecdh_curve(_curve(self.curves))
        return made


NO_TLS = Tls()


@dataclass(frozen=True, slots=True)
class ServersAccess:
    """Where to connect, and as which user.

    url: "" for the operator's.
    timeout: seconds to wait for answers.
    account, user: the system account and a user of it, by name; "" for the operator's system account, and for
        a temporary user.
    """

    url: str = ""
    account: str = ""
    user: str = ""
    timeout: float = 1.0
    tls: Tls = NO_TLS


THE_OPERATORS = ServersAccess()


def check_url(url: str) -> None:
    """Raise WorkspaceError for a URL that names neither an account server nor servers with a resolver."""
    if not url.strip():
        raise WorkspaceError(
            "no account server url or nats-server url was provided by the operator jwt: name it by -u, "
            "or for good by `edit operator --account-jwt-server-url nats://HOST:4222`"
        )
    for one in split(url):
        scheme = one.partition("://")[0].lower() if "://" in one else ""
        if scheme not in SCHEMES:
            raise WorkspaceError(f'scheme "{scheme}" is not supported ({", ".join(SCHEMES)}): {one}')


def split(url: str) -> list[str]:
    """Split a list of URLs at commas."""
    return [one.strip() for one in url.split(",") if one.strip()]


def is_nats(url: str) -> bool:
    """Return whether a URL (or the first of a list) is that of servers with a NATS resolver."""
    return accountserver.is_nats(url.strip())


def _curve(text: str) -> str:
    names = [name.strip().lower().removeprefix("curve") for name in text.split(",")]
    for name in names:
        if name not in _CURVES:
            raise WorkspaceError(f"unknown TLS curve {name!r} (known: P256, P384, P521, X25519)")
    if len(names) > 1:
        raise WorkspaceError("only one TLS curve can be asked for here: Python takes no list")
    return _CURVES[names[0]]
