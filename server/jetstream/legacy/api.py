"""OldApi: the API of early 2020 in one account, served by today's.

A client's request on an old subject becomes one on the subject of today (`TABLE`), and its answer the answer
of 2020. So everything that holds for today's API holds for the old one, in clusters, too.

Promises:
- The client needs the permission to publish to both subjects: nobody may do by the old name what is forbidden
  by the new one.
- Only clients of this account on this server are served. What comes from other servers was translated there,
  or by nobody; an import of an old subject reaches nobody.
- A request on an old subject never leads to another one, whatever the account's mappings say.
- At most `MOST` requests of an account wait for their answers, and none longer than `SECONDS`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ....protocol import gojson
from ....protocol.subject import is_literal
from ...accounts.plan import is_request
from ...clock import SECOND, DeadlineTimer
from . import answers
from .bodies import OldRequestError, at_offset
from .table import TABLE, OldRequest, row_of

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ...accounts.subscription import Message, MessageEndpoint, Subscription
    from ..host import JetStreamHost

SECONDS: Final = 10
MOST: Final = 4096  # requests of an account that wait for their answers
MOST_NAMES: Final = 16_384  # of a list, which 2020 had no pages for
_REPLIES: Final = "$JS.LEGACY."
_TOO_MANY: Final = "insufficient resources"


class _Waiting(NamedTuple):
    """A request that was made and is not answered yet.

    due: when nobody waits for it any longer, ns.
    target: the subject of today that it was sent to.
    found: what earlier pages of a list had.
    """

    row: OldRequest
    due: int
    source: MessageEndpoint
    reply: str
    target: str
    found: list[str]


class OldApi:
    """The API of early 2020 in one account."""

    def __init__(self, account: Account, host: JetStreamHost) -> None:
        self._account = account
        self._clock = host.clock
        self._inbox = f"{_REPLIES}{host.new_id()}."
        self._requests = 0
        self._waiting: dict[str, _Waiting] = {}  # by the subject of the answer, the oldest first
        self._timer = DeadlineTimer(host.clock, self._give_up)
        self._subscriptions: list[Subscription] = []

    def start(self) -> None:
        """Subscribe to the old subjects, and to the answers."""
        subscribe = self._account.subscribe
        self._subscriptions = [subscribe(row.pattern, partial(self._serve, row)) for row in TABLE]
        self._subscriptions.append(subscribe(f"{self._inbox}*", self._answered))

    def stop(self) -> None:
        """End the subscriptions, and forget what is not answered."""
        for subscription in self._subscriptions:
            self._account.unsubscribe(subscription)
        self._subscriptions.clear()
        self._waiting.clear()
        self._timer.clear()

    # --- requests

    def _serve(self, row: OldRequest, message: Message) -> None:
        subject, source = message.subject, message.source
        if source is None or row_of(subject) is not row or not is_literal(subject):
            return
        target = self._account.mapped(f"$JS.API.{row.target(subject)}")
        if target is None or not is_request(target.encode("utf-8", "surrogateescape")):
            return
        if not source.may_also_publish(self._account, target):
            return
        try:
            body = row.body(message.body)
        except OldRequestError as error:
            self._reply(message.reply, answers.refusal(str(error)))
            return
        if row.answer is None or not message.reply:
            self._account.publish(target, body, reply=message.reply, source=source)
        elif len(self._waiting) >= MOST:
            self._reply(message.reply, answers.refusal(_TOO_MANY))
        else:
            self._ask(_Waiting(row, 0, source, message.reply, target, []), body)

    def _ask(self, waiting: _Waiting, body: bytes) -> None:
        self._requests += 1
        inbox = f"{self._inbox}{self._requests}"
        due = self._clock.now() + SECONDS * SECOND
        self._waiting[inbox] = waiting._replace(due=due)
        self._timer.at(due)
        if not self._account.publish(waiting.target, body, reply=inbox, source=waiting.source):
            self._waiting.pop(inbox, None)  # nobody is there, and in 2020 nobody would have answered

    # --- answers

    def _answered(self, message: Message) -> None:
        waiting = self._waiting.pop(message.subject, None)
        if waiting is None:
            return
        try:
            answer = gojson.decode(message.body)
        except gojson.JsonError:
            self._reply(waiting.reply, answers.refusal("the answer is too long for the old API"))
            return
        error = answer.get("error")
        if error:
            self._reply(waiting.reply, answers.refusal(error.get("description", "")))
        elif waiting.row.pages:
            self._page(waiting, answer)
        elif waiting.row.answer is not None:
            self._reply(waiting.reply, waiting.row.answer(answer))

    def _page(self, waiting: _Waiting, answer: dict[str, Any]) -> None:
        """Take one page of a list. Ask for the next one, or answer with all of them."""
        page = answer.get(waiting.row.pages) or []
        found = waiting.found
        found += page
        if not page or len(found) >= answer.get("total", 0):
            self._reply(waiting.reply, answers.names(found))
        elif len(found) >= MOST_NAMES:
            self._reply(waiting.reply, answers.refusal("there are too many for the old API"))
        else:
            self._ask(waiting, at_offset(len(found)))

    def _reply(self, reply: str, body: bytes) -> None:
        if reply:
            self._account.publish(reply, body)

    def _give_up(self) -> None:
        now = self._clock.now()
        while self._waiting:
            inbox, waiting = next(iter(self._waiting.items()))
            if waiting.due > now:
                self._timer.at(waiting.due)
                return
            del self._waiting[inbox]
