"""Tokens: encoding claims as a signed JWT, and decoding them.

Decoding checks, in this order: the size, the form (three parts of canonical base 64), the algorithm, version
and kind, the types of all fields, the roles of issuer and subject, and the signature by the issuer. Whether
that issuer is trusted is decided by the trust chain. Only `ed25519-nkey` is accepted. `ed25519`, the name
that version 1 used, is accepted only for old tokens, and only if the caller asks for them. Encoding takes the
time as an argument.
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from ..protocol import gojson
from .errors import NkeyError, TokenError, TokenFault
from .nkey import Signer, holds_secret, public_role, verify

if TYPE_CHECKING:
    from .claims.base import Claims
    from .nkey import KeyRole

MAX_TOKEN = 1024 * 1024
_ALGORITHM = "ed25519-nkey"
_CHUNK = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
C = TypeVar("C", bound="Claims")


@overload
def decode(token: str, *, v1: bool = ...) -> Claims: ...
@overload
def decode(token: str, kind: type[C], *, v1: bool = ...) -> C: ...
def decode(token: str, kind: type[C] | None = None, *, v1: bool = False) -> Claims | C:
    """Read a token and verify its signature.

    kind: the only class of claims that is accepted; any if None.
    v1: whether tokens of version 1 are accepted.

    Raises TokenError. Nothing in the claims is trusted before the signature is verified.
    """
    payload, header, signed, signature = _split(token)
    document = _object(payload)
    old = header.get("alg") == "ed25519"
    _check_header(header, v1=v1)
    _check_version(document, old=old)
    if old:
        from .token_v1 import upgraded

        signed, document = signed.partition(b".")[2], upgraded(document)
    claims = _typed(document)
    if kind is not None and not isinstance(claims, kind):
        raise TokenError(TokenFault.KIND, f"this is a token of {_kind_of(document)!r}, not of {kind.KIND!r}")
    _check_roles(claims)
    if not _verified(token, claims.iss, signed, signature, old=old):
        raise TokenError(TokenFault.SIGNATURE, "the signature is not that of the token's issuer")
    return claims


def encode(claims: Claims, key: Signer, *, now: int) -> str:
    """Sign claims at `now` (ns), and return the token.

    `iss`, `iat`, `jti`, type and version are set in the token; `claims` itself does not change.

    Raises TokenError for a key or subject of the wrong role, for claims that could not be read back, for a
    name with invisible letters or letters that change the direction of text, and for claims that contain a
    seed: a seed that was given as a name is neither signed nor stored.
    """
    from .algorithm import JWS
    from .claims.base import SECOND

    ready = claims.ready()
    ready.iss, ready.iat, ready.jti = key.public_key, now // SECOND, ""
    ready.jti = jti(ready)
    if not ready.sub:
        raise TokenError(TokenFault.SUBJECT, "the subject is not set")
    _check_roles(ready)
    document = ready.document()
    _typed(document)
    if not ready.name.isprintable():
        raise TokenError(
            TokenFault.CONTENT, "the name has a letter that cannot be seen, or that turns text around"
        )
    payload = gojson.encode(document)
    _check_size(len(payload))
    if holds_secret(payload.decode()):
        raise TokenError(
            TokenFault.CONTENT,
            "there is a seed or private key in the claims, or what looks like one, where all can read it",
        )
    token = JWS.encode(payload, cast("Any", key), algorithm=_ALGORITHM, sort_headers=False)
    _check_size(len(token))
    return token


def _check_size(size: int) -> None:
    if size > MAX_TOKEN:
        raise TokenError(TokenFault.TOO_LARGE, f"the token would have {size} bytes, {MAX_TOKEN} are allowed")


def payload_of(token: str) -> dict[str, Any]:
    """Return a token's payload without verifying anything, for display only. Raises TokenError."""
    return _object(_split(token)[0])


def header_of(token: str) -> dict[str, Any]:
    """Return a token's header without verifying anything, for display only. Raises TokenError."""
    return _split(token)[1]


def jti(claims: Claims) -> str:
    """Return a token's id: base 32 of the SHA-512/256 of the base claims without their id."""
    base = {name: value for name, value in claims.base().items() if name != "jti"}
    digest = hashlib.new("sha512_256", gojson.encode(base)).digest()
    return base64.b32encode(digest).decode().rstrip("=")


