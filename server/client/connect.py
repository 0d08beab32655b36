"""What a client sends about itself in CONNECT."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..accounts.auth import ClientCredentials
from ..connection import connect_info


@dataclass(slots=True)
class ConnectOptions:
    """Defaults are those of fields that are absent, so `{}` is verbose and pedantic."""

    echo: bool = True
    verbose: bool = True
    pedantic: bool = True
    tls_required: bool = False
    headers: bool = False
    no_responders: bool = False
    protocol: int = 0
    name: str = ""
    lang: str = ""
    version: str = ""
    user: str = ""
    password: str = ""
    auth_token: str = ""
    nkey: str = ""
    sig: str = ""
    jwt: str = ""
    account: str = ""
    new_account: bool = False

    @classmethod
    def parse(cls, raw: bytes, before: ConnectOptions) -> ConnectOptions:
        """Read CONNECT's JSON on top of an earlier CONNECT. Names of fields may have any case.

        Raises PeerError (closes, without a text) when it is no object or a field has the wrong type.
        """
        known, _ = connect_info.read(raw, "CONNECT", _KINDS)
        return replace(before, **known)

    @property
    def credentials(self) -> ClientCredentials:
        """What is authenticated. A token may also come as a password without a user."""
        return ClientCredentials(self.user, self.password, self.auth_token, self.nkey, self.sig, self.jwt)


_KINDS = connect_info.kinds(ConnectOptions)
