"""`pyjs dlq replay`: publishes dead letters again, and removes each from the queue.

Promises: a replayed message has the id of the original (`Nats-Msg-Id`), or one made from its stream, sequence
and time. So a replay that was cut, and is repeated within the duplicate window of the stream that stores the
message, publishes nothing twice. A letter is removed only after that stream has acknowledged its message, and
one by one: a cut leaves at most one message of which it is not known whether it was published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from ...cli import messages, output, render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, InterruptedRunError, RefusedError, RemoteError, UsageError, warn
from ...cli.loop import interruptions
from ...cli.messages import PublishAck
from ...cli.proposal import in_hint
from ...protocol import dead_letters
from ...protocol.subject import is_literal
from . import page
from .letter import DeadLetter, document
from .listing import LETTERS
from .message import RawMessage
from .queue import STREAM, Queue, open_queue
from .selection import FILTERS, IDS, LetterSelection, filters

MESSAGE_ID = "Nats-Msg-Id"
# A replay is a new publish: what these demanded of the stream's state was true of the first one only. The
# last two are of a message that a schedule made: stored again, they would remove or move that of today.
_OF_FIRST_PUBLISH = (
    "nats-expected-", "nats-rollup", "nats-batch-", "nats-scheduler", "nats-schedule-next"
)  # fmt: skip


@dataclass
class Replayed:
    """What became of the letters.

    published: letters whose message was stored now.
    before: letters whose message an earlier replay had stored.
    early: letters whose id is still known from the first publish.
    gone: letters whose message is gone.
    stream: the stream that stored a message last.
    """

    published: int = 0
    before: int = 0
    early: int = 0
    gone: int = 0
    stream: str = ""


@click.command(cls=Command)
@output.listing(LETTERS)
@STREAM
@IDS
@filters
@click.option("--all", "everything", is_flag=True, help="All dead letters of the Stream.")
@click.option("--to", default="", metavar="SUBJECT", help="Publish to this subject, not to the original one.")
@click.option("--keep", is_flag=True, help="Leave the dead letters where they are.")
@click.option("--new-ids", is_flag=True, help="Give messages an id of the dead letter, not their own one.")
@click.option("--dry-run", is_flag=True, help="Only show which dead letters would be replayed.")
async def replay(
    stream: str,
    ids: tuple[int, ...],
    everything: bool,
    to: str,
    keep: bool,
    new_ids: bool,
    dry_run: bool,
    **given: Any,
) -> None:
    """Publish dead letters again, oldest first, and remove them: by ids, by filters or all."""
    selection = LetterSelection.of(given, ids)
    if not (ids or everything or any(given[name] for name in FILTERS)):
        raise UsageError(
            "nothing says which dead letters to replay", "give ids, a filter such as --since, or --all"
        )
    if to and not is_literal(to):
        raise UsageError(f"{to!r} is no subject to publish to")
    async with connect() as connection:
        queue = await open_queue(connection, stream)
        letters = await queue.letters(selection)
        selection.check_found(letters, queue.source)
        if dry_run:
            title = f"Would be replayed to {to}" if to else "Would be replayed"
            output.show(LETTERS.of([document(letter) for letter in letters], title=title))
            return
        run = _Replay(connection, queue, to=to, keep=keep, new_ids=new_ids)
        try:
            for letter in letters:
                await run.replay(letter)
        except interruptions():
            done = f"{_counted(run.outcome)}; {await _repetition(connection, run.outcome)}"
            raise InterruptedRunError(done) from None
        except CliError as error:
            again = await _repetition(connection, run.outcome)
            error.hints += (f"{_counted(run.outcome)} of {render.number(len(letters))}; {again}",)
            raise
        await _report(queue, run.outcome, len(letters))
        if run.outcome.published and run.outcome.stream == queue.source:
            await _warn_of_readers(queue, to)


class _Replay:
    """One run over letters."""

    def __init__(
        self, connection: NatsConnection, queue: Queue, *, to: str, keep: bool, new_ids: bool
    ) -> None:
        self.outcome = Replayed()
        self._connection = connection
        self._queue = queue
        self._to = to
        self._keep = keep
        self._new_ids = new_ids

    async def replay(self, letter: DeadLetter) -> None:
        """Publish the message of a letter, and remove the letter."""
        message = await self._queue.message(letter)
        if message is None:
            self.outcome.gone += 1
            return
        subject = self._to or message.subject
        try:
            ack = await messages.publish(
                self._connection, subject, message.data, self._headers(letter, message)
            )
        except CliError as error:
            doing = f"could not replay the dead letter {letter.id} to {subject}"
            if isinstance(error, RemoteError):
                raise error.while_doing(doing) from None
            error.message = f"{doing}: {error.message}"
            raise
        self.outcome.stream = ack.stream
        if ack.duplicate and self._is_original(ack, letter):
            self.outcome.early += 1
            return
        if ack.duplicate:
            self.outcome.before += 1
        else:
            self.outcome.published += 1
        if not self._keep:
            await self._settle(letter)

    def _headers(self, letter: DeadLetter, message: RawMessage) -> dict[str, str | list[str]]:
        """Return the header fields of the message, with its id."""
        kept: dict[str, str | list[str]] = {
            name: values[0] if len(values) == 1 else values
            for name, values in message.headers.items()
            if not name.lower().startswith(_OF_FIRST_PUBLISH)
        }
        if self._new_ids or not kept.get(MESSAGE_ID):
            event = letter.event
            kept[MESSAGE_ID] = f"dlq.{event.stream}.{event.sequence}.{message.time}"
        return kept

    def _is_original(self, ack: PublishAck, letter: DeadLetter) -> bool:
        """Return whether an id is known because of the first publish, not of a replay."""
        return ack.stream == letter.event.stream and ack.sequence == letter.event.sequence

    async def _settle(self, letter: DeadLetter) -> None:
        """Remove a letter, and from a work queue the message that nobody would get any more."""
        exhausted = letter.event.reason == dead_letters.MAX_DELIVERIES
        if exhausted and await self._queue.source_retention() == "workqueue":
            await self._queue.remove_original(letter)
        await self._queue.remove(letter)


def _counted(outcome: Replayed) -> str:
    return f"replayed {page.counted(outcome.published + outcome.before)}"


async def _report(queue: Queue, outcome: Replayed, selected: int) -> None:
    """Say what was done. Raises CliError if some letters could not be replayed."""
    done = outcome.published + outcome.before
    text = f"Replayed {render.number(done)} of {page.counted(selected)} of {queue.source}"
    if outcome.before:
        text += f", {render.number(outcome.before)} of them by an earlier replay"
    render.show(text)
    if outcome.early:
        window = await _window(queue.connection, outcome.stream)
        span = f" of {window}" if window else ""
        raise RefusedError(
            f"{outcome.stream} still knows the ids of {page.counted(outcome.early)} and stored none of them",
            f"they were published less than its duplicate window{span} ago; the same command works after it",
            "--new-ids publishes them now, with other ids",
        )
    if outcome.gone:
        raise CliError(
            f"{page.counted(outcome.gone)} without a message: it is gone",
            f"{in_hint(f'dlq ls {queue.source}')} shows them as gone, 'dlq rm' removes them",
        )


async def _repetition(connection: NatsConnection, outcome: Replayed) -> str:
    """Return until when a repetition doubles nothing."""
    window = await _window(connection, outcome.stream)
    return "the same command goes on" + (f", and doubles nothing within {window}" if window else "")


async def _window(connection: NatsConnection, stream: str) -> str:
    """Return how long a stream knows the ids of messages; empty if that is not told."""
    try:
        info = await connection.js.request(f"STREAM.INFO.{stream}") if stream else {}
    except CliError:
        return ""
    window = int((info.get("config") or {}).get("duplicate_window", 0))
    return render.go_span(window) if window else ""


async def _warn_of_readers(queue: Queue, to: str) -> None:
    """Warn if other consumers get the replayed messages as well, also under another subject of the stream."""
    readers = await queue.connection.js.consumer_names(queue.source)
    if len(readers) > 1 and await queue.source_retention() != "workqueue":
        warn(
            f"all {render.number(len(readers))} consumers of {queue.source} get what was replayed, "
            f"if their filters select it; "
            + (f"{to} is stored in {queue.source}, too" if to else "--to publishes elsewhere")
        )
