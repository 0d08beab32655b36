"""Session: what is kept of one client id, connected or not: filters, consumers, and what awaits an answer.

Packet ids belong to the session: a message that is sent again after the client came back has the same id, as
long as this server runs. Promises that at most `max_ack_pending` messages await a PUBACK or PUBREC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...protocol.identifier import name_hash
from . import records
from .flow import Flow, Resume
from .records import SessionRecord
from .requests import JetStreamAnswerError, Requests

if TYPE_CHECKING:
    from ..config.options import MQTTOptions

_PACKET_IDS = 0xFFFF
MOST_ACK_PENDING = 0xFFFF  # of all subscriptions of a session together


class SessionClient(Protocol):
    """The connection of a session's client."""

    closed_reason: str

    def replace(self) -> None:
        """Close without a will: another client has come with the same id."""


class _Pending(NamedTuple):
    """A message that awaits the client's answer.

    consumer: its consumer, or what stands for one; with `seq`, by which the message is known again.
    ack: where to acknowledge it, "" if there is nobody to tell.
    """

    consumer: str
    seq: int
    ack: str


class Session:
    """One session.

    client: the connection that has it now, None while the client is away.
    clean: whether it ends with the connection.
    seq: where it is stored in its stream; 0 if it is not.
    subscriptions: the granted QoS by filter, as a subject.
    consumers, pubrel: see `records.SessionRecord`.
    releasing: the packet ids of QoS 2 messages that are being passed on, with those who wait for the same.
    """

    def __init__(self, client_id: str, requests: Requests, token: str) -> None:
        """`token` is the JetStream domain with a dot, or "": it stands in the subject of the session."""
        self.client_id = client_id
        self.hash = name_hash(client_id)
        self.client: SessionClient | None = None
        self.clean = False
        self.seq = 0
        self.subscriptions: dict[str, int] = {}
        self.consumers: dict[str, dict[str, Any]] = {}
        self.pubrel: dict[str, Any] | None = None
        self.releasing: dict[int, list[Resume]] = {}
        self._requests = requests
        self._subject = f"{records.SESSIONS_PREFIX}{token}{self.hash}"
        self._last_id = 0
        self._messages: dict[int, _Pending] = {}
        self._pubrels: dict[int, _Pending] = {}
        self._ids: dict[tuple[str, int], int] = {}  # packet ids by consumer and sequence

    @property
    def stored_at(self) -> str:
        """The subject that it is stored under."""
        return self._subject

    def restore(self, record: SessionRecord, seq: int) -> None:
        """Become what was stored at `seq`."""
        self.seq, self.clean = seq, record.clean
        self.subscriptions, self.consumers, self.pubrel = (
            record.subscriptions,
            record.consumers,
            record.pubrel,
        )

    def save(self) -> Flow[None]:
        """Store it. Raises JetStreamAnswerError, if another server has stored the same session, too."""
        record = SessionRecord(self.client_id, self.clean, self.subscriptions, self.consumers, self.pubrel)
        header = b""
        if self.seq:
            header = b"NATS/1.0\r\nNats-Expected-Last-Subject-Sequence:%d\r\n\r\n" % self.seq
        body = records.session_body(record, self._requests.node)
        answer = yield from self._requests.store_session(self._subject, self.hash, header, body)
        self.seq = int(answer.get("seq", 0))

    def clear(self, *, wait: bool) -> Flow[None]:
        """End its consumers and its record; the object can be used again.

        wait: whether to wait for the answers; then it raises JetStreamAnswerError.
        """
        ended = [f"{records.MESSAGES}.{one['durable_name']}" for one in self.consumers.values()]
        if self.pubrel is not None:
            ended.append(f"{records.QOS2_OUT}.{self.pubrel['durable_name']}")
        seq, self.seq = self.seq, 0
        self.subscriptions, self.consumers, self.pubrel = {}, {}, None
        self._messages, self._pubrels, self._ids = {}, {}, {}
        self._last_id = 0
        for name in ended:
            yield from self._end("CD", f"CONSUMER.DELETE.{name}", None, wait=wait)
        if seq:
            body = {"seq": seq, "no_erase": True}
            yield from self._end("MD", f"STREAM.MSG.DELETE.{records.SESSIONS}", body, wait=wait)

    def _end(self, kind: str, name: str, body: dict[str, Any] | None, *, wait: bool) -> Flow[None]:
        if not wait:
            self._requests.tell_api(name, body)
            return
        try:
            yield from self._requests.api(kind, name, body)
        except JetStreamAnswerError as error:
            if not error.err_code:  # nobody answered; otherwise it was gone already
                raise

    # --- consumers

    def room(self, options: MQTTOptions) -> str:
        """Return why it may have no further consumer; "" if it may."""
        configs = [*self.consumers.values(), *([self.pubrel] if self.pubrel is not None else [])]
        after = sum(int(one.get("max_ack_pending", 0)) for one in configs) + most_pending(options)
        if after <= MOST_ACK_PENDING:
            return ""
        text = f"max_ack_pending for all consumers would be {after}"
        return f"{text} which exceeds the limit of {MOST_ACK_PENDING}"

    def ensure_pubrel(self, options: MQTTOptions) -> Flow[None]:
        """Make the consumer of PUBRELs, if there is none. Raises JetStreamAnswerError."""
        if self.pubrel is not None:
            return
        why = self.room(options)
        if why:
            raise JetStreamAnswerError(why)
        config = consumer_config(
            options,
            deliver_subject=records.PUBREL_DELIVERIES + self.hash,
            durable_name=records.PUBREL_DURABLE + self.hash,
            filter_subject=records.PUBREL_PREFIX + self.hash,
        )
        yield from self.create(records.QOS2_OUT, config)
        self.pubrel = config

    def new_consumer(self, subject: str, options: MQTTOptions) -> dict[str, Any]:
        """Return the configuration of a consumer for the messages that match `subject`."""
        new_id = self._requests.new_id
        return consumer_config(
            options,
            deliver_subject=records.DELIVERIES + new_id(),
            durable_name=f"{self.hash}_{new_id()}",
            filter_subject=records.MESSAGES_PREFIX + subject,
        )

    def create(self, stream: str, config: dict[str, Any]) -> Flow[None]:
        """Create a consumer. Raises JetStreamAnswerError."""
        body = {"stream_name": stream, "config": config}
        yield from self._requests.api(
            "CC", f"CONSUMER.DURABLE.CREATE.{stream}.{config['durable_name']}", body
        )

    def end_consumer(self, name: str) -> dict[str, Any] | None:
        """End the consumer of one subscription, and what is pending of it. Return its configuration."""
        config = self.consumers.pop(name, None)
        if config is not None:
            durable = config["durable_name"]
            self._requests.tell_api(f"CONSUMER.DELETE.{records.MESSAGES}.{durable}")
            for key, packet_id in list(self._ids.items()):
                if key[0] in (durable, _retained(name)):
                    del self._ids[key]
                    self._messages.pop(packet_id, None)
        return config

    # --- packet ids

    def _new_id(self) -> int:
        """Return a free packet id, 0 if there is none."""
        taken = len(self._messages) + len(self._pubrels)
        if taken >= _PACKET_IDS:
            return 0
        following = self._last_id
        while True:
            following = following % _PACKET_IDS + 1
            if following not in self._messages and following not in self._pubrels:
                self._last_id = following
                return following

    def track(self, consumer: str, seq: int, ack: str, most: int) -> int:
        """Return the packet id for a message that is sent, 0 if it may not be sent now."""
        packet_id = self._ids.get((consumer, seq), 0)
        if packet_id in self._pubrels:
            return 0  # the client has it already, and awaits its PUBREL
        if not packet_id:
            if len(self._messages) >= most:
                return 0
            packet_id = self._new_id()
            if not packet_id:
                return 0
            self._ids[consumer, seq] = packet_id
        self._messages[packet_id] = _Pending(consumer, seq, ack)
        return packet_id

    def track_retained(self, name: str) -> int:
        """Return the packet id for a retained message to the subscription `name`, 0 if there is none free."""
        packet_id = self._new_id()
        if packet_id:
            consumer = _retained(name)
            self._ids[consumer, packet_id] = packet_id
            self._messages[packet_id] = _Pending(consumer, packet_id, "")
        return packet_id

    def received(self, packet_id: int) -> str:
        """Forget a message that the client has. Return where to acknowledge it, "" if nobody awaits that."""
        return self._forget(self._messages, packet_id)

    def await_complete(self, packet_id: int, ack: str = "", seq: int = 0) -> None:
        """Take note that the client has a QoS 2 message and awaits, or is sent, its PUBREL."""
        if self.pubrel is not None:
            consumer = self.pubrel["durable_name"]
            if seq:
                self._ids[consumer, seq] = packet_id
            self._pubrels[packet_id] = _Pending(consumer, seq, ack)

    def send_again(self) -> None:
        """Have sent again at once what the client, who is back, has not answered."""
        for pending in (*self._messages.values(), *self._pubrels.values()):
            if pending.ack:
                self._requests.tell(pending.ack, b"-NAK")

    def completed(self, packet_id: int) -> str:
        """Forget a PUBREL that the client has. Return where to acknowledge it."""
        return self._forget(self._pubrels, packet_id)

    def _forget(self, pending: dict[int, _Pending], packet_id: int) -> str:
        one = pending.pop(packet_id, None)
        if one is None:
            return ""
        self._ids.pop((one.consumer, one.seq), None)
        return one.ack


def _retained(name: str) -> str:
    """Return what stands for the consumer of retained messages, which have none."""
    return f"{records.RETAINED}/{name}"


def most_pending(options: MQTTOptions) -> int:
    """Return how many messages of a subscription may await an answer."""
    return options.max_ack_pending or 1024


def consumer_config(options: MQTTOptions, **subjects: str) -> dict[str, Any]:
    """Return the configuration of a consumer, with these names and subjects."""
    config: dict[str, Any] = dict(subjects) | {
        "deliver_policy": "new",
        "ack_policy": "explicit",
        "ack_wait": options.ack_wait,
        "max_ack_pending": most_pending(options),
        "replay_policy": "instant",
    }
    if options.consumer_inactive_threshold:
        config["inactive_threshold"] = options.consumer_inactive_threshold
    if options.consumer_memory_storage:
        config["mem_storage"] = True
    return config
