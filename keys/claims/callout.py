"""Claims of the authorization callout: the request of a server and the response of a service."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from ..nkey import KeyRole, is_public
from .base import Claims
from .issues import Issues, quote
from .model import VERSION, Body, ClaimsDocument, Int64


class ServerId(ClaimsDocument):
    """The server that asks.

    xkey: its curve key, if it wants encrypted answers.
    """

    ALWAYS: ClassVar[frozenset[str]] = frozenset({"name", "host", "id"})

    name: str = ""
    host: str = ""
    id: str = ""
    version: str = ""
    cluster: str = ""
    tags: list[str] = Field(default_factory=list)
    xkey: str = ""


class ClientInformation(ClaimsDocument):
    """The client that wants to connect."""

    host: str = ""
    id: Annotated[int, Field(ge=0, le=2**64 - 1)] = 0
    user: str = ""
    name: str = ""
    tags: list[str] = Field(default_factory=list)
    name_tag: str = ""
    kind: str = ""
    type: str = ""
    mqtt_id: str = ""
    nonce: str = ""


class ConnectOptions(ClaimsDocument):
    """What the client sent in CONNECT."""

    model_config = ConfigDict(populate_by_name=True)
    ALWAYS: ClassVar[frozenset[str]] = frozenset({"protocol"})

    jwt: str = ""
    nkey: str = ""
    sig: str = ""
    auth_token: str = ""
    user: str = ""
    # `pass` is a keyword of Python, so the field has another name here.
    password: str = Field(default="", alias="pass")
    name: str = ""
    lang: str = ""
    version: str = ""
    protocol: Int64 = 0

    def document(self) -> dict[str, object]:
        """Return the JSON object, in which the field is called `pass`."""
        return {("pass" if k == "password" else k): v for k, v in super().document().items()}


class ClientTls(ClaimsDocument):
    """The client's TLS state; certificates are in PEM."""

    version: str = ""
    cipher: str = ""
    certs: list[str] = Field(default_factory=list)
    verified_chains: list[list[str]] = Field(default_factory=list)


class AuthorizationRequest(Body):
    """The document under `nats` in a request."""

    ALWAYS: ClassVar[frozenset[str]] = frozenset({"user_nkey"})

    server_id: ServerId = Field(default_factory=ServerId)
    user_nkey: str = ""
    client_info: ClientInformation = Field(default_factory=ClientInformation)
    connect_opts: ConnectOptions = Field(default_factory=ConnectOptions)
    client_tls: ClientTls | None = None
    request_nonce: str = ""


class AuthorizationRequestClaims(Claims):
    """The question of a server whether a client may connect, and as which user."""

    KIND: ClassVar[str] = "authorization_request"
    ISSUERS: ClassVar[tuple[KeyRole, ...]] = (KeyRole.SERVER,)

    nats: AuthorizationRequest = Field(default_factory=AuthorizationRequest)

    def check_body(self, issues: Issues, now: int) -> None:
        """Validate the user's key."""
        if not self.nats.user_nkey:
            issues.error("User nkey is required")
        elif not is_public(self.nats.user_nkey, KeyRole.USER):
            issues.error(f"User nkey {quote(self.nats.user_nkey)} is not a valid user public key")

    def prepare(self) -> None:
        """Set type and version."""
        self.nats.type, self.nats.version = self.KIND, VERSION


class AuthorizationResponse(Body):
    """The document under `nats` in a response: a user's token, or the reason why there is none."""

    jwt: str = ""
    error: str = ""
    issuer_account: str = ""


class AuthorizationResponseClaims(Claims):
    """The answer, about the user (`sub`) and for the server (`aud`)."""

    KIND: ClassVar[str] = "authorization_response"
    ISSUERS: ClassVar[tuple[KeyRole, ...]] = (KeyRole.ACCOUNT,)

    nats: AuthorizationResponse = Field(default_factory=AuthorizationResponse)

    def check_body(self, issues: Issues, now: int) -> None:
        """Validate the keys, and that the response has either a token or an error."""
        if not is_public(self.sub, KeyRole.USER):
            issues.error("Subject must be a user public key")
        if not is_public(self.aud, KeyRole.SERVER):
            issues.error("Audience must be a server public key")
        if not self.nats.error and not self.nats.jwt:
            issues.error("Error or Jwt is required")
        if self.nats.error and self.nats.jwt:
            issues.error("Only Error or Jwt can be set")
        if self.nats.issuer_account and not is_public(self.nats.issuer_account, KeyRole.ACCOUNT):
            issues.error("issuer_account is not an account public key")

    def prepare(self) -> None:
        """Set type and version."""
        self.nats.type, self.nats.version = self.KIND, VERSION
