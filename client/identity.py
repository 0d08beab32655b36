"""The credentials of a connection: the fields of CONNECT and the TLS context, made where it connects.

Both are made from a `ConnectionOptions`. Raises AuthorizationError for whatever cannot be read; the text
names the option, never its value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote

from . import secret
from .address import ConnectionOptions
from .errors import AuthorizationError, SecretError, SecretNotFoundError

if TYPE_CHECKING:
    import ssl

    from ..keys.nkey import KeyPair


def credentials(address: ConnectionOptions, url: SplitResult, nonce: str) -> dict[str, str]:
    """Return the fields of CONNECT that say who we are; `nonce` is the server's, which has to be signed.

    Options take precedence over the user and password of the URL.
    """
    try:
        return _named(address, url, nonce)
    except SecretError as error:
        raise AuthorizationError(str(error), missing=isinstance(error, SecretNotFoundError)) from None


def check_readable(address: ConnectionOptions) -> None:
    """Read the files that the options name, so that a missing one is told before anything is connected to."""
    try:
        if address.creds:
            secret.text_or_file("creds", address.creds, "-----BEGIN")
        elif address.nkey and not address.nkey.startswith("SU"):
            secret.text_or_file("nkey", address.nkey, "-----BEGIN")
    except SecretError as error:
        raise AuthorizationError(str(error), missing=isinstance(error, SecretNotFoundError)) from None


def _named(address: ConnectionOptions, url: SplitResult, nonce: str) -> dict[str, str]:
    found: dict[str, str] = {}
    if address.token:
        found["auth_token"] = secret.resolve("token", address.token)
    if address.user:
        found["user"] = secret.resolve("user", address.user)
        found["pass"] = secret.resolve("password", address.password)
    elif address.creds or address.nkey:
        found |= _signing(address, nonce)
    elif not found and url.username is not None:
        if url.password is None:
            return {"auth_token": unquote(url.username)}
        return {"user": unquote(url.username), "pass": unquote(url.password)}
    return found


def _signing(address: ConnectionOptions, nonce: str) -> dict[str, str]:
    # Keys are not loaded for those who have none.
    from ..keys.decorated import parse_credentials, undecorate_seed
    from ..keys.errors import IdentityError
    from ..keys.nkey import KeyPair, KeyRole

    try:
        if address.creds:
            parsed = parse_credentials(secret.text_or_file("creds", address.creds, "-----BEGIN"))
            return {"jwt": parsed.jwt, "sig": _signed(KeyPair(parsed.seed, KeyRole.USER), nonce)}
        nkey = address.nkey
        text = nkey if nkey.startswith("SU") else secret.text_or_file("nkey", nkey, "-----BEGIN")
        pair = undecorate_seed(text, KeyRole.USER)
        return {"nkey": pair.public_key, "sig": _signed(pair, nonce)}
    except IdentityError as error:
        raise AuthorizationError(str(error)) from None


def _signed(pair: KeyPair, nonce: str) -> str:
    import base64

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
    import ssl

    try:
        made = ssl.create_default_context(cafile=secret.existing("tlsCa", address.tls_ca))
        if address.tls_cert:
            made.load_cert_chain(
                secret.existing("tlsCert", address.tls_cert) or "", secret.existing("tlsKey", address.tls_key)
            )
    except (OSError, SecretError) as error:  # ssl.SSLError is an OSError
        raise AuthorizationError(
            f"the TLS files cannot be used: {error}; see tlsCa, tlsCert and tlsKey",
            missing=isinstance(error, SecretNotFoundError),
        ) from None
    return made
