"""`pyjs stream add`: create a stream by questions, flags or a document."""

from __future__ import annotations

from typing import Any

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import Link, connect
from ...cli.errors import CliError, RemoteError
from ...protocol.api.stream import StreamConfig
from . import document, origin, page, questions
from .info import plain
from .options import Given, apply, configuration, without_reserved


@click.command(cls=Command)
@click.argument("stream", required=False, default="")
@click.option("--config", "file", type=click.Path(), help="Read the configuration from a JSON file.")
@click.option("--validate", is_flag=True, help="Only judge the configuration; create nothing.")
@click.option("--output", metavar="FILE", help="Only write the configuration to a file; create nothing.")
@configuration("add")
@click.option("-j", "--json", "as_json", is_flag=True, help="Produce JSON output.")
@click.option("--defaults", is_flag=True, help="Take the default for what no flag gives.")
async def add(
    stream: str,
    file: str | None,
    validate: bool,
    output: str | None,
    as_json: bool,
    defaults: bool,
    **given: Any,
) -> None:
    """Create a Stream. What no flag gives is asked."""
    async with connect() as link:
        config = await _described(link, stream, file, given, defaults)
        if validate or output:
            judge(config)
        if validate:
            render.show(document.text(config))
            render.show(f"\nConfiguration is a valid Stream matching {document.SCHEMA}")
            return
        if output:
            document.write(output, config)
            return
        await create(link, config, as_json=as_json)


async def _described(link: Link, stream: str, file: str | None, given: Given, defaults: bool) -> StreamConfig:
    """The configuration that a file, or flags and answers, describe."""
    if file:
        config = document.read(file)
        config.name = stream or config.name
        overlay = ("subjects", "tag", "tags", "cluster", "description", "replicas")
        apply(config, {name: given.get(name) for name in overlay})
        return config
    config = StreamConfig(
        name=stream, max_consumers=-1, max_msgs=-1, max_bytes=-1, max_msgs_per_subject=-1, max_msg_size=-1
    )
    config.num_replicas = 1
    config.allow_direct = True
    apply(config, given)
    required = not given.get("max_bytes") and await requires_size(link)
    await questions.ask(config, given, requires_size=required, defaults=defaults)
    await origin.settle(config, given, defaults=defaults)
    return without_reserved(config)


async def requires_size(link: Link) -> bool:
    """Whether the account demands a maximum size. Unknown counts as no: creating will tell."""
    try:
        info = await link.js.request("INFO")
    except CliError:
        return False
    return bool((info.get("limits") or {}).get("max_bytes_required"))


def judge(config: StreamConfig) -> None:
    """Raise CliError with everything that is wrong with a configuration."""
    found = document.problems(config)
    if found:
        raise CliError("Validation Failed: " + "; ".join(found))


async def create(link: Link, config: StreamConfig, *, as_json: bool) -> None:
    """Create a stream and show it."""
    name = config.name
    judge_name(name)
    try:
        info = plain(await link.js.request(f"STREAM.CREATE.{name}", config.to_json()))
    except RemoteError as error:
        raise error.while_doing("could not create Stream") from None
    if as_json:
        render.show_json(info)
        return
    render.show(f"Stream {name} was created\n")
    page.show(info, created=True)


def judge_name(name: str) -> None:
    """Raise CliError for a name that would change the API subject it becomes part of."""
    if not name:
        raise CliError("the configuration has no name", "give it as <STREAM>")
    if any(character in " \t\r\n\f.*>/\\" for character in name):
        raise CliError(
            f'could not create Stream: "{name}" is not a valid stream name',
            "a name has no blanks, dots, wildcards or slashes",
        )
