"""The credentials of a connection: the fields of CONNECT and the TLS context, made where it connects.

Both are made from a `ConnectionOptions`. Raises AuthorizationError for whatever cannot be read; the text
names the option, never its value.
"""

from __future__ import annotations

import base64
import ssl
from urllib.parse import SplitResult, unquote

from ...cli import secret
from ...cli.errors import CliError
from ...keys.decorated import parse_credentials, undecorate_seed
from ...keys.errors import IdentityError
from ...keys.nkey import KeyPair, KeyRole
from .address import ConnectionOptions
from .errors import AuthorizationError


def credentials(address: ConnectionOptions, url: SplitResult, nonce: str) -> dict[str, str]:
    """Return the fields of CONNECT that say who we are; `nonce` is the server's, which has to be signed.

    Options take precedence over the user and password of the URL.
    """
    try:
        return _named(address, url, nonce)
    except (CliError, IdentityError) as error:
        raise AuthorizationError(str(error)) from None


def _named(address: ConnectionOptions, url: SplitResult, nonce: str) -> dict[str, str]:
    found: dict[str, str] = {}
    if address.token:
        found["auth_token"] = secret.resolve("token", address.token)
    if address.user:
        found["user"] = secret.resolve("user", address.user)
        found["pass"] = secret.resolve("password", address.password)
    elif address.creds:
        parsed = parse_credentials(secret.text_or_file("creds", address.creds, "-----BEGIN"))
        found["jwt"] = parsed.jwt
        found["sig"] = _signed(KeyPair(parsed.seed, KeyRole.USER), nonce)
    elif address.nkey:
        pair = _pair(address.nkey)
        found["nkey"] = pair.public_key
        found["sig"] = _signed(pair, nonce)
    elif not found and url.username is not None:
        if url.password is None:
            return {"auth_token": unquote(url.username)}
        return {"user": unquote(url.username), "pass": unquote(url.password)}
    return found


def _pair(nkey: str) -> KeyPair:
    text = nkey if nkey.startswith("SU") else secret.text_or_file("nkey", nkey, "-----BEGIN")
    return undecorate_seed(text, KeyRole.USER)


def _signed(pair: KeyPair, nonce: str) -> str:
    signature = base64.urlsafe_b64encode(pair.sign(nonce.encode())).decode().rstrip("=")
    pair.wipe()
    return signature


def wants_tls(address: ConnectionOptions, url: SplitResult) -> bool:
    """Return whether this connection must be encrypted, whatever the server says."""
    given = address.tls_ca or address.tls_cert or address.tls_key or address.tls_first
    return url.scheme == "tls" or bool(given)


def tls_context(address: ConnectionOptions) -> ssl.SSLContext:
    """Return the TLS context.

    It trusts the system's authorities, or those of `tls_ca`, and presents `tls_cert` if that is given.
    """
    try:
        authority = secret.location("tlsCa", address.tls_ca) if address.tls_ca else None
        made = ssl.create_default_context(cafile=authority)
        if address.tls_cert:
            key = secret.location("tlsKey", address.tls_key) if address.tls_key else None
            made.load_cert_chain(secret.location("tlsCert", address.tls_cert), key)
    except (OSError, CliError) as error:  # ssl.SSLError is an OSError
        raise AuthorizationError(
            f"the TLS files cannot be used: {error}; see tlsCa, tlsCert and tlsKey"
        ) from None
    return made
