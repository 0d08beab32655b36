"""`pyjs server stream-check` and `consumer-check`: whether replicas have the same, server by server."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from ...cli import output
from ...cli.command import Command
from ...cli.errors import CliError, UsageError, warn
from ...cli.output import BYTES, LIST, NAME, NUMBER, TEXT, WORD, Column, Table
from ...cli.output.choice import chosen
from .archive import ARCHIVE, ServerArchive, Source, servers
from .poll import poll
from .replica_states import COUNTS, POSITIONS, consumers_of, drift, is_unsynced, streams_of

Record = dict[str, Any]
MOST_ACCOUNTS = 100_000
NO_ANSWER = "stdin holds something that is no answer to 'server request jsz'"
_SOLID = re.compile(r"\S")


def _count(field: str) -> Callable[[Record], str]:
    """Return what makes a cell of a count; beside one of the leader's it says how much it differs."""
    return lambda each: drift(each[field], each.get("leaders", each)[field])


def _node(each: Record) -> str:
    leads = bool(each["leader"]) and each["server"] == each["leader"]
    return f"{each['server']}{'*' * leads}"


# What replicas are compared for stands first: on a narrow terminal the last columns give way.
_NODE = (
    Column("server", "Node", NAME, show=_node),
    Column("status", "Status", WORD),
)
_REST = (
    Column("account", "Account", NAME, same=True),
    Column("account_id", "Account ID", NAME, wide=True),
    Column("domain", "Domain", NAME, optional=True, same=True),
    Column("health", "Health", TEXT, optional=True),
    Column("leader", "Leader", NAME, wide=True),
    Column("raft_group", "Raft", WORD, wide=True),
    Column("peers", "Peers", LIST, wide=True),
)
STREAMS = Table(
    "streams",
    "Streams",
    (
        Column("stream", "Stream", NAME),
        *_NODE,
        Column("messages", "Messages", NUMBER, show=_count("messages")),
        Column("bytes", "Bytes", BYTES, show=_count("bytes")),
        Column("first", "First", NUMBER, show=_count("first")),
        Column("last", "Last", NUMBER, show=_count("last")),
        Column("subjects", "Subjects", NUMBER, show=_count("subjects"), wide=True),
        Column("deleted", "Deleted", NUMBER, show=_count("deleted"), silent=("0",)),
        Column("consumers", "Consumers", NUMBER, show=_count("consumers"), wide=True),
        *_REST,
    ),
    key="stream",
    empty="No Streams found",
    spare=("domain", "account", "first", "bytes"),
)
CONSUMERS = Table(
    "consumers",
    "Consumers",
    (
        Column("consumer", "Consumer", NAME),
        Column("stream", "Stream", NAME),
        *_NODE,
        Column("delivered", "Delivered", NUMBER, show=_count("delivered")),
        Column("ack_floor", "Ack Floor", NUMBER, show=_count("ack_floor")),
        Column("pending", "Pending", NUMBER),
        Column("ack_pending", "Ack Pending", NUMBER),
        Column("redelivered", "Redelivered", NUMBER, wide=True),
        Column("waiting", "Waiting", NUMBER, wide=True),
        *_REST,
        Column("delivered_consumer", "Delivered (C)", NUMBER, show=_count("delivered_consumer"), wide=True),
        Column("ack_floor_consumer", "Ack Floor (C)", NUMBER, show=_count("ack_floor_consumer"), wide=True),
        Column("first", "Stream First", NUMBER, wide=True),
        Column("last", "Stream Last", NUMBER, wide=True),
        Column("stream_leader", "Stream Leader", NAME, wide=True),
    ),
    key="consumer",
    empty="No Consumers found",
    spare=("domain", "account", "ack_floor", "pending", "delivered"),
)


