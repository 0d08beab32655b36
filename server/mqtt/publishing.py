"""Publishing: what one MQTT client publishes, until it has its PUBACK, PUBREC or PUBCOMP.

Promises that the answer is sent when the message is stored, that answers have the order of the packets, and
that only so many packets wait for theirs: nothing more is read meanwhile. A QoS 2 message is in the stream of
messages before it is removed from that of incoming ones; if a server dies between the two, its id keeps it
from coming twice.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ...protocol.errors import PeerError
from ...protocol.quoting import quoted
from ...protocol.wire import encode
from ..accounts.plan import RESERVED
from ..accounts.routing import route
from ..accounts.subscription import RoutedMessage
from ..connection.connection_part import ConnectionPart
from . import packets, records, sparkplug
from .flow import Flow, Resume, Wait, run, together
from .parser import TOO_LARGE
from .peer import MQTTPeer
from .records import RetainedMessage
from .requests import NO_MESSAGE, STORE_FAILED, JetStreamAnswerError
from .retained import stored
from .topics import TopicError, to_subject, to_topic

if TYPE_CHECKING:
    from .packets import PublishPacket, Will

_MOST_WAITING = 256  # packets that wait for their answers
_MOST_BYTES = 4 << 20  # of their payloads
_FULL = "maximum messages per subject exceeded"


class MappedPublish(NamedTuple):
    """A message to publish. mapped: its subject before that was mapped, "" if it was not."""

    subject: str
    mapped: str
    payload: bytes
    qos: int
    retain: bool


class _Answer:
    """The answer to a packet with a payload of `size` bytes. ready: whether it may be sent."""

    __slots__ = ("packet", "ready", "size")

    def __init__(self, packet: bytes, size: int = 0) -> None:
        self.packet = packet
        self.size = size
        self.ready = False


class Publishing(ConnectionPart[MQTTPeer]):
    """What one client publishes."""

    __slots__ = ("_answers", "_full", "_size")

    def __init__(self, connection: MQTTPeer) -> None:
        super().__init__(connection)
        self._answers: deque[_Answer] = deque()
        self._full = False
        self._size = 0  # bytes of the payloads that wait

    def publish(self, packet: PublishPacket) -> None:
        """Serve a PUBLISH. Raises PeerError."""
        connection = self._connection
        qos = packet.qos
        if qos == 2 and connection.block.reject_qos2_publish:
            raise packets.broken("QoS=2 is disabled for PUBLISH messages")
        publication = self._publication(packet.topic, packet.payload, qos, retain=packet.retain)
        if publication is None:  # lost by a mapping
            self._answer_when(packet, [])
            return
        if qos == 2:
            self._check_size(self._incoming_header(publication), packet.payload)
            self._answer_when(packet, [self._store_incoming(publication, packet.packet_id)])
            return
        self._check_size(records.message_header(qos), packet.payload)
        waits = self._deliver(publication)
        if qos or waits:
            self._answer_when(packet, waits)

    def publish_will(self, will: Will) -> None:
        """Publish what a client that is gone has left."""
        try:
            publication = self._publication(will.topic, will.payload, will.qos, retain=will.retain)
        except PeerError:
            return
        if publication is not None:
            for wait in self._deliver(publication):
                wait(lambda answer: None)

    def release(self, packet_id: int) -> None:
        """Serve a PUBREL: publish the QoS 2 message that waits for it."""
        packet = packets.answer(packets.PUBCOMP, packet_id)
        self._wait_for(_Answer(packet), partial(_start, self._release(packet_id)))

    # --- before it is stored

    @staticmethod
    def check_topic(topic: str) -> None:
        """Raise PeerError for a topic that nothing can be published to."""
        try:
            to_subject(topic)
        except TopicError as error:
            raise packets.broken(str(error)) from None

    def _publication(self, topic: str, payload: bytes, qos: int, *, retain: bool) -> MappedPublish | None:
        """Return what to publish, None if a mapping loses it. Raises PeerError."""
        self.check_topic(topic)
        subject = to_subject(topic)
        account = self._connection.account
        assert account is not None
        if account.mappings.empty or account.plan(subject.encode()).mapping is None:
            return MappedPublish(subject, "", payload, qos, retain)
        mapped = account.mapped(subject)
        return None if mapped is None else MappedPublish(mapped, subject, payload, qos, retain)

    def _check_size(self, header: bytes, payload: bytes) -> None:
        most = self._connection.parser.max_payload
        if 0 <= most < len(header) + len(payload):
            raise PeerError("", reason=TOO_LARGE)

    def _incoming_header(self, publication: MappedPublish) -> bytes:
        flags = publication.qos << 1 | (packets.RETAIN if publication.retain else 0)
        return records.incoming_header(publication.qos, flags, publication.subject, publication.mapped)

    def _store_incoming(self, publication: MappedPublish, packet_id: int) -> Wait:
        sessions, _, _ = self._connection.joined
        header = self._incoming_header(publication)
        wait = sessions.requests.store(self._incoming_subject(packet_id), header, publication.payload)

        def stored_once(resume: Resume) -> None:
            wait(lambda answer: resume(None if _is_there(answer) else answer))

        return stored_once

    def _incoming_subject(self, packet_id: int) -> str:
        return f"{records.QOS2_IN_PREFIX}{self._connection.mqtt_client}.{packet_id}"

    # --- to those who receive it

    def _deliver(self, publication: MappedPublish, message_id: str = "") -> list[Wait]:
        """Send a message to those who are there, and return waits until it is stored for the others.

        message_id: by which the stream knows it again. A message that is not allowed is dropped, and logged.
        """
        connection = self._connection
        sessions, _, account = connection.joined
        subject, qos, payload = publication.subject, publication.qos, publication.payload
        raw = subject.encode()
        if raw.startswith(RESERVED) or not connection.client_permissions.may_publish(subject):
            connection.violation(f"Permissions Violation for Publish to {quoted(subject)}")
            return []
        waits = self._retained(publication)
        header = records.message_header(qos)
        size = len(header) + len(payload)
        tail = encode.tail(b"", header, payload)
        connection.count_message(size)
        route(account.plan(raw), RoutedMessage(connection, raw, b"", len(header), size, tail))
        account.flusher.schedule()
        if qos:
            header = records.message_header(qos, message_id)
            waits.append(sessions.requests.store(records.MESSAGES_PREFIX + subject, header, payload))
        return waits

    def _retained(self, publication: MappedPublish) -> list[Wait]:
        """Return a wait until what is to be retained of a message is, if anything.

        Of a birth of Sparkplug that is its certificate, if it is not retained itself.
        """
        topic = to_topic(publication.subject.encode())
        kind = sparkplug.about(topic)
        if not kind.birth or kind.certificate:
            return [self._retain(publication)] if publication.retain else []
        if publication.retain:
            return []
        subject = to_subject(sparkplug.certificate_topic(topic).decode())
        if publication.payload:
            self._connection.joined[0].requests.tell(subject, publication.payload)
        return [self._retain(publication._replace(subject=subject))]

    def _retain(self, publication: MappedPublish) -> Wait:
        """Return a wait until the message is retained. That it cannot be is logged."""
        connection = self._connection
        sessions, _, _ = connection.joined
        user = connection.options.user
        topic = to_topic(publication.subject.encode())
        message = RetainedMessage(topic, publication.payload, publication.qos, sessions.requests.node, user)
        wait = sessions.retained.store(publication.subject, message)
        log, who = connection.context.log, str(connection)

        def logged(resume: Resume, answer: Any) -> None:
            if isinstance(answer, JetStreamAnswerError):
                log.error(f'{who} - unable to store retained message for "{publication.subject}": {answer}')
            resume(None)

        return lambda resume: wait(partial(logged, resume))

    def _release(self, packet_id: int) -> Flow[JetStreamAnswerError | None]:
        """Publish a QoS 2 message, once, however often its PUBREL comes. Return why not."""
        _, session, _ = self._connection.joined
        others = session.releasing.get(packet_id)
        if others is not None:
            problem: JetStreamAnswerError | None = yield others.append
            return problem
        session.releasing[packet_id] = []
        problem = None
        try:
            yield from self._pass_on(packet_id)
        except JetStreamAnswerError as error:
            problem = error
        for resume in session.releasing.pop(packet_id):
            resume(problem)
        return problem

    def _pass_on(self, packet_id: int) -> Flow[None]:
        connection = self._connection  # kept alive until the message is passed on
        sessions, _, _ = connection.joined
        api = sessions.requests.api
        body: dict[str, Any] = {"last_by_subj": self._incoming_subject(packet_id)}
        try:
            answer = yield from api("ML", f"STREAM.MSG.GET.{records.QOS2_IN}", body)
        except JetStreamAnswerError as error:
            if error.err_code == NO_MESSAGE:
                return  # it was passed on before
            raise
        seq = answer["message"]["seq"]
        header, payload = stored(answer)
        incoming = records.read_incoming(header)
        if incoming is None:
            raise JetStreamAnswerError(f"invalid message in stream {records.QOS2_IN} at {seq}")
        publication = MappedPublish(incoming.subject, "", payload, incoming.qos, incoming.retain)
        message_id = f"{connection.mqtt_client}.{packet_id}.{seq}"
        for found in (yield together(self._deliver(publication, message_id))):
            if isinstance(found, JetStreamAnswerError):
                raise found
        try:
            yield from api("MD", f"STREAM.MSG.DELETE.{records.QOS2_IN}", {"seq": seq, "no_erase": True})
        except JetStreamAnswerError as error:
            if not error.err_code:  # nobody answered; otherwise it is gone already
                raise

    # --- answers, in order

    def _answer_when(self, packet: PublishPacket, waits: list[Wait]) -> None:
        kind = {1: packets.PUBACK, 2: packets.PUBREC}.get(packet.qos)
        answer = _Answer(b"" if kind is None else packets.answer(kind, packet.packet_id), len(packet.payload))
        self._wait_for(answer, together(waits))

    def _wait_for(self, answer: _Answer, wait: Wait) -> None:
        connection = self._connection
        self._answers.append(answer)
        self._size += answer.size
        wait(partial(_served, connection, self, answer))
        if self._waiting_share >= 1 and not self._full:
            self._full = True
            connection.pause()

    @property
    def _waiting_share(self) -> float:
        """How much of what may wait for answers does so."""
        return max(len(self._answers) / _MOST_WAITING, self._size / _MOST_BYTES)

    def send_ready(self, answer: _Answer, problem: JetStreamAnswerError | None) -> None:
        """Send the answers that may be sent now. A client whose message was not stored is closed."""
        connection = self._connection
        if connection.closed_reason:
            return
        if problem is not None:
            connection.context.log.error(f"{connection} - {problem}")
            connection.close("Protocol Violation")
            return
        answer.ready = True
        answers = self._answers
        while answers and answers[0].ready:
            first = answers.popleft()
            self._size -= first.size
            if first.packet:
                connection.send_packet(first.packet)
        if self._full and self._waiting_share <= 0.5:
            self._full = False
            connection.clock.soon(connection.resume)


def _start(flow: Flow[Any], resume: Resume) -> None:
    run(flow, resume)


def _served(connection: MQTTPeer, publishing: Publishing, answer: _Answer, found: Any) -> None:
    """Send an answer, unless what it waited for has failed. Keeps the connection as long as that takes."""
    del connection
    problems = [one for one in (found if isinstance(found, list) else [found]) if one is not None]
    problem = next((one for one in problems if isinstance(one, JetStreamAnswerError)), None)
    publishing.send_ready(answer, problem)


def _is_there(answer: Any) -> bool:
    """Return whether a QoS 2 message is stored, now or by an earlier packet of the same id."""
    if not isinstance(answer, JetStreamAnswerError):
        return True
    return answer.err_code == STORE_FAILED and _FULL in str(answer)
