"""`pyjs service request`: a request to an endpoint of a service, whose subject the service tells."""

from __future__ import annotations

import sys

import click

from ...cli.command import Command
from ...cli.connection import connect
from ...cli.errors import NotFoundError, close_matches
from ...protocol import micro
from ..messaging.body import FORCE_STDIN, HEADER, SEND_ON, TEMPLATES, bodies, flat, parse_headers
from ..messaging.request import Asker
from ..messaging.template import Filler
from .discovery import Document, documents


@click.command(cls=Command)
@click.argument("service")
@click.argument("endpoint")
@click.argument("payload", required=False, default=None)
@HEADER
@click.option("-r", "--raw", is_flag=True, help="Show only the bodies of the answers.")
@click.option(
    "--count", type=click.IntRange(min=1), default=1, show_default=True, help="Ask this many times."
)
@click.option("--translate", metavar="COMMAND", help="Show each body as this command's output.")
@TEMPLATES
@FORCE_STDIN
@SEND_ON
async def request(
    service: str,
    endpoint: str,
    payload: str | None,
    headers: tuple[str, ...],
    raw: bool,
    count: int,
    translate: str | None,
    templates: bool,
    force_stdin: bool,
    send_on: str,
) -> None:
    """Send a request to an endpoint of a service, and show the answer.

    Without a payload it is what stdin holds, or empty on a terminal.
    """
    fields = flat(parse_headers(headers))
    if payload is None and not force_stdin and sys.stdin.isatty():
        payload = ""
    async with connect() as connection:
        found = (await documents(connection, micro.INFO, service, wanted=1))[0]
        subject = _subject(found, endpoint)
        asker = Asker(connection, raw, translate, connection.timeout, until_empty=False)
        texts = bodies(payload, force_stdin, send_on)
        await asker.ask_each(subject, texts, count, Filler() if templates else None, fields)


def _subject(found: Document, name: str) -> str:
    """Return the subject of an endpoint. Raises NotFoundError that names those there are."""
    endpoints = {str(each.get("name")): str(each.get("subject")) for each in found.get("endpoints") or ()}
    if name in endpoints:
        return endpoints[name]
    if not endpoints:
        raise NotFoundError(f'service "{found["name"]}" has no endpoints')
    raise NotFoundError(
        f'service "{found["name"]}" has no endpoint "{name}" (available: {", ".join(sorted(endpoints))})',
        close_matches(name, endpoints),
    )
