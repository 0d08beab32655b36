"""The packets of MQTT 3.1.1: what they contain, and how they are written. Pure.

A packet that breaks the protocol raises PeerError, with nothing to tell the peer: MQTT 3.1.1 has no word for
it. The texts are nats-server's (server/mqtt.go).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ...protocol.errors import PeerError

CONNECT: Final = 0x10
CONNACK: Final = 0x20
PUBLISH: Final = 0x30
PUBACK: Final = 0x40
PUBREC: Final = 0x50
PUBREL: Final = 0x60
PUBCOMP: Final = 0x70
SUBSCRIBE: Final = 0x80
SUBACK: Final = 0x90
UNSUBSCRIBE: Final = 0xA0
UNSUBACK: Final = 0xB0
PINGREQ: Final = 0xC0
PINGRESP: Final = 0xD0
DISCONNECT: Final = 0xE0

# Return codes of CONNACK. The last one is nats-server's own.
ACCEPTED: Final = 0
BAD_VERSION: Final = 1
BAD_IDENTIFIER: Final = 2
BAD_LOGIN: Final = 4
NOT_AUTHORIZED: Final = 5
QOS2_WILL: Final = 0x10

NAMES: Final = {
    CONNECT: "CONNECT",
    CONNACK: "CONNACK",
    PUBLISH: "PUBLISH",
    PUBACK: "PUBACK",
    PUBREC: "PUBREC",
    PUBREL: "PUBREL",
    PUBCOMP: "PUBCOMP",
    SUBSCRIBE: "SUBSCRIBE",
    SUBACK: "SUBACK",
    UNSUBSCRIBE: "UNSUBSCRIBE",
    UNSUBACK: "UNSUBACK",
    PINGREQ: "PINGREQ",
    PINGRESP: "PINGRESP",
    DISCONNECT: "DISCONNECT",
}

RETAIN: Final = 0x01
DUP: Final = 0x08
FAILURE: Final = 0x80  # in a SUBACK
PINGRESP_PACKET: Final = b"\xd0\x00"
LARGEST: Final = 268_435_455  # bytes after the fixed header
LONGEST_STRING: Final = 65_535
MOST_FILTERS: Final = 1000
_SHOWN = 64  # bytes or letters of a stranger's field that the log shows

_FLAGS = dict.fromkeys((CONNECT, PUBACK, PUBREC, PUBCOMP, PINGREQ, DISCONNECT), 0) | dict.fromkeys(
    (PUBREL, SUBSCRIBE, UNSUBSCRIBE), 2
)
_SIZES = dict.fromkeys((PUBACK, PUBREC, PUBREL, PUBCOMP), 2) | dict.fromkeys((PINGREQ, DISCONNECT), 0)
_CLIENT = frozenset((*_FLAGS, PUBLISH))


class RefusedConnectError(PeerError):
    """A CONNECT that is answered with a return code, `code`, and refused."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__("", reason=reason)
        self.code = code


class Will(NamedTuple):
    """What is published for a client that is gone without a DISCONNECT."""

    topic: str
    payload: bytes
    qos: int
    retain: bool


class Connect(NamedTuple):
    """A CONNECT. keep_alive: seconds, 0 for none. user, password: None if they are not given."""

    client_id: str
    clean: bool
    keep_alive: int
    will: Will | None
    user: str | None
    password: str | None


class PublishPacket(NamedTuple):
    """A PUBLISH. packet_id: 0 for QoS 0."""

    topic: str
    payload: bytes
    qos: int
    retain: bool
    packet_id: int


class Filters(NamedTuple):
    """A SUBSCRIBE or an UNSUBSCRIBE: filters with the QoS that is asked for (0 in an UNSUBSCRIBE)."""

    packet_id: int
    filters: list[tuple[str, int]]


def broken(reason: str) -> PeerError:
    """Return the error for a packet that breaks the protocol."""
    return PeerError("", reason=reason)