def _split(token: str) -> tuple[bytes, dict[str, Any], bytes, bytes]:
    """Split a token into (payload, header, signed bytes, signature)."""
    if len(token) > MAX_TOKEN:
        raise TokenError(TokenFault.TOO_LARGE, f"the token has more than {MAX_TOKEN} bytes")
    chunks = token.split(".")
    if len(chunks) != 3:
        raise TokenError(TokenFault.MALFORMED, "a token has three parts with dots between them")
    header, payload, signature = (_base64(chunk) for chunk in chunks)
    return payload, _object(header), f"{chunks[0]}.{chunks[1]}".encode(), signature


def _base64(chunk: str) -> bytes:
    if not _CHUNK.fullmatch(chunk) or len(chunk) % 4 == 1:
        raise TokenError(TokenFault.MALFORMED, "a part of the token is not base 64 as tokens have it")
    raw = base64.urlsafe_b64decode(chunk + "=" * (-len(chunk) % 4))
    if base64.urlsafe_b64encode(raw).decode().rstrip("=") != chunk:
        raise TokenError(TokenFault.MALFORMED, "a part of the token has bits that belong to nothing")
    return raw


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = gojson.decode(raw)
    except gojson.JsonError as error:
        raise TokenError(TokenFault.MALFORMED, f"the token is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise TokenError(TokenFault.MALFORMED, "a part of the token is no JSON object")
    return value


def _check_header(header: dict[str, Any], *, v1: bool) -> None:
    if set(header) - {"typ", "alg"}:
        raise TokenError(TokenFault.ALGORITHM, "the token's header has more than type and algorithm")
    kind, algorithm = header.get("typ"), header.get("alg")
    if not isinstance(kind, str) or kind.upper() != "JWT":
        raise TokenError(TokenFault.ALGORITHM, f"not supported type {kind!r}")
    if algorithm == _ALGORITHM or (v1 and algorithm == "ed25519"):
        return
    raise TokenError(
        TokenFault.ALGORITHM, f"unexpected {algorithm!r} algorithm: only {_ALGORITHM} is accepted"
    )


def _check_version(document: dict[str, Any], *, old: bool) -> None:
    from .claims.base import KINDS
    from .token_v1 import is_v1

    if old != is_v1(document):
        raise TokenError(TokenFault.VERSION, "the token's version and its algorithm do not belong together")
    kind = _kind_of(document)
    if kind in {"cluster", "server"}:
        raise TokenError(TokenFault.KIND, f"tokens of {kind!r} are not supported")
    if old:
        return
    body = document.get("nats")
    version = body.get("version", 0) if isinstance(body, dict) else 0
    if not isinstance(version, int | float) or isinstance(version, bool) or version > 2:
        raise TokenError(TokenFault.VERSION, "the token was made by a newer version")
    if kind in KINDS and version != 2:
        raise TokenError(TokenFault.VERSION, f"a token of {kind!r} has version 2, not {version}")


def _kind_of(document: dict[str, Any]) -> str:
    body = document.get("nats")
    kind = document.get("type") or (body.get("type") if isinstance(body, dict) else None)
    if kind is not None and not isinstance(kind, str):
        raise TokenError(TokenFault.KIND, "the token's type is no text")
    return kind or ""


def _typed(document: dict[str, Any]) -> Claims:
    """Return the claims as an instance of their class.

    Raises TokenError that names the field with a wrong value.
    """
    from pydantic import ValidationError

    from .claims.base import KINDS
    from .claims.generic import GenericClaims

    try:
        return KINDS.get(_kind_of(document), GenericClaims).model_validate(document)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise TokenError(TokenFault.CONTENT, f"the token's {where or 'claims'}: {first['msg']}") from None


def _check_roles(claims: Claims) -> None:
    """Check that the keys of issuer and subject have roles that suit the kind of token."""
    _check_role(claims.iss, claims.ISSUERS, TokenFault.ISSUER, "issuer")
    if claims.SUBJECTS:
        _check_role(claims.sub, claims.SUBJECTS, TokenFault.SUBJECT, "subject")


def _check_role(key: str, roles: tuple[KeyRole, ...], fault: TokenFault, what: str) -> None:
    try:
        public_role(key, *roles)
    except NkeyError as error:
        raise TokenError(fault, f"the {what} of the token: {error}") from None


def _verified(token: str, issuer: str, signed: bytes, signature: bytes, *, old: bool) -> bool:
    if old:
        return verify(issuer, signed, signature)
    from .algorithm import JWS, InvalidTokenError

    try:
        JWS.decode_complete(token, issuer, algorithms=[_ALGORITHM])
    except InvalidTokenError:
        return False
    return True
