"""DeadLetters: stores the messages that one consumer gives up, before it gives them up.

It does so if the account has a stream for them: `DLQ_<stream>`, with the consumer's subject (see
`protocol/dead_letters.py`). The message is published there, and is given up when that stream has acknowledged
it. Until then it is leaving: pending, so that no retention removes it, but never delivered.

Promises:
- The order is: stored as a dead letter, given up, advisory, answer to a +TERM. After a crash or a change of
  the leader in between, all of it happens again, and the letter is stored once: its subject names the
  stream, the consumer and the sequence, and it is refused if there is a message of that subject.
- While the letters cannot be stored, for whatever reason, the messages stay pending. It is tried again, after
  pauses of up to `LONGEST_PAUSE`, and logged.
- Only `MOST` messages, or `MOST_BYTES` and one message, are under way at once.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import field
from itertools import islice
from typing import TYPE_CHECKING

from ....protocol import dead_letters, headers
from ....protocol.dead_letters import MAX_DETAIL, TERMINATED, DeadLetterEvent
from ....protocol.lazy_dataclass import dataclass
from ....store.errors import Damaged, NotFound
from ...clock import SECOND, DeadlineTimer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....store.message import StoredMessage
    from ....store.stream import StreamStore
    from ...accounts.account import Account
    from ...accounts.subscription import Message, Subscription
    from ..host import JetStreamHost
    from .delivery_state import DeliveryState

MOST, MOST_BYTES = 16, 1 << 20
ACK_TIMEOUT = 5 * SECOND  # for one acknowledgement
LONGEST_PAUSE = 30 * SECOND
ANSWERS = 16  # +TERMs of one leaving message that are answered; a client repeats one that is not
ALREADY_STORED = 10071  # wrong last sequence of the subject: there is such a message


@dataclass(frozen=True, slots=True)
class LetterSource:
    """The consumer whose letters these are.

    stream, consumer: their names.
    origin: tells both from earlier ones of the same names; see `dead_letters.origin_of`.
    label: the consumer in log lines.
    subjects_of: returns the subjects of a stream of the account, wherever it is; none if it does not exist.
    """

    stream: str
    consumer: str
    origin: str
    label: str
    subjects_of: Callable[[str], Sequence[str]]


@dataclass(slots=True, eq=False)
class _Letter:
    """A message that is leaving.

    reason, detail, deliveries: see `DeadLetterEvent`.
    delivered_at: when it was last delivered, ns; with the subject it makes the message id.
    done: called once the letter is stored, or if nobody takes letters any more.
    sent_at: when it was published, ns.
    size: of header and body, bytes.
    """

    sequence: int
    reason: str
    detail: str
    deliveries: int
    delivered_at: int
    done: list[Callable[[], None]] = field(default_factory=list)
    sent_at: int = 0
    size: int = 0


class DeadLetters:
    """The dead letters of one consumer."""

    __slots__ = (
        "_account",
        "_delivery_state",
        "_host",
        "_inbox",
        "_letters",
        "_pause",
        "_resume_at",
        "_sent",
        "_source",
        "_store",
        "_subscription",
        "_timer",
        "_waiting",
    )

    def __init__(
        self,
        source: LetterSource,
        account: Account,
        host: JetStreamHost,
        store: StreamStore,
        delivery_state: DeliveryState,
    ) -> None:
        self._source = source
        self._account = account
        self._host = host
        self._store = store
        self._delivery_state = delivery_state
        self._letters: dict[int, _Letter] = {}  # all letters; each is in one of the following, too
        self._waiting: OrderedDict[int, _Letter] = OrderedDict()
        self._sent: dict[int, _Letter] = {}
        self._subscription: Subscription | None = None
        self._inbox = ""
        self._pause = self._resume_at = 0
        self._timer = DeadlineTimer(host.clock, self._wake)

    def take(
        self, sequence: int, reason: str, deliveries: int, done: Callable[[], None], detail: str = ""
    ) -> bool:
        """Hold a message that is about to be given up, and store it; return whether that is wanted.

        If so, `done` is called when it may be given up. A message that is not kept for the consumer any more,
        because it is acknowledged, is no dead letter.
        """
        delivery_state = self._delivery_state
        letter = self._letters.get(sequence)
        if letter is not None:
            self._set_aside(sequence)  # it may have got a deadline, by a +WPI or -NAK
            if reason == TERMINATED and len(letter.done) < ANSWERS:
                letter.done.append(done)
            return True
        entry = delivery_state.entry(sequence)
        if (entry is None and sequence not in delivery_state.redelivered) or not self._wanted():
            return False
        delivered_at = 0 if entry is None else entry[1]
        letter = _Letter(sequence, reason, detail[:MAX_DETAIL], deliveries, delivered_at, [done])
        self._letters[sequence] = self._waiting[sequence] = letter
        self._set_aside(sequence)
        self._work()
        return True

    def _set_aside(self, sequence: int) -> None:
        """Let a message count as out of deliveries, and if it is pending wait without a deadline."""
        delivery_state = self._delivery_state
        delivery_state.leaving.add(sequence)
        if delivery_state.entry(sequence) is not None:
            delivery_state.queue(sequence)
            del delivery_state.queued[sequence]

    def _wanted(self) -> bool:
        """Return whether a stream for the letters exists."""
        source = self._source
        subjects = source.subjects_of(dead_letters.queue_name(source.stream))
        return bool(subjects) and dead_letters.takes(subjects, source.stream, source.consumer)

    def clear(self) -> None:
        """Drop all letters, because the consumer ends or starts over. Nothing was given up by then."""
        self._timer.clear()
        if self._subscription is not None:
            self._account.unsubscribe(self._subscription)
            self._subscription = None
        for sequence in self._letters:
            self._delivery_state.leaving.discard(sequence)
        self._letters, self._waiting, self._sent = {}, OrderedDict(), {}

    # -- what is under way

    def _wake(self) -> None:
        """Publish again what was not acknowledged in time, and go on after a pause."""
        late = self._host.clock.now() - ACK_TIMEOUT
        for letter in [each for each in self._sent.values() if each.sent_at <= late]:
            self._failed(letter, "there is no acknowledgement")
        if self._waiting and self._resume_at <= self._host.clock.now() and not self._wanted():
            self._give_up_some()
        self._work()

    def _give_up_some(self) -> None:
        """Give up the first messages without storing them: the stream for letters was deleted."""
        for sequence in list(islice(self._waiting, MOST)):
            self._finish(self._waiting.pop(sequence))

    def _work(self) -> None:
        """Publish as many letters as may be under way."""
        now = self._host.clock.now()
        if self._resume_at <= now:
            for sequence in list(islice(self._waiting, MOST - len(self._sent))):
                if sum(letter.size for letter in self._sent.values()) >= MOST_BYTES:
                    break
                if self._resume_at <= now and sequence in self._waiting:
                    self._send(self._waiting.pop(sequence))
        if self._sent:
            self._timer.at(min(letter.sent_at for letter in self._sent.values()) + ACK_TIMEOUT)
        elif self._waiting:
            self._timer.at(max(self._resume_at, now))

    def _send(self, letter: _Letter) -> None:
        sequence = letter.sequence
        try:
            message = self._store.get(sequence)
        except NotFound:
            self._finish(letter)
            return
        except Damaged as damage:
            text = f"message {sequence} can not be stored as a dead letter, and is given up: {damage.where}"
            self._host.log.warning(f"{self._source.label}: {text}")
            self._finish(letter)
            return
        if self._subscription is None:
            self._inbox = f"$JSC.R.{self._host.new_id(8)}"
            self._subscription = self._account.subscribe(f"{self._inbox}.*", self._answered)
        subject, header = self._addressed(letter, message)
        letter.sent_at, letter.size = self._host.clock.now(), len(header) + len(message.body)
        self._sent[sequence] = letter
        reply = f"{self._inbox}.{sequence}"
        receivers = self._account.publish(subject, message.body, reply=reply, header=header, own=True)
        if not receivers and sequence in self._sent:
            self._failed(letter, "no stream listens, or the one that does has no leader")

    def _addressed(self, letter: _Letter, message: StoredMessage) -> tuple[str, bytes]:
        """Return the subject and the header of a letter."""
        source = self._source
        event = DeadLetterEvent(
            letter.reason,
            source.stream,
            source.consumer,
            letter.sequence,
            letter.deliveries,
            letter.detail,
            message.subject,
            message.time,
        )
        subject = dead_letters.message_subject(event, source.origin)
        header = dead_letters.letter_header(event, message.header)
        header = headers.add(header, b"Nats-Msg-Id", f"{subject}.{letter.delivered_at}".encode())
        return subject, headers.add(header, b"Nats-Expected-Last-Subject-Sequence", b"0")

    def _answered(self, message: Message) -> None:
        """Take the answer of a stream to a letter."""
        token = message.subject.rpartition(".")[2]
        letter = self._sent.get(int(token)) if token.isdecimal() else None
        if letter is None:
            return
        refusal = _refusal(message.body, dead_letters.queue_name(self._source.stream))
        if refusal:
            self._failed(letter, refusal)
        else:
            del self._sent[letter.sequence]
            self._pause = 0
            self._finish(letter)
        self._work()

    def _failed(self, letter: _Letter, text: str) -> None:
        """Try again after a pause; everything else waits, too."""
        del self._sent[letter.sequence]
        self._waiting[letter.sequence] = letter
        self._waiting.move_to_end(letter.sequence, last=False)
        now = self._host.clock.now()
        if self._resume_at <= now:
            self._pause = min(max(2 * self._pause, SECOND), LONGEST_PAUSE)
            self._resume_at = now + self._pause
            kept = f"{len(self._letters)} messages wait to be dead letters"
            self._host.log.warning(f"{self._source.label}: {kept}: {text}")

    def _finish(self, letter: _Letter) -> None:
        """Let the message be given up."""
        del self._letters[letter.sequence]
        self._delivery_state.leaving.discard(letter.sequence)
        for done in letter.done:
            done()


def _refusal(body: bytes, stream: str) -> str:
    """Return why a letter is not stored, "" if it is."""
    try:
        answer = json.loads(body)
        error = answer.get("error")
        if error is None:
            taken = str(answer["stream"])
            return "" if taken == stream else f"the stream {taken} took it, not {stream}"
        return "" if error.get("err_code") == ALREADY_STORED else str(error.get("description"))
    except (ValueError, KeyError, AttributeError, TypeError):
        return "the acknowledgement can not be read"
