"""`pyjs publish`: publishes messages to a subject, with or without JetStream's acknowledgement."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, InterruptedRunError, RemoteError, UnavailableError, UsageError
from ...cli.param import DURATION
from .body import FORCE_STDIN, HEADER, SEND_ON, TEMPLATES, bodies, flat, parse_headers
from .template import Filler

SILENT_ABOVE = 20  # messages; beyond this number a progress bar replaces the lines
SECOND = 1_000_000_000


@click.command(cls=Command)
@click.argument("subject")
@click.argument("body", required=False, default=None)
@click.option("--reply", metavar="SUBJECT", default="", help="Reply subject of the message.")
@HEADER
@click.option("--count", type=click.IntRange(min=1), default=1, show_default=True, help="Send this many.")
@click.option("--sleep", type=DURATION, default=0, help="Wait between the messages.")
@FORCE_STDIN
@SEND_ON
@click.option("-J", "--jetstream", is_flag=True, help="Wait until JetStream has stored each message.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing about what was sent.")
@TEMPLATES
async def publish(
    subject: str,
    body: str | None,
    reply: str,
    headers: tuple[str, ...],
    count: int,
    sleep: int,
    force_stdin: bool,
    send_on: str,
    jetstream: bool,
    quiet: bool,
    templates: bool,
) -> None:
    """Publish messages.

    Body, subject and headers may hold templates: {{Count}}, {{Time}}, {{TimeStamp}}, {{Unix}},
    {{UnixNano}}, {{ID}}, {{Random 10 100}}. Without a body it is read from stdin.
    """
    if jetstream and reply:
        raise UsageError(
            "--reply cannot be used with --jetstream", "JetStream acknowledges to a reply of its own"
        )
    given = parse_headers(headers)
    filler = Filler() if templates else None
    sent = 0
    async with connect() as connection:
        try:
            with progress(count, quiet) as advance:
                for text in bodies(body, force_stdin, send_on):
                    for number in range(1, count + 1):
                        where, data = filled(filler, subject, text, sent + 1)
                        fields = {
                            k: filled(filler, k, v.encode(), sent + 1)[1].decode()
                            for k, v in flat(given).items()
                        }
                        ack = await _send(connection, where, data, reply, fields, jetstream)
                        sent += 1
                        advance(where, data, ack)
                        if sleep and number < count:
                            await asyncio.sleep(sleep / SECOND)
            await connection.nc.flush(connection.timeout)
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise InterruptedRunError(f"{render.number(sent)} messages were published") from None


def filled(filler: Filler | None, subject: str, body: bytes, count: int) -> tuple[str, bytes]:
    """Return subject and body with their templates filled; a body that is not text stays unchanged."""
    if filler is None:
        return subject, body
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return filler.fill(subject, count), body
    return filler.fill(subject, count), filler.fill(text, count).encode()


async def _send(
    connection: NatsConnection,
    subject: str,
    data: bytes,
    reply: str,
    headers: dict[str, str],
    jetstream: bool,
) -> str:
    """Send one message; return where JetStream stored it, in words, or an empty string."""
    import nats.errors

    if not jetstream:
        try:
            await connection.nc.publish(subject, data, reply, headers=headers or None)
        except (nats.errors.BadSubjectError, ValueError) as error:
            raise UsageError(f"could not publish to {subject}: {error}") from None
        except nats.errors.Error as error:
            raise CliError(f"could not publish to {subject}: {error}") from None
        if connection.nc.pending_data_size > 1 << 20:
            await connection.nc.flush(connection.timeout)
        return ""
    try:
        answer = await connection.nc.request(subject, data, connection.timeout, headers=headers or None)
    except nats.errors.NoRespondersError:
        raise UnavailableError(
            "nats: no responders available for request",
            f"no stream listens to {subject}, or the one that does has no leader: see 'pyjs stream ls'",
        ) from None
    except nats.errors.TimeoutError:
        raise UnavailableError(f"no acknowledgement for {subject} within {connection.timeout:g} s") from None
    return _stored(answer.data)


def _stored(data: bytes) -> str:
    import json

    try:
        ack: dict[str, Any] = json.loads(data)
    except ValueError:
        raise CliError(f"this is not JetStream's acknowledgement: {data[:100]!r}") from None
    if "error" in ack:
        error = ack["error"]
        raise RemoteError(error.get("code", 0), error.get("err_code", 0), error.get("description", ""))
    text = f"Stored in Stream: {ack['stream']} Sequence: {ack['seq']}"
    text += f' Domain: "{ack["domain"]}"' if ack.get("domain") else ""
    return text + (" Duplicate: true" if ack.get("duplicate") else "")


@contextmanager
def progress(count: int, quiet: bool) -> Iterator[Callable[[str, bytes, str], None]]:
    """Yield a function to call for each message sent (subject, body, where it was stored).

    It logs the message. If there are many, it moves a progress bar, or off a terminal logs only the end.
    """
    if quiet:
        yield _nothing
    elif count <= SILENT_ABOVE:
        yield _lines_for_each
    elif not sys.stderr.isatty():
        yield _nothing
        render.log(f"Published {render.number(count)} messages")
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("Publishing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task("publish", total=count)
            yield lambda _subject, _data, _stored: bar.advance(task)


def _nothing(_subject: str, _data: bytes, _stored: str) -> None:
    pass


def _lines_for_each(subject: str, data: bytes, stored: str) -> None:
    render.log(f'Published {len(data)} bytes to "{subject}"')
    if stored:
        render.log(stored)
