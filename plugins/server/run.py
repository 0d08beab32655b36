"""`pyjs server run` and `check-config`: the server's own command line, under the command `pyjs`."""

from __future__ import annotations

import click

from ...cli.param import ExistingPath

# The server reads its flags itself: they are those of nats-server, where -s and -c mean other things.
_RAW = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


@click.command("run", context_settings=_RAW, add_help_option=False)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def run(context: click.Context, flags: tuple[str, ...]) -> None:
    """Run a server in the foreground. Takes nats-server's flags: -c FILE, -p PORT, -js, -sd DIR, -D, -V, …"""
    from ...server.main import run as run_server

    context.exit(run_server(flags, "pyjs server run"))


@click.command("check-config")
@click.argument("file", type=ExistingPath(dir_okay=False))
@click.pass_context
def check_config(context: click.Context, file: str) -> None:
    """Check a configuration file: OK, or each problem as file:line:column and why."""
    from ...server.main import check_config as check

    context.exit(check(file, "pyjs server check-config"))
