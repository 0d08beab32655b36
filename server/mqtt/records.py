"""What MQTT keeps in JetStream, in nats-server's form: messages, retained messages, sessions, PUBRELs. Pure.

Servers of both kinds read each other's records, so a change here breaks what is stored. Source: nats-server's
server/mqtt.go: mqttNewDeliverableMessage, mqttEncodeRetainedMessage, mqttPersistedSession.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final, NamedTuple

from ...protocol import gojson, headers
from .packets import RETAIN

MESSAGES: Final = "$MQTT_msgs"
RETAINED: Final = "$MQTT_rmsgs"
SESSIONS: Final = "$MQTT_sess"
QOS2_IN: Final = "$MQTT_qos2in"
QOS2_OUT: Final = "$MQTT_out"
MESSAGES_PREFIX: Final = "$MQTT.msgs."
RETAINED_PREFIX: Final = "$MQTT.rmsgs."
SESSIONS_PREFIX: Final = "$MQTT.sess."
QOS2_IN_PREFIX: Final = "$MQTT.qos2.in."
QOS2_OUT_PREFIX: Final = "$MQTT.out."
PUBREL_PREFIX: Final = "$MQTT.out.pubrel."
PUBREL_DELIVERIES: Final = "$MQTT.deliver.pubrel."
PUBREL_DURABLE: Final = "$MQTT_PUBREL_"
DELIVERIES: Final = "$MQTT.sub."
OWN: Final = "$MQTT."

_QOS = b"Nmqtt-Pub"
_SUBJECT = b"Nmqtt-Subject"
_MAPPED = b"Nmqtt-Mapped"
_PUBREL = b"Nmqtt-PubRel"
_TOPIC = b"Nmqtt-RTopic"
_FLAGS = b"Nmqtt-RFlags"
_ORIGIN = b"Nmqtt-ROrigin"
_SOURCE = b"Nmqtt-RSource"
_DELETED = b"-"  # before the flags of a retained message that ends the one before


def message_header(qos: int, message_id: str = "") -> bytes:
    """Return the header of a message that comes from MQTT. message_id: by which the stream knows it again."""
    line = b"Nats-Msg-Id: %b\r\n" % message_id.encode() if message_id else b""
    return b"NATS/1.0\r\n%b:%d\r\n%b\r\n" % (_QOS, qos, line)


def incoming_header(qos: int, flags: int, subject: str, mapped: str) -> bytes:
    """Return the header of a QoS 2 message that waits for its PUBREL.

    subject: where it is published to. mapped: what that was before it was mapped, "" if it was not.
    """
    origin = b"%b:%b\r\n" % (_MAPPED, mapped.encode()) if mapped else b""
    lines = b"%b:%d%x\r\n%b:%b\r\n%b" % (_QOS, qos, flags, _SUBJECT, subject.encode(), origin)
    return b"NATS/1.0\r\n%b\r\n" % lines


class IncomingMessage(NamedTuple):
    """What the header of such a message says."""

    qos: int
    retain: bool
    subject: str


def read_incoming(header: bytes) -> IncomingMessage | None:
    """Return what the header of a waiting QoS 2 message says, None if it is none."""
    value, subject = headers.get(header, _QOS), headers.get(header, _SUBJECT)
    if not value or not subject or value[:1] != b"2":
        return None
    try:
        flags = int(value[1:2] or b"0", 16)
        return IncomingMessage(2, bool(flags & RETAIN), subject.decode())
    except ValueError:
        return None


def published_qos(header: bytes) -> int:
    """Return the QoS that a message was published with: 0 for one that does not come from MQTT."""
    value = headers.get(header, _QOS) if header else None
    return int(value[:1]) if value and value[:1] in b"012" else 0


def pubrel_header(packet_id: int) -> bytes:
    """Return the header of a stored PUBREL."""
    return b"NATS/1.0\r\n%b:%d\r\n\r\n" % (_PUBREL, packet_id)


def read_pubrel(header: bytes) -> int:
    """Return the packet id of a stored PUBREL, 0 if it is none."""
    value = headers.get(header, _PUBREL) if header else None
    return int(value) if value and value.isdigit() and len(value) <= 5 and int(value) <= 0xFFFF else 0


class RetainedMessage(NamedTuple):
    """A retained message. origin: the hash of the server that took it. source: the user that published it."""

    topic: bytes
    payload: bytes
    qos: int
    origin: str
    source: str = ""


def retained_header(message: RetainedMessage) -> bytes:
    """Return the header that a retained message is stored with. One without a payload ends the one before."""
    mark = b"" if message.payload else _DELETED
    flags = message.qos << 1 | RETAIN
    lines = b"%b:%b\r\n%b:%b%x\r\n" % (_TOPIC, message.topic, _FLAGS, mark, flags)
    lines += b"%b:%b\r\n" % (_ORIGIN, message.origin.encode())
    if message.source:
        lines += b"%b:%b\r\n" % (_SOURCE, message.source.encode())
    return b"NATS/1.0\r\n%b\r\n" % lines


def read_retained(topic: bytes, header: bytes, body: bytes) -> RetainedMessage | None:
    """Return a stored retained message, None if it is none. The form before nats-server 2.11 was JSON."""
    flags, origin, source, payload = headers.get(header, _FLAGS), b"", b"", body
    try:
        if flags:
            number = int(flags.removeprefix(_DELETED), 16)
            origin = headers.get(header, _ORIGIN) or b""
            source = headers.get(header, _SOURCE) or b""
        else:
            document = gojson.decode(body)
            number = int(document["flags"])
            origin, source = (str(document.get(name, "")).encode() for name in ("origin", "source"))
            payload = base64.b64decode(document.get("msg", ""))
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error):
        return None
    qos = (number & 0x06) >> 1
    if number > 0x0E or qos == 3:
        return None
    return RetainedMessage(
        topic, payload, qos, origin.decode("utf-8", "replace"), source.decode("utf-8", "replace")
    )


class SessionRecord(NamedTuple):
    """A stored session.

    subscriptions: the granted QoS by filter, as a subject.
    consumers: configurations as in the JetStream API, by the subscription that each is for.
    pubrel: that of the consumer of PUBRELs, None without QoS 2.
    """

    client_id: str
    clean: bool
    subscriptions: dict[str, int]
    consumers: dict[str, dict[str, Any]]
    pubrel: dict[str, Any] | None


def session_body(record: SessionRecord, origin: str) -> bytes:
    """Return a session as it is stored. origin: the hash of the server that stores it."""
    document: dict[str, Any] = {
        "origin": origin,
        "id": record.client_id,
        "clean": record.clean,
        "subs": record.subscriptions,
        "cons": record.consumers,
        "pubrel": record.pubrel,
    }
    return gojson.encode({name: value for name, value in document.items() if value})


def read_session(body: bytes) -> SessionRecord:
    """Read a stored session. Raises ValueError if it is none."""
    try:
        document = gojson.decode(body)
        subscriptions = {str(name): int(qos) for name, qos in (document.get("subs") or {}).items()}
        consumers = {str(name): _consumer(one) for name, one in (document.get("cons") or {}).items() if one}
        pubrel = document.get("pubrel")
        client_id, clean = str(document.get("id", "")), bool(document.get("clean", False))
        return SessionRecord(
            client_id, clean, subscriptions, consumers, _consumer(pubrel) if pubrel else None
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"invalid session record: {error}") from None


def _consumer(config: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration of a consumer. Raises KeyError or TypeError if it is none."""
    if not all(isinstance(config[name], str) for name in ("durable_name", "deliver_subject")):
        raise TypeError("invalid consumer")
    return dict(config)
