"""The dead letters of a stream: found by its name, listed, and each with its message.

Promises: reading changes nothing. A message is looked up by its sequence only in the stream that the advisory
means: if the stream was deleted and made again since, the message is gone.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import click

from ...cli import complete, prompt
from ...cli.connection import NatsConnection
from ...cli.errors import (
    SEQUENCE_NOT_FOUND,
    CliError,
    NotFoundError,
    RemoteError,
    UsageError,
    close_matches,
)
from ...cli.jetstream import is_name, stream_is_gone
from ...cli.loop import need_loop
from ...cli.messages import NO_MESSAGE, StoredMessage
from ...cli.proposal import in_hint
from ...protocol import dead_letters
from ...protocol.dead_letters import COPY_PREFIX, STREAM_PREFIX
from ...protocol.timestamp import parse_rfc3339
from . import page
from .letter import GONE, IN_COPY, IN_STREAM, STORED, DeadLetter, merged
from .message import RawMessage, message_at
from .selection import LetterSelection

Info = dict[str, Any]

STREAM = click.argument("stream", required=False, default="", shell_complete=complete.streams)


class Queue:
    """The dead letters of one stream; make it with `open_queue`.

    info: the STREAM.INFO of the stream with the dead letters.
    source: the stream whose dead letters these are.
    """

    def __init__(self, connection: NatsConnection, info: Info, source: str) -> None:
        self.connection = connection
        self.info = info
        self.name = str(info["config"]["name"])
        self.source = source
        self._source_info: Info | None = None  # {} if it is gone; None: not asked yet
        self._copied: bool | None = None  # None: not asked yet

    async def letters(self, selection: LetterSelection) -> list[DeadLetter]:
        """Return the letters that are selected, oldest first, each with what is known of its message."""
        copies = await self._read(
            selection, [dead_letters.message_filter(self.source, selection.token)], headers_only=True
        )
        advisories = await self._read(
            selection, dead_letters.advisory_filters(self.source, selection.token), headers_only=False
        )
        found = [letter for letter in merged(copies, advisories) if selection.before_lookup(letter)]
        located = [await self._located(letter) for letter in found]
        return [letter for letter in located if selection.subject_matches(letter)]

    async def _read(
        self, selection: LetterSelection, filters: list[str], *, headers_only: bool
    ) -> list[StoredMessage]:
        need_loop()
        from ...cli.ordered_consumer import OrderedConsumer

        async with OrderedConsumer(
            self.connection, self.name, filters=filters, start=selection.start(), headers_only=headers_only
        ) as reader:
            return [message async for message in reader.until_end()]

    async def _located(self, letter: DeadLetter) -> DeadLetter:
        """Return the letter with its message's place, subject, time and size."""
        if letter.where == STORED:
            return letter
        where, message = await self._original(letter)
        if message is None:
            return letter
        event = letter.event._replace(subject=message.subject, time=message.time)
        return letter._replace(event=event, where=where, size=len(message.data))

    async def message(self, letter: DeadLetter) -> RawMessage | None:
        """Return the message of a letter as it was published; None if it is gone."""
        if letter.where != STORED:
            return (await self._original(letter))[1]
        found = await message_at(self.connection, self.name, letter.id)
        if found is None:
            return None
        header = dead_letters.restored_header(found.header)
        return RawMessage(letter.event.subject, header, found.data, letter.event.sequence, letter.event.time)

    async def _original(self, letter: DeadLetter) -> tuple[str, RawMessage | None]:
        """Look for the message of an advisory, in the stream and then in its copy."""
        sequence, created = letter.event.sequence, await self._source_created()
        if created > letter.time:  # another stream of this name: its sequences are of other messages
            return GONE, None
        if created and (found := await message_at(self.connection, self.source, sequence)) is not None:
            return IN_STREAM, found
        if self._copied is None:
            self._copied = await page.has_copy(self.connection, self.source)
        if not self._copied:
            return GONE, None
        found = await message_at(self.connection, COPY_PREFIX + self.source, sequence)
        return (GONE, None) if found is None or found.time > letter.time else (IN_COPY, found)

    async def _source_created(self) -> int:
        """Return when the source was created, ns; 0 if it is gone."""
        info = await self._info_of_source()
        return parse_rfc3339(str(info["created"])) if info else 0

    async def source_retention(self) -> str:
        """Return the retention of the source, "" if it is gone."""
        info = await self._info_of_source()
        return str(info["config"].get("retention", "limits")) if info else ""

    async def _info_of_source(self) -> Info:
        if self._source_info is None:
            try:
                self._source_info = await self.connection.js.request(f"STREAM.INFO.{self.source}")
            except RemoteError as error:
                if not stream_is_gone(error):
                    raise
                self._source_info = {}
        return self._source_info

    async def remove_original(self, letter: DeadLetter) -> None:
        """Delete the message of a letter from the source, if it is there, and not another one."""
        found = await message_at(self.connection, self.source, letter.event.sequence)
        if found is None or found.time != letter.event.time:
            return
        await self._delete(self.source, letter.event.sequence, f"the message {letter.event.sequence}")

    async def remove(self, letter: DeadLetter) -> None:
        """Delete a letter."""
        for sequence in (letter.id, *letter.related):
            await self._delete(self.name, sequence, f"the dead letter {letter.id}")

    async def _delete(self, stream: str, sequence: int, what: str) -> None:
        """Delete a message of a stream. One that is gone already is no error."""
        try:
            await self.connection.js.request(
                f"STREAM.MSG.DELETE.{stream}", {"seq": sequence, "no_erase": True}
            )
        except RemoteError as error:
            if error.err_code not in (NO_MESSAGE, SEQUENCE_NOT_FOUND):
                raise error.while_doing(f"could not delete {what} of {stream}") from None


async def open_queue(connection: NatsConnection, stream: str) -> Queue:
    """Open the dead letters of a stream; without a name one is chosen on the terminal.

    Raises NotFoundError if none are kept.
    """
    if not stream:
        known = await sources(connection) if prompt.interactive() else ["…"]
        stream = await prompt.pick("Stream", known, argument="<STREAM>")
    check_name(stream)
    name = dead_letters.queue_name(stream)
    try:
        info = await connection.js.request(f"STREAM.INFO.{name}")
    except RemoteError as error:
        if not stream_is_gone(error):
            raise
        raise await _not_kept(connection, stream) from None
    if dead_letters.source_of(name, info["config"].get("subjects") or []) != stream:
        raise CliError(
            f"the stream {name} is not one with dead letters", "it has no subject for those of " + stream
        )
    return Queue(connection, info, stream)


def check_name(stream: str) -> None:
    """Raise UsageError for a name that no stream can have."""
    if not is_name(stream):
        raise UsageError(f"{stream!r} is not the name of a stream")


async def sources(connection: NatsConnection) -> list[str]:
    """Return the streams whose dead letters are kept."""
    names = await connection.js.stream_names()
    return [name.removeprefix(STREAM_PREFIX) for name in names if name.startswith(STREAM_PREFIX)]


async def _not_kept(connection: NatsConnection, stream: str) -> CliError:
    """Return the error for a stream whose dead letters are not kept."""
    near, names = "", [stream]
    with suppress(CliError):
        near = close_matches(stream, await sources(connection))
        names = await connection.js.stream_names()
    keeps = f"{in_hint(f'dlq add {stream}')} keeps them" if stream in names else ""
    missing = "" if stream in names else ", and there is no such stream"
    return NotFoundError(f"no dead letters of {stream} are kept{missing}", near, keeps)
