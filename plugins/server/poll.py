"""Requests to all servers through the system account, and their answers.

`poll` publishes one request on a `$SYS.REQ.SERVER.PING…` subject and collects the documents that servers
send, until as many as wanted have answered, none came for a moment, or the time is up. Promises: if nobody
answers, an error says which rights are needed. It does not interpret the answers.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from ...cli import render
from ...cli.connection import NatsConnection
from ...cli.errors import CliError, UnavailableError, warn
from ...cli.param import split_list
from .archive import ServerArchive, Source

Answer = dict[str, Any]
QUIET_SECONDS = 0.3  # after the last answer
NOTHING = "no results received, ensure the account used has system privileges and appropriate permissions"
OWN = "$SYS.REQ.ACCOUNT.PING."  # what every user may ask, for its own account


@dataclass
class TimedResponse:
    """A server's document, and how long it took to arrive (ns)."""

    document: Answer
    after: int


async def poll(
    connection: Source,
    subject: str,
    request: object = None,
    *,
    expect: int = 0,
    longer: float = 0.0,
) -> list[TimedResponse]:
    """Return the documents of all servers that answer `subject`, in order of arrival.

    They must answer within the run's timeout. From an archive come those that it has.

    expect: stop after this many answers, and wait for them as long as the timeout allows; 0 stops when no
        answer came for a moment.
    longer: seconds that they may take beyond the timeout.

    Raises CliError if nobody answers, or if servers answer with an error.
    """
    if isinstance(connection, ServerArchive):
        wanted = request if isinstance(request, dict) else {}
        return [TimedResponse(document, 0) for document in connection.answers(subject, wanted)]
    body = json.dumps(request).encode() if request else b""
    if connection.js.trace:
        render.log(f">>> {subject}: {body.decode()}\n")
    found = await _answers(connection, subject, body, expect, connection.timeout + longer)
    if not found:
        if subject.startswith(OWN):
            hint = f"the user must be allowed to publish to {subject}, and to subscribe to its inbox"
            raise UnavailableError("no server answered for this account", hint)
        raise UnavailableError(NOTHING, "such a user belongs to the account named by system_account")
    return _without_errors(found)


async def _answers(
    connection: NatsConnection, subject: str, body: bytes, expect: int, seconds: float
) -> list[TimedResponse]:
    inbox = connection.nc.new_inbox()
    answers: asyncio.Queue[Any] = asyncio.Queue()
    subscription = await connection.nc.subscribe(inbox, cb=answers.put)
    try:
        begin = time.perf_counter_ns()
        deadline = time.monotonic() + seconds
        await connection.nc.publish(subject, body, inbox)
        found: list[TimedResponse] = []
        while not expect or len(found) < expect:
            left = deadline - time.monotonic()
            wait_seconds = min(left, QUIET_SECONDS) if found and not expect else left
            try:
                message = await asyncio.wait_for(answers.get(), max(0.0, wait_seconds))
            except TimeoutError:
                break
            if not message.data and (message.headers or {}).get("Status") == "503":
                break
            if connection.js.trace:
                render.log(f"<<< {subject}: {message.data.decode(errors='replace')}\n")
            found.append(TimedResponse(_document(message.data), time.perf_counter_ns() - begin))
        return found
    finally:
        if connection.nc.is_connected:  # a graph polls for hours
            await subscription.unsubscribe()


def _document(data: bytes) -> Answer:
    try:
        document = json.loads(data)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise CliError("a server answered with something that is not a JSON object")
    return document


def _without_errors(found: list[TimedResponse]) -> list[TimedResponse]:
    """Return the answers that are no errors; warn about errors, or raise if there is nothing else."""
    good = [each for each in found if "error" not in each.document]
    failed = [each.document for each in found if "error" in each.document]
    texts = [
        f"{(document.get('server') or {}).get('name', 'a server')}: "
        f"{document['error'].get('description', 'unknown error')}"
        for document in failed
    ]
    if not good:
        raise CliError("; ".join(texts))
    for text in texts:
        warn(text)
    return good


def only(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of reports that select servers to a command: `--host`, `--cluster`, `--tags`."""
    for option in (
        click.option("--tags", multiple=True, help="Only servers with this tag."),
        click.option("--cluster", default="", help="Only servers of this cluster."),
        click.option("--host", default="", help="Only servers on this host."),
    ):
        callback = option(callback)
    return callback


def selection(host: str, cluster: str, tags: Sequence[str]) -> Answer:
    """Return the values of `only` as fields of a request."""
    asked: Answer = {"host": host, "cluster": cluster, "tags": split_list(tuple(tags))}
    return {name: value for name, value in asked.items() if value}


def compacted(names: Sequence[str]) -> list[str]:
    """Return the names of servers without the dotted suffix that all have in common."""
    if len(set(names)) < 2:
        return list(names)
    parts = [name.split(".") for name in names]
    while all(len(each) > 1 for each in parts) and len({each[-1] for each in parts}) == 1:
        parts = [each[:-1] for each in parts]
    return [".".join(each) for each in parts]
