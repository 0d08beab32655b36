"""Origin: the stream that a mirror or a source copies, read through an internal consumer of that stream.

An origin is in one of three states: resting (a timer or a change of interest begins an attempt), asking (a
request is out) or following (messages arrive).

Promises:
- `take` gets each message once and without a gap, from the position that `start_at` asked for.
- A lost message, a silent origin or a refused copy leads to a new consumer at the right place.
- Attempts are at least two seconds apart and back off. Only a request that an older server did not understand
  is repeated at once, in an older form. `error` says what is wrong now.
- Everything goes through the account, even for an origin on the same server.

Source: ADR-8 for the subjects; nats-server's server/stream.go: setupMirrorConsumer,
trySetupSourceConsumer.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from ....protocol import gojson, headers
from ....protocol.api.consumer import ConsumerConfig
from ....protocol.api.stream import StreamSource, StreamSourceInfo
from ....protocol.errors import ApiError, api_error
from ....protocol.identifier import name_hash
from ....protocol.transform import SubjectTransform
from ....store.message import StoredMessage
from ...clock import SECOND
from ...config.feature_flags import JS_API_REPLY_V2
from .origin_request import (
    HEARTBEAT,
    SILENCE,
    RequestingStream,
    as_copied,
    consumer_config,
    deliver_subject,
    read_delivery,
    reply_scope,
    request_subject,
)
from .origin_runs import CONTROL, hand_over

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...accounts.space import InterestWatch
    from ...accounts.subscription import DeliveredRun, InterestChange, Message, Subscription
    from ...clock import Timer
    from ...slices import LoopTurns
    from ...task_executor import Done
    from .contents import StreamContents
    from .context import StreamContext

MILLISECOND = 1_000_000
APART = 2 * SECOND  # between the beginnings of two attempts
ANSWER_TIMEOUT = 10 * SECOND  # how long an attempt waits for its answer
HASTE = 2 * SECOND  # the same for a first attempt: the origin may be within our reach before we are in its
BACKOFF = 10 * SECOND  # added to the wait for each failure in a row
LONGEST = 120 * SECOND  # the most that failures add
DOUBT = 3 * HEARTBEAT  # how long `check_liveness` waits for a message
MOST_STALLS = 3  # heartbeats that report unanswered flow control before a new consumer is made
TOO_OLD = {10185, 10025}  # errors of an origin that does not know this request
OTHER_STREAM = 10225
FLOW_CONTROL = "$JS.FC."
# The error table lacks it: nats-server 2.15.1 reports it when answers to flow control do not arrive.
STALLED = ApiError(500, 10228, "stream source consumer stalled on flow control")


class OriginTarget(Protocol):
    """What a stream does with what its origins bring."""

    def mirror(self, origin: Origin, messages: Sequence[StoredMessage]) -> None:
        """Store messages of the mirror's origin, at least one, under their sequences.

        Raises ApiError if one cannot be stored. Those before it are stored then, and `origin.copied` says so.
        """

    def copy(self, origin: Origin, messages: Sequence[StoredMessage], originals: Sequence[str]) -> None:
        """Store messages of a source, at least one, as new ones whose headers name the origin.

        originals: the subject of each in the origin. Raises ApiError, as `mirror` does.
        """

    def skip_to(self, sequence: int) -> None:
        """Skip to `sequence`: up to there the mirror's origin has nothing that is not here."""

    def reset_source(self, index: str) -> None:
        """Forget how far a source was read, because its origin was deleted and made again."""

    def when_safe(self, done: Done) -> None:
        """Call `done` once all that came so far is on disk, or with the error that prevented it."""


