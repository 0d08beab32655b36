"""`pyjs stream cluster rescue`: makes a backup of a stream from what the servers' directories still hold.

It is for a stream that no server has completely any more. The directories are read in place, or from copies.
`pyjs stream restore` reads the result.
"""

from __future__ import annotations

from pathlib import Path

import click

from ...cli import render
from ...cli.command import Command
from ...cli.errors import CliError
from ...cli.param import ExistingPath
from ...cli.proposal import command
from ..backup.folder import DATA, DOCUMENT

_FEW = 20


@click.command(cls=Command)
@click.argument("stream")
@click.argument("target", type=click.Path(file_okay=False))
@click.option(
    "--from",
    "stores",
    multiple=True,
    required=True,
    type=ExistingPath(file_okay=False),
    help="The store_dir of a server, or a copy of it; once for each server.",
)
@click.option(
    "--key",
    "keys",
    multiple=True,
    type=ExistingPath(dir_okay=False),
    help="A file with the key of a server that encrypts; once for each key.",
)
@click.option("--account", default="$G", help="The name of the Stream's account, or its public key.")
def rescue(stream: str, target: str, stores: tuple[str, ...], keys: tuple[str, ...], account: str) -> None:
    """Save what servers' directories still hold of a Stream that none has whole."""
    from ...server.jetstream.account.backup import rescue as salvage

    folder = Path(target)
    if (folder / DATA).exists():
        raise CliError(f"{folder} holds a backup already", "name another directory")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        texts = [Path(key).read_text("utf-8").strip() for key in keys]
        found = salvage.rescue(stores, account, stream, folder / DATA, texts)
    except (salvage.RescueError, OSError) as fault:
        raise CliError(f"could not rescue Stream {stream}: {fault}") from None
    (folder / DOCUMENT).write_text(salvage.document(found), encoding="utf-8")
    for where, count in found.copies.items():
        render.show(f"{render.number(count):>12} messages in {where}")
    render.show(
        f'\nSaved {render.counted(found.state.messages, "message")} of Stream "{stream}" into {folder}'
    )
    if found.lost:
        named = ", ".join(map(str, found.lost[:_FEW])) + (", …" if len(found.lost) > _FEW else "")
        render.show(f"{render.counted(len(found.lost), 'message', 'is', 'are')} whole in no copy: {named}")
    if found.config.retention == "interest":
        render.show("It kept messages for its Consumers, which are not saved: it will keep them by limits")
    render.show(
        "\nNext, when all copies are kept elsewhere: "
        f"{command('stream', 'rm', stream)}, {command('stream', 'restore', folder)}"
    )
