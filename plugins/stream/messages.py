"""`pyjs stream get` and `pyjs stream view`: reading messages without a consumer."""

from __future__ import annotations

import base64
import shlex
import subprocess
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from ...cli import complete, output, prompt, render
from ...cli.command import Command, RequestCommand
from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, RemoteError, UsageError
from ...cli.output import Table
from ...cli.param import DURATION
from ...protocol import headers
from ..messaging.message_table import CONTENT, PLACE, content
from .info import ALL, STREAM, chosen

Message = dict[str, Any]
NO_MESSAGE = 10037
PAGE_LIMIT = 25
MESSAGES = Table("messages", "Messages", (*PLACE, *CONTENT), key="seq")


@click.command(cls=RequestCommand)
@output.showing("stored_message")
@STREAM
@click.argument("sequence", metavar="[ID]", required=False, type=int, default=-1)
@click.option("-S", "--last-for", metavar="SUBJECT", help="The last message of this subject.")
@click.option("--translate", metavar="COMMAND", help="Show the body as this command's output.")
@ALL
async def get(
    stream: str, sequence: int, last_for: str | None, translate: str | None, all_streams: bool
) -> None:
    """Show one message: by sequence, or the last one of a subject."""
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)
        if sequence < 0 and not last_for:
            sequence, last_for = await _which()
        query = {"last_by_subj": last_for} if last_for else {"seq": sequence}
        try:
            message = (await connection.js.request(f"STREAM.MSG.GET.{name}", query))["message"]
        except RemoteError as error:
            what = f"{name}#{last_for or sequence}"
            raise (await connection.js.explained(error, stream=name)).while_doing(
                f"could not retrieve {what}"
            ) from None
    if not output.is_for_people():
        output.show_page(message, None, name=str(message["seq"]))
        return
    age = render.span(render.since(message["time"]))
    render.show(
        f"Item: {name}#{message['seq']} received {render.when(message['time'])} ({age} ago) "
        f"on Subject {message['subject']}\n"
    )
    lines = _header_lines(message)
    if lines:
        render.show("Headers:\n" + "\n".join(lines) + "\n")
    show_body(_body(message), translate, message["subject"], name)


async def _which() -> tuple[int, str]:
    if not prompt.interactive():
        raise UsageError("no message named", "give its sequence as <ID>, or a subject with --last-for")
    sequence = await prompt.text(
        "Message Sequence to retrieve", flag="<ID>", default="-1", check=prompt.whole
    )
    if sequence >= 0:
        return sequence, ""
    subject = await prompt.text(
        "Subject to retrieve last message for", flag="--last-for", required=True, default=""
    )
    return -1, subject


@click.command(cls=Command)
@output.listing(MESSAGES)
@click.argument("stream", required=False, default="", shell_complete=complete.streams)
@click.argument("size", required=False, type=click.IntRange(min=1), default=10)
@click.option("--id", "first", type=int, default=0, help="Start at this sequence.")
@click.option("--since", type=DURATION, help="Start with messages this old.")
@click.option("--raw", is_flag=True, help="Show only the bodies.")
@click.option("--translate", metavar="COMMAND", help="Show bodies as this command's output.")
@click.option("--subject", default=">", help="Only messages of this subject.")
@ALL
async def view(
    stream: str,
    size: int,
    first: int,
    since: int | None,
    raw: bool,
    translate: str | None,
    subject: str,
    all_streams: bool,
) -> None:
    """Page through messages. Without a terminal, and with -o, one page is shown."""
    if output.is_asked_for() and (raw or translate):
        raise UsageError("--raw and --translate are for the bodies alone, without -o")
    if size > PAGE_LIMIT:
        render.log(f"Page size is limited to {PAGE_LIMIT}, setting to {PAGE_LIMIT}...")
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)
        query: Message = {"seq": max(1, first), "next_by_subj": subject}
        if since is not None and not first:
            begin = datetime.now(UTC) - timedelta(microseconds=since / 1000)
            query = {"start_time": begin.isoformat(), "next_by_subj": subject}
        while True:
            found = []
            for _ in range(min(size, PAGE_LIMIT)):
                message = await _next(connection, name, query)
                if message is None:
                    break
                found.append(message)
                if not output.is_asked_for():
                    _show_message(message, name, raw, translate)
                query = {"seq": message["seq"] + 1, "next_by_subj": subject}
            if output.is_asked_for():
                output.show(MESSAGES.of(_record(each) for each in found))
            if message is None:
                render.log("Reached apparent end of data")
            if message is None or output.is_asked_for():
                return
            if not prompt.interactive() or not await prompt.confirm("Next Page?", default=True):
                return


async def _next(connection: NatsConnection, stream: str, query: Message) -> Message | None:
    """Return the next message that matches, or None at the end of the stream."""
    try:
        answer = await connection.js.request(f"STREAM.MSG.GET.{stream}", query)
    except RemoteError as error:
        if error.err_code == NO_MESSAGE:
            return None
        raise await connection.js.explained(error, stream=stream) from None
    found: Message = answer["message"]
    return found


def _show_message(message: Message, stream: str, raw: bool, translate: str | None) -> None:
    if raw:
        render.show(_text(_body(message)))
        return
    received = render.parse_time(message["time"])
    when = f"{received.astimezone():%Y-%m-%d %H:%M:%S}" if received else ""
    render.show(f"[{message['seq']}] Subject: {message['subject']} Received: {when}")
    lines = _header_lines(message)
    if lines:
        render.show("\n" + "\n".join(lines))
    render.show()
    show_body(_body(message), translate, message["subject"], stream)


def _body(message: Message) -> bytes:
    return base64.b64decode(message.get("data") or "")


def _headers(message: Message) -> dict[str, list[str]]:
    return headers.decode(base64.b64decode(message["hdrs"])) if message.get("hdrs") else {}


def _header_lines(message: Message) -> list[str]:
    return [f"  {name}: {value}" for name, values in _headers(message).items() for value in values]


def _record(message: Message) -> Message:
    """Return a message as a record of the table."""
    place = {field: message[field] for field in ("seq", "subject", "time")}
    return {**place, **content(_headers(message), _body(message))}


def _text(body: bytes) -> str:
    return body.decode(errors="backslashreplace")


def show_body(body: bytes, translate: str | None, subject: str, stream: str) -> None:
    """Show a body as text, through a command if there is one.

    `{{Subject}}` and `{{Stream}}` are filled in.
    """
    if translate:
        command = translate.replace("{{Subject}}", subject).replace("{{Stream}}", stream)
        try:
            done = subprocess.run(shlex.split(command), input=body, capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError, ValueError) as error:
            raise CliError(f"--translate: {error}") from None
        body = done.stdout
    if not body:
        render.show("nil body\n")
        return
    render.show(_text(body).removesuffix("\n") + "\n")
