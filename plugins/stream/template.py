"""`pyjs stream template`: the stream templates of a server with `legacy_api`."""

from __future__ import annotations

from typing import Any

import click

from ...cli import output, prompt, render
from ...cli.command import FORCE, Command, CommandGroup, RequestCommand
from ...cli.connection import NatsConnection, connect
from ...cli.errors import RemoteError, UnavailableError, UsageError
from ...cli.output import NAME, Column, Table
from ...cli.setting import flags
from ...protocol.api.stream_template import StreamTemplateConfig
from . import page, validation
from .add import described
from .info import plain
from .options import SETTINGS

Info = dict[str, Any]
API = "STREAM.TEMPLATE"
LEGACY = "stream templates need a pyjs-server with `legacy_api: true` in its `jetstream` block"
NO_STREAMS = "  No Streams have been defined by this template"
TEMPLATES = Table(
    "stream_templates",
    "Stream Templates",
    (Column("name", "Name", NAME),),
    empty="No Stream Templates defined",
)
TEMPLATE = click.argument("name", metavar="[TEMPLATE]", required=False, default="")

template = CommandGroup(name="template", help="Streams that messages make: templates of a server of 2020.")
template.add_alias("add", "create", "new")
template.add_alias("info", "nfo", "i")
template.add_alias("ls", "list", "l")
template.add_alias("rm", "delete", "del")


@template.command("add", cls=Command)
@output.showing("stream_template")
@TEMPLATE
@click.option("--config", "file", type=click.Path(), help="Read the configuration from a JSON file.")
@click.option("--max-streams", type=click.IntRange(min=0), help="How many streams it may make.")
@flags(SETTINGS, "add")
@click.option("--defaults", is_flag=True, help="Take the default for what no flag gives.")
async def add(name: str, file: str | None, max_streams: int | None, defaults: bool, **given: Any) -> None:
    """Create a Stream Template. What no flag gives is asked."""
    async with connect() as connection:
        name = name or await prompt.text("Template Name", flag="<TEMPLATE>", required=True)
        validation.validate_name(name)
        config = await described(connection, name, file, given, defaults)
        if max_streams is None:
            max_streams = int(
                await prompt.text("Maximum Streams", flag="--max-streams", required=True, check=_whole)
            )
        config.name = ""
        wanted = StreamTemplateConfig(name=name, config=config, max_streams=max_streams)
        answer = await _ask(
            connection, f"CREATE.{name}", wanted.to_json(), "could not create Stream Template"
        )
    _show(answer, f"Stream Template {name} was created\n\n")


@template.command("info", cls=RequestCommand)
@output.showing("stream_template")
@TEMPLATE
async def info(name: str) -> None:
    """Show a Stream Template, and the Streams that it made."""
    async with connect() as connection:
        name = await _chosen(connection, name)
        answer = await _ask(connection, f"INFO.{name}", None, f"could not load Stream Template {name}")
    _show(answer)


@template.command("ls", cls=RequestCommand)
@output.listing(TEMPLATES, legacy="the names")
async def ls() -> None:
    """List the Stream Templates."""
    async with connect() as connection:
        names = await _names(connection)
    output.show(TEMPLATES.of({"name": name} for name in names), document=names)


@template.command("rm", cls=RequestCommand)
@TEMPLATE
@FORCE
async def rm(name: str, force: bool) -> None:
    """Delete a Stream Template and all Streams that it made."""
    if force and not name:
        raise UsageError("--force requires a template name", "give it as <TEMPLATE>")
    async with connect() as connection:
        name = await _chosen(connection, name)
        question = f"Really delete Stream Template {name}, and all Streams that it made"
        if await prompt.sure(question, forced=force):
            await _ask(connection, f"DELETE.{name}", None, "could not delete Stream Template")


async def _chosen(connection: NatsConnection, given: str) -> str:
    if given:
        return given
    names = await _names(connection) if prompt.interactive() else ["…"]
    return await prompt.pick("Stream Template", names, argument="<TEMPLATE>")


async def _names(connection: NatsConnection) -> list[str]:
    names: list[str] = []
    while True:
        answer = await _ask(connection, "NAMES", {"offset": len(names)}, "could not list Stream Templates")
        batch = answer.get("streams") or []
        names += batch
        if not batch or len(names) >= int(answer.get("total", 0)):
            return names


async def _ask(connection: NatsConnection, what: str, body: Info | None, doing: str) -> Info:
    try:
        return await connection.js.request(f"{API}.{what}", body)
    except RemoteError as error:
        raise error.while_doing(doing) from None
    except UnavailableError as error:
        raise UnavailableError(f"{doing}: {error}", *error.hints, LEGACY) from None


def _show(answer: Info, before: str = "") -> None:
    config = answer["config"]
    rows = [*page.configuration(config["config"]), ("Maximum Streams", render.number(config["max_streams"]))]
    streams = "\n".join(f"    {name}" for name in sorted(answer.get("streams") or [])) or NO_STREAMS
    lines = [
        f"Information for Stream Template {config['name']}",
        "",
        "Configuration:",
        "",
        render.fields(rows),
    ]
    lines += ["", "", "Managed Streams:", "", streams]
    output.show_page(plain(answer), before + "\n".join(lines) + "\n", name=config["name"])


def _whole(answer: str) -> int:
    if not answer.isdecimal():
        raise ValueError("a number of streams is required")
    return int(answer)
