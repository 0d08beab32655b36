"""`pyjs trace`: which way a message takes through servers, accounts and streams."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import UnavailableError, UsageError, warn
from ...cli.proposal import in_hint
from ...protocol.subject import is_literal
from .body import HEADER, flat, parse_headers
from .message_trace import MessageTrace, TraceError

DESTINATION, ONLY = "Nats-Trace-Dest", "Nats-Trace-Only"
SETTLE = 0.25  # seconds until all servers know of the inbox, as in jsm.go's tracing package


@click.command(cls=Command)
@output.showing("message_trace")
@click.argument("subject")
@click.argument("payload", required=False, default="")
@click.option("--deliver", is_flag=True, help="Deliver the message, too, and store it.")
@click.option("-T", "--timestamp", is_flag=True, help="Show when each step was taken.")
@HEADER
async def trace(subject: str, payload: str, deliver: bool, timestamp: bool, headers: tuple[str, ...]) -> None:
    """Show the way of a message: servers, mappings, imports and exports, streams, who gets it.

    Without --deliver nobody gets it and no Stream stores it.
    """
    if not is_literal(subject):
        raise UsageError(f'"{subject}" is no subject that can be published to')
    given = flat(parse_headers(headers))
    async with connect() as connection:
        found = await _traced(connection, subject, payload.encode(), given, deliver=deliver)
    for _, name in found.missing():
        warn(f"no trace came from {name} within {connection.timeout:g}s")
    document = {
        "subject": subject,
        "delivered": deliver,
        "complete": found.complete,
        "traces": [found.document(hop) for hop in found.roots()],
    }
    ending = " with delivery to the final destination" if deliver else ""
    text = f"Tracing message route to subject {subject}{ending}\n\n{found.text(stamped=timestamp)}"
    output.show_page(document, text, name=subject)


async def _traced(
    connection: NatsConnection, subject: str, payload: bytes, headers: dict[str, str], *, deliver: bool
) -> MessageTrace:
    """Publish the message and return its trace. Raises UnavailableError if no server sent anything."""
    inbox = connection.nc.new_inbox()
    received: asyncio.Queue[Any] = asyncio.Queue()
    await connection.nc.subscribe(inbox, cb=received.put)
    await connection.nc.flush(connection.timeout)
    await asyncio.sleep(SETTLE)
    fields = {**headers, DESTINATION: inbox, **({} if deliver else {ONLY: "true"})}
    await connection.nc.publish(subject, payload, headers=fields)
    found = MessageTrace()
    end = time.monotonic() + connection.timeout
    while not found.complete:
        try:
            message = await asyncio.wait_for(received.get(), end - time.monotonic())
        except TimeoutError:
            break
        if connection.profile.trace:
            render.log(f">>> {message.data.decode(errors='replace')}")
        try:
            found.add(message.data)
        except TraceError as error:
            warn(str(error))
    if not found.events:
        raise UnavailableError(
            f"no server sent a trace within {connection.timeout:g}s",
            f"the server says that it is version {connection.greeting.get('version', '?')}: "
            "messages are traced by pyjs-server, and by nats-server since 2.11",
            f"{in_hint('explain')} says who hears a message, by any server",
            "the message was published" if deliver else "the message was not delivered",
        )
    return found
