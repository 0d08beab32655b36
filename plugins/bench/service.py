"""`pyjs bench service request|serve`: requests, and a service that answers them."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime
from typing import Any

import click

from ...cli import output, words
from ...cli.command import Command, CommandGroup
from ...cli.errors import CliError
from ...protocol import micro
from ...protocol.wire import encode
from .benchmark import Benchmark, run
from .client import ClientRun, now
from .core import fits, throughput_facts
from .exchange import ask
from .publications import Publications
from .sample import BenchmarkSample
from .settings import COMMON, HEADER, PAYLOAD, SLEEP, SUBJECT, THROUGHPUT, BenchmarkSettings, decorate

NAME, VERSION, ANSWER = "nats-bench-service", "1.0.0", b"ok"
OPTIONS = (SLEEP, *COMMON)


@click.group(cls=CommandGroup)
@decorate(OPTIONS)
def service(**_given: Any) -> None:
    """Measure requests and their answers."""


def request(client: ClientRun) -> BenchmarkSample:
    """Send one request after the other, each when the one before is answered."""
    connection, settings = client.connection, client.settings
    publications = Publications(settings, client.plan)
    fits(publications.size, connection.max_payload)
    inbox = connection.new_inbox()
    connection.subscribe(inbox)
    frame = publications.frame(0, inbox.encode())
    client.ready(staggered=True)
    for number in range(client.messages):
        before = now()
        _, payload = ask(connection, frame, settings.subject)
        client.latencies.add(now() - before)
        if not payload or payload.startswith(b"-") or b"error" in payload:
            raise CliError(f"the answer to a request is not good: {payload[:100]!r}")
        client.advance(1)
        if client.paced:
            client.throttle(number + 1)
    return client.sample(client.messages * publications.size)


def serve(client: ClientRun) -> BenchmarkSample:
    """Answer requests, and the questions about the service, until the process is ended."""
    connection, sleep = client.connection, client.settings.sleep
    endpoint = micro.Endpoint("default", client.settings.subject)
    started = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    described = micro.Service(NAME, secrets.token_hex(11), VERSION, "", started, [endpoint])
    verbs = {connection.subscribe(subject): verb for subject, verb in described.subjects().items()}
    connection.subscribe(endpoint.subject, queue=endpoint.queue)
    connection.flush()
    client.ready()
    while True:
        frames = client.take()
        before, requests = now(), 0
        answers = []
        for head in frames.heads:
            _, sid, reply = (head + b"  ").split(b" ")[:3]
            if sid in verbs:
                answers.append(encode.pub(reply, b"", b"", described.answer(verbs[sid])))
                continue
            requests += 1
            if sleep:
                time.sleep(sleep / 1e9)
                connection.send(encode.pub(reply, b"", b"", ANSWER))
            elif reply:
                answers.append(encode.pub(reply, b"", b"", ANSWER))
        connection.send(b"".join(answers))
        endpoint.served(now() - before, requests=requests)


REQUESTER = Benchmark(
    "Core NATS service requester",
    "requesting {} messages",
    request,
    sends=True,
    operation="one request until its answer",
)
SERVER = Benchmark("Core NATS service server", "answering until Ctrl-C", serve, sends=False, shared=False)


@click.command("request", cls=Command)
@output.showing("benchmark")
@SUBJECT
@PAYLOAD
@HEADER
@decorate(OPTIONS)
@decorate(THROUGHPUT)
def request_command(**_given: Any) -> None:
    """Send requests, each when the one before is answered."""
    settings = BenchmarkSettings.given()
    facts = {"subject": settings.subject, "sleep": words.go_span(settings.sleep)}
    run(REQUESTER, settings, facts | throughput_facts(settings))


@click.command("serve", cls=Command)
@output.showing("benchmark")
@SUBJECT
@decorate(OPTIONS)
def serve_command(**_given: Any) -> None:
    """Answer requests until Ctrl-C. With --sleep, wait before each answer."""
    settings = BenchmarkSettings.given()
    run(SERVER, settings, {"subject": settings.subject, "sleep": words.go_span(settings.sleep)})


service.add_command(request_command)
service.add_command(serve_command)
