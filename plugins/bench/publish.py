"""`pyjs bench js pub sync|async|atomic|fast`: publishing to a stream, which the command may create."""

from __future__ import annotations

import secrets
from typing import Any

import click

from ...cli import output, render, words
from ...cli.command import Command
from ...cli.errors import RefusedError, RemoteError, UsageError
from ...cli.proposal import in_hint
from . import publishing
from .benchmark import Benchmark, run
from .client import ClientRun
from .connection import Api
from .core import message_facts
from .sample import BenchmarkSample
from .settings import (
    COMMON,
    JETSTREAM,
    MESSAGES,
    MOST_FAST_BATCH,
    PUBLISH,
    SUBJECT,
    THROUGHPUT,
    BenchmarkSettings,
    batch,
    decorate,
)

ATOMIC, FAST = "atomic", "fast"
# What each kind of batch needs: the level of the JetStream API, the field of a stream, the server's release.
NEEDS = {ATOMIC: (2, "allow_atomic", "2.12"), FAST: (4, "allow_batched", "2.14")}
OPTIONS = (*COMMON, *JETSTREAM, *MESSAGES, *PUBLISH, *THROUGHPUT)


@click.command(cls=Command)
@output.showing("benchmark")
@SUBJECT
@decorate(OPTIONS)
def sync(**_given: Any) -> None:
    """Publish one message after the other, each when the one before is acknowledged."""
    _publish("synchronous", "one publish until its acknowledgement", BenchmarkSettings.given())


@click.command("async", cls=Command)
@output.showing("benchmark")
@SUBJECT
@batch("Messages that are sent before their acknowledgements are awaited.")
@decorate(OPTIONS)
def async_publish(**_given: Any) -> None:
    """Publish many messages, and wait for their acknowledgements together."""
    settings = BenchmarkSettings.given()
    _publish("asynchronous", f"{settings.batch} publishes until the last acknowledgement", settings)


@click.command(cls=Command)
@output.showing("benchmark")
@SUBJECT
@batch("Messages of a batch.")
@decorate(OPTIONS)
def atomic(**_given: Any) -> None:
    """Publish batches that are stored whole or not at all."""
    settings = BenchmarkSettings.given()
    _publish(ATOMIC, f"one batch of {settings.batch} until it is stored", settings)


@click.command(cls=Command)
@output.showing("benchmark")
@SUBJECT
@batch("Messages after which the server should acknowledge; it may choose fewer.")
@click.option(
    "--max-outstanding-acks",
    type=click.IntRange(1, 65535),
    default=1,
    show_default=True,
    help="Acknowledgements that may be awaited at once.",
)
@decorate(OPTIONS)
def fast(**_given: Any) -> None:
    """Publish all messages as one long batch, at the pace that the server sets."""
    settings = BenchmarkSettings.given()
    if settings.batch > MOST_FAST_BATCH:
        render.log(
            f"WARNING: --batch {settings.batch} is more than a fast batch allows; {MOST_FAST_BATCH} it is"
        )
        settings = BenchmarkSettings(**{**settings.__dict__, "batch": MOST_FAST_BATCH})
    _publish(FAST, "the messages between two acknowledgements of the server", settings)


def _publish(kind: str, operation: str, settings: BenchmarkSettings) -> None:
    run_id = secrets.token_hex(6)

    def work(client: ClientRun) -> BenchmarkSample:
        publisher = publishing.JetStreamPublisher(client, run_id)
        works = {
            "synchronous": publisher.sync,
            "asynchronous": publisher.batches,
            ATOMIC: publisher.atomic,
            FAST: publisher.fast,
        }
        return works[kind]()

    if settings.persist_async and (settings.replicas != 1 or kind == ATOMIC):
        raise UsageError(
            "the persistence mode async is for streams with one replica, and not for atomic batches",
            "leave out --persistasync",
        )
    words = f"{kind} batch" if kind in NEEDS else kind
    benchmark = Benchmark(
        f"JetStream {words} publisher", "publishing {} messages", work, sends=True, operation=operation
    )

    def prepare(api: Api) -> None:
        _prepare(api, settings, kind)

    run(benchmark, settings, _facts(settings), prepare)


def _facts(settings: BenchmarkSettings) -> dict[str, object]:
    facts = message_facts(settings) | {
        "batch": settings.batch,
        "stream": settings.stream,
        "purge": settings.purge,
    }
    if settings.create:
        facts |= {
            "storage": settings.storage,
            "max-bytes": words.number(settings.max_bytes),
            "replicas": settings.replicas,
            "deduplication": settings.dedup,
            "dedup-window": words.go_span(settings.dedup_window),
        }
    return facts


def _prepare(api: Api, settings: BenchmarkSettings, kind: str) -> None:
    """Create and purge the stream as the flags ask for, and check that it can do this kind of publishing."""
    level = api_level(api)
    if kind in NEEDS:
        needed, _, release = NEEDS[kind]
        if level < needed:
            raise RefusedError(
                f"this server has no {kind} batches: they need level {needed} of the JetStream API, "
                f"it has level {level}",
                f"nats-server has them since {release}; 'bench js pub async' works on every server",
            )
    if settings.create:
        _create(api, settings, kind, level)
    config = api.stream(settings.stream)["config"]
    if kind in NEEDS and isinstance(config, dict) and not config.get(NEEDS[kind][1]):
        raise RefusedError(
            f"the stream {settings.stream} does not allow {kind} batches",
            f"{in_hint(f'stream edit {settings.stream}')} can change {NEEDS[kind][1]}; --create makes a "
            "stream that does",
        )
    render.log(f"Using stream: {settings.stream}")
    if settings.purge:
        render.log("Purging the stream")
        api.request(f"STREAM.PURGE.{settings.stream}")


def api_level(api: Api) -> int:
    """Return the level of the JetStream API of the server; 0 for servers before 2.11."""
    document = api.request("INFO")
    usage = document.get("api")
    return int(usage.get("level") or 0) if isinstance(usage, dict) else 0


def _create(api: Api, settings: BenchmarkSettings, kind: str, level: int) -> None:
    persist_async = settings.persist_async and kind != ATOMIC
    config: dict[str, object] = {
        "name": settings.stream,
        "subjects": [settings.subscribed],
        "retention": "limits",
        "discard": "new",
        "storage": settings.storage,
        "num_replicas": settings.replicas,
        "max_bytes": settings.max_bytes,
        "max_msgs": -1,
        "max_age": 0,
        "duplicate_window": settings.dedup_window,
        "allow_direct": True,
    }
    # An older server would refuse fields that it does not know, or store them without effect.
    if level >= NEEDS[ATOMIC][0] and not persist_async:
        config["allow_atomic"] = True
    if level >= NEEDS[FAST][0]:
        config["allow_batched"] = True
    if persist_async:
        config["persist_mode"] = "async"
    try:
        api.request(f"STREAM.CREATE.{settings.stream}", config)
    except RemoteError as error:
        raise error.while_doing(
            "could not create the stream",
            f"if {settings.stream} may go, {in_hint(f'stream rm {settings.stream}')} makes place for it; "
            "without --create it is used as it is",
        ) from None
