"""`pyjs consumer add`: create a consumer by questions, flags or a document."""

from __future__ import annotations

from typing import Any

import click

from ...cli import document, output, render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import RemoteError, UsageError
from ...cli.flags import session
from ...cli.proposal import in_hint
from ...cli.setting import Given, flags
from ...protocol.api.consumer import ConsumerConfig
from ..stream.info import ALL, STREAM, chosen
from ..stream.leadership import consumer_asset, gathered
from . import page, questions, validation
from .options import SETTINGS, apply

ALREADY_THERE = (10148, 10105, 10013)
TOO_MANY_PENDING = 10121


@click.command(cls=Command)
@output.showing("consumer_info")
@STREAM
@click.argument("consumer", required=False, default="")
@click.option("--config", "file", type=click.Path(), help="Read the configuration from a JSON file.")
@click.option("--validate", is_flag=True, help="Only validate the configuration; create nothing.")
@click.option("--output", "into", metavar="FILE", help="Only write the configuration to a file.")
@flags(SETTINGS, "add")
@click.option("--defaults", is_flag=True, help="Take the default for what no flag gives.")
@ALL
async def add(
    stream: str,
    consumer: str,
    file: str | None,
    validate: bool,
    into: str | None,
    defaults: bool,
    all_streams: bool,
    **given: Any,
) -> None:
    """Create a Consumer. What no flag gives is asked; the Stream last."""
    async with connect() as connection:
        if stream:
            await connection.js.stream_info(stream)
        config = await _described(consumer, file, given, defaults)
        open_pending = not file and config.ack_policy != "none" and not config.max_ack_pending
        if open_pending:
            config.max_ack_pending = questions.MAX_ACK_PENDING
        validation.validate(config)
        if validate:
            render.show(document.text(config))
            render.show("\nConfiguration is a valid Consumer")
            return
        if into:
            document.write(into, config)
            return
        name = await chosen(connection, stream, everything=all_streams)
        if name != stream and (answers := session().answers):
            answers.insert(0, answers.pop())  # on a line without questions it comes before the Consumer
        try:
            info = await create(connection, name, config)
        except RemoteError as error:
            if not (open_pending and error.err_code == TOO_MANY_PENDING):
                raise
            # The stream or the server allows fewer than the documentation shows; it says how many.
            config.max_ack_pending = 0
            info = await create(connection, name, config)
    output.show_page(info, page.text(info), name=info["name"])


async def _described(consumer: str, file: str | None, given: Given, defaults: bool) -> ConsumerConfig:
    """Return the configuration given by a file, or by flags and answers."""
    if file:
        config = document.read(ConsumerConfig, file)
        if consumer:
            if config.durable_name or not config.name:
                config.durable_name = consumer
            config.name = consumer if config.name else ""
        if given.get("target") and config.deliver_subject:
            config.deliver_subject = given["target"]
        return config
    config = ConsumerConfig(max_deliver=-1)
    try:
        apply(config, given)
    except ValueError as error:
        raise UsageError(str(error)) from None
    await questions.ask(config, given, name=consumer, defaults=defaults)
    return config


async def create(
    connection: NatsConnection, stream: str, config: ConsumerConfig, action: str = "create"
) -> dict[str, Any]:
    """Create a consumer, or change it if `action` is "update".

    Return its information without the answer's type.
    """
    name = config.durable_name or config.name
    subject = f"CONSUMER.CREATE.{stream}" + (f".{name}" if name else "")
    if name and config.filter_subject:
        subject += f".{config.filter_subject}"
    request = {"stream_name": stream, "config": config.to_json(), "action": action}
    try:
        info = await connection.js.request(subject, request)
    except RemoteError as error:
        explained = await connection.js.explained(error, stream=stream)
        hints = list(explained.hints)
        if error.err_code in ALREADY_THERE and action == "create":
            hints.append(f"{in_hint(f'consumer edit {stream} {name}')} changes it")
        what = "creation" if action == "create" else "change"
        raise explained.while_doing(f"Consumer {what} failed", *hints) from None
    info.pop("type", None)
    return await gathered(consumer_asset(connection, stream, info["name"]), info)
