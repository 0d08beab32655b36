"""Sparkplug B: what a server does about births and deaths of edge nodes and devices. Pure.

The last birth of each is retained as a certificate, under a topic of its own. A death is a will, written
before its time; it gets the time at which it is sent. Source: Eclipse Sparkplug 3.0, 10.1.4, and
nats-server's server/mqtt.go: sparkbParseBirthDeathTopic, sparkbReplaceDeathTimestamp.
"""

from __future__ import annotations

from typing import NamedTuple

_NAMESPACE = b"spBv1.0/"
_CERTIFICATES = b"$sparkplug/certificates/"
_TIMESTAMP = 0x08  # field 1, a varint: the key of the timestamp in a payload
_LONGEST_VARINT = 10
_FIELDS = 256  # that are looked at: each client that receives a death has it done


class SparkplugTopic(NamedTuple):
    """What a topic is about. certificate: it is that of a retained birth."""

    birth: bool = False
    death: bool = False
    certificate: bool = False


_OTHER = SparkplugTopic()


def about(topic: bytes) -> SparkplugTopic:
    """Return what a topic is about."""
    if not topic.startswith((_NAMESPACE, _CERTIFICATES)):
        return _OTHER
    certificate = topic.startswith(_CERTIFICATES)
    rest = topic.removeprefix(_CERTIFICATES)
    levels = rest.removeprefix(_NAMESPACE).split(b"/")
    if not rest.startswith(_NAMESPACE) or len(levels) not in (3, 4):
        return _OTHER
    birth, death = levels[1] in (b"NBIRTH", b"DBIRTH"), levels[1] in (b"NDEATH", b"DDEATH")
    return SparkplugTopic(birth, death, certificate) if birth or death else _OTHER


def certificate_topic(topic: bytes) -> bytes:
    """Return the topic that a birth is retained under."""
    return _CERTIFICATES + topic


def with_time(payload: bytes, milliseconds: int) -> bytes:
    """Return a death with this timestamp, as it is if it is no payload of protocol buffers.

    A timestamp that is not among the first fields is overruled by one at the end: of two, the last counts.
    """
    stamp = bytes((_TIMESTAMP,)) + _varint(milliseconds)
    at = 0
    for _ in range(_FIELDS):
        if at == len(payload):
            break
        end = _field_end(payload, at)
        if not end:
            return payload
        if payload[at] == _TIMESTAMP:
            return payload[:at] + stamp + payload[end:]
        at = end
    return payload + stamp


def _field_end(payload: bytes, at: int) -> int:
    """Return where the field at `at` ends, 0 if it is none."""
    key, at = _read_varint(payload, at)
    kind = key & 7
    if not at or not key >> 3:
        return 0
    if kind == 0:
        _, at = _read_varint(payload, at)
    elif kind == 1:
        at += 8
    elif kind == 2:
        size, at = _read_varint(payload, at)
        at = at + size if at else 0
    elif kind == 5:
        at += 4
    else:
        return 0
    return at if at <= len(payload) else 0


def _read_varint(payload: bytes, at: int) -> tuple[int, int]:
    """Return a number and where it ends; (0, 0) if there is none."""
    number = 0
    for shift, digit in enumerate(payload[at : at + _LONGEST_VARINT]):
        number |= (digit & 0x7F) << 7 * shift
        if digit < 0x80:
            return number, at + shift + 1
    return 0, 0


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
