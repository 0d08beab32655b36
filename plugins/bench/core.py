"""`pyjs bench pub` and `pyjs bench sub`: messages without JetStream."""

from __future__ import annotations

from typing import Any

import click

from ...cli import output, words
from ...cli.command import Command
from ...cli.errors import RefusedError, UnavailableError
from .benchmark import Benchmark, run
from .client import WAIT_SECONDS, ClientRun, now
from .publications import Publications
from .sample import BenchmarkSample
from .settings import (
    COMMON,
    MESSAGES,
    MULTISUBJECT,
    SLEEP,
    SUBJECT,
    THROUGHPUT,
    BenchmarkSettings,
    decorate,
)

READ_EVERY = 64  # writes after which to look at what the server sends: PINGs, errors


def publish(client: ClientRun) -> BenchmarkSample:
    """Publish the client's messages, as many with one write as the pace allows."""
    from ...client import TimedOut

    connection, settings = client.connection, client.settings
    publications = Publications(settings, client.plan)
    fits(publications.size, connection.max_payload)
    most = client.at_once(publications.at_once())
    client.ready(staggered=True)
    sent = writes = 0
    while sent < client.messages:
        count = min(most, client.messages - sent)
        frames = publications.frames(sent, count)
        before = now()
        connection.send(frames)
        client.latencies.add(now() - before)
        sent += count
        writes += 1
        client.advance(count)
        if client.paced:
            client.throttle(sent)
        if not writes % READ_EVERY:
            connection.poll()
    try:
        connection.flush(WAIT_SECONDS)
    except TimedOut:
        raise UnavailableError(
            f"the server did not confirm the last messages within {WAIT_SECONDS:g} s"
        ) from None
    return client.sample(sent * publications.size)


def fits(size: int, most: int) -> None:
    """Raise RefusedError if the server does not accept payloads of this size."""
    if size > most:
        raise RefusedError(
            f"messages of {words.size(size)} are larger than the server accepts ({words.size(most)})",
            "see --size, and max_payload in the server's configuration",
        )


def receive(client: ClientRun) -> BenchmarkSample:
    """Count messages until all have arrived. The time starts with the first one."""
    from ...client import TimedOut

    connection = client.connection
    connection.subscribe(client.settings.subscribed)
    connection.flush()
    client.ready()
    received = size = 0
    while received < client.messages:
        try:
            count, more = connection.skim(WAIT_SECONDS)
        except TimedOut:
            continue
        if not received:
            client.begin()
        received += count
        size += more
        client.advance(count)
    # The last read may have brought more than was waited for.
    return client.sample(size * client.messages // received)


PUBLISHER = Benchmark(
    "Core NATS publisher", "publishing {} messages", publish, sends=True, operation="one write"
)
SUBSCRIBER = Benchmark("Core NATS subscriber", "expecting {} messages", receive, sends=False, shared=False)


@click.command(cls=Command)
@output.showing("benchmark")
@SUBJECT
@SLEEP
@decorate(COMMON)
@decorate(MESSAGES)
@decorate(THROUGHPUT)
def pub(**_given: Any) -> None:
    """Publish messages without JetStream.

    Many messages are sent with one write, up to 64 KiB; a latency is the time of one write.
    """
    settings = BenchmarkSettings.given()
    run(PUBLISHER, settings, message_facts(settings))


def message_facts(settings: BenchmarkSettings) -> dict[str, object]:
    """Return the settings of messages, for the line that says what starts."""
    facts: dict[str, object] = {
        "subject": settings.subscribed,
        "multi-subject": settings.multisubject,
        "multi-subject-max": words.number(settings.multisubject_max),
        "multi-subject-randomize": settings.multisubject_randomize,
        "sleep": words.go_span(settings.sleep),
    }
    return facts | throughput_facts(settings)


def throughput_facts(settings: BenchmarkSettings) -> dict[str, object]:
    """Return the pace, if one was asked for."""
    if settings.throughput <= 0:
        return {}
    facts: dict[str, object] = {"throughput": words.number(settings.throughput)}
    if settings.duration:
        facts["duration"] = words.go_span(settings.duration)
    return facts


@click.command(cls=Command)
@output.showing("benchmark")
@SUBJECT
@MULTISUBJECT
@decorate(COMMON)
def sub(**_given: Any) -> None:
    """Subscribe, and wait until every client has received all messages."""
    settings = BenchmarkSettings.given()
    run(SUBSCRIBER, settings, {"subject": settings.subscribed, "multi-subject": settings.multisubject})
