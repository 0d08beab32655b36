"""Asking services about themselves: `$SRV.PING|INFO|STATS`, and what they answer.

Promises: an answer that is none of a service is skipped, so that nobody can stop a command by answering
nonsense; with no answer at all, the error says so.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from ...cli import render
from ...cli.connection import NatsConnection
from ...cli.errors import NotFoundError, UsageError
from ...cli.proposal import in_hint
from ...protocol import micro

Document = dict[str, Any]
QUIET_SECONDS = 0.3  # after the last answer
NO_RESPONDERS = "503"


async def answers(
    connection: NatsConnection, verb: str, name: str = "", instance: str = "", *, wanted: int = 0
) -> AsyncIterator[tuple[Document, int]]:
    """Yield what services answer, and after how many ns, as the answers arrive.

    wanted: end after this many answers; 0: when none came for a moment.

    Raises UsageError for what cannot be a name. It ends without an answer if there is no such service.
    """
    for text in (name, instance):
        if text and not micro.is_service_name(text):
            raise UsageError(
                f'"{text}" cannot be the name or the id of a service', "they have letters, digits, - and _"
            )
    subject = micro.request_subject(verb, name, instance)
    inbox = connection.nc.new_inbox()
    arrived: asyncio.Queue[Any] = asyncio.Queue()
    subscription = await connection.nc.subscribe(inbox, cb=arrived.put)
    began, deadline = time.perf_counter_ns(), time.monotonic() + connection.timeout
    if connection.js.trace:
        render.log(f">>> {subject}")
    await connection.nc.publish(subject, b"", inbox)
    count = 0
    try:
        while not wanted or count < wanted:
            left = deadline - time.monotonic()
            wait_seconds = min(left, QUIET_SECONDS) if count and not wanted else left
            try:
                message = await asyncio.wait_for(arrived.get(), max(0.0, wait_seconds))
            except TimeoutError:
                return
            if (message.headers or {}).get("Status") == NO_RESPONDERS:
                return
            if connection.js.trace:
                render.log(f"<<< {message.data.decode(errors='replace')}")
            document = micro.document_of(message.data, verb)
            if document is not None:
                count += 1
                yield document, time.perf_counter_ns() - began
    finally:
        await subscription.unsubscribe()


async def documents(
    connection: NatsConnection, verb: str, name: str = "", instance: str = "", *, wanted: int = 0
) -> list[Document]:
    """Return the answers, sorted by name and id. Raises NotFoundError if there is none, and UsageError."""
    found = [each async for each, _ in answers(connection, verb, name, instance, wanted=wanted)]
    if not found:
        what = " ".join(text for text in (name, instance) if text)
        raise NotFoundError(
            "no service instances found" + (f": {what}" if what else ""),
            f"{in_hint('service ls')} shows all services" if what else "",
        )
    return sorted(found, key=lambda document: (document["name"], document["id"]))
