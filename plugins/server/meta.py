"""`pyjs server cluster`: the meta group, which decides what each server of a cluster holds.

It works on the meta group of the JetStream domain of the server connected to. Promises: removing a server
permanently is confirmed or forced; if more than one group is visible, none is guessed.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import click

from ...cli import output, prompt, render
from ...cli.command import FORCE, CommandGroup
from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, NotFoundError, RemoteError, UnavailableError, UsageError, close_matches
from ...cli.param import split_list
from ...cli.proposal import in_hint
from ..stream.leadership import ELECTION_SECONDS, LEADERLESS, PAUSE
from .jetstream import is_meta_leader, meta
from .poll import poll
from .spread import balance

Info = dict[str, Any]
WARNING = """\
Remove only servers that will not come back: for maintenance it is enough to stop one and start it again.
What has one replica and is on this server is lost, and begins empty elsewhere. A removed server that is to
join again has to be restarted with an empty store.
"""

cluster = CommandGroup(name="cluster", help="The meta group of a cluster with JetStream.")
cluster.add_alias("step-down", "stepdown", "sd", "elect", "down", "d")
cluster.add_alias("peer-remove", "rm", "pr")
cluster.add_command(balance)


async def meta_group(connection: NatsConnection) -> Info:
    """Return what the leader of the meta group says about it.

    Its keys are `leader`, `peer`, `replicas`, `cluster_size`, `name`.
    """
    if connection.profile.domain:
        raise UsageError(
            "--js-domain cannot be used with the system account",
            "connect to a server of that domain, without a domain in the context",
        )
    answers = await poll(connection, "$SYS.REQ.SERVER.PING.JSZ")
    found = [{"data": {}, **each.document} for each in answers]
    leaders = [info for info in found if is_meta_leader(info)]
    own = [i for i in leaders if i["server"].get("domain", "") == connection.greeting.get("domain", "")]
    if len(leaders) > 1 and len(own) == 1:
        leaders = own
    if not leaders:
        raise UnavailableError(
            "no answer of a meta leader", f"{in_hint('server report jetstream')} shows who is there"
        )
    if len(leaders) > 1:
        names = ", ".join(info["server"].get("name", "") for info in leaders)
        raise CliError(f"found {len(leaders)} meta leaders ({names}) and cannot tell which is meant")
    return meta(leaders[0])


@cluster.command("step-down")
@output.showing("meta_group")
@click.option("--cluster", "where", default="", metavar="NAME", help="Let a server of this cluster lead.")
@click.option("--tags", multiple=True, help="Let a server with this tag lead.")
@click.option("--host", default="", metavar="SERVER", help="Let this server lead.")
@LEADERLESS
async def down(where: str, tags: tuple[str, ...], host: str, force: bool) -> None:
    """Have the leader of the meta group stand down, and wait for the next one."""
    placement = {"cluster": where, "tags": split_list(tags), "preferred": host}
    placement = {name: value for name, value in placement.items() if value}
    async with connect() as connection:
        try:
            group = await meta_group(connection)
        except CliError:
            if not force:
                raise
            group = {"leader": "<unknown>", "replicas": []}
        leader, size = group["leader"], len(group.get("replicas") or []) + 1
        render.log(f'Requesting leader step down of "{leader}" in a {size} peer RAFT group')
        try:
            await connection.js.request(
                "META.LEADER.STEPDOWN", {"placement": placement} if placement else None
            )
        except RemoteError as error:
            raise error.while_doing("could not have the meta leader step down") from None
        group = await _next(connection, leader)
    render.log(f'New leader elected "{group["leader"]}"')
    output.show_page(group, None, name=group["leader"])


async def _next(connection: NatsConnection, before: str) -> Info:
    """Wait until another server than `before` leads the meta group, and return the group."""
    deadline = time.monotonic() + ELECTION_SECONDS
    while time.monotonic() < deadline:
        await asyncio.sleep(PAUSE)
        try:
            group = await meta_group(connection)
        except CliError:
            continue  # during an election none answers, and sometimes the old leader answers too
        if group["leader"] != before:
            return group
    raise UnavailableError("the meta group did not elect a new leader in time")


@cluster.command("peer-remove")
@output.showing("removed_peer")
@click.argument("name", metavar="SERVER")
@FORCE
async def peer_remove(name: str, force: bool) -> None:
    """Remove a server, by its name or its id in the meta group, from JetStream for good."""
    async with connect() as connection:
        group = await meta_group(connection)
        replicas = group.get("replicas") or []
        peer = next((each for each in replicas if name in (each.get("name"), each.get("peer"))), None)
        if peer is None:
            raise _unknown(name, group)
        state = "offline" if peer.get("offline") else "online"
        if prompt.interactive() and not force:
            click.echo(WARNING, err=True)
        whom = f"{peer.get('name', '')} with id {peer.get('peer', '')}"
        if not await prompt.sure(f"Really remove {state} peer {whom}", forced=force):
            return
        try:
            await connection.js.request("SERVER.REMOVE", {"peer": "", "peer_id": peer.get("peer", "")})
        except RemoteError as error:
            raise error.while_doing(f"could not remove {name}") from None
    if output.is_for_people():
        render.log(f"Removed {state} peer {whom}")
    output.show_page({"removed": peer}, None, name=str(peer.get("name", "")))


def _unknown(name: str, group: Info) -> CliError:
    if name in (group["leader"], group.get("peer")):
        return CliError(
            f"{name} leads the meta group",
            f"{in_hint('server cluster step-down')} lets another one lead it first",
        )
    known = [str(each.get("name", "")) for each in group.get("replicas") or []]
    return NotFoundError(
        f"did not find a replica named {name}",
        close_matches(name, known) or f"there are {', '.join(sorted([*known, group['leader']]))}",
    )
