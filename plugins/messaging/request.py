"""`pyjs request`: sends a request to a subject and shows the answers."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import click

from ...cli import render
from ...cli.blocking import RequestClient, next_message
from ...cli.command import RequestCommand
from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, RefusedError
from ...cli.param import DURATION
from ...client import ClientError, NotPermitted, TimedOut
from .body import (
    FORCE_STDIN,
    HEADER,
    SEND_ON,
    TEMPLATES,
    bodies,
    flat,
    header_lines,
    parse_headers,
    show_body,
)
from .publish import filled
from .rtt import in_words
from .template import Filler

SECOND = 1_000_000_000
NO_RESPONDERS = "503"


@click.command(cls=RequestCommand)
@click.argument("subject")
@click.argument("body", required=False, default=None)
@click.option("-r", "--raw", is_flag=True, help="Show only the bodies of the answers.")
@HEADER
@click.option(
    "--count", type=click.IntRange(min=1), default=1, show_default=True, help="Ask this many times."
)
@click.option("--replies", type=int, default=1, help="Wait for this many answers; 0: until it is quiet.")
@click.option("--reply-timeout", type=DURATION, default="300ms", help="Quiet time that ends the answers.")
@click.option("--wait-for-empty", is_flag=True, help="Wait until an answer has no body.")
@click.option("--translate", metavar="COMMAND", help="Show each body as this command's output.")
@click.option(
    "-w", "--wait/--no-wait", default=True, hidden=True, expose_value=False, help="Accepted as nats has it."
)
@FORCE_STDIN
@SEND_ON
@TEMPLATES
async def request(
    subject: str,
    body: str | None,
    raw: bool,
    headers: tuple[str, ...],
    count: int,
    replies: int,
    reply_timeout: int,
    wait_for_empty: bool,
    translate: str | None,
    force_stdin: bool,
    send_on: str,
    templates: bool,
) -> None:
    """Send a request and show the answers."""
    fields = flat(parse_headers(headers))
    filler = Filler() if templates else None
    wanted = 0 if wait_for_empty else replies
    async with connect() as connection:
        asker = Asker(connection, raw, translate, reply_timeout / SECOND, wait_for_empty)
        await asker.ask_each(subject, bodies(body, force_stdin, send_on), count, filler, fields, wanted)


class Asker:
    """Sends requests and shows the answers: `wanted` of them, or all until none comes for `quiet` seconds."""

    def __init__(
        self, connection: NatsConnection, raw: bool, translate: str | None, quiet: float, until_empty: bool
    ) -> None:
        self.connection = connection
        self.raw = raw
        self.translate = translate
        self.quiet = quiet
        self.until_empty = until_empty

    async def ask_each(
        self,
        subject: str,
        texts: Iterable[bytes],
        count: int,
        filler: Filler | None,
        headers: dict[str, str],
        wanted: int = 1,
    ) -> None:
        """Send each of the texts `count` times, with its templates and those of the subject filled."""
        asked = 0
        for text in texts:
            for _ in range(count):
                asked += 1
                where, data = filled(filler, subject, text, asked)
                if not self.raw:
                    render.log(f'Sending request on "{where}"')
                await self.ask(where, data, headers, wanted)

    async def ask(self, subject: str, data: bytes, headers: dict[str, str], wanted: int) -> None:
        """Send one request.

        If nobody listens or the time is up, say so on stderr; this is no error, as in nats.
        """
        nc = self.connection.nc
        inbox = nc.new_inbox()
        received = nc.listen(inbox, subject) if isinstance(nc, RequestClient) else await nc.subscribe(inbox)
        began = time.perf_counter_ns()
        await nc.publish(subject, data, inbox, headers=headers or None)
        seen = 0
        try:
            while not wanted or seen < wanted:
                wait_seconds = (
                    self.connection.timeout if not seen or wanted or self.until_empty else self.quiet
                )
                message = await self._next(received, wait_seconds)
                if message is None:
                    if not seen:
                        render.log(f"No answer within {wait_seconds:g} s: nats: timeout")
                    break
                if (message.headers or {}).get("Status") == NO_RESPONDERS:
                    render.log("No responders are available")
                    break
                seen += 1
                self._show(message, time.perf_counter_ns() - began)
                if self.until_empty and not message.data:
                    break
        finally:
            await received.unsubscribe()

    @staticmethod
    async def _next(received: Any, wait_seconds: float) -> Any | None:
        try:
            return await next_message(received, wait_seconds)
        except TimedOut:
            return None
        except NotPermitted as error:
            raise RefusedError(str(error)) from None
        except ClientError as error:
            raise CliError(f"the request failed: {error}") from None

    def _show(self, message: Any, elapsed: int) -> None:
        if not self.raw:
            render.log(f"Received with rtt {in_words(elapsed)}")
            if message.headers:
                render.show(header_lines(message))
        show_body(message.data, self.translate, message.subject)
        if not self.raw:
            render.show("")
