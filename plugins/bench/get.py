"""`pyjs bench js get sync|batch`: reading messages directly, without a consumer."""

from __future__ import annotations

import json
from typing import Any

import click

from ...cli import output
from ...cli.command import Command
from ...cli.errors import NotFoundError, RefusedError, UnavailableError
from ...cli.proposal import in_hint
from ...client import TimedOut
from ...protocol import headers
from ...protocol.wire import encode
from .benchmark import Benchmark, run
from .client import ClientRun, now
from .connection import Api, checked
from .consume import stream_facts, warn_of_few
from .exchange import ask, refuse_silence
from .sample import BenchmarkSample
from .settings import COMMON, JETSTREAM, BenchmarkSettings, batch, decorate

END_OF_BATCH = 204
OPTIONS = (*COMMON, *JETSTREAM)


class Getter:
    """A client that gets messages.

    prefix: of the JetStream API.
    first: the first sequence of the stream.
    direct: the stream allows direct gets; otherwise its leader is asked.
    """

    def __init__(self, client: ClientRun, prefix: str, first: int, *, direct: bool) -> None:
        self.client = client
        self.first = first
        self.direct = direct
        self.connection = client.connection
        self.inbox = self.connection.new_inbox().encode()
        verb = "DIRECT.GET" if direct else "STREAM.MSG.GET"
        self.subject = f"{prefix}.{verb}.{client.settings.stream}"
        self.connection.subscribe(self.inbox.decode())

    def sync(self) -> BenchmarkSample:
        """Get one message after the other, by sequence."""
        client = self.client
        client.ready()
        size = 0
        for number in range(client.messages):
            body = b'{"seq":%d}' % (self.first + number)
            before = now()
            header, payload = ask(
                self.connection, encode.pub(self.subject.encode(), self.inbox, b"", body), self.subject
            )
            client.latencies.add(now() - before)
            size += self._size(header, payload, self.first + number)
            client.advance(1)
            if client.paced:
                client.throttle(number + 1)
        return client.sample(size)

    def _size(self, header: bytes, payload: bytes, sequence: int) -> int:
        if self.direct:
            code, text = headers.status(header)
            if code is not None:
                raise NotFoundError(f"could not get the message {sequence}: {code} {text}")
            return len(payload)
        message = checked(payload)["message"]
        # As base64: four characters for three bytes.
        return len(message.get("data", "")) * 3 // 4 if isinstance(message, dict) else 0

    def batches(self) -> BenchmarkSample:
        """Get batches of messages that match a filter, each with one request."""
        client, settings = self.client, self.client.settings
        client.ready()
        received = size = 0
        sequence = 1
        while received < client.messages:
            wanted = min(settings.batch, client.messages - received)
            body = json.dumps({"seq": sequence, "batch": wanted, "next_by_subj": settings.filter}).encode()
            before = now()
            self.connection.send(encode.pub(self.subject.encode(), self.inbox, b"", body))
            count, more, last = self._batch(sequence)
            client.latencies.add(now() - before)
            received, size, sequence = received + count, size + more, last + 1
            if count < wanted:
                client.notes = [
                    "a batch had fewer messages than asked for. These results may not be optimal!"
                ]
            client.advance(count)
            if client.paced:
                client.throttle(0)
        return client.sample(size)

    def _batch(self, sequence: int) -> tuple[int, int, int]:
        """Take the answers to one request; return how many, their bytes, and the last sequence."""
        count = size = last = 0
        while True:
            try:
                frames = self.connection.take()
            except TimedOut:
                raise UnavailableError(f"no answer from {self.subject} in time") from None
            rows = sorted(frames.headers)
            end = rows[-1]
            block = frames.headers[end]
            code, text = headers.status(block)
            if code is None:
                last = int(headers.get(block, b"Nats-Sequence") or 0)
            else:
                refuse_silence(block, self.subject)
                if code != END_OF_BATCH:
                    raise NotFoundError(f"could not get messages from sequence {sequence} on: {code} {text}")
                if len(rows) > 1:
                    last = int(headers.get(frames.headers[rows[-2]], b"Nats-Sequence") or 0)
            count += len(rows) - (code is not None)
            size += sum(map(len, frames.payloads))
            if code == END_OF_BATCH:
                return count, size, last


@click.command("sync", cls=Command)
@output.showing("benchmark")
@decorate(OPTIONS)
def sync(**_given: Any) -> None:
    """Get one message after the other, by sequence. Every client gets all of them."""
    settings = BenchmarkSettings.given()
    _get("JetStream synchronous getter", "one get", settings, stream_facts(settings), batched=False)


@click.command("batch", cls=Command)
@output.showing("benchmark")
@batch("Messages of one request.")
@click.option("--filter", default=">", show_default=True, metavar="SUBJECT", help="Only this subject.")
@decorate(OPTIONS)
def batch_get(**_given: Any) -> None:
    """Get many messages with one request. Every client gets all of them."""
    settings = BenchmarkSettings.given()
    facts = stream_facts(settings) | {"batch": settings.batch, "filter": settings.filter}
    operation = f"one request for {settings.batch} messages"
    _get("JetStream batched direct getter", operation, settings, facts, batched=True)


def _get(
    label: str, operation: str, settings: BenchmarkSettings, facts: dict[str, object], *, batched: bool
) -> None:
    prefix, first, direct = "", 1, True

    def prepare(api: Api) -> None:
        nonlocal prefix, first, direct
        prefix = api.prefix
        info = api.stream(settings.stream)
        config, state = info["config"], info["state"]
        assert isinstance(config, dict)
        assert isinstance(state, dict)
        first, direct = int(state["first_seq"]), bool(config.get("allow_direct"))
        if batched and not direct:
            raise RefusedError(
                f"the stream {settings.stream} does not allow direct gets",
                f"{in_hint(f'stream edit {settings.stream} --allow-direct')} lets it",
            )
        warn_of_few(settings, int(state["messages"]))

    def work(client: ClientRun) -> BenchmarkSample:
        getter = Getter(client, prefix, first, direct=direct)
        return getter.batches() if batched else getter.sync()

    run(
        Benchmark(label, "getting {} messages", work, sends=False, shared=False, operation=operation),
        settings,
        facts,
        prepare,
    )
