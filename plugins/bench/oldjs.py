"""`pyjs bench oldjs ordered|push|pull`: reading streams in the ways of the older clients' API."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import click

from ...cli import output, render
from ...cli.command import Command, CommandGroup
from ...cli.errors import RemoteError, UsageError
from . import consuming
from .benchmark import Benchmark, run
from .client import ClientRun
from .connection import Api
from .consume import read_ordered, stream, stream_facts, warn_of_few
from .sample import BenchmarkSample
from .settings import (
    COMMON,
    CONSUMER,
    JETSTREAM,
    MULTISUBJECT,
    SECOND,
    SUBJECT,
    BenchmarkSettings,
    batch,
    decorate,
)

MOST_PENDING = 10_000
OPTIONS = (*COMMON, *JETSTREAM)
DURABLE = (
    click.option(
        "--consumer",
        default=CONSUMER,
        show_default=True,
        help="Durable consumer. The default one is created, and deleted in the end; another one must exist.",
    ),
    click.option("--ack/--no-ack", default=True, help="Acknowledge the messages.", show_default=True),
    click.option(
        "--doubleack/--no-doubleack",
        "double_ack",
        default=False,
        help="Wait until the server confirms each acknowledgement.",
    ),
)


@click.group(cls=CommandGroup)
@decorate(OPTIONS)
def oldjs(**_given: Any) -> None:
    """Measure reading streams in the ways of the older clients' API."""


@click.command("ordered", cls=Command)
@output.showing("benchmark")
@SUBJECT
@MULTISUBJECT
@decorate(OPTIONS)
def ordered_command(**_given: Any) -> None:
    """Read with an ordered push consumer. Every client reads all messages."""
    settings = BenchmarkSettings.given()
    facts = stream_facts(settings) | {"multi-subject": settings.multisubject}
    label = "JetStream ordered ephemeral consumer (old API)"
    read_ordered(label, settings, [settings.subscribed], facts, push=True)


@click.command("push", cls=Command)
@output.showing("benchmark")
@SUBJECT
@click.option(
    "--maxacks",
    "batch",
    type=click.IntRange(min=1),
    default=500,
    show_default=True,
    help="Max ack pending, per client.",
)
@decorate(DURABLE)
@decorate(OPTIONS)
def push_command(**_given: Any) -> None:
    """Read with a durable push consumer. The clients divide the messages, as a queue group."""
    settings = BenchmarkSettings.given()
    _durable(settings, "push", stream_facts(settings))


@click.command("pull", cls=Command)
@output.showing("benchmark")
@SUBJECT
@batch("Messages of a batch.")
@decorate(DURABLE)
@decorate(OPTIONS)
def pull_command(**_given: Any) -> None:
    """Read with a durable pull consumer, one batch after the other. The clients divide the messages."""
    settings = BenchmarkSettings.given()
    _durable(settings, "pull", stream_facts(settings) | {"batch": settings.batch})


def _durable(settings: BenchmarkSettings, mode: str, facts: dict[str, object]) -> None:
    prefix, created = "", False
    subject, group = f"{settings.consumer}-DELIVERY", f"{settings.consumer}-GROUP"
    default = settings.consumer == CONSUMER
    name = f"{settings.stream}.{settings.consumer}"

    def work(client: ClientRun) -> BenchmarkSample:
        acknowledger = consuming.Acknowledger(client, wanted=settings.ack, confirmed=settings.double_ack)
        if mode == "push":
            return consuming.push(client, subject, group, acknowledger)
        reader = consuming.PullReader(client, Api(client.connection, prefix), settings.consumer, acknowledger)
        return reader.fetch(int(client.connection.address.timeout * SECOND))

    def prepare(api: Api) -> None:
        nonlocal prefix, subject, group
        prefix = api.prefix
        stream(api, settings)
        if default:
            return
        config = api.request(f"CONSUMER.INFO.{name}")["config"]
        assert isinstance(config, dict)
        subject, group = str(config.get("deliver_subject", "")), str(config.get("deliver_group", ""))
        if bool(subject) != (mode == "push"):
            raise UsageError(f"the consumer {settings.consumer} is not a {mode} consumer", "see --consumer")

    def start(api: Api) -> None:
        nonlocal created
        # A push consumer delivers as soon as one member of its group is there: all of them have to be.
        if default:
            info = api.request(f"CONSUMER.DURABLE.CREATE.{name}", _config(settings, mode))
            created = True
            kind = "acked" if settings.ack else "unacked"
            render.log(f"Created the durable {kind} {mode} consumer {settings.consumer}")
            warn_of_few(settings, int(str(info.get("num_pending", 0))))

    def clean_up(api: Api) -> None:
        if created:
            with suppress(RemoteError):  # it may be gone already
                api.request(f"CONSUMER.DELETE.{name}")
                render.log(f"Deleted the durable consumer {settings.consumer}")

    operation = f"one batch of {settings.batch}, without its acknowledgements" if mode == "pull" else ""
    label = f"JetStream durable {mode} consumer (old API)"
    benchmark = Benchmark(label, "expecting {} messages", work, sends=False, operation=operation)
    facts |= {"consumer": settings.consumer, "acked": settings.ack, "double-acked": settings.double_ack}
    run(benchmark, settings, facts, prepare, start, clean_up)


def _config(settings: BenchmarkSettings, mode: str) -> dict[str, object]:
    """Return the request that creates the consumer."""
    most = settings.batch * settings.clients
    config: dict[str, object] = {
        "durable_name": settings.consumer,
        "deliver_policy": "all",
        "ack_policy": "explicit" if settings.ack else "none",
        "replay_policy": "instant",
    }
    if mode == "push":
        config |= {
            "deliver_subject": f"{settings.consumer}-DELIVERY",
            "deliver_group": f"{settings.consumer}-GROUP",
        }
    if settings.ack:
        config["max_ack_pending"] = most if mode == "push" else min(most, MOST_PENDING)
    return {"stream_name": settings.stream, "config": config}


oldjs.add_command(ordered_command)
oldjs.add_command(push_command)
oldjs.add_command(pull_command)
