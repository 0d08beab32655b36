"""`pyjs consumer next` and `pyjs consumer sub`: taking messages from a consumer."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

import click

from ...cli import complete, output, render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, RefusedError, UnavailableError, UsageError
from ...cli.output import NUMBER, Column, Table
from ...cli.param import DURATION
from ...cli.proposal import in_hint
from ...cli.refusal import plain_error
from ..messaging.message_table import CONTENT, PLACE, content
from ..stream.info import ALL, STREAM
from .info import CONSUMER, chosen

SECOND = 1_000_000_000
ASK_SECONDS = 1.0  # to find out why nothing came: through a restricted import nobody answers
SOON = 0.5  # seconds, after which a server has refused the request if it does
PUSH_BASED = "Consumer is push based"  # how servers refuse a pull
GROUP_MISSING = "Priority Group missing"
ACK, NAK, TERM = b"+ACK", b"-NAK", b"+TERM"
SPOKEN = {ACK: "Acknowledged message", NAK: "Negative Acknowledged message", TERM: "Terminated message"}
DELIVERED = Table(
    "delivered_messages",
    "Messages",
    (
        *(replace(column, nullable=True) for column in PLACE),
        Column("consumer_seq", "Consumer Sequence", NUMBER, nullable=True),
        Column("deliveries", "Deliveries", NUMBER, nullable=True),
        Column("pending", "Pending", NUMBER, nullable=True),
        *CONTENT,
    ),
    key="seq",
)
RAW = click.option("-r", "--raw", is_flag=True, help="Show only the bodies.")


@click.command("next", cls=Command)
@output.listing(DELIVERED)
@click.argument("stream", shell_complete=complete.streams)
@click.argument("consumer", shell_complete=complete.consumers)
@click.option("--ack/--no-ack", default=None, help="Acknowledge the message (default: yes).")
@click.option("--nak", is_flag=True, help="Acknowledge negatively: it is delivered again.")
@click.option("--term", is_flag=True, help="Terminate the message: it is not delivered again.")
@RAW
@click.option("--wait", type=DURATION, default=0, help="Wait a random time up to this before acknowledging.")
@click.option("--count", type=click.IntRange(min=1), default=1, help="How many messages to fetch.")
@ALL
async def next_message(
    stream: str,
    consumer: str,
    ack: bool | None,
    nak: bool,
    term: bool,
    raw: bool,
    wait: int,
    count: int,
    all_streams: bool,
) -> None:
    """Fetch messages from a pull Consumer, one by one. With -o they are acknowledged when all are shown."""
    del all_streams  # nothing is chosen from a list here
    answer = _answer(ack, nak, term)
    if output.is_asked_for() and raw:
        raise UsageError("--raw is for the bodies alone, without -o")
    async with connect() as connection:
        if output.is_asked_for():
            await _tabled(connection, stream, consumer, count, answer, wait)
            return
        for _ in range(count):
            message = await _pull(connection, stream, consumer)
            _show(message, raw)
            if answer is not None:
                await _acknowledge(connection, message, answer, random.randrange(wait) if wait else 0, raw)


async def _tabled(
    connection: NatsConnection, stream: str, consumer: str, count: int, answer: bytes | None, wait: int
) -> None:
    """Show the messages as a table, also if fewer come, and acknowledge them when they have been shown."""
    found: list[Any] = []
    failure = None
    try:
        while len(found) < count:
            found.append(await _pull(connection, stream, consumer))
    except CliError as error:
        failure = error
    if found or failure is None:
        output.show(DELIVERED.of(_record(each) for each in found))
    for message in found:
        if answer is None:
            break
        await _acknowledge(connection, message, answer, random.randrange(wait) if wait else 0, raw=True)
    if failure is not None:
        raise failure


def _record(message: Any) -> dict[str, Any]:
    """Return a message as a record of the table."""
    headers = {name: [value] for name, value in (message.headers or {}).items()}
    known: dict[str, Any] = {}  # through an import whose acks have another subject
    if message.reply.startswith("$JS.ACK."):
        facts = message.metadata
        known = {
            "seq": facts.sequence.stream,
            "time": facts.timestamp.isoformat().replace("+00:00", "Z"),
            "consumer_seq": facts.sequence.consumer,
            "deliveries": facts.num_delivered,
            "pending": facts.num_pending,
        }
    return {**known, "subject": message.subject, **content(headers, message.data)}


def _answer(ack: bool | None, nak: bool, term: bool) -> bytes | None:
    if (nak and term) or (ack and (nak or term)):
        raise UsageError("a message is acknowledged in one way only", "give one of --ack, --nak and --term")
    if term:
        return TERM
    if nak:
        return NAK
    return None if ack is False else ACK


async def _pull(connection: NatsConnection, stream: str, consumer: str) -> Any:
    """Return one message. Raises CliError if none comes, with the reason if it can be found out."""
    from nats import errors as nats_errors

    inbox = connection.nc.new_inbox()
    received = await connection.nc.subscribe(inbox, max_msgs=1)
    request = b'{"batch":1,"expires":%d}' % int(connection.timeout * SECOND)
    subject = connection.js.subject(f"CONSUMER.MSG.NEXT.{stream}.{consumer}")
    await connection.nc.publish(subject, request, inbox)
    message = None
    soon = min(SOON, connection.timeout)
    for seconds in (soon, connection.timeout + 0.25 - soon):
        with suppress(TimeoutError, nats_errors.TimeoutError):
            message = await received.next_msg(timeout=seconds)
            break
        for each in connection.errors:
            if any(part.lower() in str(each).lower() for part in (f'"{subject}"', f'"{inbox}"')):
                raise RefusedError(f"no message received: {plain_error(each)}")
    status = "408" if message is None else "" if message.data else (message.headers or {}).get("Status", "")
    if status:
        raise await _why(connection, stream, consumer, status, message)
    return message


async def _why(connection: NatsConnection, stream: str, consumer: str, status: str, message: Any) -> CliError:
    """Return the error for a pull that brought nothing."""
    refusal = message.headers.get("Description", status) if status in ("400", "409") else ""
    if refusal and refusal != PUSH_BASED:
        missing = f"{in_hint(f'explain consumer {stream} {consumer}')} says which groups there are"
        return CliError(f"no message received: {refusal}", missing if GROUP_MISSING in refusal else "")
    try:
        async with asyncio.timeout(ASK_SECONDS):
            info = await connection.js.consumer_info(stream, consumer)
    except TimeoutError:
        info = {}
    except CliError as error:
        if status == "503":
            return error
        info = {}
    if refusal or (info.get("config") or {}).get("deliver_subject"):
        return CliError(
            f'consumer "{consumer}" is not a Pull consumer',
            f"{in_hint(f'consumer sub {stream} {consumer}')} listens to it",
        )
    if status == "503":
        return UnavailableError(
            "no message received: nats: no responders available for request",
            f"nobody answers for Consumer {stream} > {consumer} under {connection.js.prefix}",
        )
    none = f"Consumer {stream} > {consumer} has no unprocessed messages"
    why = f"{in_hint(f'explain consumer {stream} {consumer}')} says why"
    hint = (why if info.get("num_pending") else none) if info else "--timeout waits longer"
    return UnavailableError("no message received: nats: timeout", hint)


def _show(message: Any, raw: bool) -> None:
    body = message.data.decode(errors="backslashreplace")
    if raw:
        render.show(body)
        return
    render.show(_heading(message))
    if message.headers:
        lines = "\n".join(f"  {name}: {value}" for name, value in message.headers.items())
        render.show(f"\nHeaders:\n\n{lines}\n\nData:\n")
    render.show(f"\n{body}")


def _heading(message: Any) -> str:
    """Return the line above a message: where it came from, and how much is left after it."""
    if not message.reply.startswith("$JS.ACK."):
        reply = f" reply: {message.reply}" if message.reply else ""
        return f"--- subject: {message.subject}{reply}"
    facts = message.metadata
    return (
        f"[{datetime.now().astimezone():%H:%M:%S}] subj: {message.subject} / tries: {facts.num_delivered} / "
        f"cons seq: {facts.sequence.consumer} / str seq: {facts.sequence.stream} / "
        f"pending: {render.number(facts.num_pending)}"
    )


async def _acknowledge(
    connection: NatsConnection, message: Any, answer: bytes, delay: int, raw: bool
) -> None:
    if not message.reply:
        return
    if delay:
        await asyncio.sleep(delay / SECOND)
    if connection.js.trace:
        render.log(f">>> {message.reply}: {answer.decode()}")
    await connection.nc.publish(message.reply, answer)
    await connection.nc.flush()
    await connection.nc.flush()  # the PING of the first one may overtake what was published
    for each in connection.errors:
        if message.reply in str(each):
            raise RefusedError(
                f"not acknowledged: {plain_error(each)}",
                "until its user may publish to $JS.ACK.>, a client gets its messages again and again",
            )
    if not raw:
        after = f" after {render.go_span(delay)} delay" if delay else ""
        render.show(f"\n{SPOKEN[answer]}{after}\n")


@click.command(cls=Command)
@STREAM
@CONSUMER
@click.option("--ack/--no-ack", default=True, help="Acknowledge the messages (default: yes).")
@RAW
@click.option("--deliver-group", default="", help="Listen as this queue group.")
@ALL
async def sub(
    stream: str, consumer: str, ack: bool, raw: bool, deliver_group: str, all_streams: bool
) -> None:
    """Listen to a push Consumer until Ctrl-C, or take one message from a pull Consumer."""
    async with connect() as connection:
        stream, consumer = await chosen(connection, stream, consumer, everything=all_streams)
        config = (await connection.js.consumer_info(stream, consumer))["config"]
        answers = ack and config.get("ack_policy", "none") != "none"
        if not config.get("deliver_subject"):
            message = await _pull(connection, stream, consumer)
            _show(message, raw)
            if answers:
                await _acknowledge(connection, message, ACK, 0, raw)
            return
        await _listen(connection, config, deliver_group or config.get("deliver_group", ""), answers, raw)


async def _listen(
    connection: NatsConnection, config: dict[str, Any], group: str, answers: bool, raw: bool
) -> None:
    """Show pushed messages until the run ends."""
    if not raw:
        word = "true" if answers else "false"
        render.show(f"Subscribing to topic {config['deliver_subject']} auto acknowledgment: {word}\n")
    received = await connection.nc.subscribe(config["deliver_subject"], queue=group)
    async for message in received.messages:
        headers = message.headers or {}
        if not message.data and headers.get("Status") == "100":
            answer = headers.get("Nats-Consumer-Stalled") or message.reply
            if answer:
                await connection.nc.publish(answer)
            continue
        _show(message, raw)
        if answers and message.reply:
            await connection.nc.publish(message.reply)