class Origin:
    """One origin. Subclasses decide where to start and what to do with messages.

    contents: the contents of the stream that takes the copies.
    target: that stream; it stores the messages.
    source: the part of its configuration that names the origin.
    attempts: runs the attempts of the stream's origins in turn, as many may be due at the same moment.
    index: tells a source from the stream's other sources; "" for a mirror.
    identity: tells the origin from an earlier stream of its name; "" while unknown.
    copied: the origin's sequence up to which everything was taken.
    lag: how many messages the origin still has for us.
    last_active: when something last came from the origin, ns; 0 for never.
    error: what is wrong now, None if nothing is.
    """

    kind = ""  # "mirror" or "src": the word in the consumer's name and metadata
    letter = ""  # the kind's letter in the delivery subject
    setup_failed = ""  # the name of the error that says why there is no consumer
    first_level = 0  # the API level asked for first
    index = ""

    def __init__(
        self,
        contents: StreamContents,
        context: StreamContext,
        target: OriginTarget,
        source: StreamSource,
        attempts: LoopTurns,
    ) -> None:
        self.contents = contents
        self.target = target
        self.source = source
        self._host = context.host
        self._clock = context.host.clock
        self._account = context.account
        self._attempts = attempts
        self._requester = RequestingStream(contents.name, context.account.name, context.host.domain)
        self.identity = ""
        self.lag = 0
        self.last_active = 0
        self.error: ApiError | None = None
        self.copied = 0
        self._delivered = 0
        self._consumer = self._deliver_subject = ""
        self._fails = 0
        self._asked = 0
        self._level = self.first_level
        self._sourcing = True
        self._cut = False
        self._hasty = True  # whether the next attempt is a first one
        self._stalls = 0
        self._reply: Subscription | None = None
        self._subscription: Subscription | None = None
        self._timer: Timer | None = None
        self._watch: InterestWatch | None = None
        self._queued = False
        self._stopped = False
        below = context.host.random_below
        self.transforms = [
            SubjectTransform(t.src, t.dest, random_below=below) if t.dest else None
            for t in source.subject_transforms
        ]

    # --- what a subclass decides

    def start_at(self, config: ConsumerConfig) -> None:
        """Set the place where the consumer begins in its configuration."""
        raise NotImplementedError

    def accepted(self, delivered: int, pending: int) -> None:
        """Take note that the consumer begins after `delivered`, a sequence, and has `pending` messages."""
        raise NotImplementedError

    def take(self, messages: Sequence[StoredMessage], originals: Sequence[str], pending: int) -> None:
        """Store messages, at least one; `originals` are their subjects in the origin.

        pending: how many messages the origin has for us after these. Raises ApiError for the first that
        cannot be stored. A later attempt then asks for it again.
        """
        raise NotImplementedError

    def origin_recreated(self) -> None:
        """Take note that the origin was deleted and made again, so that its sequences start over."""

    def consumer_hash(self) -> str:
        """Return the stable part of the consumer's name."""
        return name_hash(" ".join([part for part in self._requester if part]))

    # --- lifecycle

    @property
    def following(self) -> bool:
        """Whether messages can arrive."""
        return self._subscription is not None

    def start(self) -> None:
        """Begin the first attempt in the loop's next turn."""
        self._watch = self._account.watch_interest(
            self._interest, request_subject(self.source, self._config())
        )
        self._later(0)

    def stop(self) -> None:
        """Stop following. The origin deletes its consumer by itself when nobody listens to it."""
        self._stopped = True
        self._drop()
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _drop(self) -> None:
        """Leave the current state: end subscriptions and the timer."""
        account = self._account
        for subscription in (self._reply, self._subscription):
            if subscription is not None:
                account.unsubscribe(subscription)
        self._reply = self._subscription = None
        self._consumer = ""
        self._queued = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _later(self, delay: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._clock.call_later(delay, self._due)

    def _due(self) -> None:
        """Queue an attempt, which `_drop` cancels if something else happens first."""
        self._timer, self._queued = None, True
        self._attempts.soon(self._attempt_queued)

    def _attempt_queued(self) -> None:
        if self._queued:
            self._attempt()

    def retry(self, error: ApiError | None = None, *, failed: bool = False) -> None:
        """Plan the next attempt to get a consumer.

        error: what is wrong, None to keep the last one. failed: whether the wait grows by `BACKOFF`.
        """
        if self._stopped:
            return
        self._drop()
        if error is not None:
            self.error = error
        if failed:
            self._fails += 1
        wait = max(self._asked + APART - self._clock.now(), 0)
        wait += min(BACKOFF * self._fails, LONGEST)
        jitter = int.from_bytes(self._host.random_bytes(2), "big") % 100
        self._later(wait + (100 + jitter) * MILLISECOND)

    def stored_up_to(self) -> int:
        """Return the origin's sequence up to which everything is stored here."""
        return self.contents.store.last_seq

    def refused(self, error: ApiError | None) -> None:
        """Start again after what is stored, because something that was taken was not stored after all."""
        if not self._stopped:
            self.copied = self.stored_up_to()
            self.retry(error)

    def _interest(self, change: InterestChange) -> None:
        """React to a change of interest in the origin's API: it came within reach, or went out of it."""
        if change.delta < 0:
            account = self._account
            self._cut = not account.has_interest(request_subject(self.source, self._config()), own=True)
        elif self._reply is None and (self._cut or not self.following):
            self._cut = False
            self.retry_now()

    def retry_now(self) -> None:
        """Try again as soon as possible, without backing off, because an attempt is likely to succeed now."""
        self._fails = 0
        self._hasty = True
        self.retry()

    # --- asking

    def _config(self) -> ConsumerConfig:
        new_id = self._host.new_id
        name = f"JS_{self.kind.upper()}_{self.consumer_hash()}"
        if not self._sourcing:
            name += "_" + new_id(8)
        config = consumer_config(self.kind, name, self._requester, self.source, sourcing=self._sourcing)
        config.deliver_subject = deliver_subject(self.source, self.letter, new_id(8))
        self.start_at(config)
        return config

    def _attempt(self) -> None:
        self._drop()
        account = self._account
        self._asked = self._clock.now()
        config = self._config()
        durable = self.source.consumer
        self._deliver_subject = config.deliver_subject if durable is None else durable.deliver_subject
        body, header = b"", b""
        if durable is None:
            request = {"stream_name": self.source.name, "config": config.to_json(), "action": ""}
            body = json.dumps(request).encode()
        if self._level:
            header = headers.encode({"Nats-Required-Api-Level": str(self._level)})
            if self.kind == "src" and self._level >= self.first_level:
                header = headers.add(header, b"Nats-Stream-Identity", self.identity.encode())
        unique, scoped = self._host.new_id(8), JS_API_REPLY_V2 in self._host.features
        asked = durable.name if durable is not None else config.name
        scope = reply_scope(self.source, asked, name_hash(account.name)) if scoped else ""
        reply = f"$JSC.R.{scope}{unique}"
        self._reply = account.subscribe(reply, self._answered)
        self._timer = self._clock.call_later(HASTE if self._hasty else ANSWER_TIMEOUT, self._unanswered)
        subject = request_subject(self.source, config)
        target = account.mapped(subject)
        receivers = account.publish(target, body, reply=reply, header=header, own=True) if target else 0
        if not receivers and self._reply is not None:
            self.retry(self._failure(f"origin is not reachable: nobody answers {subject}"), failed=True)

    def _failure(self, text: str) -> ApiError:
        return api_error(self.setup_failed, err=text)

    def _unanswered(self) -> None:
        self._timer = None
        first, self._hasty = self._hasty, False
        self.retry(self._failure("origin did not answer in time"), failed=not first)

    def _answered(self, message: Message) -> None:
        first, self._hasty = self._hasty, False
        if headers.status(message.header)[0] == 503:
            self.retry(self._failure("origin is not reachable: no responders"), failed=not first)
            return
        try:
            answer = gojson.decode(message.body)
            error = ApiError.from_json(answer["error"]) if "error" in answer else None
            if error is None:
                self._follow(answer, headers.get(message.header, b"Nats-Stream-Identity") or b"")
        except (ValueError, KeyError, TypeError, AttributeError):
            self.retry(self._failure("invalid consumer create response"), failed=True)
            return
        if error is not None:
            self._refused(error)

    def _refused(self, error: ApiError) -> None:
        if error.err_code == OTHER_STREAM:
            self.identity = ""
            self.origin_recreated()
            self.retry()
        elif error.err_code in TOO_OLD and self._sourcing:
            if self._level > 4:
                self._level = 4
            else:
                self._level, self._sourcing = 0, False
            self._attempt()
        else:
            self.retry(error, failed=True)

    def _follow(self, answer: dict[str, Any], identity: bytes) -> None:
        config = answer["config"]
        durable = self.source.consumer
        if durable is not None and config.get("ack_policy") != "flow_control":
            constant = (
                "JSMirrorConsumerRequiresAckFCErr"
                if self.kind == "mirror"
                else "JSSourceConsumerRequiresAckFCErr"
            )
            self.retry(api_error(constant), failed=True)
            return
        name, delivered = str(answer["name"]), int(answer["delivered"]["stream_seq"])
        self._drop()
        given = identity.decode("utf-8", "replace")
        if given and self.identity and given != self.identity:
            self.origin_recreated()
        self.identity = given
        if self._stalls < MOST_STALLS:
            self.error = None
        self._fails = 0
        self._consumer = name
        self._delivered = 0
        self.lag = int(answer.get("num_pending", 0))
        self.accepted(delivered, self.lag)
        one, run = self._arrived, self._arrived_together
        self._subscription = self._account.subscribe_to_deliveries(
            self._deliver_subject, one, run, partial(hand_over, one, run)
        )
        self.last_active = self._clock.now()
        self._timer = self._clock.call_later(SILENCE, self._check_health)

    def _check_health(self) -> None:
        self._timer = None
        quiet = self._clock.now() - self.last_active
        if quiet >= SILENCE:
            self.retry(self._failure("origin is silent"))
        else:
            self._timer = self._clock.call_later(SILENCE - quiet, self._check_health)

    def check_liveness(self) -> None:
        """Ask for a new consumer unless a message comes soon: the old one may be gone with its leader."""
        since = self._clock.now()

        def look() -> None:
            if self.last_active < since:
                self.retry()
            else:
                self._check_health()

        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._clock.call_later(DOUBT, look)

    # --- following

    def _arrived(self, message: Message) -> None:
        if self._subscription is None:
            return
        self.last_active = self._clock.now()
        if not message.body and message.header.startswith(CONTROL):
            self._control(message)
            return
        delivery = read_delivery(message.reply)
        if delivery is None or delivery.consumer != self._consumer or delivery.tries > 1:
            return
        subject, header = delivery.subject or message.subject, message.header
        found = StoredMessage(delivery.stream_seq, subject, header, message.body, delivery.time)
        self._accept([found], delivery.consumer_seq, delivery.pending)

    def _arrived_together(self, run: DeliveredRun) -> None:
        if self._subscription is None:
            return
        self.last_active = self._clock.now()
        reply = read_delivery(f"{run.ack_prefix}1.1.1.1")
        if reply is not None and reply.consumer == self._consumer:
            self._accept(run.messages, run.number, run.pending)

    def _accept(self, messages: Sequence[StoredMessage], number: int, pending: int) -> None:
        """Take deliveries of our consumer that follow one another, unless they are not what comes next.

        A gap leads to a new consumer. number: of the first delivery. pending: as in `take`.
        """
        known = sum(1 for message in messages if message.seq <= self.copied)
        if number == self._delivered + 1:
            self._delivered += known
        if known == len(messages):
            return
        if number + known != self._delivered + 1:
            if number + known > self._delivered:
                self.retry()
            return
        before = self._delivered
        self._delivered, self.copied = number + len(messages) - 1, messages[-1].seq
        self.lag = max(pending - 1, 0)
        if self._stalls:
            self._stalls, self.error = 0, None
        try:
            self.take(*as_copied(messages[known:], self.transforms), pending)
        except ApiError as error:
            self._delivered = before
            self.retry(error)

    def _control(self, message: Message) -> None:
        if message.reply:
            self._answer_flow(message.reply)
            return
        last = headers.get(message.header, b"Nats-Last-Consumer")
        if last is not None and last.isdigit() and int(last) > 0 and int(last) != self._delivered:
            self.retry()
            return
        stalled = headers.get(message.header, b"Nats-Consumer-Stalled")
        if not stalled:
            return
        self._stalls += 1
        if self._stalls < MOST_STALLS:
            self._answer_flow(stalled.decode("utf-8", "replace"))
        else:
            # The answers do not arrive (an import may be missing). A new consumer has a fresh window.
            self.retry(STALLED)

    def _answer_flow(self, reply: str) -> None:
        """Answer flow control, which lets the origin send more, once all that came so far is on disk."""
        seen = {"Nats-Last-Consumer": str(self._delivered), "Nats-Last-Stream": str(self.copied)}
        reply = reply.split("@", 1)[0]

        def done(error: BaseException | None) -> None:
            if error is None and not self._stopped:
                # The origin chose the subject, so our own authority serves only for flow control subjects.
                own = reply.startswith(FLOW_CONTROL)
                self._account.publish(reply, b"", header=headers.encode(seen), own=own)

        self.target.when_safe(done)

    # --- its info

    def info(self) -> StreamSourceInfo:
        """Return its state as StreamInfo shows it."""
        return StreamSourceInfo(
            name=self.source.name,
            external=self.source.external,
            lag=self.lag,
            active=self._clock.now() - self.last_active if self.last_active else -1,
            error=self.error,
            filter_subject=self.source.filter_subject,
            subject_transforms=list(self.source.subject_transforms),
        )
