"""What a leaf sends about itself in CONNECT, and what a hub sends about itself in INFO."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from ...protocol.lazy_dataclass import dataclass
from ..accounts.auth import ClientCredentials
from ..connection import connect_info


@dataclass(slots=True)
class LeafConnect:
    """The CONNECT of the solicitor.

    name: the name of its server.
    remote_account: the account that it is bound to there.
    compress_mode: the mode of compression that was agreed on.
    """

    version: str = ""
    user: str = ""
    password: str = ""
    auth_token: str = ""
    nkey: str = ""
    jwt: str = ""
    sig: str = ""
    proxy_sig: str = ""
    server_id: str = ""
    name: str = ""
    domain: str = ""
    cluster: str = ""
    is_hub: bool = False
    headers: bool = False
    jetstream: bool = False
    isolate: bool = False
    deny_pub: list[str] = field(default_factory=list)
    remote_account: str = ""
    gateway: str = ""
    lang: str = ""
    protocol: int = 0
    compress_mode: str = ""

    @classmethod
    def parse(cls, raw: bytes) -> LeafConnect:
        """Parse the JSON of a CONNECT.

        Raises PeerError (which closes without a text) if it is no object or a field has the wrong type.
        """
        known, _ = connect_info.read(raw, "CONNECT", _CONNECT)
        return cls(**known)

    @property
    def credentials(self) -> ClientCredentials:
        """The credentials to authenticate."""
        return ClientCredentials(self.user, self.password, self.auth_token, self.nkey, self.sig, self.jwt)


@dataclass(slots=True)
class HubInfo:
    """The INFO of the acceptor.

    leafnode_urls: None means that this is not a leaf port.
    given: the whole document.
    """

    server_id: str = ""
    server_name: str = ""
    version: str = ""
    cluster: str = ""
    domain: str = ""
    nonce: str = ""
    client_id: int = 0
    max_payload: int = 0
    proto: int = 0
    headers: bool = False
    tls_required: bool = False
    info_on_connect: bool = False
    connect_info: bool = False
    jetstream: bool = False
    acc_is_sys: bool = False
    remote_account: str = ""
    compression: str = ""
    leafnode_urls: list[str] | None = None
    ws_connect_urls: list[str] = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: bytes) -> HubInfo:
        """Parse the JSON of an INFO.

        Raises PeerError (which closes without a text) if it is no object or a field has the wrong type.
        """
        known, given = connect_info.read(raw, "INFO", _INFO)
        return cls(**known, given=given)


_CONNECT = connect_info.kinds(LeafConnect)
_INFO = connect_info.kinds(HubInfo)
