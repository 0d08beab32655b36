"""ConnectOptions: what a client sends about itself in CONNECT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...protocol.lazy_dataclass import dataclass
from ..accounts.auth import ClientCredentials
from ..connection import connect_info

if TYPE_CHECKING:
    from ..config.options import WebSocketOptions


@dataclass(slots=True)
class ConnectOptions:
    """The fields of CONNECT. The defaults are those of absent fields, so `{}` is verbose and pedantic."""

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
    proxy_sig: str = ""
    account: str = ""
    new_account: bool = False

    @classmethod
    def parse(cls, raw: bytes, before: ConnectOptions) -> ConnectOptions:
        """Parse the JSON of a CONNECT on top of an earlier one. Names of fields may have any case.

        Raises PeerError (which closes without a text) if it is no object or a field has the wrong type.
        """
        known, _ = connect_info.read(raw, "CONNECT", _KINDS)
        return replace(before, **known)

    def with_cookies(self, cookies: Mapping[str, str], block: WebSocketOptions) -> ConnectOptions:
        """Return this with what the cookies give that CONNECT does not; `block` has their names."""
        names = (
            ("jwt", block.jwt_cookie),
            ("user", block.user_cookie),
            ("password", block.pass_cookie),
            ("auth_token", block.token_cookie),
        )
        given: dict[str, Any] = {field: cookies[name] for field, name in names if name and name in cookies}
        return replace(self, **{key: value for key, value in given.items() if not getattr(self, key)})

    @property
    def credentials(self) -> ClientCredentials:
        """The credentials to authenticate."""
        return ClientCredentials(self.user, self.password, self.auth_token, self.nkey, self.sig, self.jwt)


_KINDS = connect_info.kinds(ConnectOptions)
