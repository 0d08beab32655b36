"""Callouts: asks the services of accounts who may connect, and waits for each answer for a limited time.

Promises: whatever a service does or leaves undone, `answered` is called once, and only an answer that
`response.judge` accepts names a user. At most `MOST_WAITING` questions wait; further logins are refused. An
answer that comes late, twice, or to a question that was never asked is ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ...keys import IdentityError, KeyPair, KeyRole, encode, seal
from ...protocol.identifier import new_id
from ...protocol.reserved import AUTH_CALLOUT
from .request import request_claims, server_id
from .response import Assigned, Expected, judge

if TYPE_CHECKING:
    from ...keys import AuthorizationResponseClaims
    from ..accounts import Account
    from ..accounts.subscription import Message
    from ..clock import Clock, Timer
    from ..config.options import Options
    from ..identity import ServerIdentity
    from ..logging import Logger
    from .request import Login

XKEY_HEADER = "Nats-Server-Xkey"
MOST_WAITING = 10_000
_INBOX = "$SYS._INBOX"


class CalloutTarget(NamedTuple):
    """Whom to ask.

    account: where the service listens.
    subject: the key of the account that signs its answers.
    xkey: the public curve key that questions are encrypted for; "" sends them in the clear.
    may_sign: see `response.Expected`.
    """

    account: Account
    subject: str
    xkey: str = ""
    may_sign: Callable[[AuthorizationResponseClaims], bool] | None = None


class _Question:
    __slots__ = ("answered", "expected", "timer")

    def __init__(self, expected: Expected, answered: Callable[[Assigned], None]) -> None:
        self.expected = expected
        self.answered = answered
        self.timer: Timer | None = None


class Callouts:
    """The questions of one server."""

    def __init__(
        self,
        options: Options,
        identity: ServerIdentity,
        clock: Clock,
        log: Logger,
        random_bytes: Callable[[int], bytes],
    ) -> None:
        self.options = options
        self._identity = identity
        self._clock = clock
        self._log = log
        self._random = random_bytes
        # A server that was started without callouts has an id that is no key, and no other key.
        self._key = identity.key or KeyPair.create(KeyRole.SERVER, random_bytes)
        self._xkey = identity.curve
        self._inboxes: dict[Account, str] = {}
        self._waiting: dict[str, _Question] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def reload(self, options: Options) -> None:
        """Apply new options to the questions from now on."""
        self.options = options

    def stop(self) -> None:
        """Ask no more. Those who wait are not answered: their connections are closed."""
        for question in self._waiting.values():
            if question.timer is not None:
                question.timer.cancel()
        self._waiting.clear()

    def ask(self, service: CalloutTarget, login: Login, answered: Callable[[Assigned], None]) -> None:
        """Ask whether `login` may connect. `answered` may be called at once."""
        if len(self._waiting) >= MOST_WAITING:
            answered(Assigned(None, why="too many logins wait for auth callouts"))
            return
        timeout = self.options.auth_timeout
        user_key = KeyPair.create(KeyRole.USER, self._random).public_key
        expected = Expected(
            user_key,
            self._identity.id,
            service.account.name,
            service.xkey,
            self._own_xkey() if service.xkey else None,
            service.may_sign,
        )
        try:
            header, body = self._request(service, login, expected, self._clock.now() + timeout)
        except (IdentityError, UnicodeError) as error:  # what the client sent cannot be put into a token
            answered(Assigned(None, why=f"Error encoding auth request: {error}"))
            return
        question = _Question(expected, answered)
        reply = f"{self._inbox(service.account)}.{new_id(self._random)}"
        self._waiting[reply] = question
        question.timer = self._clock.call_later(timeout, lambda: self._late(reply))
        taken = service.account.publish(AUTH_CALLOUT, body, reply=reply, header=header, own=True)
        if not taken:
            self._settle(reply, Assigned(None, why=f"no auth callout service on {service.account.label}"))

    def _request(
        self, service: CalloutTarget, login: Login, expected: Expected, expires: int
    ) -> tuple[bytes, bytes]:
        """Return header and body of a question."""
        own = expected.own_xkey
        server = server_id(self.options, self._identity, "" if own is None else own.public_key)
        claims = request_claims(
            login, user_key=expected.user_key, subject=service.subject, server=server, expires=expires
        )
        body = encode(claims, self._key, now=self._clock.now()).encode()
        if own is None:
            return b"", body
        header = f"NATS/1.0\r\n{XKEY_HEADER}: {own.public_key}\r\n\r\n".encode()
        return header, seal(body, own, service.xkey, self._random)

    def _own_xkey(self) -> KeyPair:
        if self._xkey is None:
            self._xkey = KeyPair.create(KeyRole.CURVE, self._random)
        return self._xkey

    def _inbox(self, account: Account) -> str:
        """Return where the account's services answer. One subscription serves all questions."""
        inbox = self._inboxes.get(account)
        if inbox is None:
            inbox = self._inboxes[account] = f"{_INBOX}.{new_id(self._random)}"
            account.subscribe(f"{inbox}.*", self._answer)
        return inbox

    def _answer(self, message: Message) -> None:
        question = self._waiting.get(message.subject)
        if question is not None:
            self._settle(message.subject, judge(message.body, question.expected, self._clock.now()))

    def _late(self, reply: str) -> None:
        account = self._waiting[reply].expected.account
        why = f'Authorization callout response not received in time on account "{account}"'
        self._settle(reply, Assigned(None, why=why))

    def _settle(self, reply: str, assigned: Assigned) -> None:
        question = self._waiting.pop(reply, None)
        if question is None:
            return
        if question.timer is not None:
            question.timer.cancel()
        if assigned.why:
            self._log.warning(assigned.why)
        question.answered(assigned)
