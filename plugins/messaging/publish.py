"""`pyjs publish`: publishes messages to a subject, with or without JetStream's acknowledgement."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ...cli import messages, render
from ...cli.blocking import BadSubjectError, ask, send
from ...cli.command import RequestCommand
from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, InterruptedRunError, UnavailableError, UsageError
from ...cli.loop import interruptions
from ...cli.param import DURATION
from ...cli.proposal import command
from ...client import ClientError, NoResponders, TimedOut
from . import schedule
from .body import FORCE_STDIN, HEADER, SEND_ON, TEMPLATES, Publication, bodies, flat, parse_headers

if TYPE_CHECKING:
    from .template import Filler

SILENT_ABOVE = 20  # messages; beyond this number a progress bar replaces the lines
OPENING = "{{"  # of a template
SECOND = 1_000_000_000


def _lasts(given: dict[str, Any]) -> bool:
    """Return whether it may publish for longer than a connection lasts that nobody reads from."""
    return given["body"] is None or given["force_stdin"] or given["count"] > 1


@click.command(cls=RequestCommand, needs_loop=_lasts)
@click.argument("subject")
@click.argument("body", required=False, default=None)
@click.option("--reply", metavar="SUBJECT", default="", help="Reply subject of the message.")
@HEADER
@click.option("--atomic", is_flag=True, help="Store all messages in JetStream, or none of them.")
@click.option("--count", type=click.IntRange(min=1), default=1, show_default=True, help="Send this many.")
@click.option("--sleep", type=DURATION, default=0, help="Wait between the messages.")
@FORCE_STDIN
@SEND_ON
@click.option("-J", "--jetstream", is_flag=True, help="Wait until JetStream has stored each message.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing about what was sent.")
@TEMPLATES
@schedule.options
async def publish(subject: str, body: str | None, **given: Any) -> None:
    """Publish messages.

    Body, subject and headers may hold templates: {{Count}}, {{Time}}, {{TimeStamp}}, {{Unix}},
    {{UnixNano}}, {{ID}}, {{Random 10 100}}. Without a body it is read from stdin.

    The schedule flags need a Stream with --allow-schedules, and --atomic one with --allow-batch.
    """
    scheduled = schedule.schedule_headers(given)
    jetstream = given["jetstream"] or given["atomic"] or bool(scheduled)
    if jetstream and given["reply"]:
        raise UsageError(
            "--reply cannot be used with --jetstream", "JetStream acknowledges to a reply of its own"
        )
    if given["atomic"] and scheduled:
        raise UsageError("atomic batch publishing does not support schedules")
    publications = _publications(subject, body, scheduled, given)
    async with connect() as connection:
        if given["atomic"]:
            from .batch import publish_batch

            await publish_batch(connection, publications, quiet=given["quiet"])
            return
        if scheduled:
            await connection.js.require_level(schedule.LEVEL, "message schedules", schedule.RELEASE)
        await _publish_each(connection, publications, given, jetstream)


def _publications(
    subject: str, body: str | None, scheduled: dict[str, str], given: dict[str, Any]
) -> Iterator[Publication]:
    """Yield the messages to send, with their templates filled."""
    headers = flat(parse_headers(given["headers"]))
    texts = (subject, body or "", *headers.values())
    filler = _filler() if given["templates"] and (body is None or OPENING in "".join(texts)) else None
    sent = 0
    for text in bodies(body, given["force_stdin"], given["send_on"]):
        for _ in range(given["count"]):
            sent += 1
            where, data = filled(filler, subject, text, sent)
            fields = {k: filled(filler, k, v.encode(), sent)[1].decode() for k, v in headers.items()}
            yield Publication(where, data, fields | scheduled)


async def _publish_each(
    connection: NatsConnection, publications: Iterable[Publication], given: dict[str, Any], jetstream: bool
) -> None:
    sent = 0
    try:
        with progress(given["count"], given["quiet"]) as advance:
            for where, data, fields in publications:
                if sent % given["count"] and given["sleep"]:
                    import asyncio

                    await asyncio.sleep(given["sleep"] / SECOND)
                ack = await _send(connection, where, data, given["reply"], fields, jetstream)
                sent += 1
                advance(where, data, ack)
        await connection.nc.flush(connection.timeout)
    except interruptions():
        raise InterruptedRunError(f"{render.counted(sent, 'message', 'was', 'were')} published") from None


def _filler() -> Filler:
    from .template import Filler

    return Filler()


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
    if not jetstream:
        try:
            await send(connection.nc, subject, data, reply, headers)
        except (BadSubjectError, ValueError) as error:
            raise UsageError(f"could not publish to {subject}: {error}") from None
        except ClientError as error:
            raise CliError(f"could not publish to {subject}: {error}") from None
        if connection.nc.pending_data_size > 1 << 20:
            await connection.nc.flush(connection.timeout)
        return ""
    try:
        answer = await ask(connection.nc, subject, data, connection.timeout, headers)
    except NoResponders:
        raise UnavailableError(
            "nats: no responders available for request",
            f"no stream listens to {subject}, or the one that does has no leader, or a mapping leads it away",
            f"this says more: {command('explain', 'subject', subject)}",
        ) from None
    except TimedOut:
        raise UnavailableError(
            f"no acknowledgement for {subject} within {connection.timeout:g} s",
            f"this says more: {command('explain', 'subject', subject)}",
        ) from None
    return _stored(messages.parse_ack(answer.data))


def _stored(ack: messages.PublishAck) -> str:
    text = f"Stored in Stream: {ack.stream} Sequence: {ack.sequence}"
    text += f' Domain: "{ack.domain}"' if ack.domain else ""
    text += " Duplicate: true" if ack.duplicate else ""
    return text + (f" Counter Value: {ack.value}" if ack.value else "")


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
