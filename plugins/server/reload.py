"""`pyjs server config`: the configuration of running servers."""

from __future__ import annotations

import click

from ...cli import prompt, render
from ...cli.command import CommandGroup
from ...cli.connection import connect
from .info import one, text
from .poll import poll

config = CommandGroup(name="config", help="The configuration of servers that run.")


@config.command("reload")
@click.argument("server", metavar="SERVER")
@click.option("-f", "--force/--no-force", default=False, help="Act without asking.")
async def reload(server: str, force: bool) -> None:
    """Have a server, by its name or id, read its configuration again, and show it."""
    async with connect() as connection:
        found = await one(connection, server)
        name, identifier = found.get("server_name", ""), str(found.get("server_id", ""))
        question = f"Really reload configuration for {name} ({identifier}) on {found.get('host', '')}"
        if not await prompt.sure(question, forced=force):
            return
        await poll(connection, f"$SYS.REQ.SERVER.{identifier}.RELOAD", expect=1)
        render.show(text(await one(connection, identifier)))
