"""`pyjs doctor`: an examination of the connection, its settings, and JetStream as the account sees it."""

from __future__ import annotations

import click

from ...cli import output
from ...cli.command import Command
from ...cli.profile import resolve
from ..explain.finding import ERROR, FINDINGS, WARNING, show

CODES = {ERROR: 2, WARNING: 1}  # as those of `pyjs server check`


@click.command(cls=Command)
@output.listing(FINDINGS)
@click.option(
    "--system",
    "--sys",
    "system",
    default="",
    metavar="CONTEXT",
    help="Examine the servers, too, as the user of this context, who belongs to the system account.",
)
async def doctor(system: str) -> int:
    """Say what is wrong, or will be soon: connection, clock, certificates, streams, consumers, servers.

    Servers are examined for users of the system account, and with --system. Nothing is changed. The exit code
    is 0 if nothing is wrong, 1 for warnings, and 2 for errors.
    """
    from .checks import of_facts
    from .gathering import gather

    found = of_facts(await gather(resolve(), system))
    show("Examination", found, "nothing is wrong")
    return max((CODES.get(each.severity, 0) for each in found), default=0)