class _Fields:
    """Reads the fields of one packet in order."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def byte(self, name: str) -> int:
        if not self.left:
            raise broken(f"error reading {name}: EOF")
        self._at += 1
        return self._data[self._at - 1]

    def number(self, name: str) -> int:
        """Return two bytes as a number."""
        if self.left < 2:
            raise broken(f"error reading {name}: unexpected EOF")
        self._at += 2
        return int.from_bytes(self._data[self._at - 2 : self._at], "big")

    def binary(self, name: str) -> bytes:
        size = self.number(name)
        if self.left < size:
            raise broken(f"error reading {name}: unexpected EOF")
        self._at += size
        return self._data[self._at - size : self._at]

    def text(self, name: str) -> str:
        raw = self.binary(name)
        try:
            found = raw.decode()
        except UnicodeDecodeError:
            raise broken(f"invalid utf8 for {name} {raw[:_SHOWN]!r}") from None
        if "\0" in found:
            raise broken(f"invalid null character in {name} {found[:_SHOWN]!r}")
        return found

    def rest(self) -> bytes:
        return self._data[self._at :]


def check_header(kind: int, flags: int, size: int) -> None:
    """Check the fixed header of a client's packet: `size` bytes follow it. Raises PeerError."""
    if kind not in _CLIENT:
        raise broken(f"received unknown packet type {kind >> 4}")
    if flags != _FLAGS.get(kind, flags):
        raise broken(f"invalid fixed header flags {flags:x} for packet type {kind:x}")
    if size != _SIZES.get(kind, size):
        raise broken(f"invalid remaining length {size} for packet type {kind:x}")


def read_connect(body: bytes) -> Connect:
    """Read a CONNECT. Raises PeerError, and RefusedConnectError if there is a return code for the reason."""
    fields = _Fields(body)
    protocol = fields.binary("protocol name")
    if protocol == b"MQIsdp":
        raise broken('older protocol "MQIsdp" not supported')
    if protocol != b"MQTT":
        raise broken(f'expected connect packet with protocol name "MQTT", got {protocol[:_SHOWN]!r}')
    level = fields.byte("protocol level")
    if level != 4:
        raise RefusedConnectError(BAD_VERSION, f"unacceptable protocol version of {level}")
    flags = fields.byte("flags")
    _check_connect_flags(flags)
    keep_alive = fields.number("keep alive")
    client_id = _client_id(fields, clean=bool(flags & 0x02))
    will = _will(fields, flags) if flags & 0x04 else None
    user = _user(fields) if flags & 0x80 else None
    password = fields.binary("password").decode("utf-8", "surrogateescape") if flags & 0x40 else None
    return Connect(client_id, bool(flags & 0x02), keep_alive, will, user, password)


def _check_connect_flags(flags: int) -> None:
    if flags & 0x01:
        raise broken("connect flags reserved bit not set to 0")
    qos = (flags & 0x18) >> 3
    if not flags & 0x04:
        if qos:
            raise broken(f"if Will flag is set to 0, Will QoS must be 0 too, got {qos}")
        if flags & 0x20:
            raise broken("if Will flag is set to 0, Will Retain flag must be 0 too")
    elif qos == 3:
        raise broken("if Will flag is set to 1, Will QoS can be 0, 1 or 2, got 3")
    if flags & 0x40 and not flags & 0x80:
        raise broken("password flag set but username flag is not")


def _client_id(fields: _Fields, *, clean: bool) -> str:
    """Return the client id; "" asks for one of the server's choice."""
    raw = fields.binary("client ID")
    if not raw and not clean:
        reason = "when client ID is empty, clean session flag must be set to 1"
        raise RefusedConnectError(BAD_IDENTIFIER, reason)
    try:
        found = raw.decode()
    except UnicodeDecodeError:
        raise RefusedConnectError(BAD_IDENTIFIER, f"invalid utf8 for client ID {raw[:_SHOWN]!r}") from None
    # It becomes a token of a subject.
    if any(character in "\0.*> \t\r\n\f" for character in found):
        raise RefusedConnectError(BAD_IDENTIFIER, f"invalid character in client ID {found[:_SHOWN]!r}")
    return found


