"""The answer of a callout service: whether it is one to this question, and which user it assigns.

Pure. Promises that an answer counts only if its signatures are right, if it is for this server and for the
user key of this one question, and if it is not older than it says. So a captured answer is of no use again:
each question has a key of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ...keys import AuthorizationResponseClaims, IdentityError, UserClaims, decode, open_sealed

if TYPE_CHECKING:
    from ...keys import Claims, KeyPair

_TOKEN = b"eyJ"  # with what every token begins


class Expected(NamedTuple):
    """What the answer to a question must be like.

    user_key: the public key that was made for the question.
    account: the name of the account that was asked, for the log.
    xkey: the service's public curve key, "" if nothing is encrypted.
    own_xkey: this server's curve key.
    may_sign: whether a token may come from who signed it; None means that the user's token alone counts.
    """

    user_key: str
    server_id: str
    account: str
    xkey: str = ""
    own_xkey: KeyPair | None = None
    may_sign: Callable[[AuthorizationResponseClaims], bool] | None = None


class Assigned(NamedTuple):
    """The user that an answer assigns, whose issuer is still to be checked, or why there is none."""

    user: UserClaims | None
    token: str = ""
    why: str = ""


def judge(body: bytes, expected: Expected, now: int) -> Assigned:
    """Return what an answer says."""
    if not body:
        why = f'Auth callout violation: "no reason supplied" on account "{expected.account}"'
        return Assigned(None, why=why)
    try:
        return _judge(body, expected, now)
    except (IdentityError, UnicodeDecodeError) as error:
        return Assigned(None, why=f"Auth callout answer cannot be read: {error}")


def _judge(body: bytes, expected: Expected, now: int) -> Assigned:
    encrypted = expected.own_xkey is not None and not body.startswith(_TOKEN)
    if encrypted:
        assert expected.own_xkey is not None
        body = open_sealed(body, expected.own_xkey, expected.xkey)
    answer = decode(body.decode("ascii"), AuthorizationResponseClaims)
    if problem := _first_issue(answer, now):
        return Assigned(None, why=f"Authorization response had validation errors: {problem}")
    why = ""
    if answer.sub != expected.user_key:
        why = "Auth callout violation: auth callout response is not for expected user"
    elif answer.aud != expected.server_id:
        why = "Auth callout violation: auth callout response is not for server"
    elif answer.nats.error:
        why = f"Auth callout service returned an error: {answer.nats.error}"
    elif not encrypted and expected.may_sign is not None and not expected.may_sign(answer):
        why = "Auth callout signing key is unknown"
    if why:
        return Assigned(None, why=why)
    return _user(answer.nats.jwt, expected, now)


def _user(token: str, expected: Expected, now: int) -> Assigned:
    user = decode(token, UserClaims)
    why = ""
    if problem := _first_issue(user, now):
        why = f"Error validating user JWT: {problem}"
    elif user.sub != expected.user_key:
        why = f'Expected authorized user of "{expected.user_key}" but got "{user.sub}"'
    return Assigned(None, why=why) if why else Assigned(user, token)


def _first_issue(claims: Claims, now: int) -> str:
    """Return what is wrong with claims, their dates included, "" for nothing."""
    return next((issue.text for issue in claims.issues(now).blocking()), "")
