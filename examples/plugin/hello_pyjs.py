"""A plugin for pyjs: `pyjs hello count STREAM` says how many messages a stream holds."""

import click
from pyjs.cli import complete, render
from pyjs.cli.command import Command, CommandGroup
from pyjs.cli.connection import connect

hello = CommandGroup(name="hello", help="An example of a plugin.")


@hello.command("count", cls=Command)
@click.argument("stream", shell_complete=complete.streams)
@click.option("-j", "--json", "as_json", is_flag=True, help="Produce JSON output.")
async def count(stream: str, as_json: bool) -> None:
    """Say how many messages a Stream holds."""
    async with connect() as connection:
        state = (await connection.js.stream_info(stream))["state"]
    if as_json:
        render.show_json({"messages": state["messages"]})
        return
    render.show(f"Hello! {stream} holds {render.number(state['messages'])} messages.")
