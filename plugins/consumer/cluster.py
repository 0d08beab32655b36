"""`pyjs consumer cluster`: the leaders of consumers."""

from __future__ import annotations

from typing import Any

from ...cli import output, render
from ...cli.command import CommandGroup
from ...cli.connection import connect
from ..stream.info import ALL, STREAM, plain
from ..stream.info import chosen as chosen_stream
from ..stream.leadership import LEADERLESS, PREFERRED, balance, consumer_asset, step_down
from . import page
from .find import criteria, matching
from .info import CONSUMER, chosen
from .listing import collected

cluster = CommandGroup(name="cluster", help="The leaders of Consumers.")
cluster.add_alias("step-down", "stepdown", "sd", "elect", "down", "d")


@cluster.command("step-down")
@output.showing("consumer_info")
@STREAM
@CONSUMER
@PREFERRED
@LEADERLESS
@ALL
async def down(stream: str, consumer: str, preferred: str, force: bool, all_streams: bool) -> None:
    """Have the leader of a Consumer stand down, and wait for the next one."""
    async with connect() as connection:
        stream, consumer = await chosen(connection, stream, consumer, everything=all_streams)
        led = consumer_asset(connection, stream, consumer)
        info = await step_down(connection, led, preferred=preferred, forced=force)
    output.show_page(plain(info), f"\n{page.text(info)}", name=consumer)


@cluster.command("balance")
@STREAM
@criteria
@ALL
async def spread(stream: str, all_streams: bool, **wanted: Any) -> None:
    """Spread the leaders of a Stream's Consumers evenly over the servers that have them."""
    async with connect() as connection:
        name = await chosen_stream(connection, stream, everything=all_streams)
        found, _ = await collected(connection, name)
        hits = {info["name"]: info for info in matching(found, wanted)}
        moved = await balance(
            connection, {each: consumer_asset(connection, name, each) for each in hits}, hits.items()
        )
    render.show(f"Balanced {moved} consumers on {name}" if found else f"No consumers on {name}")
