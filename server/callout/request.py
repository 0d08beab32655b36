"""The question to a callout service: the claims of its token.

Source: nats-server's server/auth_callout.go: processClientOrLeafCallout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...keys import AuthorizationRequestClaims
from ...keys.claims.callout import ClientInformation, ClientTls, ConnectOptions, ServerId
from ..accounts.auth import NO_DETAILS, STANDARD, ClientCredentials, LoginDetails
from ..accounts.certificate_users import TLSFacts
from ..clock import SECOND
from ..config.tls import go_name
from ..identity import cluster_name

if TYPE_CHECKING:
    from ..config.options import Options
    from ..identity import ServerIdentity

AUDIENCE = "nats-authorization-request"


class Login(NamedTuple):
    """A connection that wants to log in.

    user: whom it claims to be, or whom its token is of.
    tags, name_tag: those of its token.
    """

    given: ClientCredentials
    nonce: bytes = b""
    connection_type: str = STANDARD
    host: str = ""
    details: LoginDetails = NO_DETAILS
    user: str = ""
    tags: tuple[str, ...] = ()
    name_tag: str = ""


def request_claims(
    login: Login, *, user_key: str, subject: str, server: ServerId, expires: int
) -> AuthorizationRequestClaims:
    """Return the claims of the question whether `login` may become the user `user_key`.

    subject: the key of the account that the answer has to come from.
    expires: in ns.
    """
    claims = AuthorizationRequestClaims(sub=subject, aud=AUDIENCE, exp=expires // SECOND)
    body = claims.nats
    body.user_nkey, body.server_id = user_key, server
    body.client_info = _client(login)
    body.connect_opts = _connect_options(login)
    if login.details.secure is not None:
        body.client_tls = _tls(login.details.secure)
    return claims


def server_id(options: Options, identity: ServerIdentity, xkey: str) -> ServerId:
    """Return how the server describes itself. `xkey` is its public curve key, "" for none."""
    return ServerId(
        name=identity.name,
        host=options.host,
        id=identity.id,
        version=identity.version,
        cluster=cluster_name(options, identity),
        tags=list(options.server_tags),
        xkey=xkey,
    )


def _client(login: Login) -> ClientInformation:
    details = login.details
    return ClientInformation(
        host=login.host,
        id=details.id,
        user=login.user,
        name=details.name,
        tags=list(login.tags),
        name_tag=login.name_tag,
        kind=details.kind,
        type=details.type,
        mqtt_id=details.mqtt_id,
        nonce=login.nonce.decode() if login.given.signature else "",
    )


def _connect_options(login: Login) -> ConnectOptions:
    given, details = login.given, login.details
    options = ConnectOptions(
        jwt=given.jwt,
        nkey=given.nkey,
        sig=given.signature,
        auth_token=given.token,
        user=given.user,
        name=details.name,
        lang=details.lang,
        version=details.version,
        protocol=details.protocol,
    )
    options.password = given.password
    return options


def _tls(facts: TLSFacts) -> ClientTls:
    import ssl

    certificates = [ssl.DER_cert_to_PEM_cert(certificate) for certificate in facts.certificates]
    return ClientTls(
        version=facts.version.removeprefix("TLSv"),
        cipher=go_name(facts.cipher),
        verified_chains=[certificates] if certificates else [],
    )
