"""The work of JetStream's readers: pull requests, push subscriptions, acknowledgements, gaps.

A pull reader always has messages waiting for it, or asks for one batch after the other. An ordered reader
looks at the consumer's own sequence, and makes a new consumer when a message is missing.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress

from ...cli.errors import CliError, RemoteError
from ...client import BlockingConnection, Frames, TimedOut
from ...protocol import headers
from ...protocol.wire import encode
from .client import WAIT_SECONDS, ClientRun, now
from .connection import Api
from .exchange import NO_RESPONDERS
from .sample import BenchmarkSample
from .settings import SECOND

EXPIRES = 30_000_000_000  # ns, of a pull request
HEARTBEAT = 1_000_000_000  # ns, of a push consumer; without two of them it is gone
INACTIVE = 10_000_000_000  # ns after which the server removes an unused consumer
IDLE, NO_MESSAGES, EXPIRED, ENDED = 100, 404, 408, 409
FINAL = ("Consumer Deleted", "Consumer is push based", "Exceeded")  # in descriptions of status 409
V1_TOKENS = 9  # of an acknowledgement subject; the newer form has a domain and an account hash in front
ACK = b"+ACK"


class Deliveries:
    """The messages that arrive for one subscription, apart from the status messages among them."""

    def __init__(self, client: ClientRun) -> None:
        self.client = client
        self.silent = False  # nothing at all came in time
        self.on_status: Callable[[int, str, bytes], None] = lambda _code, _text, _head: None

    def take(self, wait_seconds: float = WAIT_SECONDS) -> Frames:
        """Wait for messages and return those of one read; there may be none."""
        frames = self.client.take(wait_seconds)
        self.silent = not len(frames)
        if not frames.headers:
            return frames
        for row in sorted(frames.headers, reverse=True):
            code, text = headers.status(frames.headers[row])
            if code is not None:
                head, block = frames.heads[row], frames.headers[row]
                frames.drop(row)
                self.on_status(code, text, head + b"\r\n" + block)
        return frames


def reply_of(head: bytes) -> bytes:
    """Return the reply subject in `subject sid reply`."""
    return head[head.rindex(b" ") + 1 :]


class Acknowledger:
    """Acknowledges messages: at once, or waiting until the server confirms each."""

    def __init__(self, client: ClientRun, *, wanted: bool, confirmed: bool) -> None:
        self._client = client
        self._wanted = wanted
        self._confirmed = confirmed

    def handle(self, frames: Frames) -> None:
        """Acknowledge the messages of one read, and count them. With --sleep, one after the other."""
        client = self._client
        if client.settings.sleep or (self._wanted and self._confirmed):
            for head in frames.heads:
                if client.settings.sleep:
                    client.throttle(0)
                self._one(head)
                client.advance(1)
            return
        if self._wanted and frames.heads:
            client.connection.send(
                b"".join([b"PUB %b 4\r\n+ACK\r\n" % reply_of(head) for head in frames.heads])
            )
        client.advance(len(frames))

    def _one(self, head: bytes) -> None:
        if not self._wanted:
            return
        subject = reply_of(head)
        if self._confirmed:
            self._client.connection.request(subject.decode(), ACK)
        else:
            self._client.connection.send(encode.pub(subject, b"", b"", ACK))


def _refuse(reason: str) -> None:
    raise CliError(f"the server ended the consumer: {reason}")


class PullReader:
    """Reads with a pull consumer.

    api: of the client's own connection.
    """

    def __init__(self, client: ClientRun, api: Api, consumer: str, acknowledger: Acknowledger) -> None:
        self.client = client
        self.connection: BlockingConnection = client.connection
        self.inbox = self.connection.new_inbox()
        self.subject = api.subject(f"CONSUMER.MSG.NEXT.{client.settings.stream}.{consumer}")
        self.acknowledger = acknowledger
        self.deliveries = Deliveries(client)
        self.deliveries.on_status = self._status
        self.on_end: Callable[[str], None] = _refuse
        self.waiting = 0  # messages asked for that have not come
        self.cut = False  # a pull request ended before it was fulfilled
        self.sid = self.connection.subscribe(self.inbox)

    def ask(self, count: int, expires: int = EXPIRES) -> None:
        """Ask for `count` more messages."""
        body = b'{"batch":%d,"expires":%d}' % (count, expires)
        self.connection.send(encode.pub(self.subject.encode(), self.inbox.encode(), b"", body))
        self.waiting += count

    def _status(self, code: int, text: str, block: bytes) -> None:
        if code == NO_RESPONDERS:
            self.on_end(f"nobody answers on {self.subject}")
        elif code in (EXPIRED, ENDED, NO_MESSAGES) and not any(final in text for final in FINAL):
            left = headers.get(block.partition(b"\r\n")[2], b"Nats-Pending-Messages")
            self.waiting = max(0, self.waiting - int(left or 0)) if left else 0
            self.cut = True
        elif code != IDLE:
            self.on_end(f"{code} {text}")

    def consume(self) -> BenchmarkSample:
        """Read all messages, asking for more whenever half of a batch has come."""
        client, batch = self.client, self.client.settings.batch
        client.ready()
        received = size = 0
        while received < client.messages:
            missing = client.messages - received - self.waiting
            if missing > 0 and self.waiting <= batch // 2:
                self.ask(min(batch - self.waiting, missing))
            frames = self.deliveries.take()
            if not received and len(frames):
                client.begin()
            received += len(frames)
            self.waiting = 0 if self.deliveries.silent else max(0, self.waiting - len(frames))
            size += sum(map(len, frames.payloads))
            self.acknowledger.handle(frames)
        self.connection.flush()
        return client.sample(size)

    def fetch(self, expires: int = EXPIRES) -> BenchmarkSample:
        """Read all messages, one batch after the other."""
        client = self.client
        client.ready()
        received = size = 0
        while received < client.messages:
            before, handling, self.cut = now(), 0, False
            self.ask(min(client.settings.batch, client.messages - received), expires)
            while self.waiting > 0 and not self.cut:
                frames = self.deliveries.take()
                self.cut |= self.deliveries.silent
                if not received and len(frames):
                    client.begin()
                received += len(frames)
                self.waiting -= len(frames)
                size += sum(map(len, frames.payloads))
                began = now()
                self.acknowledger.handle(frames)
                handling += now() - began
            client.latencies.add(now() - before - handling)
            self.waiting = 0
            if self.cut:
                note = "a batch was not complete when its time was up. These results are not optimal!"
                client.notes = [note]
        self.connection.flush()
        return client.sample(size)


def first(count: int, frames: Frames) -> Frames:
    """Return the frames without the messages after the first `count`."""
    del frames.heads[count:], frames.payloads[count:]
    return frames


def push(client: ClientRun, subject: str, queue: str, acknowledger: Acknowledger) -> BenchmarkSample:
    """Read what a push consumer delivers to a subject, as a member of its queue group if it has one."""
    # The limit has the server give to the other members what this one does not wait for.
    client.connection.subscribe(subject, queue=queue, limit=client.messages)
    client.connection.flush()
    deliveries = Deliveries(client)
    client.ready()
    received = size = 0
    while received < client.messages:
        frames = first(client.messages - received, deliveries.take())
        if not received and len(frames):
            client.begin()
        received += len(frames)
        size += sum(map(len, frames.payloads))
        acknowledger.handle(frames)
    client.connection.flush()
    return client.sample(size)


class OrderedReader:
    """Reads a stream in order, with consumers that are made again where a message is missing.

    push: the messages are delivered to an inbox, with flow control; otherwise they are pulled.
    """

    def __init__(self, client: ClientRun, api: Api, filters: Sequence[str], *, push: bool) -> None:
        self.client = client
        self.api = api
        self.stream = client.settings.stream
        self.filters = filters
        self.push = push
        self.last = 0  # the stream sequence of the last message
        self._create()

    def read(self) -> BenchmarkSample:
        """Read all messages."""
        client = self.client
        counter = Acknowledger(client, wanted=False, confirmed=False)
        client.ready()
        received = size = 0
        while received < client.messages:
            frames = self._next(client.messages - received)
            frames = first(client.messages - received, first(self._in_order(frames), frames))
            kept = len(frames)
            if not received and kept:
                client.begin()
            received += kept
            size += sum(map(len, frames.payloads))
            counter.handle(frames)
            if self.ended:
                self._again()
        self._delete()
        return client.sample(size)

    def _next(self, wanted: int) -> Frames:
        pull, batch = self.pull, self.client.settings.batch
        if pull is None:
            frames = self.deliveries.take(2 * HEARTBEAT / SECOND)
            self.ended |= self.deliveries.silent
            return frames
        if pull.waiting <= batch // 2 and wanted > pull.waiting:
            pull.ask(min(batch, wanted) - pull.waiting)
        frames = self.deliveries.take()
        pull.waiting = 0 if self.deliveries.silent else max(0, pull.waiting - len(frames))
        return frames

    def _create(self) -> None:
        """Make a consumer that begins after the last message."""
        connection = self.client.connection
        self.name = f"bench-{secrets.token_hex(6)}"
        self.delivered = 0  # messages of this consumer
        self.ended = False  # a message is missing, or the consumer is gone
        config: dict[str, object] = {
            "name": self.name,
            "ack_policy": "none",
            "max_deliver": 1,
            "mem_storage": True,
            "num_replicas": 1,
            "inactive_threshold": INACTIVE,
            "deliver_policy": "by_start_sequence" if self.last else "all",
            **filter_fields(self.filters),
        }
        if self.last:
            config["opt_start_seq"] = self.last + 1
        self.pull: PullReader | None = None
        if self.push:
            inbox = connection.new_inbox()
            self.sid = connection.subscribe(inbox)
            self.deliveries = Deliveries(self.client)
            self.deliveries.on_status = self._status
            config |= {"deliver_subject": inbox, "flow_control": True, "idle_heartbeat": HEARTBEAT}
        else:
            idle = Acknowledger(self.client, wanted=False, confirmed=False)
            self.pull = PullReader(self.client, self.api, self.name, idle)
            self.pull.on_end = self._end
            self.sid, self.deliveries = self.pull.sid, self.pull.deliveries
        document = {"stream_name": self.stream, "config": config}
        self.api.request(f"CONSUMER.CREATE.{self.stream}.{self.name}", document)

    def _delete(self) -> None:
        with suppress(RemoteError):  # it may be gone already
            self.api.request(f"CONSUMER.DELETE.{self.stream}.{self.name}")

    def _status(self, code: int, text: str, block: bytes) -> None:
        """Answer flow control; heartbeats need nothing."""
        head = block.partition(b"\r\n")[0]
        if code == IDLE and head.count(b" ") == 2:
            self.client.connection.send(encode.pub(reply_of(head), b"", b"", b""))
        elif code != IDLE:
            self._end(text)

    def _end(self, _reason: str) -> None:
        self.ended = True

    def _in_order(self, frames: Frames) -> int:
        """Return how many of the messages follow the ones before without a gap."""
        count = len(frames)
        if not count:
            return 0
        stream, consumer = sequences(frames.heads[-1])
        if consumer == self.delivered + count:  # nothing is missing in between
            self.delivered, self.last = consumer, stream
            return count
        self.ended = True
        for row, head in enumerate(frames.heads):
            stream, consumer = sequences(head)
            if consumer != self.delivered + 1:
                return row
            self.delivered, self.last = consumer, stream
        return count

    def _again(self) -> None:
        """Make a new consumer; drop what still arrives for the old one."""
        connection = self.client.connection
        connection.unsubscribe(self.sid)
        self._delete()
        connection.flush()
        with suppress(TimedOut):
            connection.skim(0)
        self.client.notes = ["a consumer had to be made again. These results are not optimal!"]
        self._create()


def sequences(head: bytes) -> tuple[int, int]:
    """Return the stream's and the consumer's sequence in the reply subject of `subject sid reply`."""
    tokens = reply_of(head).split(b".")
    first = 5 if len(tokens) == V1_TOKENS else 7
    return int(tokens[first]), int(tokens[first + 1])


def filter_fields(filters: Sequence[str]) -> dict[str, object]:
    """Return the fields of a consumer's configuration that select its subjects."""
    if len(filters) == 1:
        return {"filter_subject": filters[0]}
    return {"filter_subjects": list(filters)} if filters else {}
