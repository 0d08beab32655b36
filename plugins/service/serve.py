"""`pyjs service serve`: a demonstration service that answers with what it was sent."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from datetime import UTC, datetime
from typing import Any

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import UsageError
from ...cli.param import PAIR
from ...protocol import micro
from ...version import __version__

VERSION = "1.0.0"
METADATA = {"_nats.client.created.library": "pyjs", "_nats.client.created.version": __version__}


@click.command(cls=Command)
@click.argument("name")
@click.option(
    "-H", "--header", "headers", type=PAIR, multiple=True, metavar="K:V", help="Add to each answer."
)
async def serve(name: str, headers: tuple[tuple[str, str], ...]) -> None:
    """Run a demonstration service until Ctrl-C. Its endpoint `echo` answers with what it was sent."""
    if not micro.is_service_name(name):
        raise UsageError(f'"{name}" cannot be the name of a service', "it may have letters, digits, - and _")
    endpoint = micro.Endpoint("echo", f"{name}.echo", data={"total_payload": 0})
    started = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    description = f"Demonstration service of pyjs ({name})"
    described = micro.Service(
        name, secrets.token_hex(11), VERSION, description, started, [endpoint], METADATA
    )
    async with connect() as connection:
        echo = EchoService(connection, described, dict(headers))
        await echo.start()
        lines = [
            f"Service {name}, process {os.getpid()}, waits for requests on {connection.url}",
            "",
            render.field(endpoint.subject, "echo"),
            *(render.field(key, value) for key, value in headers),
            "",
        ]
        render.show("\n".join(lines))
        await asyncio.Event().wait()


class EchoService:
    """A service whose one endpoint answers with the request."""

    def __init__(self, connection: NatsConnection, described: micro.Service, headers: dict[str, str]) -> None:
        self.connection = connection
        self.described = described
        self.headers = headers
        self.endpoint = described.endpoints[0]

    async def start(self) -> None:
        """Answer from now on."""
        nc = self.connection.nc
        self.verbs = self.described.subjects()
        for subject in self.verbs:
            await nc.subscribe(subject, cb=self._discovery)
        await nc.subscribe(self.endpoint.subject, self.endpoint.queue, cb=self._echo)
        await nc.flush(self.connection.timeout)

    async def _discovery(self, message: Any) -> None:
        if message.reply:
            await self.connection.nc.publish(
                message.reply, self.described.answer(self.verbs[message.subject])
            )

    async def _echo(self, message: Any) -> None:
        began = time.perf_counter_ns()
        render.log(f"Handling request on subject {message.subject}")
        greeting = self.connection.greeting
        headers = {
            "ConnectedUrl": self.connection.url,
            "Handler": str(os.getpid()),
            "Subject": message.subject,
            "Timestamp": datetime.now().astimezone().isoformat(timespec="seconds"),
            **({"ConnectedCluster": greeting["cluster"]} if greeting.get("cluster") else {}),
            **self.headers,
            **(message.headers or {}),
        }
        if message.reply:
            await self.connection.nc.publish(message.reply, message.data, headers=headers)
        assert self.endpoint.data is not None
        self.endpoint.data["total_payload"] += len(message.data)
        self.endpoint.served(time.perf_counter_ns() - began)
