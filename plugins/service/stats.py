"""`pyjs service stats`: the statistics of a service's instances, endpoint by endpoint."""

from __future__ import annotations

from collections.abc import Iterable

import click

from ...cli import output, words
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.output import NAME, NUMBER, SPAN, WORD, Column, Table
from ...protocol import micro
from ..messaging.rtt import in_words
from .discovery import Document, documents

STATS = Table(
    "service_stats",
    "Service Statistics",
    (
        Column("id", "ID", WORD, show=lambda record: record["id"] if record["first"] else ""),
        Column("name", "Endpoint", NAME),
        Column("num_requests", "Requests", NUMBER),
        Column("queue_group", "Queue Group", WORD),
        Column("num_errors", "Errors", NUMBER),
        Column(
            "processing_time",
            "Processing Time",
            SPAN,
            show=lambda record: in_words(record["processing_time"]),
        ),
        Column(
            "average_processing_time",
            "Average Time",
            SPAN,
            show=lambda record: in_words(record["average_processing_time"]),
        ),
    ),
    key="id",
    spare=("queue_group", "processing_time", "id"),
)
COUNTS = ("num_requests", "num_errors", "processing_time", "average_processing_time")


@click.command(cls=Command)
@output.listing(STATS, legacy="the list of the instances' own STATS documents")
@click.argument("service")
@click.argument("instance", metavar="[ID]", required=False, default="")
async def stats(service: str, instance: str) -> None:
    """Show the statistics of a service, of all instances or of one."""
    async with connect() as connection:
        found = await documents(connection, micro.STATS, service, instance)
    records = list(records_of(found))
    sums = {field: sum(record[field] for record in records) for field in COUNTS[:3]}
    done = sums["num_requests"] + sums["num_errors"]
    footer = {
        "num_requests": words.number(sums["num_requests"]),
        "num_errors": words.number(sums["num_errors"]),
        "processing_time": in_words(sums["processing_time"]),
        "average_processing_time": in_words(sums["processing_time"] // done if done else 0),
    }
    output.show(
        STATS.of(records, title=f"{service} Service Statistics", footer=footer),
        document=found,
    )


def records_of(found: Iterable[Document]) -> Iterable[Document]:
    """Yield the endpoints' statistics of each instance, as records of the table."""
    for document in found:
        for number, endpoint in enumerate(document.get("endpoints") or ()):
            counts = {field: whole(endpoint.get(field)) for field in COUNTS}
            texts = {field: str(endpoint.get(field) or "") for field in ("name", "queue_group")}
            yield {**texts, **counts, "id": document["id"], "first": not number}


def whole(value: object) -> int:
    """Return a number of a service's answer; 0 for what is none."""
    return value if isinstance(value, int) else 0
