"""`pyjs dlq add`: keep what the consumers of a stream give up."""

from __future__ import annotations

from typing import Any

import click

from ...cli import complete, output, prompt, render
from ...cli.command import RequestCommand
from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, RemoteError, UsageError, warn
from ...cli.jetstream import stream_is_gone
from ...cli.param import DURATION, SIZE
from ...protocol import dead_letters
from ...protocol.dead_letters import COPY_PREFIX
from . import page
from .queue import STREAM, check_name

Info = dict[str, Any]

NAME_LIMIT = 255
OVERLAP = 10065
MINUTE = 60_000_000_000
DUPLICATES = 2 * MINUTE
COPY_AGE = 7 * 24 * 60 * MINUTE


@click.command(cls=RequestCommand)
@output.showing("dead_letter_queue")
@STREAM
@click.argument("consumer", required=False, default="", shell_complete=complete.consumers)
@click.option("--max-age", type=DURATION, help="How long dead letters are kept.")
@click.option("--max-msgs", type=int, help="How many are kept at most; the oldest make room.")
@click.option("--max-bytes", type=SIZE, help="How many bytes are kept at most; the oldest make room.")
@click.option(
    "--storage", type=click.Choice(("file", "memory")), help="Storage; that of the Stream if unset."
)
@click.option("--replicas", type=click.IntRange(1), help="How many replicas; those of the Stream if unset.")
@click.option("--copy", is_flag=True, help="Also mirror the Stream, for servers that store advisories only.")
@click.option("--copy-age", type=DURATION, help="How long the mirror keeps messages (7 days if unset).")
async def add(stream: str, consumer: str, copy: bool, copy_age: int | None, **given: Any) -> None:
    """Keep what the consumers of a Stream, or one of them, give up.

    That is messages that reached the maximum of deliveries, and those that were terminated. pyjs-server
    stores the message itself before it may leave the Stream. Any other server stores advisories, which
    only name the message: it is then read from the Stream, or from the mirror that --copy makes.
    """
    if copy_age is not None and not copy:
        raise UsageError("--copy-age needs --copy")
    async with connect() as connection:
        if not stream:
            known = await connection.js.stream_names() if prompt.interactive() else ["…"]
            stream = await prompt.pick("Stream", known, argument="<STREAM>")
        check_name(stream)
        name = dead_letters.queue_name(stream)
        if len(COPY_PREFIX + stream) > NAME_LIMIT:
            raise UsageError(
                f"the name of {stream[:20]}… is too long", f"{name[:24]}… would be no valid name"
            )
        source = await connection.js.stream_info(stream)
        readers = await _readers(connection, stream, consumer)
        config = _configuration(source["config"], given)
        info = await _kept(connection, config, stream, consumer, given)
        if copy:
            await _copied(connection, source["config"], copy_age)
        copied = copy or await page.has_copy(connection, stream)
    page.show(info, stream, copied=copied)
    _warn_of_loss(connection, source, copied=copied)
    _warn_of_silence(readers)


async def _readers(connection: NatsConnection, stream: str, consumer: str) -> list[Info]:
    """Return the consumers concerned. Raises NotFoundError if the one that was named does not exist."""
    if consumer:
        return [await connection.js.consumer_info(stream, consumer)]
    return await connection.js.consumers(stream)


def _configuration(source: Info, given: dict[str, Any]) -> Info:
    """Return the configuration of a new queue, without its subjects."""
    stream = str(source["name"])
    age = given["max_age"] or 0
    return {
        "name": dead_letters.queue_name(stream),
        "description": f"Dead letters of {stream}",
        "retention": "limits",
        "discard": "old",
        "storage": given["storage"] or source["storage"],
        "num_replicas": given["replicas"] or source.get("num_replicas", 1),
        "max_age": age,
        "max_msgs": -1 if given["max_msgs"] is None else given["max_msgs"],
        "max_bytes": -1 if given["max_bytes"] is None else given["max_bytes"],
        "max_consumers": -1,
        "max_msg_size": -1,
        "duplicate_window": min(age, DUPLICATES) if age else DUPLICATES,
        "allow_direct": True,
    }


