"""A callout service under test's control: it reads each question, and answers what the test says."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pyjs.keys import (
    AuthorizationRequestClaims,
    AuthorizationResponseClaims,
    KeyPair,
    UserClaims,
    decode,
    encode,
    open_sealed,
    seal,
)

from .wire import Msg, Wire

SUBJECT = "$SYS.REQ.USER.AUTH"
SECOND = 1_000_000_000
Answer = Callable[[AuthorizationRequestClaims], bytes]


def assigned(
    request: AuthorizationRequestClaims,
    key: KeyPair,
    account: str = "",
    *,
    name: str = "",
    user: str = "",
    exp: int = 0,
    issuer_account: str = "",
    scoped: bool = False,
    **fields: Any,
) -> str:
    """Return the token of the user that an answer assigns. `fields` are under `nats`."""
    claims = UserClaims.new(
        user or request.nats.user_nkey, name, issuer_account=issuer_account, scoped=scoped
    )
    claims.nats = type(claims.nats).model_validate(claims.nats.document() | fields)
    claims.aud, claims.exp = account, exp
    return encode(claims, key, now=time.time_ns())


def response(
    request: AuthorizationRequestClaims,
    key: KeyPair,
    token: str = "",
    error: str = "",
    **changes: Any,
) -> bytes:
    """Return an answer with a user's token or an error.

    `changes` are `sub`, `aud`, `exp` and `issuer_account`.
    """
    claims = AuthorizationResponseClaims(sub=request.nats.user_nkey, aud=request.nats.server_id.id)
    claims.nats.jwt, claims.nats.error = token, error
    claims.nats.issuer_account = changes.pop("issuer_account", "")
    for name, value in changes.items():
        setattr(claims, name, value)
    return encode(claims, key, now=time.time_ns()).encode()


class CalloutService:
    """Answers on a connection of the service's account, one question at a time: no thread is needed.

    xkey: the curve key that questions are encrypted for.
    seals: whether its answers are encrypted, too.
    """

    def __init__(self, wire: Wire, xkey: KeyPair | None = None, *, seals: bool = True) -> None:
        self.wire = wire
        self.xkey = xkey
        self.seals = seals
        wire.sub(SUBJECT, queue="auth")
        wire.sync()

    def hear(self) -> tuple[AuthorizationRequestClaims, Msg]:
        """Wait for the next question. Return its claims and the message."""
        message = self.wire.msg()
        body = message.body
        if self.xkey is not None:
            body = open_sealed(body, self.xkey, message.headers["Nats-Server-Xkey"])
        return decode(body.decode(), AuthorizationRequestClaims), message

    def say(self, message: Msg, body: bytes) -> None:
        """Answer a question."""
        if self.xkey is not None and self.seals and body:
            body = seal(body, self.xkey, message.headers["Nats-Server-Xkey"])
        self.wire.pub(message.reply, body)

    def take(self, answer: Answer) -> AuthorizationRequestClaims:
        """Wait for the next question, answer it, and return it."""
        request, message = self.hear()
        self.say(message, answer(request))
        return request
