"""`pyjs bench js consume|fetch|ordered`: reading a stream with consumers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from ...cli import output, render, words
from ...cli.command import Command
from ...cli.errors import RemoteError, UsageError
from ...cli.proposal import in_hint
from . import consuming
from .benchmark import Benchmark, run
from .client import ClientRun, Work
from .connection import CONSUMER_NOT_FOUND, Api
from .sample import BenchmarkSample
from .settings import (
    COMMON,
    CONSUME,
    CONSUMER,
    FILTER,
    JETSTREAM,
    PURGE,
    BenchmarkSettings,
    batch,
    decorate,
)


@click.command(cls=Command)
@output.showing("benchmark")
@decorate(CONSUME)
@decorate(COMMON)
@decorate(JETSTREAM)
def consume(**_given: Any) -> None:
    """Read a stream with a durable consumer. The clients divide its messages.

    Every client always has messages waiting for it: when half of a batch has come, it asks for more.
    """
    _durable(BenchmarkSettings.given(), "callback")


@click.command(cls=Command)
@output.showing("benchmark")
@decorate(CONSUME)
@decorate(COMMON)
@decorate(JETSTREAM)
def fetch(**_given: Any) -> None:
    """Read a stream with a durable consumer, one batch after the other. The clients divide its messages."""
    _durable(BenchmarkSettings.given(), "fetch")


def _durable(settings: BenchmarkSettings, mode: str) -> None:
    prefix = ""

    def work(client: ClientRun) -> BenchmarkSample:
        acknowledger = consuming.Acknowledger(
            client, wanted=settings.acks != "none", confirmed=settings.double_ack
        )
        api = Api(client.connection, prefix)
        reader = consuming.PullReader(client, api, settings.consumer, acknowledger)
        return reader.fetch() if mode == "fetch" else reader.consume()

    def prepare(api: Api) -> None:
        nonlocal prefix
        prefix = api.prefix
        stream(api, settings)
        info = (_create if settings.consumer == CONSUMER else _existing)(api, settings)
        warn_of_few(settings, int(str(info.get("num_pending", 0))))

    operation = f"one batch of {settings.batch}, without its acknowledgements" if mode == "fetch" else ""
    benchmark = Benchmark(
        f"JetStream durable consumer ({mode})",
        "expecting {} messages",
        work,
        sends=False,
        operation=operation,
    )
    facts: dict[str, object] = {
        "consumer": settings.consumer,
        "acks": settings.acks,
        "double-acked": settings.double_ack,
        "batch": settings.batch,
    }
    run(benchmark, settings, facts | stream_facts(settings), prepare)


def stream(api: Api, settings: BenchmarkSettings) -> dict[str, object]:
    """Return the stream's information, and purge it if that was asked for. Raises RemoteError."""
    info = api.stream(settings.stream)
    if settings.purge:
        api.request(f"STREAM.PURGE.{settings.stream}")
    return info


def stream_facts(settings: BenchmarkSettings) -> dict[str, object]:
    """Return the settings of a stream that is read, for the line that says what starts."""
    facts: dict[str, object] = {
        "stream": settings.stream,
        "sleep": words.go_span(settings.sleep),
        "purge": settings.purge,
    }
    if settings.filters:
        facts["filter"] = ",".join(settings.filters)
    return facts


def warn_of_few(settings: BenchmarkSettings, waiting: int) -> None:
    """Say so if fewer messages are there than the benchmark is going to wait for."""
    if waiting < settings.messages:
        few = f"{words.number(waiting)} of {words.number(settings.messages)}"
        render.log(f"WARNING: {few} messages are there; the benchmark waits for the others. See --msgs")


def _create(api: Api, settings: BenchmarkSettings) -> dict[str, object]:
    config: dict[str, object] = {
        "durable_name": settings.consumer,
        "name": settings.consumer,
        "deliver_policy": "all",
        "ack_policy": settings.acks,
        "replay_policy": "instant",
        "inactive_threshold": consuming.INACTIVE,
        **consuming.filter_fields(settings.filters),
    }
    if settings.acks != "none":
        config["max_ack_pending"] = settings.batch * settings.clients
    document = {"stream_name": settings.stream, "config": config}
    try:
        return api.request(f"CONSUMER.CREATE.{settings.stream}.{settings.consumer}", document)
    except RemoteError as error:
        line = in_hint(f"consumer rm {settings.stream} {settings.consumer}")
        remove = f"{line} removes the one of an earlier run"
        raise error.while_doing(f"could not create the consumer {settings.consumer}", remove) from None


def _existing(api: Api, settings: BenchmarkSettings) -> dict[str, object]:
    name = f"{settings.stream} > {settings.consumer}"
    try:
        info = api.request(f"CONSUMER.INFO.{settings.stream}.{settings.consumer}")
    except RemoteError as error:
        hint = "only the default consumer is created: see --consumer"
        raise error.while_doing(
            f"could not load the consumer {name}", hint if error.err_code == CONSUMER_NOT_FOUND else ""
        ) from None
    config = info.get("config")
    if isinstance(config, dict) and config.get("deliver_subject"):
        raise UsageError(
            f"the consumer {name} pushes its messages", "'bench oldjs push' reads such consumers"
        )
    return info


@click.command(cls=Command)
@output.showing("benchmark")
@batch("Messages asked for at once.")
@PURGE
@FILTER
@decorate(COMMON)
@decorate(JETSTREAM)
def ordered(**_given: Any) -> None:
    """Read a stream with an ordered consumer. Every client reads all messages."""
    settings = BenchmarkSettings.given()
    facts = stream_facts(settings) | {"batch": settings.batch}
    read_ordered("JetStream ordered ephemeral consumer", settings, settings.filters, facts, push=False)


def read_ordered(
    label: str,
    settings: BenchmarkSettings,
    filters: Sequence[str],
    facts: dict[str, object],
    *,
    push: bool,
) -> None:
    """Run a benchmark with ordered consumers."""
    prefix = ""

    def prepare(api: Api) -> None:
        nonlocal prefix
        prefix = api.prefix
        state = stream(api, settings)["state"]
        if not filters and isinstance(state, dict):
            warn_of_few(settings, 0 if settings.purge else int(state["messages"]))

    def ordered_work(client: ClientRun) -> BenchmarkSample:
        return consuming.OrderedReader(client, Api(client.connection, prefix), filters, push=push).read()

    work: Work = ordered_work
    run(Benchmark(label, "expecting {} messages", work, sends=False, shared=False), settings, facts, prepare)
