"""`pyjs service list|ping`: which services there are."""

from __future__ import annotations

from typing import Any

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.errors import NotFoundError
from ...cli.output import NAME, SPAN, TEXT, WORD, Column, Table
from ...protocol import micro
from ..messaging.rtt import in_words
from .discovery import answers, documents

SERVICES = Table(
    "services",
    "All Services",
    (
        Column("name", "Name", NAME),
        Column("version", "Version", WORD),
        Column("id", "ID", WORD),
        Column("description", "Description", TEXT, silent=("",)),
    ),
    spare=("description", "version"),
)
PINGS = Table(
    "pings",
    "Services",
    (
        Column("name", "Name", NAME),
        Column("version", "Version", WORD),
        Column("id", "ID", WORD),
        Column("rtt", "RTT", SPAN, show=lambda record: in_words(record["rtt"])),
    ),
)


@click.command("list", cls=Command)
@output.listing(SERVICES, legacy="the list of the services' own INFO documents")
@click.argument("service", required=False, default="")
async def list_services(service: str) -> None:
    """List the services, or the instances of one."""
    async with connect() as connection:
        try:
            found = await documents(connection, micro.INFO, service)
        except NotFoundError:
            if not service:
                output.show_none(SERVICES)
            raise
    title = f"{service} Service Instances" if service else None
    output.show(SERVICES.of(found, title=title), document=found)


@click.command(cls=Command)
@output.listing(PINGS)
@click.argument("service", required=False, default="")
async def ping(service: str) -> None:
    """Show which services answer a ping, and how long each takes; ends 0.3 s after the last answer."""
    found: list[dict[str, Any]] = []
    at_once = not output.is_asked_for()
    async with connect() as connection:
        async for document, after in answers(connection, micro.PING, service):
            found.append({**document, "rtt": after})
            if at_once:
                who = f"{document['name']} {document['id']}"
                render.show(f"{who:<50} rtt={in_words(after)}")
    if not at_once:
        output.show(PINGS.of(found))
    if not found:
        render.log("No service answered")
