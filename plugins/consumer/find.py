"""`pyjs consumer find`: consumers by their properties and state.

Other commands use `criteria` too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ...cli import output, render
from ...cli.command import RequestCommand
from ...cli.connection import connect
from ...cli.param import DURATION
from ..stream.find import EXPRESSION, INVERT, age, expressed, level
from ..stream.info import ALL, STREAM, chosen
from .listing import CONSUMERS, collected, record

Info = dict[str, Any]
Test = Callable[[Info], object]


_CRITERIA = (
    click.option("--pull", is_flag=True, help="That are pulled from."),
    click.option("--push", is_flag=True, help="That push."),
    click.option("--bound", is_flag=True, help="That have a listener, or pulls that wait."),
    click.option("--waiting", type=int, help="With at most this many waiting pulls."),
    click.option("--ack-pending", type=int, help="With at most this many messages to be acknowledged."),
    click.option("--pending", type=int, help="With at most this many unprocessed messages."),
    click.option("--idle", type=DURATION, help="Without a delivery for this long."),
    click.option("--created", type=DURATION, help="Created at least this long ago."),
    click.option("--replicas", type=int, help="With at most this many replicas."),
    click.option("--leader", default="", help="Led by this server."),
    click.option("--pinned", is_flag=True, help="With a client pinned to each priority group."),
    EXPRESSION,
    INVERT,
)


def criteria(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select consumers to a command; `matching` filters by their values."""
    for option in reversed(_CRITERIA):
        callback = option(callback)
    return callback


def matching(found: list[Info], wanted: Info) -> list[Info]:
    """Return the consumers that meet all the criteria given, or with `invert` those that do not."""
    tests = _tests(wanted)
    return [info for info in found if all(test(info) for test in tests) is not wanted["invert"]]


@click.command(cls=RequestCommand)
@output.listing(CONSUMERS, legacy="the names")
@STREAM
@criteria
@click.option("--api-level", type=int, help="That require at least this API level.")
@ALL
async def find(stream: str, all_streams: bool, **wanted: Any) -> None:
    """Find Consumers by criteria; all that are given must hold. Shows their names."""
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)
        found, _ = await collected(connection, name)
    hits = matching(found, wanted)
    if not output.is_asked_for():
        for info in hits:
            render.show(info["name"])
        return
    output.show(CONSUMERS.of(map(record, hits)), document=[info["name"] for info in hits])


def _tests(wanted: Info) -> list[Test]:
    tests: list[Test] = []
    if wanted["pull"]:
        tests.append(lambda info: not info["config"].get("deliver_subject"))
    if wanted["push"]:
        tests.append(lambda info: bool(info["config"].get("deliver_subject")))
    if wanted["bound"]:
        tests.append(lambda info: bool(info.get("push_bound") or info.get("num_waiting")))
    for name, key in (
        ("waiting", "num_waiting"),
        ("ack_pending", "num_ack_pending"),
        ("pending", "num_pending"),
    ):
        if wanted[name] is not None:
            tests.append(_at_most(key, wanted[name]))
    if wanted["idle"] is not None:
        tests.append(lambda info: age(info, info["delivered"].get("last_active", "")) >= wanted["idle"])
    if wanted["created"] is not None:
        tests.append(lambda info: age(info, info["created"]) >= wanted["created"])
    if wanted["replicas"] is not None:
        tests.append(lambda info: info["config"].get("num_replicas", 0) <= wanted["replicas"])
    if wanted["leader"]:
        tests.append(lambda info: (info.get("cluster") or {}).get("leader") == wanted["leader"])
    if wanted["pinned"]:
        tests.append(_is_pinned)
    if wanted["expression"]:
        tests.append(expressed(wanted["expression"], lambda info: info))
    if wanted.get("api_level") is not None:
        tests.append(lambda info: level(info) >= wanted["api_level"])
    return tests


def _is_pinned(info: Info) -> bool:
    groups = info.get("priority_groups") or []
    return bool(groups) and all(group.get("pinned_client_id") for group in groups)


def _at_most(key: str, limit: int) -> Test:
    return lambda info: int(info[key]) <= limit
