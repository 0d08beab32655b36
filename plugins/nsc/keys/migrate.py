"""`nsc keys migrate`."""

from __future__ import annotations

import click

from ....keys.workspace.layout import migrate_keystore
from ..command import NscCommand, finish, open_workspace


@click.command(cls=NscCommand)
def migrate() -> None:
    """Move a keystore of the older layout to the present one; the old directory is kept."""
    finish(migrate_keystore(open_workspace(layout=False)))
