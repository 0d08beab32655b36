"""The leaders of replicated streams and consumers: having one stand down, and spreading leaders evenly.

What happens is logged on stderr with the time of day, as `nats` does. Promises: for an asset without replicas
there is an error and nothing is asked; `even` never makes a cluster less even, and needs no connection.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import click

from ...cli import render
from ...cli.connection import NatsConnection
from ...cli.errors import CliError, RemoteError, UnavailableError, warn
from ...cli.jetstream import UNAVAILABLE

Info = dict[str, Any]
ELECTION_SECONDS = 10.0  # seconds until the next leader must be there
PAUSE = 0.1  # seconds between two looks
LOOK = 1.0  # seconds for one look
GATHERING = 2.0  # seconds for the replicas of a new asset
PREFERRED = click.option("--preferred", default="", metavar="SERVER", help="Let this server lead, if it can.")
LEADERLESS = click.option("-f", "--force", is_flag=True, help="Ask even when no leader is known.")


@dataclass(frozen=True)
class HaAsset:
    """A stream or consumer: its name in messages, the request to stand down, and its information."""

    title: str  # stream "ORDERS"
    request: str  # the API's name of the request: STREAM.LEADER.STEPDOWN.ORDERS
    info: Callable[[], Awaitable[Info]]


def servers(cluster: Info | None) -> list[str]:
    """Return the names of the servers that have an asset, the leader first; none if it has no cluster."""
    if not cluster:
        return []
    led = [cluster["leader"]] if cluster.get("leader") else []
    return led + [str(peer.get("name", "")) for peer in cluster.get("replicas") or []]


def stream_asset(connection: NatsConnection, name: str) -> HaAsset:
    """Return a stream as an asset with a leader."""
    return HaAsset(
        f'stream "{name}"', f"STREAM.LEADER.STEPDOWN.{name}", lambda: connection.js.stream_info(name)
    )


def consumer_asset(connection: NatsConnection, stream: str, name: str) -> HaAsset:
    """Return a consumer as an asset with a leader."""
    return HaAsset(
        f'consumer "{stream} > {name}"',
        f"CONSUMER.LEADER.STEPDOWN.{stream}.{name}",
        lambda: connection.js.consumer_info(stream, name),
    )


async def step_down(connection: NatsConnection, asset: HaAsset, *, preferred: str, forced: bool) -> Info:
    """Have the leader step down and wait for the next one; return the asset's information then."""
    cluster = (await asset.info()).get("cluster") or {}
    if not cluster.get("replicas"):
        raise CliError(f"{asset.title} is not clustered", "with one replica there is no other leader")
    leader = cluster.get("leader", "")
    if not leader and not forced:
        raise CliError(f"{asset.title} has no current leader", "--force asks nevertheless")
    size = len(servers(cluster))
    shown = leader or "<unknown>"
    render.log(f'Requesting leader step down of "{shown}" for {asset.title} in a {size} peer cluster group')
    await _ask(connection, asset, preferred)
    info = await next_leader(asset, leader)
    render.log(f'New leader elected "{info["cluster"]["leader"]}"')
    return info


async def _ask(connection: NatsConnection, asset: HaAsset, preferred: str) -> None:
    try:
        await connection.js.request(
            asset.request, {"placement": {"preferred": preferred}} if preferred else None
        )
    except RemoteError as error:
        raise error.while_doing(f"could not have the leader of {asset.title} step down") from None


async def next_leader(asset: HaAsset, before: str) -> Info:
    """Return the asset's information once another server than `before` leads it."""
    deadline = time.monotonic() + ELECTION_SECONDS
    while True:
        try:
            info = await asyncio.wait_for(asset.info(), LOOK)
            if (info.get("cluster") or {}).get("leader", "") not in ("", before):
                return info
        except (CliError, TimeoutError):
            pass  # during an election nobody may be there to answer
        if time.monotonic() >= deadline:
            raise UnavailableError(f"{asset.title} did not elect a new leader in time")
        await asyncio.sleep(PAUSE)


async def steady(asset: HaAsset) -> Info:
    """Return the asset's information; wait for a leader if it has none just now, as after a change."""
    deadline = time.monotonic() + ELECTION_SECONDS
    while True:
        try:
            return await asset.info()
        except RemoteError as error:
            if error.err_code != UNAVAILABLE or time.monotonic() >= deadline:
                raise
        await asyncio.sleep(PAUSE)


async def gathered(asset: HaAsset, info: Info) -> Info:
    """Return `info` of an asset made or changed just now, with its cluster once all replicas have joined.

    The answer may come before they have, or before there is a leader; the rest of it stays as it was then.
    """
    deadline = time.monotonic() + GATHERING
    while _is_gathering(info.get("cluster") or {}) and time.monotonic() < deadline:
        await asyncio.sleep(PAUSE / 2)
        try:
            looked = await asyncio.wait_for(asset.info(), LOOK)
        except (CliError, TimeoutError):
            continue  # during an election nobody may be there to answer
        info = {**info, "cluster": looked.get("cluster")}
    return info


def _is_gathering(cluster: Info) -> bool:
    replicas = cluster.get("replicas") or []
    return bool(replicas) and (not cluster.get("leader") or any(not each.get("current") for each in replicas))


class LeaderMove(NamedTuple):
    """A change of leader: the asset, its leader and the next one."""

    name: str
    origin: str
    target: str


def even(clusters: Mapping[str, Info]) -> list[LeaderMove]:
    """Return the moves that spread the leaders of some assets evenly over their servers.

    clusters: the `cluster` of each asset's information, by the asset's name.

    After them no server leads two more than another server that has a copy of one of its assets. Servers that
    are offline or behind get no leaders.
    """
    leaders = {name: cluster["leader"] for name, cluster in clusters.items() if cluster.get("leader")}
    able = {
        name: [
            peer["name"]
            for peer in clusters[name].get("replicas") or []
            if peer.get("current") and not peer.get("offline")
        ]
        for name in leaders
    }
    counts = Counter(leaders.values())
    now = dict(leaders)
    while True:
        steps = [
            (counts[now[name]] - counts[target], name, target)
            for name in sorted(now)
            for target in sorted({*able[name], leaders[name]})
        ]
        gap, name, target = max(steps, key=lambda step: step[0], default=(0, "", ""))
        if gap < 2:
            break
        counts[now[name]] -= 1
        counts[target] += 1
        now[name] = target
    return [LeaderMove(name, leaders[name], now[name]) for name in sorted(now) if now[name] != leaders[name]]


async def balance(
    connection: NatsConnection, assets: Mapping[str, HaAsset], found: Iterable[tuple[str, Info]]
) -> int:
    """Spread the leaders of the assets `found` (name and information); return how many were moved.

    If one cannot be moved, there is a warning. Raises CliError if none could be moved.
    """
    moves = even({name: info.get("cluster") or {} for name, info in found})
    moved = 0
    for move in moves:
        asset = assets[move.name]
        try:
            if ((await asset.info()).get("cluster") or {}).get("leader") != move.origin:
                continue  # it moved together with another one
            render.log(f'Moving the leader of {asset.title} from "{move.origin}" to "{move.target}"')
            await _ask(connection, asset, move.target)
            await next_leader(asset, move.origin)
            moved += 1
        except CliError as error:
            warn(error.message)
    if moves and not moved:
        raise CliError("no leader could be moved")
    return moved
