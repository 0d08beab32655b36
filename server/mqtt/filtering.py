"""Filtering: what one MQTT client subscribes to and is sent.

Promises that a filter is granted only when it can be kept, that a message goes out with no more than the QoS
that was granted, and that topics beginning with `$` are not for filters beginning with a wildcard.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..accounts.subscription import ConnectionKind
from ..connection.connection_part import ConnectionPart
from ..jetstream.streams.origin_request import read_delivery
from . import packets, records, sparkplug
from .flow import Flow
from .peer import MQTTPeer
from .requests import JetStreamAnswerError
from .session import most_pending
from .subscriptions import FilterSubscription, FilterSubscriptions, Role
from .topics import TopicError, level_above, to_subject, to_topic

if TYPE_CHECKING:
    from ..accounts.subscription import RoutedMessage, Subscription
    from .packets import Filters
    from .records import RetainedMessage

_ABOVE = " fwc"  # after the name of the subscription of the level above a `#`
_ACK = b"$JS.ACK."
_MILLISECOND = 1_000_000
_TURN = 16  # filters that are served before others have their turn
_MOST_RETAINED = 64  # messages that are loaded at once
_SHARE = 8  # of what may be pending: these may take so much of it


class Filtering(ConnectionPart[MQTTPeer]):
    """What one client subscribes to."""

    __slots__ = ("_subscriptions",)

    def __init__(self, connection: MQTTPeer, subscriptions: FilterSubscriptions) -> None:
        super().__init__(connection)
        self._subscriptions = subscriptions

    # --- SUBSCRIBE and UNSUBSCRIBE

    def subscribe(self, packet: Filters) -> Flow[None]:
        """Serve a SUBSCRIBE. Raises JetStreamAnswerError if the session cannot be stored."""
        connection = self._connection
        _, session, _ = connection.joined
        codes: list[int] = []
        added: list[FilterSubscription] = []
        changed = False
        for number, (topic, qos) in enumerate(packet.filters, 1):
            subject = self._subject(topic)
            granted = min(qos, 1) if connection.block.downgrade_qos2_subscribe else qos
            found = (yield from self._add(subject, granted)) if subject else []
            codes.append(granted if found else packets.FAILURE)
            if found:
                added += found
                changed = changed or session.subscriptions.get(subject) != granted
                session.subscriptions[subject] = granted
            if not number % _TURN:
                yield connection.rest
        if connection.closed_reason:
            return
        if changed:
            yield from session.save()
        connection.send_packet(packets.suback(packet.packet_id, codes))
        for one in added:
            yield from self._send_retained(one)

    def unsubscribe(self, packet: Filters) -> Flow[None]:
        """Serve an UNSUBSCRIBE. Raises JetStreamAnswerError if the session cannot be stored."""
        connection = self._connection
        _, session, _ = connection.joined
        changed = False
        for number, (topic, _) in enumerate(packet.filters, 1):
            subject = self._subject(topic)
            if not number % _TURN:
                yield connection.rest
            for name in (subject, level_above(subject) + _ABOVE):
                self._end(name)
            changed = session.subscriptions.pop(subject, None) is not None or changed
        if changed:
            yield from session.save()
        connection.send_packet(packets.answer(packets.UNSUBACK, packet.packet_id))

    def restore(self) -> Flow[None]:
        """Subscribe to what the session has from before."""
        connection = self._connection
        _, session, _ = connection.joined
        for number, (subject, qos) in enumerate(list(session.subscriptions.items()), 1):
            if not number % _TURN:
                yield connection.rest
            found = yield from self._add(subject, qos, again=True)
            if connection.closed_reason:
                return
            if not found:
                connection.context.log.error(f'{connection} - filter "{subject}" could not be restored')

    def _subject(self, topic: str) -> str:
        """Return the subject of a filter, "" if there is none or it is not for clients."""
        connection = self._connection
        try:
            subject = to_subject(topic, wildcards=True)
        except TopicError as error:
            why = str(error)
        else:
            return "" if subject.startswith(records.OWN) else subject
        connection.context.log.error(f'{connection} - invalid topic "{topic}": {why}')
        return ""

    def _add(self, subject: str, qos: int, *, again: bool = False) -> Flow[list[FilterSubscription]]:
        """Subscribe to a subject, and to the level above if it ends in `#`.

        Return nothing if one of them is refused. again: whether this is a filter of the session.
        """
        names = [(subject, subject)]
        if level_above(subject):
            names.append((level_above(subject), level_above(subject) + _ABOVE))
        found: list[FilterSubscription] = []
        try:
            if qos == 2:
                yield from self._ensure_pubrel()
            for one, name in names:
                found.append(self._live(one, name, qos))
                yield from self._stored(one, name, qos, again=again)
        except JetStreamAnswerError as error:
            why = str(error)
        else:
            return found
        connection = self._connection
        connection.context.log.error(f'{connection} - subscription to "{subject}" failed: {why}')
        if not again:
            for _, name in names:
                self._end(name)
        return []

    def _live(self, subject: str, name: str, qos: int) -> FilterSubscription:
        """Subscribe to messages as they are published."""
        found = self._subscriptions.get(name)
        if found is None:
            found = FilterSubscription(subject, self._connection, Role.LIVE, name, qos)
            self._subscribed(found)
        found.qos = qos
        return found

    def _subscribed(self, subscription: FilterSubscription) -> None:
        if self._connection.closed_reason:
            raise JetStreamAnswerError("the client is gone")
        why = self._subscriptions.add(subscription)
        if why:
            raise JetStreamAnswerError(why)

    def _stored(self, subject: str, name: str, qos: int, *, again: bool) -> Flow[None]:
        """Have a consumer for a filter with QoS 1 or 2, and none with QoS 0."""
        connection = self._connection
        _, session, _ = connection.joined
        config = session.consumers.get(name)
        if not qos:
            self._end_consumer(name)
            return
        if config is None:
            why = session.room(connection.block)
            if why:
                raise JetStreamAnswerError(why)
            config = session.new_consumer(subject, connection.block)
            yield from session.create(records.MESSAGES, config)
            session.consumers[name] = config
        elif again and config.get("inactive_threshold"):
            yield from session.create(records.MESSAGES, config)  # it may have ended meanwhile
        inbox = config["deliver_subject"]
        found = self._subscriptions.get(inbox)
        if found is None:
            found = FilterSubscription(inbox, connection, Role.STORED, inbox, qos, config["durable_name"])
            found.reserved = self._is_reserved(name)
            self._subscribed(found)
        found.qos = qos

    def _is_reserved(self, name: str) -> bool:
        live = self._subscriptions.get(name)
        return live is not None and live.reserved

    def _ensure_pubrel(self) -> Flow[None]:
        connection = self._connection
        _, session, _ = connection.joined
        inbox = records.PUBREL_DELIVERIES + session.hash
        yield from session.ensure_pubrel(connection.block)
        if self._subscriptions.get(inbox) is None:
            self._subscribed(FilterSubscription(inbox, connection, Role.PUBREL, inbox, 2))

    def _end(self, name: str) -> None:
        self._end_consumer(name)
        self._subscriptions.end(name)

    def _end_consumer(self, name: str) -> None:
        _, session, _ = self._connection.joined
        config = session.end_consumer(name)
        if config is not None:
            self._subscriptions.end(config["deliver_subject"])

    # --- what it is sent

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        """Send a message to the client, if it is for it. Return False if it was not taken."""
        filtered = subscription.parent or subscription
        if not isinstance(filtered, FilterSubscription):
            return False
        filtered.delivered += 1
        if filtered.role is Role.PUBREL:
            self._send_pubrel(msg)
        elif filtered.role is Role.STORED:
            self._send_stored(filtered, msg)
        else:
            subject = msg.shown or msg.subject
            if subscription.transform is not None and not msg.shown:
                subject = subscription.shown(subject.decode("utf-8", "surrogateescape"))
            self._send_live(filtered, msg, subject, imported=subscription.parent is not None)
        return True

    def _send_live(
        self, subscription: FilterSubscription, msg: RoutedMessage, subject: bytes, *, imported: bool
    ) -> None:
        """Send a message as it is published, with QoS 0, unless a consumer will bring it."""
        if msg.source.kind is ConnectionKind.INTERNAL and msg.reply.startswith(_ACK):
            return
        stored = subscription.qos and not imported and records.published_qos(msg.header)
        if stored or not self._is_for(subscription, subject):
            return
        self._send_now(subject, msg.body, 0, 0)

    def _is_for(self, subscription: FilterSubscription, subject: bytes) -> bool:
        if subscription.reserved and subject.startswith(b"$"):
            return False
        permissions = self._connection.client_permissions
        return not permissions.denies or permissions.may_receive(
            subject.decode("utf-8", "surrogateescape"), ""
        )

    def _send_stored(self, subscription: FilterSubscription, msg: RoutedMessage) -> None:
        """Send a message that a consumer delivers."""
        connection = self._connection
        sessions, session, _ = connection.joined
        reply = msg.reply.decode("utf-8", "surrogateescape")
        shown = msg.shown or msg.subject
        subject = shown.removeprefix(records.MESSAGES_PREFIX.encode())
        delivery = read_delivery(reply)
        if subject == shown or delivery is None or session.client is not connection:
            return
        qos = min(records.published_qos(msg.header), subscription.qos)
        if not qos or not self._is_for(subscription, subject):
            sessions.requests.tell(reply)
            return
        most = most_pending(connection.block)
        packet_id = session.track(subscription.consumer, delivery.stream_seq, reply, most)
        if packet_id:
            dup = packets.DUP if delivery.tries > 1 else 0
            self._send_now(subject, msg.body, qos << 1 | dup, packet_id)

    def _send_pubrel(self, msg: RoutedMessage) -> None:
        connection = self._connection
        _, session, _ = connection.joined
        reply = msg.reply.decode("utf-8", "surrogateescape")
        delivery, packet_id = read_delivery(reply), records.read_pubrel(msg.header)
        if packet_id and delivery is not None and session.client is connection:
            session.await_complete(packet_id, reply, delivery.stream_seq)
            connection.send_packet(packets.answer(packets.PUBREL, packet_id))

    def _send_retained(self, subscription: FilterSubscription) -> Flow[None]:
        """Send the retained messages that match a new subscription, no faster than the client reads."""
        connection = self._connection
        sessions, _, _ = connection.joined
        options = connection.context.options
        step = options.max_pending // _SHARE // max(options.max_payload, 1)
        step = max(1, min(step, _MOST_RETAINED))
        subjects = yield from sessions.retained.matching(subscription.subject, connection.rest)
        for start in range(0, len(subjects), step):
            found = yield from sessions.retained.load(subjects[start : start + step])
            if connection.closed_reason or subscription.closed:
                return
            for subject, message in found.items():
                self._send_one_retained(subscription, subject.encode(), message)
            yield connection.caught_up

    def _send_one_retained(
        self, subscription: FilterSubscription, subject: bytes, message: RetainedMessage
    ) -> None:
        connection = self._connection
        _, session, _ = connection.joined
        qos = min(message.qos, subscription.qos)
        if not self._is_for(subscription, subject) or (qos == 2 and connection.block.reject_qos2_publish):
            return
        packet_id = session.track_retained(subscription.sid.decode()) if qos else 0
        flags = packets.RETAIN | (qos << 1 if packet_id else 0)
        self._send(subject, message.payload, flags, packet_id)

    def _send_now(self, subject: bytes, payload: bytes, flags: int, packet_id: int) -> None:
        """Send a message that is not retained, or only as a certificate of Sparkplug, at its time."""
        kind = sparkplug.about(to_topic(subject))
        if kind.birth and kind.certificate and not packet_id:
            flags |= packets.RETAIN
        elif kind.death and not kind.certificate:
            payload = sparkplug.with_time(payload, self._connection.clock.now() // _MILLISECOND)
        self._send(subject, payload, flags, packet_id)

    def _send(self, subject: bytes, payload: bytes, flags: int, packet_id: int) -> None:
        connection, topic = self._connection, to_topic(subject)
        connection.send_message(
            packets.publish_lead(topic, len(payload), flags, packet_id), payload, len(payload)
        )
        if connection.context.options.trace:
            shown = topic.decode("utf-8", "replace")
            line = f"PUBLISH {shown} QoS={flags >> 1 & 3} size={len(payload)}"
            connection.context.log.trace(f"{connection} - ->> [{line}]")

    # --- what it answers

    def received(self, packet_id: int) -> None:
        """Serve a PUBACK."""
        connection = self._connection
        sessions, session, _ = connection.joined
        sessions.requests.tell(session.received(packet_id))

    def half_received(self, packet_id: int) -> Flow[None]:
        """Serve a PUBREC: store the PUBREL, which is sent until there is a PUBCOMP.

        Raises JetStreamAnswerError if it cannot be stored.
        """
        sessions, session, _ = self._connection.joined
        session.await_complete(packet_id)
        ack = session.received(packet_id)
        subject, header = records.PUBREL_PREFIX + session.hash, records.pubrel_header(packet_id)
        answer: Any = yield sessions.requests.store(subject, header, b"")
        if isinstance(answer, JetStreamAnswerError):
            raise answer
        sessions.requests.tell(ack)

    def completed(self, packet_id: int) -> None:
        """Serve a PUBCOMP."""
        connection = self._connection
        sessions, session, _ = connection.joined
        sessions.requests.tell(session.completed(packet_id))
