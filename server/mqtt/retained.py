"""RetainedMessages: which subjects of an account have a retained message, and what that is.

A consumer brings what is retained now and from now on, from whatever server. Of each message only the subject
and its sequence are kept in memory: the rest is read when somebody subscribes.
"""

from __future__ import annotations

import base64
import binascii
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...protocol import gojson
from ...protocol.subject_tree import SubjectTree
from ..clock import SECOND
from ..jetstream.streams.origin_request import read_delivery
from . import records
from .flow import Flow, Resume, Wait, run, together
from .records import RetainedMessage
from .requests import CONSUMER_NOT_FOUND, NO_MESSAGE, REPLIES, JetStreamAnswerError, Requests
from .topics import to_topic

if TYPE_CHECKING:
    from ..accounts.subscription import Message, Subscription
    from ..clock import Clock, Timer
    from ..logging import Logger

_INACTIVE = 300 * SECOND
_CHECK = 60 * SECOND
_PIECE = 4096  # subjects that are looked at in one turn
_TRIES = 100


class RetainedMessages:
    """The retained messages of one account."""

    def __init__(self, requests: Requests, clock: Clock, log: Logger) -> None:
        self._requests = requests
        self._clock = clock
        self._log = log
        self._known: SubjectTree[tuple[str, int]] = SubjectTree()  # subject and sequence, by subject
        self._subscriptions: list[Subscription] = []
        self._waiting: Resume | None = None  # for what was retained before this server came
        self._timer: Timer | None = None
        self._check: Timer | None = None
        self._inbox = records.DELIVERIES + requests.new_id()
        self._consumer = ""

    def start(self) -> Flow[None]:
        """Learn what is retained. Raises JetStreamAnswerError."""
        account = self._requests.account
        self._subscriptions = [
            account.subscribe(self._inbox, self._arrived),
            account.subscribe(f"{REPLIES}*.RD", self._removed),
        ]
        if (yield from self._follow()):
            yield self._loaded
        self._check = self._clock.call_later(_CHECK, self._check_soon)

    def _follow(self) -> Flow[int]:
        """Make a consumer that brings everything. Return how much that is. Raises JetStreamAnswerError."""
        self._consumer = f"{records.RETAINED}_{self._requests.new_id()}"
        config = {
            "name": self._consumer,
            "filter_subject": f"{records.RETAINED_PREFIX}>",
            "deliver_subject": self._inbox,
            "deliver_policy": "all",
            "ack_policy": "none",
            "replay_policy": "instant",
            "inactive_threshold": _INACTIVE,
        }
        body = {"stream_name": records.RETAINED, "config": config}
        info = yield from self._requests.api("CC", f"CONSUMER.CREATE.{records.RETAINED}", body)
        return int(info.get("num_pending", 0))

    def _check_soon(self) -> None:
        run(self._watch())

    def _watch(self) -> Flow[None]:
        """Make another consumer if the one there was is gone, as after a long time without its server."""
        try:
            try:
                yield from self._requests.api("CL", f"CONSUMER.INFO.{records.RETAINED}.{self._consumer}")
            except JetStreamAnswerError as error:
                if error.err_code != CONSUMER_NOT_FOUND:
                    raise
                self._log.warning(
                    f'following retained messages of account "{self._requests.account.name}" anew'
                )
                yield from self._follow()
        except JetStreamAnswerError:
            pass  # nobody is there at the moment: later
        if self._check is not None:
            self._check = self._clock.call_later(_CHECK, self._check_soon)

    def stop(self) -> None:
        """Learn nothing more."""
        if self._check is not None:
            self._check.cancel()
            self._check = None
        for subscription in self._subscriptions:
            self._requests.account.unsubscribe(subscription)
        self._go_on()

    def _loaded(self, resume: Resume) -> None:
        self._waiting = resume
        self._timer = self._clock.call_later(self._requests.timeout, self._go_on)

    def _go_on(self) -> None:
        waiting, self._waiting = self._waiting, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if waiting is not None:
            waiting(None)

    # --- what other servers and this one store

    def _arrived(self, message: Message) -> None:
        delivery = read_delivery(message.reply)
        subject = message.subject.removeprefix(records.RETAINED_PREFIX)
        if delivery is None or subject == message.subject:
            return
        retained = records.read_retained(b"", message.header, message.body)
        if retained is not None:
            if retained.payload:
                self._known[subject] = (subject, delivery.stream_seq)
            else:
                self._ended(subject, delivery.stream_seq, own=retained.origin == self._requests.node)
        if not delivery.pending:
            self._go_on()

    def _ended(self, subject: str, seq: int, *, own: bool) -> None:
        """Forget a subject. If this server ended it, remove the message that says so, and tell the others."""
        before = self._known.pop(subject)
        if not own:
            return
        requests = self._requests
        if before is not None:
            body = gojson.encode({"subject": subject, "seq": before[1]})
            requests.tell(f"{REPLIES}{requests.node}.RD", body)
        requests.tell_api(f"STREAM.MSG.DELETE.{records.RETAINED}", {"seq": seq, "no_erase": True})

    def _removed(self, message: Message) -> None:
        """Forget what another server has removed."""
        try:
            document = gojson.decode(message.body)
            subject, seq = str(document["subject"]), int(document["seq"])
        except (ValueError, KeyError, TypeError):
            return
        known = self._known.get(subject)
        if known is not None and known[1] == seq:
            self._known.pop(subject)

    # --- what clients ask for

    def store(self, subject: str, message: RetainedMessage) -> Wait:
        """Return a wait until the message is stored, or refused with a JetStreamAnswerError."""
        header = records.retained_header(message)
        return self._requests.store(records.RETAINED_PREFIX + subject, header, message.payload)

    def matching(self, subject: str, rest: Wait) -> Flow[list[str]]:
        """Return the subjects of the retained messages that match a filter's subject.

        rest: lets others have their turn. What comes and goes meanwhile may or may not be among them.
        """
        found: dict[str, None] = {}
        for _ in range(_TRIES):
            one_by_one = self._known.within(subject)
            try:
                while piece := [known for known, _ in islice(one_by_one, _PIECE)]:
                    found.update(dict.fromkeys(piece))
                    yield rest
                break
            except RuntimeError:
                pass  # the tree has changed under way
        return list(found)

    def load(self, subjects: list[str]) -> Flow[dict[str, RetainedMessage]]:
        """Return the retained messages of these subjects, as far as there are any now."""
        found: dict[str, RetainedMessage] = {}
        answers = yield together([self._load(subject) for subject in subjects])
        for subject, answer in zip(subjects, answers, strict=True):
            message = self._read(subject, answer)
            if message is not None:
                found[subject] = message
            elif isinstance(answer, JetStreamAnswerError) and answer.err_code == NO_MESSAGE:
                self._known.pop(subject)
        return found

    def _load(self, subject: str) -> Wait:
        body = {"last_by_subj": records.RETAINED_PREFIX + subject}
        return self._requests.api_wait("ML", f"STREAM.MSG.GET.{records.RETAINED}", body)

    def _read(self, subject: str, answer: dict[str, Any] | JetStreamAnswerError) -> RetainedMessage | None:
        if isinstance(answer, JetStreamAnswerError):
            self._log.warning(f'failed to load retained message for subject "{subject}": {answer}')
            return None
        try:
            header, body = stored(answer)
        except ValueError as error:
            self._log.warning(f'failed to decode retained message for subject "{subject}": {error}')
            return None
        message = records.read_retained(to_topic(subject.encode()), header, body)
        return message if message is not None and message.payload else None


def stored(answer: dict[str, Any]) -> tuple[bytes, bytes]:
    """Return header and body of the message in an answer of STREAM.MSG.GET. Raises ValueError."""
    try:
        message = answer["message"]
        return base64.b64decode(message.get("hdrs") or ""), base64.b64decode(message.get("data") or "")
    except (KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise ValueError(str(error)) from None
