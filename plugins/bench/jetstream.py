"""`pyjs bench js`: streams, written and read."""

from __future__ import annotations

from typing import Any

import click

from ...cli.command import CommandGroup, table_rows
from .settings import COMMON, JETSTREAM, decorate

_ROWS = (
    ("consume", "consume:consume", "Read with a durable consumer, which has messages waiting", ()),
    ("fetch", "consume:fetch", "Read with a durable consumer, batch by batch", ()),
    ("get", "jetstream:get", "Read messages directly from a stream", ()),
    ("ordered", "consume:ordered", "Read with an ordered consumer", ()),
    ("pub", "jetstream:pub", "Publish to a stream", ()),
)
_GET_ROWS = (
    ("batch", "get:batch_get", "Get many messages with one request", ()),
    ("sync", "get:sync", "Get one message after the other", ()),
)
_PUB_ROWS = (
    ("async", "publish:async_publish", "Wait for the acknowledgements of many messages together", ()),
    ("atomic", "publish:atomic", "Publish batches that are stored whole or not at all", ("batch",)),
    ("fast", "publish:fast", "Publish in one long batch, at the pace that the server sets", ()),
    ("sync", "publish:sync", "Wait for the acknowledgement of each message", ()),
)


@click.group(cls=CommandGroup, rows=table_rows("pyjs.plugins.bench", _ROWS))
@decorate(COMMON)
@decorate(JETSTREAM)
def js(**_given: Any) -> None:
    """Measure JetStream: publish to streams, and read them."""


@click.group(cls=CommandGroup, rows=table_rows("pyjs.plugins.bench", _PUB_ROWS))
@decorate(COMMON)
@decorate(JETSTREAM)
def pub(**_given: Any) -> None:
    """Publish to a stream. Every message is acknowledged."""


@click.group(cls=CommandGroup, rows=table_rows("pyjs.plugins.bench", _GET_ROWS))
@decorate(COMMON)
@decorate(JETSTREAM)
def get(**_given: Any) -> None:
    """Read messages directly from a stream, without a consumer."""
