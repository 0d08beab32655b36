"""`pyjs explain subject`, or `pyjs explain SUBJECT`: who hears a message, step by step, and where it ends."""

from __future__ import annotations

import click

from ...cli import output
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.errors import ExitCode, UsageError
from ...cli.param import ExistingPath
from ...protocol.subject import is_literal
from .waypoint import STEPS, show


@click.command(cls=Command)
@output.listing(STEPS)
@click.argument("subject")
@click.option(
    "--config", "file", type=ExistingPath(dir_okay=False), metavar="FILE",
    help="By this configuration file, without a server.",
)  # fmt: skip
@click.option(
    "--as", "user", default="", metavar="USER",
    help="The user who publishes: of the file, or as the system account is told (--sys, --account).",
)  # fmt: skip
@click.option(
    "--sys",
    "--system",
    "system",
    default="",
    metavar="CONTEXT",
    help="Ask the servers, too, as the user of this context.",
)
@click.option(
    "--account", default="", metavar="NAME", help="As a user of the system account: where it is published."
)
async def subject(subject: str, file: str | None, user: str, system: str, account: str) -> ExitCode:
    """Say who hears a message on SUBJECT: permissions, mappings, imports, streams, consumers, leaf nodes."""
    if not is_literal(subject):
        raise UsageError(f'a message cannot be published to "{subject}"', "give a subject without wildcards")
    if file:
        if system or account:
            raise UsageError("--sys and --account ask servers; --config does without them")
        from . import offline

        waypoints = await offline.waypoints(file, subject, user)
        return show(f"{subject}, by {file}", waypoints)
    from . import live

    async with connect(quiet=True) as connection:
        waypoints = await live.waypoints(connection, subject, system=system, account=account, user=user)
        return show(f"{subject}, by {connection.url}", waypoints)
