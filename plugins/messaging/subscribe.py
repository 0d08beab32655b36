"""`pyjs subscribe`: shows what is published on subjects, or what a stream holds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from ...cli import complete, render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import NotFoundError, RefusedError, RemoteError, UsageError
from ...cli.param import DURATION
from .body import header_lines, show_body

SECOND = 1_000_000_000
HEARTBEAT = 5 * SECOND


@click.command(cls=Command)
@click.argument("subjects", nargs=-1)
@click.option("--queue", default="", help="Share the messages with others in this queue group.")
@click.option("-r", "--raw", is_flag=True, help="Show only the bodies.")
@click.option("--translate", metavar="COMMAND", help="Show each body as this command's output.")
@click.option("-i", "--inbox", is_flag=True, help="Subscribe to a new inbox subject.")
@click.option("--count", type=click.IntRange(min=0), default=0, help="End after this many messages.")
@click.option("--wait", type=DURATION, default=0, help="End when no message came for this long.")
@click.option("--dump", metavar="DIRECTORY", type=click.Path(file_okay=False), help="One file per message.")
@click.option("--headers-only", is_flag=True, help="Show no bodies.")
@click.option("--subjects-only", is_flag=True, help="Show subjects only.")
@click.option("-t", "--timestamp", is_flag=True, help="Show when each message was received.")
@click.option("-I", "--ignore-subject", "ignored", multiple=True, metavar="SUBJECT", help="Leave these out.")
@click.option("--stream", default="", shell_complete=complete.streams, help="Read this Stream.")
@click.option("--durable", default="", help="Read with this durable Consumer of the Stream.")
@click.option("--start-sequence", type=int, default=0, metavar="SEQUENCE", help="Read a Stream from here.")
@click.option("--all", "everything", is_flag=True, help="Read all that the Stream holds.")
@click.option("--new", is_flag=True, help="Read what the Stream gets from now on.")
@click.option("--last", is_flag=True, help="Read from the Stream's last message on.")
@click.option("--since", type=DURATION, default=0, help="Read the Stream's messages of this age and younger.")
@click.option("--last-per-subject", is_flag=True, help="Read the last message of each subject.")
@click.option("-T", "--terminate-at-end", is_flag=True, help="End when the Stream has no more.")
async def subscribe(subjects: tuple[str, ...], **given: Any) -> None:
    """Receive messages until Ctrl-C, --count or --wait.

    With one of the stream flags the messages come from JetStream, by an ephemeral Consumer.
    """
    async with connect() as connection:
        if given["inbox"]:
            subjects = (*subjects, connection.nc.new_inbox())
        stored = _start_policy(given)
        if not subjects and not (stored and given["stream"]):
            raise UsageError(
                "nothing to subscribe to", "give subjects, --inbox, or --stream with --all or --last"
            )
        show = _Show(given)
        with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
            messages = (
                _stored(connection, subjects, given, stored) if stored else _live(connection, subjects, given)
            )
            async for message in messages:
                more = show.message(message)
                if given["durable"]:
                    await message.ack()
                if not more:
                    return


async def _live(
    connection: NatsConnection, subjects: tuple[str, ...], given: dict[str, Any]
) -> AsyncIterator[Any]:
    import nats.errors

    received: asyncio.Queue[Any] = asyncio.Queue()
    for subject in subjects:
        try:
            await connection.nc.subscribe(subject, given["queue"], cb=received.put)
        except nats.errors.BadSubjectError as error:
            raise UsageError(f'could not subscribe to "{subject}": {error}') from None
    await connection.nc.flush(connection.timeout)
    group = f' in group "{given["queue"]}"' if given["queue"] else ""
    _say(given, f"Subscribing on {', '.join(subjects)}{group}")
    while True:
        message = await _within(received, given["wait"])
        if message is None:
            return
        yield message


async def _within(received: asyncio.Queue[Any], wait: int) -> Any | None:
    """Return the next message; None if `wait` ns pass without one (0: no limit)."""
    try:
        return await asyncio.wait_for(received.get(), wait / SECOND if wait else None)
    except TimeoutError:
        return None


def _start_policy(given: dict[str, Any]) -> dict[str, Any]:
    """Return where in a stream to begin, as fields of a consumer; {} if no stream flag was given."""
    chosen: list[dict[str, Any]] = []
    if given["start_sequence"]:
        chosen.append({"deliver_policy": "by_start_sequence", "opt_start_seq": given["start_sequence"]})
    if given["since"]:
        moment = datetime.now(UTC) - timedelta(microseconds=given["since"] / 1000)
        start = moment.isoformat().replace("+00:00", "Z")
        chosen.append({"deliver_policy": "by_start_time", "opt_start_time": start})
    chosen += [
        {"deliver_policy": policy}
        for flag, policy in (
            ("everything", "all"),
            ("new", "new"),
            ("last", "last"),
            ("last_per_subject", "last_per_subject"),
        )
        if given[flag]
    ]
    if len(chosen) > 1:
        raise UsageError(
            "a Stream can be read from one place only", "give one of --all, --new, --last, --since, …"
        )
    if not chosen and (given["stream"] or given["durable"]):
        return {"deliver_policy": "all"}
    return chosen[0] if chosen else {}


async def _stored(
    connection: NatsConnection, subjects: tuple[str, ...], given: dict[str, Any], start: dict[str, Any]
) -> AsyncIterator[Any]:
    stream = given["stream"] or await _stream_of(connection, subjects)
    received: asyncio.Queue[Any] = asyncio.Queue()
    ask: Callable[[], Awaitable[None]] | None = None
    if given["durable"]:
        ask, left = await _pull(connection, stream, given["durable"], received)
        _say(given, f"Subscribing to Consumer {stream} > {given['durable']}")
    else:
        left = await _push(connection, stream, subjects, start, received)
        where = ", ".join(subjects) or ">"
        _say(given, f"Subscribing to JetStream Stream {stream} subject {where} ({start['deliver_policy']})")
    if given["terminate_at_end"] and not left:
        return
    while True:
        if ask is not None:  # only when one more is wanted, since what is delivered must be shown
            await ask()
        message = await _within(received, given["wait"])
        if message is None:
            return
        if (message.headers or {}).get("Status"):
            await _control(connection, message)
            continue
        yield message
        if given["terminate_at_end"] and message.metadata.num_pending == 0:
            return


async def _control(connection: NatsConnection, message: Any) -> None:
    """Answer a flow control request; a pull that ran out needs no answer. Raises CliError for a refusal."""
    if message.headers["Status"] == "409":
        raise RefusedError(f"the Consumer refuses: {message.headers.get('Description', '409')}")
    if message.headers.get("Status") == "100" and message.reply:
        await connection.nc.publish(message.reply)


async def _stream_of(connection: NatsConnection, subjects: tuple[str, ...]) -> str:
    found = (await connection.js.request("STREAM.NAMES", {"subject": subjects[0]})).get("streams") or []
    if len(found) != 1:
        what = "no Stream" if not found else f"{len(found)} Streams ({', '.join(found)})"
        raise NotFoundError(f"{what} found for subject {subjects[0]}", "name the Stream with --stream")
    return str(found[0])


async def _push(
    connection: NatsConnection,
    stream: str,
    subjects: tuple[str, ...],
    start: dict[str, Any],
    received: asyncio.Queue[Any],
) -> int:
    """Start an ephemeral push consumer into `received`; return how many messages wait in the stream."""
    inbox = connection.nc.new_inbox()
    await connection.nc.subscribe(inbox, cb=received.put)
    config = {
        **start,
        "deliver_subject": inbox,
        "ack_policy": "none",
        "replay_policy": "instant",
        "flow_control": True,
        "idle_heartbeat": HEARTBEAT,
        "mem_storage": True,
        "num_replicas": 1,
    }
    if len(subjects) == 1:
        config["filter_subject"] = subjects[0]
    elif subjects:
        config["filter_subjects"] = list(subjects)
    elif start["deliver_policy"] == "last_per_subject":
        config["filter_subject"] = ">"
    try:
        answer = await connection.js.request(
            f"CONSUMER.CREATE.{stream}", {"stream_name": stream, "config": config}
        )
    except RemoteError as error:
        raise await connection.js.explained(error, stream=stream) from None
    return int(answer.get("num_pending", 0)) + int(answer.get("delivered", {}).get("consumer_seq", 0))


async def _pull(
    connection: NatsConnection, stream: str, durable: str, received: asyncio.Queue[Any]
) -> tuple[Callable[[], Awaitable[None]], int]:
    """Return what asks a durable consumer for one message into `received`, and how many wait for it."""
    info = await connection.js.consumer_info(stream, durable)
    inbox = connection.nc.new_inbox()
    await connection.nc.subscribe(inbox, cb=received.put)
    subject = connection.js.subject(f"CONSUMER.MSG.NEXT.{stream}.{durable}")

    async def ask() -> None:
        await connection.nc.publish(subject, b'{"batch":1,"expires":%d}' % (30 * SECOND), inbox)

    return ask, int(info.get("num_pending", 0))


def _say(given: dict[str, Any], text: str) -> None:
    if not given["raw"]:
        render.log(text)


class _Show:
    """Shows messages as the flags demand; `message` returns False after the last one wanted."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.ignored = given["ignored"]
        self.seen = 0
        if given["dump"]:
            Path(given["dump"]).mkdir(parents=True, exist_ok=True)

    def message(self, message: Any) -> bool:
        """Show a message; return whether more are wanted."""
        from ...protocol.subject import matches

        if any(matches(pattern, message.subject) for pattern in self.ignored):
            return True
        self.seen += 1
        given = self.given
        if given["dump"]:
            (Path(given["dump"]) / str(self.seen)).write_bytes(message.data)
        elif given["raw"]:
            show_body(message.data, given["translate"], message.subject)
        elif given["subjects_only"]:
            render.show(message.subject)
        else:
            self._whole(message)
        return not given["count"] or self.seen < given["count"]

    def _whole(self, message: Any) -> None:
        stamp = f" @ {datetime.now().astimezone():%H:%M:%S.%f}" if self.given["timestamp"] else ""
        render.show(f"[#{self.seen}]{stamp} Received {_described(message)}")
        lines = header_lines(message)
        if lines:
            render.show(lines)
        if not self.given["headers_only"]:
            show_body(message.data, self.given["translate"], message.subject)
        render.show("\n")


def _described(message: Any) -> str:
    if message.reply.startswith("$JS.ACK."):
        facts = message.metadata
        moment = facts.timestamp.astimezone()
        return (
            f"JetStream message: stream: {facts.stream} seq: {facts.sequence.stream} / "
            f"pending: {facts.num_pending} / subject: {message.subject} / time: {moment:%Y-%m-%d %H:%M:%S}"
        )
    answer = f' with reply "{message.reply}"' if message.reply else ""
    return f'on "{message.subject}"{answer}'
