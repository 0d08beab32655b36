"""A raw MQTT client on a blocking socket: it sends exactly what a test says, and returns what comes.

Written without the codec of the server, so that both cannot be wrong together. Every read has a deadline.
"""

from __future__ import annotations

import socket
import struct
from collections import deque
from typing import NamedTuple

SECONDS = 20.0
CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP = 1, 2, 3, 4, 5, 6, 7
SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK, PINGREQ, PINGRESP, DISCONNECT = 8, 9, 10, 11, 12, 13, 14


class Packet(NamedTuple):
    """One packet of the server, without its remaining length."""

    kind: int
    flags: int
    body: bytes


class Publish(NamedTuple):
    """What a PUBLISH of the server says. packet_id: 0 with QoS 0."""

    topic: str
    payload: bytes
    qos: int = 0
    retain: bool = False
    dup: bool = False
    packet_id: int = 0


def string(text: str | bytes) -> bytes:
    """Return a string with its length."""
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("!H", len(raw)) + raw


def packet(kind: int, flags: int = 0, body: bytes = b"") -> bytes:
    """Return one packet."""
    size, digits = len(body), bytearray()
    while True:
        size, digit = divmod(size, 128)
        digits.append(digit | (128 if size else 0))
        if not size:
            return bytes((kind << 4 | flags,)) + bytes(digits) + body


def connect(
    client_id: str = "",
    *,
    clean: bool = True,
    keep_alive: int = 0,
    will: Publish | None = None,
    user: str | None = None,
    password: str | None = None,
    level: int = 4,
    protocol: str = "MQTT",
    flags: int = 0,
) -> bytes:
    """Return a CONNECT. flags: are set besides those that follow from the rest."""
    flags |= 2 if clean else 0
    body = string(client_id)
    if will is not None:
        flags |= 4 | will.qos << 3 | (32 if will.retain else 0)
        body += string(will.topic) + string(will.payload)
    for given, bit in ((user, 128), (password, 64)):
        if given is not None:
            flags |= bit
            body += string(given)
    return packet(CONNECT, 0, string(protocol) + struct.pack("!BBH", level, flags, keep_alive) + body)


def publish(topic: str, payload: bytes = b"", qos: int = 0, packet_id: int = 0, *, flags: int = 0) -> bytes:
    """Return a PUBLISH. flags: 1 for retain, 8 for dup."""
    identified = struct.pack("!H", packet_id) if qos else b""
    return packet(PUBLISH, flags | qos << 1, string(topic) + identified + payload)


def subscribe(packet_id: int, *filters: tuple[str, int]) -> bytes:
    """Return a SUBSCRIBE."""
    body = b"".join(string(topic) + bytes((qos,)) for topic, qos in filters)
    return packet(SUBSCRIBE, 2, struct.pack("!H", packet_id) + body)


def unsubscribe(packet_id: int, *topics: str) -> bytes:
    """Return an UNSUBSCRIBE."""
    return packet(UNSUBSCRIBE, 2, struct.pack("!H", packet_id) + b"".join(map(string, topics)))


def answer(kind: int, packet_id: int) -> bytes:
    """Return a PUBACK, PUBREC, PUBREL or PUBCOMP."""
    return packet(kind, 2 if kind == PUBREL else 0, struct.pack("!H", packet_id))


class MQTTClient:
    """One connection to an MQTT port."""

    def __init__(self, port: int, sock: socket.socket | None = None) -> None:
        self.sock = sock or socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
        self._data = b""
        self.unread: deque[Packet] = deque()

    @classmethod
    def joined(
        cls, port: int, client_id: str = "", *, present: bool = False, **options: object
    ) -> MQTTClient:
        """Return a client that is connected. present: whether there must be a session."""
        client = cls(port)
        client.send(connect(client_id, **options))  # type: ignore[arg-type]
        assert client.read() == Packet(CONNACK, 0, bytes((present, 0)))
        return client

    def __enter__(self) -> MQTTClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the socket without a DISCONNECT."""
        self.sock.close()

    def send(self, *packets: bytes) -> None:
        """Send bytes as they are."""
        self.sock.sendall(b"".join(packets))

    def disconnect(self) -> None:
        """Send DISCONNECT, and wait until the server has closed."""
        self.send(packet(DISCONNECT))
        assert self.closed()
        self.sock.close()

    def read(self, seconds: float = SECONDS) -> Packet:
        """Return the next packet. Raises TimeoutError, and EOFError if the server has closed."""
        if self.unread:
            return self.unread.popleft()
        self.sock.settimeout(seconds)
        while (found := self._parse()) is None:
            try:
                data = self.sock.recv(1 << 16)
            except ConnectionResetError:
                data = b""
            if not data:
                raise EOFError
            self._data += data
        return found

    def _parse(self) -> Packet | None:
        size = 0
        for at in range(1, min(len(self._data), 5)):
            size |= (self._data[at] & 127) << 7 * (at - 1)
            if self._data[at] < 128:
                end = at + 1 + size
                if len(self._data) < end:
                    return None
                first, body = self._data[0], self._data[at + 1 : end]
                self._data = self._data[end:]
                return Packet(first >> 4, first & 15, body)
        return None

    def closed(self) -> bool:
        """Return whether the server closes without another packet."""
        try:
            self.unread.append(self.read())
        except EOFError:
            return True
        return False

    def message(self, seconds: float = SECONDS) -> Publish:
        """Return the next packet, which must be a PUBLISH."""
        kind, flags, body = self.read(seconds)
        assert kind == PUBLISH, (kind, body)
        size = struct.unpack_from("!H", body)[0]
        topic, rest, qos = body[2 : 2 + size].decode(), body[2 + size :], flags >> 1 & 3
        packet_id = struct.unpack_from("!H", rest)[0] if qos else 0
        return Publish(topic, rest[2:] if qos else rest, qos, bool(flags & 1), bool(flags & 8), packet_id)

    def flush(self) -> None:
        """Wait until the server has served what was sent before, and nothing else came."""
        self.send(packet(PINGREQ))
        found = self.read()
        assert found == Packet(PINGRESP, 0, b""), found

    def subscribe(self, *filters: tuple[str, int], packet_id: int = 1) -> list[int]:
        """Subscribe, and return the codes of the SUBACK."""
        self.send(subscribe(packet_id, *filters))
        kind, _, body = self.read()
        assert (kind, body[:2]) == (SUBACK, struct.pack("!H", packet_id))
        return list(body[2:])

    def unsubscribe(self, *topics: str, packet_id: int = 1) -> None:
        """Unsubscribe, and wait for the UNSUBACK."""
        self.send(unsubscribe(packet_id, *topics))
        assert self.read() == Packet(UNSUBACK, 0, struct.pack("!H", packet_id))

    def publish(
        self, topic: str, payload: bytes = b"", qos: int = 0, packet_id: int = 1, *, flags: int = 0
    ) -> None:
        """Publish, and go through all that its QoS asks for."""
        self.send(publish(topic, payload, qos, packet_id, flags=flags))
        identified = struct.pack("!H", packet_id)
        if qos == 1:
            assert self.read() == Packet(PUBACK, 0, identified)
        elif qos == 2:
            assert self.read() == Packet(PUBREC, 0, identified)
            self.send(answer(PUBREL, packet_id))
            assert self.read() == Packet(PUBCOMP, 0, identified)
        else:
            self.flush()
