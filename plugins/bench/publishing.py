"""The work of JetStream's publishers: one by one, many at a time, in atomic and in fast batches."""

from __future__ import annotations

import json

from ...cli.errors import CliError, RemoteError, UnavailableError
from ...client import BlockingConnection, Frames, TimedOut
from ...protocol import headers as header_block
from ...protocol.wire import encode
from .client import ClientRun, now
from .connection import checked
from .core import fits
from .exchange import acknowledged, ask, refuse_silence
from .publications import WRITE, Publications
from .sample import BenchmarkSample

BATCH_ID, BATCH_SEQUENCE, BATCH_COMMIT = b"Nats-Batch-Id", b"Nats-Batch-Sequence", b"Nats-Batch-Commit"
START, APPEND, COMMIT = 0, 1, 2  # operations of a fast batch


class JetStreamPublisher:
    """A client that publishes to a stream.

    run_id: what all clients of a run have in common, for message and batch IDs.
    """

    def __init__(self, client: ClientRun, run_id: str) -> None:
        self.client = client
        self.connection: BlockingConnection = client.connection
        self.publications = Publications(client.settings, client.plan, run_id)
        self.subject = client.settings.subscribed
        self.batch_id = f"{run_id}-{client.plan.number}".encode()
        self.inbox = self.connection.new_inbox().encode()
        fits(self.publications.size, self.connection.max_payload)

    def sample(self) -> BenchmarkSample:
        """Return what was measured."""
        return self.client.sample(self.client.messages * self.publications.size)

    def sync(self) -> BenchmarkSample:
        """Publish one message after the other, each when the one before is acknowledged."""
        client, latencies = self.client, self.client.latencies
        self.connection.subscribe(self.inbox.decode())
        client.ready(staggered=True)
        frame = self.publications.frame(0, self.inbox)
        for number in range(client.messages):
            if not self.publications.alike:
                frame = self.publications.frame(number, self.inbox)
            before = now()
            self.connection.send(frame)
            acknowledged(self.take(1), self.subject)
            latencies.add(now() - before)
            client.advance(1)
            if client.paced:
                client.throttle(number + 1)
        return self.sample()

    def batches(self) -> BenchmarkSample:
        """Publish `batch` messages, wait until all are acknowledged, and so on."""
        client = self.client
        self.connection.subscribe(self.inbox.decode())
        client.ready(staggered=True)
        sent = 0
        while sent < client.messages:
            count = min(client.settings.batch, client.messages - sent)
            before = now()
            paused = self._send(sent, count)
            waiting = count
            while waiting:
                acks = self.take(waiting)
                acknowledged(acks, self.subject)
                waiting -= len(acks)
                client.advance(len(acks))
            client.latencies.add(now() - before - paused)
            sent += count
        return self.sample()

    def _send(self, first: int, count: int) -> int:
        """Send messages; return for how many ns the pace asked for made it wait.

        What arrives meanwhile is read, so that neither side waits for the other with full buffers.
        """
        client, sent, paused = self.client, 0, 0
        at_once = client.at_once(max(1, 4 * WRITE // len(self.publications.frame(0, self.inbox))))
        while sent < count:
            some = min(at_once, count - sent)
            self.connection.send(self.publications.frames(first + sent, some, self.inbox))
            sent += some
            if client.paced:
                paused += client.throttle(first + sent)
            if sent < count:
                self.connection.poll()
        return paused

    def take(self, waiting: int) -> Frames:
        """Return what the server answered. Raises CliError if that takes too long.

        waiting: the number of messages that are not acknowledged yet.
        """
        try:
            return self.connection.take()
        except TimedOut:
            raise UnavailableError(
                f"nats: timeout: {waiting} messages on {self.subject} were not acknowledged",
                "--timeout waits longer",
            ) from None

    def atomic(self) -> BenchmarkSample:
        """Publish in atomic batches, each of which is committed with its last message."""
        client, connection = self.client, self.connection
        connection.subscribe(self.inbox.decode())
        client.ready(staggered=True)
        sent, same = 0, b""
        while sent < client.messages:
            count = min(client.settings.batch, client.messages - sent)
            before, paused = now(), 0
            if client.paced:
                for index in range(1, count):
                    connection.send(self._of_batch(sent, index, count))
                    paused += client.throttle(sent + index)
                last = self._of_batch(sent, count, count)
            elif same and count == client.settings.batch:
                last = same
            else:
                last = b"".join([self._of_batch(sent, index, count) for index in range(1, count + 1)])
                same = last if self.publications.alike and count == client.settings.batch else b""
            _, answer = ask(connection, last, self.subject)
            self._committed(answer, count)
            client.latencies.add(now() - before - paused)
            sent += count
            client.advance(count)
            if client.paced:
                client.throttle(sent)
        return self.sample()

    def _of_batch(self, first: int, index: int, count: int) -> bytes:
        """Return the message at `place`, from 1, of an atomic batch that begins with number `first`."""
        number = first + index - 1
        block = header_block.add(self.publications.headers(number), BATCH_ID, self.batch_id)
        block = header_block.add(block, BATCH_SEQUENCE, b"%d" % index)
        reply = b""
        if index == count:
            block, reply = header_block.add(block, BATCH_COMMIT, b"1"), self.inbox
        return encode.pub(self.publications.subject(number), reply, block, self.publications.payload)

    def _committed(self, answer: bytes, count: int) -> None:
        stored = checked(answer).get("count")
        if stored != count:
            raise CliError(f"the server confirmed {stored} messages of a batch of {count}")

    def fast(self) -> BenchmarkSample:
        """Publish all messages as one fast batch, and follow the server's flow control."""
        flow = _FastBatch(self)
        self.connection.subscribe(self.inbox.decode() + ".>")
        self.client.ready(staggered=True)
        flow.publish()
        if flow.stored != self.client.messages:
            raise CliError(f"the server confirmed {flow.stored} of {self.client.messages} messages")
        return self.sample()


class _FastBatch:
    """A fast batch: the server says after how many messages it acknowledges, and how far it has stored.

    Source: `processJetStreamFastBatchMsg` in nats-server's server/stream.go.
    """

    def __init__(self, publisher: JetStreamPublisher) -> None:
        self._publisher = publisher
        self._client = publisher.client
        self.stored = 0  # messages that the server has confirmed
        self._lead = b"%b.%b.%d.fail." % (publisher.inbox, publisher.batch_id, self._client.settings.batch)
        self._every = 1  # messages between two acknowledgements
        self._done = False

    def publish(self) -> None:
        """Publish all messages."""
        client, publisher = self._client, self._publisher
        sent, before, paused = 0, now(), 0
        while sent < client.messages:
            count = client.at_once(min(self._window(sent), client.messages - sent))
            publisher.connection.send(self._frames(sent, count))
            sent += count
            client.advance(count)
            if client.paced:
                paused += client.throttle(sent)
            while not self._done and (sent == client.messages or not self._window(sent)):
                if self._follow(sent):
                    client.latencies.add(now() - before - paused)
                    before, paused = now(), 0

    def _window(self, sent: int) -> int:
        """Return how many more messages may be sent before the next acknowledgement."""
        if not sent:
            return 1  # the answer to the first message says how to go on
        outstanding = self._client.settings.max_outstanding_acks
        return max(0, self.stored + self._every * outstanding - sent)

    def _frames(self, first: int, count: int) -> bytes:
        client, publications = self._client, self._publisher.publications
        frames = []
        for number in range(first, first + count):
            operation = START if not number else APPEND
            if number + 1 == client.messages:
                operation = COMMIT
            reply = self._lead + b"%d.%d.$FI" % (number + 1, operation)
            frames.append(publications.frame(number, reply))
        return b"".join(frames)

    def _follow(self, sent: int) -> bool:
        """Wait for what the server says; return whether more messages are stored."""
        before = self.stored
        frames = self._publisher.take(sent - before)
        for header in frames.headers.values():
            refuse_silence(header, self._publisher.subject)
        for payload in frames.payloads:
            self._heed(payload)
        return self.stored > before

    def _heed(self, payload: bytes) -> None:
        document = json.loads(payload)
        kind = document.get("type")
        if kind == "ack":
            self.stored, self._every = int(document["seq"]), max(1, int(document["msgs"]))
        elif kind == "gap":
            raise CliError(f"the server missed messages of the fast batch before {document.get('seq')}")
        elif kind == "err":
            error = document.get("error") or {}
            raise RemoteError(error.get("code", 0), error.get("err_code", 0), error.get("description", ""))
        else:
            checked(payload)
            self.stored, self._done = int(document["count"]), True