def _will(fields: _Fields, flags: int) -> Will:
    topic = fields.text("Will topic")
    if not topic:
        raise broken("empty Will topic not allowed")
    payload = fields.binary("Will message")
    return Will(topic, payload, (flags & 0x18) >> 3, bool(flags & 0x20))


def _user(fields: _Fields) -> str:
    raw = fields.binary("user name")
    user = raw.decode("utf-8", "replace")
    if not raw or "\0" in user or user.encode() != raw:
        why = "invalid user name" if raw else "empty user name not allowed"
        raise RefusedConnectError(BAD_LOGIN, why)
    return user


def read_publish(flags: int, body: bytes) -> PublishPacket:
    """Read a PUBLISH. Raises PeerError."""
    qos = (flags & 0x06) >> 1
    if qos == 3:
        raise broken("QoS=3 is invalid in MQTT")
    fields = _Fields(body)
    topic = fields.text("topic")
    if not topic:
        raise broken("topic cannot be empty")
    packet_id = fields.number("packet identifier") if qos else 0
    if qos and not packet_id:
        raise broken(f"with QoS={qos}, packet identifier cannot be 0")
    return PublishPacket(topic, fields.rest(), qos, bool(flags & RETAIN), packet_id)


def read_packet_id(body: bytes) -> int:
    """Read the packet id that a PUBACK, PUBREC, PUBREL or PUBCOMP consists of. Raises PeerError."""
    packet_id = _Fields(body).number("packet identifier")
    if not packet_id:
        raise broken("packet identifier cannot be 0")
    return packet_id


def read_filters(kind: int, body: bytes) -> Filters:
    """Read a SUBSCRIBE or an UNSUBSCRIBE. Raises PeerError."""
    fields = _Fields(body)
    packet_id = fields.number("packet identifier")
    if not packet_id:
        raise broken("packet identifier cannot be 0")
    filters: list[tuple[str, int]] = []
    while fields.left:
        topic = fields.text("topic filter")
        if not topic:
            raise broken("topic filter cannot be empty")
        qos = fields.byte("QoS") if kind == SUBSCRIBE else 0
        if qos > 2:
            raise broken(f"subscribe QoS value must be 0, 1 or 2, got {qos}")
        filters.append((topic, qos))
        if len(filters) > MOST_FILTERS:
            raise broken(f"more than {MOST_FILTERS} topic filters in one packet")
    if not filters:
        name = "subscribe" if kind == SUBSCRIBE else "unsubscribe"
        raise broken(f"{name} protocol must contain at least 1 topic filter")
    return Filters(packet_id, filters)


def connack(code: int, *, present: bool = False) -> bytes:
    """Return a CONNACK. present: whether there was a session."""
    return bytes((CONNACK, 2, present and not code, code))


def answer(kind: int, packet_id: int) -> bytes:
    """Return a PUBACK, PUBREC, PUBREL, PUBCOMP or UNSUBACK."""
    return bytes((kind | (2 if kind == PUBREL else 0), 2, packet_id >> 8, packet_id & 0xFF))


def suback(packet_id: int, codes: list[int]) -> bytes:
    """Return a SUBACK with one code for each filter: the granted QoS, or FAILURE."""
    return b"".join((bytes((SUBACK,)), length(2 + len(codes)), packet_id.to_bytes(2, "big"), bytes(codes)))


def publish_lead(topic: bytes, size: int, flags: int, packet_id: int) -> bytes:
    """Return what precedes the payload, of `size` bytes, in a PUBLISH. packet_id: 0 for QoS 0."""
    identified = packet_id.to_bytes(2, "big") if packet_id else b""
    head = bytes((PUBLISH | flags,)) + length(2 + len(topic) + len(identified) + size)
    return b"%b%b%b%b" % (head, len(topic).to_bytes(2, "big"), topic, identified)


def length(size: int) -> bytes:
    """Return the remaining length as the fixed header has it, in one to four bytes."""
    out = bytearray()
    while True:
        size, digit = divmod(size, 128)
        out.append(digit | (0x80 if size else 0))
        if not size:
            return bytes(out)
