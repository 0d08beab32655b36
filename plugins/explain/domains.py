"""Which JetStream domains there are besides the one that was asked, and which of them has a stream.

Servers tell each user of their own account; a leaf node does so if the system account is on both sides of its
connection. A domain that nobody tells of is not known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress

from ...cli.connection import NatsConnection
from ...cli.errors import CliError, ExitCode, RemoteError
from ...cli.jetstream import JsApi
from ...cli.proposal import command
from ..server.poll import OWN, poll

SECONDS = 2.0  # for each question
MOST = 20  # domains that are asked for a stream
MOST_STREAMS = 100  # of the same names in two domains, whose consumers are compared
Twins = dict[tuple[str, str], list[str]]  # domains, by stream and consumer


async def other_domains(connection: NatsConnection) -> list[str]:
    """Return the domains of servers that this user hears of, but for the one whose API it asks."""
    told = {str(connection.greeting.get("domain") or "")}
    with suppress(CliError, TimeoutError):
        answers = await asyncio.wait_for(poll(connection, f"{OWN}STATZ"), SECONDS)
        told |= {str((each.document.get("server") or {}).get("domain") or "") for each in answers}
    asked = connection.profile.domain
    if connection.js.prefix == "$JS.API":
        asked = str(connection.greeting.get("domain") or "")
    return sorted(told - {asked, ""})


async def elsewhere(connection: NatsConnection, error: CliError, stream: str, consumer: str = "") -> CliError:
    """Return the error that a stream or consumer is not found, with the command that explains it where it is.

    Any other error is returned unchanged.
    """
    silent = error.exit_code is ExitCode.UNAVAILABLE and not isinstance(error, RemoteError)
    if error.exit_code is not ExitCode.NOT_FOUND and not silent:
        return error
    names = await other_domains(connection)
    request = f"CONSUMER.INFO.{stream}.{consumer}" if consumer else f"STREAM.INFO.{stream}"
    answers = await asyncio.gather(*(_has(connection, each, request) for each in names[:MOST]))
    there = [name for name, found in zip(names, answers, strict=False) if found]
    words = ("explain", "consumer", stream, consumer) if consumer else ("explain", "stream", stream)
    hints = [f"it is in the domain {name}: {command(*words, '--js-domain', name)}" for name in there]
    if silent and not there and names:
        hints = [f"servers tell of the domains {', '.join(names)}"]
    error.hints = (*error.hints, *hints)
    return error


async def twins(connection: NatsConnection, consumers: Mapping[str, Collection[str]]) -> Twins:
    """Return in which other domains there are consumers of the same names, of streams of the same names.

    What acknowledges one of them counts for the other, too, if it crosses the leaf connection.

    consumers: the names of those that wait for acknowledgements, by the name of the stream.
    """
    found: Twins = {}
    for domain in (await other_domains(connection))[:MOST] if consumers else ():
        js = JsApi(connection.nc, f"$JS.{domain}.API", SECONDS, trace=connection.js.trace)
        with suppress(CliError):
            for stream in sorted({*await js.stream_names()} & consumers.keys())[:MOST_STREAMS]:
                for name in sorted({*await js.consumer_names(stream)} & {*consumers[stream]}):
                    found.setdefault((stream, name), []).append(domain)
    return found


async def _has(connection: NatsConnection, domain: str, request: str) -> bool:
    js = JsApi(connection.nc, f"$JS.{domain}.API", SECONDS, trace=connection.js.trace)
    try:
        await js.request(request)
    except CliError:
        return False
    return True
