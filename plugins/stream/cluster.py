"""`pyjs stream cluster`: the leader and the replicas of streams."""

from __future__ import annotations

from typing import Any

import click

from ...cli import output, prompt, render
from ...cli.command import CommandGroup
from ...cli.connection import connect
from ...cli.errors import CliError, RemoteError, UsageError, close_matches
from . import page
from .find import criteria, matching
from .info import ALL, STREAM, chosen, plain
from .leadership import LEADERLESS, PREFERRED, balance, servers, step_down, stream_asset
from .listing import collected
from .rescue import rescue

cluster = CommandGroup(name="cluster", help="The leader and the replicas of Streams.")
cluster.add_alias("step-down", "stepdown", "sd", "elect", "down", "d")
cluster.add_alias("peer-remove", "pr")
cluster.add_command(rescue)


@cluster.command("step-down")
@output.showing("stream_info")
@STREAM
@PREFERRED
@LEADERLESS
@ALL
async def down(stream: str, preferred: str, force: bool, all_streams: bool) -> None:
    """Have the leader of a Stream stand down, and wait for the next one."""
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)
        info = await step_down(connection, stream_asset(connection, name), preferred=preferred, forced=force)
    output.show_page(plain(info), f"\n{page.text(info)}", name=name)


@cluster.command("peer-remove")
@STREAM
@click.argument("peer", required=False, default="")
@click.option("-f", "--force", is_flag=True, help="Act without asking, and even on the only copy.")
@ALL
async def peer_remove(stream: str, peer: str, force: bool, all_streams: bool) -> None:
    """Take a Stream away from a server; another one gets a copy."""
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)
        peers = servers((await connection.js.stream_info(name)).get("cluster"))
        if not peers:
            raise CliError(f'stream "{name}" is not clustered')
        if len(peers) == 1 and not force:
            raise UsageError(
                "removing the only peer on a stream will result in data loss", "--force does it nevertheless"
            )
        peer = await prompt.pick("Peer", peers, given=peer, argument="<PEER>")
        question = f"Really remove peer {peer} from Stream {name}"
        if prompt.interactive() and not await prompt.sure(question, forced=force):
            return
        render.log(f'Removing peer "{peer}"')
        try:
            await connection.js.request(f"STREAM.PEER.REMOVE.{name}", {"peer": peer})
        except RemoteError as error:
            hint = "" if peer in peers else close_matches(peer, peers) or f"it is on {', '.join(peers)}"
            raise error.while_doing(f"could not remove peer {peer} of Stream {name}", hint) from None
        render.log(f'Requested removal of peer "{peer}"')


@cluster.command("balance")
@criteria
async def spread(**wanted: Any) -> None:
    """Spread the leaders of Streams evenly over the servers that have them."""
    async with connect() as connection:
        found, _ = await collected(connection)
        hits = {info["config"]["name"]: info for info in matching(found, wanted)}
        moved = await balance(
            connection, {name: stream_asset(connection, name) for name in hits}, hits.items()
        )
    render.show(f"Balanced {moved} streams.")