async def _kept(
    connection: NatsConnection, config: Info, stream: str, consumer: str, given: dict[str, Any]
) -> Info:
    """Create the queue, or have an existing one keep more; return its STREAM.INFO."""
    name = config["name"]
    subjects = dead_letters.queue_subjects(stream, consumer or dead_letters.EVERY)
    try:
        found = (await connection.js.request(f"STREAM.INFO.{name}"))["config"]
    except RemoteError as error:
        if not stream_is_gone(error):
            raise
        return await _ask(connection, f"STREAM.CREATE.{name}", {**config, "subjects": subjects})
    taken = found.get("subjects") or []
    if dead_letters.source_of(name, taken) != stream:
        raise CliError(f"the stream {name} exists, and is not one with dead letters")
    taken = [each for each in taken if each != dead_letters.stopped_subject(stream)]
    if dead_letters.takes(taken, stream, consumer or dead_letters.EVERY):
        subjects = taken
    elif consumer:
        subjects = [*taken, *subjects]
    changed = {key: config[_FIELDS[key]] for key, value in given.items() if value is not None}
    fields = {_FIELDS[key]: value for key, value in changed.items()}
    return await _ask(connection, f"STREAM.UPDATE.{name}", {**found, **fields, "subjects": subjects})


_FIELDS = {
    "max_age": "max_age",
    "max_msgs": "max_msgs",
    "max_bytes": "max_bytes",
    "storage": "storage",
    "replicas": "num_replicas",
}


async def _ask(connection: NatsConnection, request: str, config: Info) -> Info:
    try:
        await connection.js.request(request, config)
    except RemoteError as error:
        hint = "a stream takes these advisories already: 'stream find --subject' tells which"
        raise error.while_doing(
            f"could not keep dead letters in {config['name']}", hint if error.err_code == OVERLAP else ""
        ) from None
    return await connection.js.request(f"STREAM.INFO.{config['name']}")


async def _copied(connection: NatsConnection, source: Info, age: int | None) -> None:
    """Create the mirror that keeps the messages of the source, unless there is one."""
    name = COPY_PREFIX + str(source["name"])
    config = {
        "name": name,
        "description": f"Messages of {source['name']}, for its dead letters",
        "mirror": {"name": source["name"]},
        "retention": "limits",
        "storage": source["storage"],
        "num_replicas": source.get("num_replicas", 1),
        "max_age": COPY_AGE if age is None else max(age, 0),
        "allow_direct": True,
    }
    if await page.has_copy(connection, str(source["name"])):
        return
    try:
        await connection.js.request(f"STREAM.CREATE.{name}", config)
    except RemoteError as error:
        raise error.while_doing(f"could not create the mirror {name}") from None


def _warn_of_loss(connection: NatsConnection, source: Info, *, copied: bool) -> None:
    """Warn that messages may be gone when they are looked for, unless the server stores them."""
    greeting, config = connection.greeting, source["config"]
    here = str(source.get("domain", "")) == str(greeting.get("domain", ""))
    if copied or (here and not str(greeting.get("go", "")).startswith("go")):
        return
    name, retention = config["name"], config.get("retention", "limits")
    server = "this server" if here else "a server other than pyjs-server"
    if retention == "limits":
        warn(
            f"{server} stores advisories, not messages: a dead letter has a message as long as {name} has it"
        )
    else:
        warn(
            f"{server} stores advisories, not messages: a terminated message leaves {name} at once "
            f"({retention} retention), and is gone; --copy keeps it in a mirror"
        )


def _warn_of_silence(readers: list[Info]) -> None:
    """Warn of consumers that deliver without end, or that wait for no acknowledgement."""
    endless = [
        str(info["name"])
        for info in readers
        if info["config"].get("ack_policy") == "none" or info["config"].get("max_deliver", -1) < 1
    ]
    if endless:
        named = ", ".join(endless[:5]) + (", …" if len(endless) > 5 else "")
        count = render.number(len(endless))
        verb, them, they, terminate = (
            ("delivers", "it", "it", "terminates")
            if len(endless) == 1
            else ("deliver", "them", "they", "terminate")
        )
        warn(
            f"{count} of the consumers ({named}) {verb} without end, as no --max-deliver stops {them}: "
            f"only what {they} {terminate} is kept"
        )
