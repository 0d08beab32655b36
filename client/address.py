"""The address of a connection and its credentials, as plain values that can be sent to other machines."""

from __future__ import annotations

import re
from dataclasses import fields

from ..protocol.lazy_dataclass import dataclass

_SECRET = ("password", "token")
_USER_INFO = re.compile(r"//[^/@]*@")


def bare(url: str) -> str:
    """Return a URL without its user and password, as messages show it."""
    return _USER_INFO.sub("//", url if "://" in url else f"nats://{url}")


@dataclass(frozen=True, repr=False)
class ConnectionOptions:
    """The options of a connection, resolved only when it is opened and on the machine that opens it.

    Paths of files are therefore paths on that machine; `env://NAME` and `file://PATH` say where a secret is.
    Objects can be pickled, and their repr shows no secret.
    """

    servers: tuple[str, ...]  # nats://host:port, tls://host:port; tried in this order
    name: str = "pyjs-spark"
    creds: str = ""
    nkey: str = ""
    user: str = ""
    password: str = ""
    token: str = ""
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    tls_first: bool = False
    inbox_prefix: str = "_INBOX"
    socks_proxy: str = ""  # socks5://[user:password@]host[:port]
    timeout: float = 5.0  # seconds: to connect to one server, and for a request

    def __repr__(self) -> str:
        shown = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value == field.default:
                continue
            if field.name == "socks_proxy":
                value = bare(value)
            elif field.name == "servers":
                value = tuple(bare(url) for url in value)
            elif field.name in _SECRET or (field.name in {"nkey", "creds"} and _is_secret(value)):
                value = "***"
            shown.append(f"{field.name}={value!r}")
        return f"Address({', '.join(shown)})"


def _is_secret(value: str) -> bool:
    """Return whether a field that usually says where a secret is holds the secret itself."""
    return value.startswith(("SU", "data:")) or "-----BEGIN" in value