def _options(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that both checks have."""
    for option in (
        click.option("--csv", is_flag=True, help="As -o csv."),
        click.option("--read-timeout", type=click.IntRange(min=1), default=5, help="Seconds (default: 5)."),
        click.option("--stdin", is_flag=True, help="Read what 'server request jsz --all' printed."),
        click.option("--unsynced", is_flag=True, help="Only replicas that differ, with how much."),
        click.option("--expected", type=click.IntRange(min=0), default=0, help="Servers that must answer."),
        click.option("--health", is_flag=True, help="Ask each server for the health of each replica."),
        click.option("--raft-group", default="", help="Only this Raft group."),
        click.option("--stream", default="", help="Only this Stream."),
        ARCHIVE,
    ):
        callback = option(callback)
    return callback


@click.command("stream-check", cls=Command)
@output.listing(STREAMS, watch=True)
@_options
async def stream_check(**given: Any) -> None:
    """Compare the replicas of each Stream on all servers; * marks the leader."""
    await _check(STREAMS, given, streams_of, COUNTS)


@click.command("consumer-check", cls=Command)
@output.listing(CONSUMERS, watch=True)
@_options
@click.option("--consumer", default="", help="Only this Consumer.")
async def consumer_check(**given: Any) -> None:
    """Compare the replicas of each Consumer on all servers; * marks the leader."""
    await _check(CONSUMERS, given, consumers_of, POSITIONS)


async def _check(
    table: Table,
    given: Record,
    replicas_of: Callable[[list[Record]], list[Record]],
    counts: tuple[str, ...],
) -> None:
    if given["csv"]:
        chosen().format = "csv"
    if given["stdin"]:
        if given["health"]:
            raise UsageError("--health asks servers: it does not go with --stdin")
        try:
            records = _wanted(replicas_of(documents_of(sys.stdin.read())), given)
        except (AttributeError, KeyError, TypeError):
            raise CliError(NO_ANSWER) from None
    else:
        async with servers() as connection:
            if given["health"] and isinstance(connection, ServerArchive):
                raise UsageError("--health asks servers: it does not go with --archive")
            records = _wanted(replicas_of(await _reports(connection, given, table)), given)
            for each in records if given["health"] else ():
                each["health"] = await _health(connection, each)
    if given["unsynced"]:
        _beside_leaders(records, counts)
        records = [each for each in records if is_unsynced(each)]
        table = replace(table, empty="All replicas agree")
    output.show(table.of({"health": "", **each} for each in records))


async def _reports(connection: Source, given: Record, table: Table) -> list[Record]:
    asked = {"accounts": True, "streams": True, "raft": True, "limit": MOST_ACCOUNTS}
    asked["consumer"] = table is CONSUMERS
    longer = given["read_timeout"] - connection.timeout
    subject = "$SYS.REQ.SERVER.PING.JSZ"
    answers = await poll(connection, subject, asked, expect=given["expected"], longer=longer)
    if len(answers) < given["expected"]:
        warn(f"expected {given['expected']} servers to answer, {len(answers)} did")
    return [each.document for each in answers]


def documents_of(text: str) -> list[Record]:
    """Return the JSON objects that follow each other in a text. Raises CliError."""
    decoder, found, place = json.JSONDecoder(), [], 0
    while solid := _SOLID.search(text, place):
        try:
            document, place = decoder.raw_decode(text, solid.start())
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise CliError(NO_ANSWER)
        found.append(document)
    return found


def _wanted(records: list[Record], given: Record) -> list[Record]:
    fields = [name for name in ("stream", "consumer", "raft_group") if given.get(name)]
    return [each for each in records if all(each[name] == given[name] for name in fields)]


def _beside_leaders(records: list[Record], counts: tuple[str, ...]) -> None:
    """Add to each replica the counts of its leader, if that has reported."""
    names = ("domain", "account", "stream", "consumer", "raft_group")
    led = {
        tuple(each.get(name) for name in names): {field: each[field] for field in counts}
        for each in records
        if each["leader"] and each["server"] == each["leader"]
    }
    for each in records:
        found = led.get(tuple(each.get(name) for name in names))
        if found is not None:
            each["leaders"] = found


async def _health(connection: Source, replica: Record) -> str:
    """Return what a server says of a replica, in words."""
    asked = {name: replica[name] for name in ("account", "stream", "consumer") if replica.get(name)}
    try:
        subject = f"$SYS.REQ.SERVER.{replica['server_id']}.HEALTHZ"
        (answer, *_) = await poll(connection, subject, asked, expect=1)
    except CliError as error:
        return error.message
    data = answer.document.get("data") or {}
    return ": ".join(str(data[name]) for name in ("status", "error") if data.get(name))
