"""`pyjs server cluster balance`: disconnects clients from servers that have more than their share.

These clients connect again, usually to another server of the cluster. Promises: a server keeps at least its
share; our own connection stays.
"""

from __future__ import annotations

import asyncio
from typing import Any

import click

from ...cli import prompt, render
from ...cli.command import FORCE, Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, UsageError, warn
from ...cli.param import DURATION
from .connections import gathered
from .poll import poll

Info = dict[str, Any]
SECOND = 1_000_000_000


@click.command("balance", cls=Command)
@click.argument("duration", type=DURATION, default="2m")
@click.option("--server-name", default="", metavar="NAME", help="Only on this server.")
@click.option("--cluster", default="", metavar="NAME", help="Only in this cluster.")
@click.option("--idle", type=DURATION, default="0s", help="Only connections without traffic for this long.")
@click.option("--account", default="", help="Only connections of this account.")
@click.option("--subject", default="", help="Only connections subscribed to this subject of the account.")
@click.option(
    "--kind", "kinds", type=click.Choice(("Client", "Leafnode")), multiple=True, default=("Client",),
    help="Only connections of this kind (default: Client).",
)  # fmt: skip
@FORCE
async def balance(
    duration: int,
    server_name: str,
    cluster: str,
    idle: int,
    account: str,
    subject: str,
    kinds: tuple[str, ...],
    force: bool,
) -> None:
    """Spread connections evenly over the servers, sending clients away one by one within DURATION."""
    if subject and not account:
        raise UsageError("--subject needs --account", "subjects belong to an account")
    where: Info = {"server_name": server_name, "cluster": cluster}
    where = {name: value for name, value in where.items() if value}
    if where:
        where["exact_match"] = True
    what = {name: value for name, value in (("acc", account), ("filter_subject", subject)) if value}
    async with connect() as connection:
        answers = await poll(connection, "$SYS.REQ.SERVER.PING", where)
        servers = [str(each.document["server"]["id"]) for each in answers]
        found = await gathered(connection, {**where, **what}, len(servers))
        matching = [
            each
            for each in found
            if each.get("kind", "Client") in kinds
            and render.since(each.get("last_activity", ""), each["now"]) >= idle
        ]
        leaving = surplus(matching, servers)
        question = f"Really send {len(leaving)} of {len(matching)} clients away, whatever they are doing"
        if leaving and not await prompt.sure(question, forced=force):
            return
        moved = await _send_away(connection, leaving, duration)
    render.show(f"Balanced {moved} connections")


def surplus(found: list[Info], servers: list[str]) -> list[Info]:
    """Return the connections above the share of their server (`server_id`).

    The share is the average, rounded up.
    """
    share = -(-len(found) // max(1, len(servers)))
    leaving = []
    for server in servers:
        leaving += [each for each in found if each["server_id"] == server][share:]
    return leaving


async def _send_away(connection: NatsConnection, leaving: list[Info], duration: int) -> int:
    """Disconnect the clients, evenly over `duration` ns; return how many were disconnected."""
    own = (connection.greeting.get("server_id"), connection.greeting.get("client_id"))
    moved = 0
    for number, each in enumerate(leaving):
        if (each["server_id"], each["cid"]) == own:
            continue
        if number:
            await asyncio.sleep(duration / SECOND / len(leaving))
        try:
            await poll(
                connection, f"$SYS.REQ.SERVER.{each['server_id']}.KICK", {"cid": each["cid"]}, expect=1
            )
        except CliError as error:
            warn(f"could not send {each['cid']} away from {each['server']}: {error.message}")
            continue
        name = f" ({each['name']})" if each.get("name") else ""
        render.log(f"Balanced client {each['cid']}{name} in account {each['account']} on {each['server']}")
        moved += 1
    return moved
