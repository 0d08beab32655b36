"""`pyjs stream find`: streams by their properties, contents and state.

Other commands use `criteria` too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ...cli import output, render
from ...cli.command import RequestCommand
from ...cli.connection import connect
from ...cli.param import DURATION, PATTERN
from ...protocol.subject import collide
from .listing import COLUMNS, NONE, SPARE, collected, record

Info = dict[str, Any]
Test = Callable[[Info], object]
MATCHING = output.Table("streams", "Matching Streams", COLUMNS, empty=f"{NONE} that match", spare=SPARE)

EXPRESSION = click.option(
    "--expression", metavar="EXPRESSION", default="", help="For which this holds: 'state.messages > 10'."
)
INVERT = click.option("--invert/--no-invert", default=False, help="Those that do not match.")
_CRITERIA = (
    click.option("--server-name", type=PATTERN, help="On a server whose name matches."),
    click.option("--cluster", type=PATTERN, help="In a cluster whose name matches."),
    click.option("--empty", is_flag=True, help="Without messages."),
    click.option("--idle", type=DURATION, help="Without new messages for this long."),
    click.option("--created", type=DURATION, help="Created at least this long ago."),
    click.option("--consumers", type=int, default=-1, help="With at most this many Consumers."),
    click.option("--subject", default="", help="Consuming a subject that overlaps this one."),
    click.option("--replicas", type=int, help="With at most this many replicas."),
    click.option("--sourced", is_flag=True, help="With sources."),
    click.option("--mirrored", is_flag=True, help="That are mirrors."),
    click.option("--leader", default="", help="Led by this server."),
    EXPRESSION,
    INVERT,
)


def criteria(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select streams to a command; `matching` filters by their values."""
    for option in reversed(_CRITERIA):
        callback = option(callback)
    return callback


def matching(found: list[Info], wanted: Info) -> list[Info]:
    """Return the streams that meet all the criteria given, or with `invert` those that do not."""
    tests = _tests(wanted)
    return [info for info in found if all(test(info) for test in tests) is not wanted["invert"]]


@click.command(cls=RequestCommand)
@output.listing(MATCHING)
@criteria
@click.option("--api-level", type=int, help="That require at least this API level.")
@click.option("-n", "--names", is_flag=True, help="Only the names.")
@click.option(
    "-a", "--all", is_flag=True, expose_value=False, help="Include those of buckets; always so here."
)
async def find(names: bool, **wanted: Any) -> None:
    """Find Streams by criteria, those of buckets too; all that are given must hold."""
    async with connect() as connection:
        found, _ = await collected(connection)
    hits = matching(found, wanted)
    if names:
        for name in sorted(info["config"]["name"] for info in hits):
            render.show(name)
    else:
        output.show(MATCHING.of(map(record, hits)))


def _tests(wanted: Info) -> list[Test]:
    tests: list[Test] = []
    if wanted["server_name"]:
        tests.append(lambda info: any(map(wanted["server_name"].search, _servers(info))))
    if wanted["cluster"]:
        tests.append(lambda info: wanted["cluster"].search((info.get("cluster") or {}).get("name", "")))
    if wanted["leader"]:
        tests.append(lambda info: (info.get("cluster") or {}).get("leader") == wanted["leader"])
    if wanted["empty"]:
        tests.append(lambda info: info["state"]["messages"] == 0)
    if wanted["idle"] is not None:
        tests.append(lambda info: age(info, info["state"].get("last_ts", "")) >= wanted["idle"])
    if wanted["created"] is not None:
        tests.append(lambda info: age(info, info["created"]) >= wanted["created"])
    if wanted["consumers"] >= 0:
        tests.append(lambda info: info["state"].get("consumer_count", 0) <= wanted["consumers"])
    if wanted["subject"]:
        tests.append(
            lambda info: any(
                collide(each, wanted["subject"]) for each in info["config"].get("subjects") or []
            )
        )
    if wanted["replicas"]:
        tests.append(lambda info: info["config"].get("num_replicas", 1) <= wanted["replicas"])
    if wanted["sourced"]:
        tests.append(lambda info: bool(info["config"].get("sources")))
    if wanted["mirrored"]:
        tests.append(lambda info: bool(info["config"].get("mirror")))
    if wanted["expression"]:
        tests.append(expressed(wanted["expression"], lambda info: info["state"]))
    if wanted.get("api_level") is not None:
        tests.append(lambda info: level(info) >= wanted["api_level"])
    return tests


def expressed(text: str, state: Callable[[Info], Info]) -> Test:
    """Return the test that an expression holds, which has the names config, state and info, as `nats` has.

    state: returns what `state` stands for.
    """
    from ...cli.expression import compiled

    holds = compiled(text, ("config", "state", "info"))
    return lambda info: holds({"config": info["config"], "state": state(info), "info": info})


def level(info: Info) -> int:
    """Return the API level that a stream or consumer requires."""
    found = (info["config"].get("metadata") or {}).get("_nats.req.level", "0")
    return int(found) if found.isdecimal() else 0


def _servers(info: Info) -> list[str]:
    cluster = info.get("cluster") or {}
    return [cluster.get("leader", ""), *(peer.get("name", "") for peer in cluster.get("replicas") or [])]


def age(info: Info, time: str) -> int:
    """Return the nanoseconds since `time`, or since creation for what never happened."""
    since = render.since(time, info.get("ts", ""))
    return since if since >= 0 else render.since(info["created"], info.get("ts", ""))
