"""`nsc load`: sets everything up from an account server."""

from __future__ import annotations

import os

import click

from ...keys.workspace.loading import DEFAULT_USER, SetupSource, source_of
from ...keys.workspace.loading import load as loaded
from .command import NscCommand, finish, open_workspace


@click.command(cls=NscCommand)
@click.option(
    "--profile", default="", metavar="URL", help="nsc://operator?secret=<account seed>&user=<name>."
)
@click.option("--url", default="", help="URL of the operator's token at the account server.")
@click.option("--seed", default="", help="Seed of the account.")
@click.option("--user", default=DEFAULT_USER, show_default=True, help="Name of the user to make.")
def load(profile: str, url: str, seed: str, user: str) -> None:
    """Set up an operator, the account of a seed, and a user, from an account server."""
    source = source_of(profile, user, environment=os.environ) if profile else SetupSource(url, seed, user)
    finish(loaded(open_workspace(), source, environment=os.environ))
