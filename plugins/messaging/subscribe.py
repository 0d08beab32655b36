"""`pyjs subscribe`: shows what is published on subjects, or what a stream holds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from ...cli import complete, render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import RefusedError, RemoteError, UsageError
from ...cli.param import DURATION
from . import durable
from .direct import DirectGetReader, DirectMessage, is_direct
from .message_view import MessageView
from .replies import ReplyMatcher

if TYPE_CHECKING:
    from .subject_report import Counted

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
@click.option(
    "--dump",
    metavar="DIRECTORY",
    type=click.Path(file_okay=False, allow_dash=True),
    help="A JSON file for each message; - writes them to stdout, each with a NUL after it.",
)
@click.option("--headers-only", is_flag=True, help="Show no bodies.")
@click.option("--subjects-only", is_flag=True, help="Show subjects only.")
@click.option("-t", "--timestamp", is_flag=True, help="Show when each message was received.")
@click.option("-d", "--delta-time", is_flag=True, help="Show how long after the start each was received.")
@click.option("--ack/--no-ack", default=False, help="Acknowledge messages that a Consumer delivers.")
@click.option("--match-replies", is_flag=True, help="Show each request with its reply.")
@click.option("--report-subjects", is_flag=True, help="Count messages by subject, and show the counts.")
@click.option("--report-subscriptions", is_flag=True, help="Count messages by the subject subscribed to.")
@click.option(
    "--report-top", type=click.IntRange(min=1), default=10, help="Subjects of a report (default: 10)."
)
@click.option("--graph", is_flag=True, help="Plot how many messages are received.")
@click.option("-I", "--ignore-subject", "ignored", multiple=True, metavar="SUBJECT", help="Leave these out.")
@click.option("--stream", default="", shell_complete=complete.streams, help="Read this Stream.")
@click.option("--durable", default="", help="Read with this durable Consumer of the Stream.")
@click.option("--start-sequence", type=int, default=0, metavar="SEQUENCE", help="Read a Stream from here.")
@click.option("--all", "everything", is_flag=True, help="Read all that the Stream holds.")
@click.option("--new", is_flag=True, help="Read what the Stream gets from now on.")
@click.option("--last", is_flag=True, help="Read from the Stream's last message on.")
@click.option("--since", type=DURATION, default=0, help="Read the Stream's messages of this age and younger.")
@click.option("--last-per-subject", is_flag=True, help="Read the last message of each subject.")
@click.option("--direct", is_flag=True, help="Read the Stream by direct gets, without a Consumer.")
@click.option("-T", "--terminate-at-end", is_flag=True, help="End when the Stream has no more.")
async def subscribe(subjects: tuple[str, ...], **given: Any) -> None:
    """Receive messages until Ctrl-C, --count or --wait.

    With one of the stream flags the messages come from JetStream, by an ephemeral Consumer.
    """
    async with connect() as connection:
        stored = _start_policy(given)
        if given["inbox"] and not stored:
            subjects = (*subjects, connection.nc.new_inbox())
        _check(subjects, given, stored)
        counted = _counted(subjects, given, stored)
        show = MessageView(given)
        take = show.message if counted is None else counted.add
        if stored:
            messages = _stored(connection, subjects, given, stored)
        elif given["match_replies"]:
            matcher = ReplyMatcher(_inboxes(connection), take, show.reply)
            heard = _live(connection, (*subjects, matcher.inboxes), given)
            messages, take = matcher.matched(heard), matcher.show
        else:
            messages = _live(connection, subjects, given)
        reading = _read(messages, given, take)
        with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
            await (reading if counted is None else counted.beside(reading))


def _inboxes(connection: NatsConnection) -> str:
    return f"{connection.profile.text('inbox_prefix') or '_INBOX'}.>"


def _check(subjects: tuple[str, ...], given: dict[str, Any], stored: dict[str, Any]) -> None:
    """Raise UsageError if there is nothing to subscribe to, or flags do not go together."""
    if not subjects and not (stored and given["stream"]):
        raise UsageError(
            "nothing to subscribe to", "give subjects, --inbox, or --stream with --all or --last"
        )
    if subjects and given["durable"]:
        raise UsageError("cannot specify both subjects and a durable consumer", "--stream names the Stream")
    if stored and given["queue"]:
        raise UsageError("queue groups are not for Streams", "a --durable Consumer shares its messages")
    if stored and given["inbox"]:
        raise UsageError("an inbox is not for Streams")
    if given["terminate_at_end"] and not stored:
        raise UsageError("--terminate-at-end needs a Stream", "--all, --new, --last, --since, … read one")


def _counted(subjects: tuple[str, ...], given: dict[str, Any], stored: dict[str, Any]) -> Counted | None:
    """Return what counts the messages instead of showing them, if that is wanted."""
    if given["timestamp"] and given["delta_time"]:
        raise UsageError("--timestamp and --delta-time exclude each other")
    if stored and given["match_replies"]:
        raise UsageError("cannot enable --match-replies for JetStream streams")
    if not (given["graph"] or given["report_subjects"] or given["report_subscriptions"]):
        return None
    from .subject_report import RateGraph, SubjectReport

    if given["match_replies"]:
        raise UsageError("--match-replies shows messages: it does not go with --graph or a report")
    if given["graph"]:
        if stored:
            raise UsageError("--graph does not go with the flags of Streams", "'stream graph' plots a Stream")
        return RateGraph(subjects)
    return SubjectReport(given["report_top"], by_subscription=given["report_subscriptions"])


async def _read(
    messages: AsyncIterator[tuple[str, Any]], given: dict[str, Any], take: Callable[[str, Any], object]
) -> None:
    """Hand each wanted message to `take`, until --count is reached or the messages end."""
    from ...protocol.subject import matches

    seen = 0
    async for pattern, message in messages:
        wanted = not any(matches(ignored, message.subject) for ignored in given["ignored"])
        if wanted:
            seen += 1
            take(pattern, message)
        if given["durable"]:
            await message.ack()
        elif wanted and given["ack"] and message.reply.startswith("$JS.ACK."):
            await message.respond(b"")
        if given["count"] and seen >= given["count"]:
            return


async def _live(
    connection: NatsConnection, subjects: tuple[str, ...], given: dict[str, Any]
) -> AsyncIterator[tuple[str, Any]]:
    import nats.errors

    received: asyncio.Queue[Any] = asyncio.Queue()

    def putting(pattern: str) -> Callable[[Any], Awaitable[None]]:
        async def put(message: Any) -> None:
            received.put_nowait((pattern, message))

        return put

    for subject in subjects:
        try:
            await connection.nc.subscribe(subject, given["queue"], cb=putting(subject))
        except nats.errors.BadSubjectError as error:
            raise UsageError(f'could not subscribe to "{subject}": {error}') from None
    await connection.nc.flush(connection.timeout)
    group = f' in group "{given["queue"]}"' if given["queue"] else ""
    _say(given, f"Subscribing on {', '.join(subjects)}{group}")
    while True:
        found = await _within(received, given["wait"])
        if found is None:
            return
        yield found


async def _within(received: asyncio.Queue[Any], wait: int) -> Any | None:
    """Return the next message; None if `wait` ns pass without one (0: no limit)."""
    try:
        return await asyncio.wait_for(received.get(), wait / SECOND if wait else None)
    except TimeoutError:
        return None


def _start_policy(given: dict[str, Any]) -> dict[str, Any]:
    """Return what to read of a stream, as fields of a consumer; {} if no stream flag was given."""
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
    if not chosen and (given["stream"] or given["durable"] or given["direct"]):
        chosen.append({"deliver_policy": "all"})
    bodies = given["raw"] or given["dump"] or not (given["headers_only"] or given["subjects_only"])
    return {**chosen[0], **({} if bodies else {"headers_only": True})} if chosen else {}


async def _stored(
    connection: NatsConnection, subjects: tuple[str, ...], given: dict[str, Any], start: dict[str, Any]
) -> AsyncIterator[tuple[str, Any]]:
    stream = given["stream"] or await connection.js.stream_of(subjects[0])
    info = await connection.js.stream_info(stream)
    if is_direct(info, given):
        async for direct in _directly(connection, info, subjects, given, start):
            yield "", direct
        return
    received: asyncio.Queue[Any] = asyncio.Queue()
    ask: Callable[[], Awaitable[None]] | None = None
    if given["durable"]:
        ask, left = await durable.listen(connection, stream, given["durable"], start, received)
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
        yield "", message
        if given["terminate_at_end"] and message.metadata.num_pending == 0:
            return


async def _directly(
    connection: NatsConnection,
    info: dict[str, Any],
    subjects: tuple[str, ...],
    given: dict[str, Any],
    start: dict[str, Any],
) -> AsyncIterator[DirectMessage]:
    if len(subjects) > 1:
        raise UsageError("cannot perform direct gets from multiple subjects")
    where = subjects[0] if subjects else ">"
    stream = info["config"]["name"]
    policy = start["deliver_policy"]
    _say(given, f"Subscribing to JetStream Stream (direct) {stream} subject {where} ({policy})")
    reader = DirectGetReader(connection, info, where, start)
    async for message in reader.messages(to_end=given["terminate_at_end"], wait=given["wait"] / SECOND):
        yield message


async def _control(connection: NatsConnection, message: Any) -> None:
    """Answer a flow control request; a pull that ran out needs no answer. Raises CliError for a refusal."""
    if message.headers["Status"] == "409":
        raise RefusedError(f"the Consumer refuses: {message.headers.get('Description', '409')}")
    if message.headers.get("Status") == "100" and message.reply:
        await connection.nc.publish(message.reply)


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


def _say(given: dict[str, Any], text: str) -> None:
    if not given["raw"]:
        render.log(text)
