"""`pyjs doctor`: an examination of the connection, its settings, and JetStream as the account sees it."""

from __future__ import annotations

import click

from ...cli import output
from ...cli.command import Command
from ...cli.errors import ExitCode
from ...cli.profile import resolve
from ..explain.finding import ERROR, FINDINGS, WARNING, show

CODES = {ERROR: ExitCode.ERRORS, WARNING: ExitCode.WARNINGS}


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
async def doctor(system: str) -> ExitCode:
    """Say what is wrong, or will be soon: connection, clock, certificates, streams, consumers, servers.

    Servers are examined for users of the system account, and with --system. Nothing is changed. The exit code
    is 0 if nothing is wrong, 7 for warnings, and 8 for errors.
    """
    from .checks import of_facts
    from .gathering import gather

    found = of_facts(await gather(resolve(), system))
    show("Examination", found, "nothing is wrong")
    return max((CODES.get(each.severity, ExitCode.OK) for each in found), default=ExitCode.OK)
