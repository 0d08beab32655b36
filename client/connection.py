"""One connection to a NATS server, for one thread: requests, publishes, and messages a whole read at a time.

The connection never reconnects by itself. When it is lost, its methods raise ConnectionLost; `reopen` makes a
new one, without the subscriptions of the old one. Callers must know that messages are read, and PINGs
answered, only inside `request`, `receive`, `take` and `flush`; a server closes a client that calls none of
them for minutes.
"""

from __future__ import annotations

import json
import os
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..protocol.wire import encode
from .address import ConnectionOptions
from .errors import (
    AuthorizationError,
    ClientError,
    ConnectionLost,
    NoResponders,
    NotPermitted,
    TimedOut,
    TooLarge,
)
from .frames import Frames, Message, parse, skim
from .handshake import HandshakeResult, open_first
from .receive_buffer import ReceiveBuffer

if TYPE_CHECKING:
    from .receive_buffer import Taker

READ = 1 << 20  # bytes asked for with one read, while much arrives
SMALL_READ = 64 << 10  # bytes asked for otherwise: Python makes room for all of them before each read
SAME = 0.05  # seconds that two timeouts of the socket may differ by; setting one is a system call
NO_RESPONDERS = 503
ERR = b"-ERR"


class BlockingConnection:
    """An open connection; `with BlockingConnection.open(address) as connection` closes it at the end."""

    def __init__(self, address: ConnectionOptions, opened: HandshakeResult) -> None:
        self.address = address
        self._sids = 0
        self._lost: ConnectionLost | None = None
        self._adopt(opened)

    def _adopt(self, opened: HandshakeResult) -> None:
        self._socket = opened.socket
        self._socket_seconds = -1.0  # the timeout of the socket, in seconds
        self._read_size = SMALL_READ
        self.url = opened.url
        self.server_info: dict[str, Any] = opened.info
        self._chunks = [opened.rest] if opened.rest else []
        self._buffered = len(opened.rest)
        self._received = ReceiveBuffer()  # what `take_into` has left
        self._needed = 0  # bytes until the first frame in the buffer is whole, as far as known
        self._frames = Frames()  # parsed, but not taken yet
        self._next = 0  # the first row of those not taken
        self._pongs = 0
        self._inbox = ""
        self._inbox_sid = b""
        self._requests = 0
        self._lost = None

    @classmethod
    def open(cls, address: ConnectionOptions) -> Self:
        """Connect to the first server that accepts us. Raises NoServers, AuthorizationError."""
        return cls(address, open_first(address, list(address.servers)))

    def reopen(self) -> None:
        """Connect again, to any server of the address or any that the last server named in its INFO.

        Subscriptions and unread messages are gone. Raises what `open` raises; the connection then stays
        closed.
        """
        announced = [str(url) for url in self.server_info.get("connect_urls") or ()]
        self.close()
        known = {url.rpartition("/")[2].rpartition("@")[2] for url in self.address.servers}
        urls = [*self.address.servers, *(url for url in announced if url not in known)]
        try:
            self._adopt(open_first(self.address, urls))
        except ClientError as error:
            self._lost = ConnectionLost(str(error))
            raise

    def __enter__(self) -> BlockingConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. Messages that were published and not flushed may be lost."""
        self._lost = ConnectionLost("the connection is closed")
        self._socket.close()

    @property
    def max_payload(self) -> int:
        """The largest message that the server accepts: bytes of headers and payload."""
        return int(self.server_info.get("max_payload") or 1 << 20)

    def new_inbox(self) -> str:
        """Return a subject for answers that nobody else listens on."""
        return f"{self.address.inbox_prefix}.{os.urandom(11).hex()}"

    # -- sending

    def publish(self, subject: str, payload: bytes = b"", *, reply: str = "", headers: bytes = b"") -> None:
        """Send one message; `headers` is a whole header block. Raises TooLarge, ConnectionLost."""
        if len(payload) + len(headers) > self.max_payload:
            raise TooLarge(
                f"a message on {subject} has {len(payload) + len(headers)} bytes, "
                f"the server takes {self.max_payload}"
            )
        self.send(encode.pub(subject.encode(), reply.encode(), headers, payload))

    def send(self, data: bytes) -> None:
        """Send frames as they are. Raises ConnectionLost."""
        self._check()
        try:
            self._wait(self.address.timeout)
            self._socket.sendall(data)
        except OSError as error:
            raise self._end(error.strerror or str(error)) from None

    def subscribe(self, subject: str, *, queue: str = "", limit: int = 0) -> bytes:
        """Subscribe to a subject, for `limit` messages if that is given, and return the subscription's id."""
        self._sids += 1
        sid = b"%d" % self._sids
        frame = encode.sub(subject.encode(), queue.encode(), sid)
        self.send(frame + encode.unsub(sid, limit) if limit else frame)
        return sid

    def unsubscribe(self, sid: bytes) -> None:
        """End a subscription."""
        self.send(encode.unsub(sid))

    # -- receiving

    def flush(self, timeout: float | None = None) -> None:
        """Wait until the server has seen everything that was sent.

        Raises TimedOut, ConnectionLost, NotPermitted.
        """
        deadline = self._deadline(timeout)
        wanted = self._pongs + 1
        self.send(encode.PING)
        while self._pongs < wanted:
            self._read(deadline)

    def receive(self, timeout: float | None = None) -> Message:
        """Return the next message. Raises TimedOut, ConnectionLost, NotPermitted."""
        deadline = self._deadline(timeout)
        while self._next >= len(self._frames):
            self._frames, self._next = Frames(), 0
            self._read(deadline)
        self._next += 1
        return self._frames.message(self._next - 1)

    def take(self, timeout: float | None = None) -> Frames:
        """Return all messages that have arrived, at least one.

        Raises TimedOut, ConnectionLost, NotPermitted.
        """
        deadline = self._deadline(timeout)
        while self._next >= len(self._frames):
            self._frames, self._next = Frames(), 0
            self._read(deadline)
        frames, start = self._frames, self._next
        self._frames, self._next = Frames(), 0
        return frames.since(start)

    def skim(self, timeout: float | None = None) -> tuple[int, int]:
        """Drop all messages that have arrived, at least one; return how many, and the bytes in them.

        The bytes are those of headers and payloads. Raises TimedOut, ConnectionLost, NotPermitted.
        """
        deadline = self._deadline(timeout)
        kept = self._frames.since(self._next)
        self._frames, self._next = Frames(), 0
        headers = sum(map(len, kept.headers.values()))
        count, size = len(kept), sum(map(len, kept.payloads)) + headers
        while not count:
            self._receive(deadline)
            if self._buffered >= self._needed:
                data = self._whole()
                control: list[bytes] = []
                found = skim(data, control)
                count, size, self._needed = found.messages, found.size, found.needed
                self._hold(data, found.end)
                for line in control:
                    self._take_line(line)
        return count, size

    def poll(self) -> None:
        """Read what has arrived without waiting: PINGs are answered, messages kept for `take`.

        Raises ConnectionLost, NotPermitted.
        """
        self._check()
        try:
            self._wait(0)
            data = self._received.clear() or self._socket.recv(self._read_size)
        except OSError as error:
            if _has_nothing(error):
                return
            raise self._end(error.strerror or str(error)) from None
        self._buffer(data)
        if self._buffered >= self._needed:
            self._parse()

    def take_into(self, taker: Taker, timeout: float | None = None) -> Frames:
        """Have what has arrived taken by a taker, frame by frame; return what it has left.

        Returns when there is something of either, or no room. Raises TimedOut, ConnectionLost, NotPermitted.
        """
        deadline = self._deadline(timeout)
        buffer, others, before = self._received, Frames(), len(taker)
        # What other methods have received comes first.
        buffer.append(self._frames.since(self._next).encode() + self._whole())
        self._frames, self._next, self._needed = Frames(), 0, 0
        self._hold(b"", 0)
        while True:
            if buffer:
                buffer.start = taker.take(buffer.data, buffer.start, buffer.end)
                control: list[bytes] = []
                if not taker.full and (frame := buffer.take_frame()):
                    parse(frame, others, control)
                    for line in control:
                        self._take_line(line)
                    continue
            if taker.full or len(taker) > before or len(others):
                return others
            self._receive_into(buffer, taker.needed, deadline)

    def _receive_into(self, buffer: ReceiveBuffer, needed: int, deadline: float) -> None:
        """Read once from the socket, so that in the end there is room for `needed` bytes.

        Raises TimedOut, ConnectionLost.
        """
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimedOut("nothing came in time")
        with buffer.room(needed) as room:
            try:
                self._wait(left)
                count = self._socket.recv_into(room)
            except TimeoutError:
                raise TimedOut("nothing came in time") from None
            except OSError as error:
                raise self._end(error.strerror or str(error)) from None
        if not count:
            raise self._end("the server closed the connection")
        buffer.end += count

    def request(
        self, subject: str, payload: bytes = b"", headers: bytes = b"", timeout: float | None = None
    ) -> Message:
        """Publish with a reply subject and return the first answer.

        Messages of other subscriptions that arrive meanwhile are kept for `receive` and `take`. Raises
        NoResponders and TimedOut, which both name the subject, NotPermitted, and ConnectionLost.
        """
        deadline = self._deadline(timeout)
        if not self._inbox:
            self._inbox = self.new_inbox()
            self._inbox_sid = self.subscribe(f"{self._inbox}.*")
        self._requests += 1
        reply = f"{self._inbox}.{self._requests}"
        seen = len(self._frames)
        self.publish(subject, payload, reply=reply, headers=headers)
        wanted = reply.encode()
        while True:
            while seen < len(self._frames):
                to, sid = self._frames.heads[seen].split(b" ")[:2]
                if to == wanted:
                    answer = self._frames.message(seen)
                    self._frames.drop(seen)
                    if answer.status == NO_RESPONDERS and not answer.payload:
                        raise NoResponders(f"nobody answers on {subject}")
                    return answer
                if sid == self._inbox_sid:
                    self._frames.drop(seen)  # the late answer to a request that has timed out
                else:
                    seen += 1
            try:
                self._read(deadline)
            except TimedOut:
                raise TimedOut(f"no answer on {subject} in time") from None

    def _deadline(self, timeout: float | None) -> float:
        self._check()
        return time.monotonic() + (self.address.timeout if timeout is None else timeout)

    def _check(self) -> None:
        if self._lost is not None:
            raise ConnectionLost(str(self._lost))

    def _read(self, deadline: float) -> None:
        """Read once and parse the frames that are whole."""
        self._receive(deadline)
        if self._buffered >= self._needed:
            self._parse()

    def _receive(self, deadline: float) -> None:
        """Read once from the socket, before `deadline`. Raises TimedOut, ConnectionLost."""
        if self._received:
            self._buffer(self._received.clear())
            return
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimedOut("nothing came in time")
        try:
            self._wait(left)
            data = self._socket.recv(self._read_size)
        except TimeoutError:
            raise TimedOut("nothing came in time") from None
        except OSError as error:
            raise self._end(error.strerror or str(error)) from None
        self._buffer(data)

    def _wait(self, seconds: float) -> None:
        """Set how long the next call on the socket may take, to `SAME`; 0 is exact."""
        if not seconds or not self._socket_seconds or abs(seconds - self._socket_seconds) > SAME:
            self._socket.settimeout(seconds)
            self._socket_seconds = seconds

    def _buffer(self, data: bytes) -> None:
        if not data:
            raise self._end("the server closed the connection")
        self._read_size = READ if len(data) >= SMALL_READ else SMALL_READ
        self._chunks.append(data)
        self._buffered += len(data)

    def _parse(self) -> None:
        data = self._whole()
        control: list[bytes] = []
        done, self._needed = parse(data, self._frames, control)
        self._hold(data, done)
        for line in control:
            self._take_line(line)

    def _whole(self) -> bytes:
        return self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)

    def _hold(self, data: bytes, done: int) -> None:
        """Keep the data that is not parsed yet."""
        self._chunks = [data[done:]] if done < len(data) else []
        self._buffered = len(data) - done

    def _take_line(self, line: bytes) -> None:
        if line == b"PING":
            self.send(encode.PONG)
        elif line == b"PONG":
            self._pongs += 1
        elif line.startswith(b"INFO "):
            self.server_info = json.loads(line[5:])
        elif line.startswith(ERR):
            text = line[4:].strip().strip(b"'").decode("utf-8", "replace")
            if text.lower().startswith("permissions violation"):
                self.not_permitted(text)
                return
            ended = self._end(text)
            if "authorization" in text.lower() or "authentication" in text.lower():
                raise AuthorizationError(f"{self.url}: {text}")
            raise ended
        elif line != b"+OK":
            raise ClientError(f"{self.url} sent what no NATS server sends")

    def not_permitted(self, text: str) -> None:
        """Raise NotPermitted with the server's words about a subject that it refuses.

        Subclasses may go on instead: the connection stays open.
        """
        raise NotPermitted(f"{text}; grant it to this user, or name another one")

    def _end(self, reason: str) -> ConnectionLost:
        """Close the connection after a failure and return the error to raise."""
        self.close()
        self._lost = ConnectionLost(f"the connection to {self.url} was lost: {reason}")
        return self._lost


def _has_nothing(error: OSError) -> bool:
    """Return whether an error only says that nothing has arrived."""
    if isinstance(error, BlockingIOError):
        return True
    import ssl

    return isinstance(error, ssl.SSLWantReadError)
