"""`nsc generate nkey`: new keys, shown with their seeds, or stored and shown without."""

from __future__ import annotations

import json

import click

from ....keys import KeyPair, KeyRole, Workspace
from ....keys.workspace.report import short
from ..command import NscCommand, open_workspace, run, switch


@click.command(cls=NscCommand)
@switch("-o", "--operator", text="An operator's key.")
@switch("-a", "--account", text="An account's key.")
@switch("-u", "--user", text="A user's key.")
@switch("-x", "--curve", text="A curve key, for authorization callouts.")
@switch("-S", "--store", "stored", text="Store the keys in the keystore, do not show their seeds.")
def nkey(operator: bool, account: bool, user: bool, curve: bool, stored: bool) -> None:
    """Generate keys: each with its seed on the first line, its public key on the second."""
    flags = (
        (operator, KeyRole.OPERATOR),
        (account, KeyRole.ACCOUNT),
        (user, KeyRole.USER),
        (curve, KeyRole.CURVE),
    )
    roles = [role for given, role in flags if given]
    if not roles:
        raise click.UsageError("set --operator, --account, --user, or --curve")
    workspace = open_workspace() if stored else None
    made = [_made(role, workspace) for role in roles]
    if run().json:
        click.echo(json.dumps(made, indent=2))
        return
    for key in made:
        if workspace is None:
            click.echo(f"{key['seed']}\n{key['public_key']}\n")
        else:
            click.echo(f"{key['public_key']}\n{key['kind']} key stored {short(key['path'])}\n")


def _made(role: KeyRole, workspace: Workspace | None) -> dict[str, str]:
    key = KeyPair.create(role)
    shown = {"kind": role.word, "public_key": key.public_key}
    if workspace is None:
        return {**shown, "seed": key.seed}
    return {**shown, "path": str(workspace.keystore.add(key))}
