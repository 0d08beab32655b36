"""What the messaging commands share: messages to publish, bodies, headers, and messages as text."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import click

from ...cli import render
from ...cli.errors import CliError, UsageError

Headers = dict[str, list[str]]

HEADER = click.option(
    "-H", "--header", "headers", multiple=True, metavar="K:V", help="Add a header to the message."
)
TEMPLATES = click.option(
    "--templates/--no-templates", default=True, help="Replace {{Count}} and the like.", show_default=True
)
FORCE_STDIN = click.option("--force-stdin", is_flag=True, help="Read the body from stdin in any case.")
SEND_ON = click.option(
    "--send-on",
    type=click.Choice(["newline", "eof"]),
    default="eof",
    show_default=True,
    help="Send what stdin holds at its end, or each line as it comes.",
)


class Publication(NamedTuple):
    """A message to publish."""

    subject: str
    data: bytes
    headers: dict[str, str]


def bodies(body: str | None, force_stdin: bool, send_on: str) -> Iterator[bytes]:
    """Yield the bodies to send: the argument, or what stdin holds, whole or line by line."""
    if body is not None and not force_stdin:
        yield body.encode()
        return
    if sys.stdin.isatty():
        render.log("Reading payload from STDIN")
    if send_on == "eof":
        yield sys.stdin.buffer.read()
        return
    for line in sys.stdin.buffer:
        yield line.rstrip(b"\r\n")


def parse_headers(texts: Sequence[str]) -> Headers:
    """Parse `K:V` texts as headers; equal names keep all their values.

    Raises CliError for a text without a colon.
    """
    found: Headers = {}
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon or not name.strip():
            raise UsageError(f'invalid header "{text}"', "headers are given as 'Name: value'")
        found.setdefault(name.strip(), []).append(value.strip())
    return found


def flat(headers: Headers) -> dict[str, str]:
    """Return headers as the client takes them. Raises CliError if a name has several values."""
    for name, values in headers.items():
        if len(values) > 1:
            raise UsageError(f'the header "{name}" is given {len(values)} times', "give one value for a name")
    return {name: values[0] for name, values in headers.items()}


def header_lines(message: Any) -> str:
    """Return the headers of a message as lines, or an empty string."""
    lines = "\n".join(f"{name}: {value}" for name, value in (message.headers or {}).items())
    return f"{lines}\n" if lines else ""


def translated(data: bytes, command: str | None, subject: str) -> bytes:
    """Return a body, or what `command` makes of it. Raises CliError if the command fails."""
    if not command:
        return data
    import shlex
    import subprocess

    words = shlex.split(command.replace("{{Subject}}", subject))
    done = subprocess.run(words, input=data, capture_output=True, check=False)
    if done.returncode != 0:
        raise CliError(f"translating failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def show_body(data: bytes, translate: str | None = None, subject: str = "") -> None:
    """Write a body to stdout, through the command `translate` if there is one.

    Bytes that are not text are written unchanged. A body without a newline at its end gets one.
    """
    shown = translated(data, translate, subject)
    click.echo(shown, nl=not shown.endswith(b"\n"))
