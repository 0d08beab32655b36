"""`pyjs plugins`: what `nats` has for its own plugins; here it says how pyjs takes them."""

from __future__ import annotations

import click

from ..cli.command import Command, CommandGroup
from ..cli.errors import RefusedError

plugins = CommandGroup(name="plugins", help="How commands are added: see docs/plugins.md.")


@plugins.command("register", cls=Command)
@click.argument("name")
@click.argument("command")
@click.option("--force", is_flag=True, help="Accepted as `nats` has it.")
def register(name: str, command: str, force: bool) -> None:
    """Not here: the plugins of nats describe themselves to its own library, which pyjs does not have."""
    raise RefusedError(
        f"{command} cannot be registered as a plugin: pyjs has no plugins in the form of nats",
        "a plugin of pyjs is a Python package with the entry point group 'pyjs.plugins'",
    )
