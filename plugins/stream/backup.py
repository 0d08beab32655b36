"""`pyjs stream backup` and `pyjs stream restore`: a stream as a directory. `plugins/backup` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...cli import complete, render
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.errors import RemoteError
from ...cli.param import SIZE, ExistingPath
from ..backup import session
from ..backup.fetch import CHUNK, SnapshotOptions
from ..backup.folder import BackupFolder
from ..backup.restore import prepare
from ..backup.save import SaveOptions
from . import page
from .info import plain
from .leadership import gathered, stream_asset
from .options import apply


@click.command(cls=Command)
@click.argument("stream", shell_complete=complete.streams)
@click.argument("target", type=click.Path(file_okay=False))
@session.PROGRESS
@session.CHECK
@session.CONSUMERS
@click.option("--chunk-size", type=SIZE, default=CHUNK, help="Bytes per chunk.")
@click.option("--window-size", type=SIZE, help="Bytes the server may send ahead.")
@session.INCREMENTAL
@session.RESTART
@session.KEY
async def backup(
    stream: str,
    target: str,
    progress: bool,
    check: bool,
    consumers: bool,
    chunk_size: int,
    window_size: int | None,
    incremental: bool,
    restart: bool,
    key_file: str | None,
) -> None:
    """Save a Stream into a directory.

    A backup that was interrupted goes on when the command is repeated.
    """
    folder = BackupFolder(Path(target), session.read_key(key_file))
    asked = SnapshotOptions(consumers, check, chunk_size, window_size or 0)
    options = SaveOptions(incremental, restart, snapshot=asked)
    async with connect() as connection:
        try:
            await session.save_stream(connection, stream, folder, options, shown=progress)
        except RemoteError as error:
            explained = await connection.js.explained(error, stream=stream)
            raise explained.while_doing(f"could not back up Stream {stream}") from None


@click.command(cls=Command)
@click.argument("directory", metavar="FILE", type=ExistingPath(file_okay=False))
@session.PROGRESS
@click.option("--config", "file", type=click.Path(), help="Restore with this configuration.")
@click.option("--cluster", help="Place the Stream on a cluster.")
@click.option("--tag", multiple=True, help="Place the Stream on servers that have this tag.")
@click.option("--replicas", type=click.IntRange(min=1), help="How many replicas of the data to keep.")
@click.option("--name", default="", help="Restore under another name.")
@click.option("--subjects", multiple=True, help="Let the Stream listen to other subjects.")
@session.DRY_RUN
@session.KEY
async def restore(
    directory: str,
    progress: bool,
    file: str | None,
    name: str,
    dry_run: bool,
    key_file: str | None,
    **given: Any,
) -> None:
    """Load a Stream that `backup` saved.

    The backup is verified before anything is changed.
    """
    folder = BackupFolder(Path(directory), session.read_key(key_file))
    manifest = session.must_be_whole(folder, session.verified(folder, shown=progress))
    one = session.prepared(folder, manifest, name, file, lambda config: apply(config, given))
    async with connect() as connection:
        with session.reported(folder.path):
            await prepare(connection, one)
        if dry_run:
            render.show(f'Stream "{one.config.name}" can be restored from "{folder.path}"')
            return
        await session.restore_stream(connection, one, shown=progress)
        asset = stream_asset(connection, one.config.name)
        info = await gathered(asset, plain(await connection.js.request(f"STREAM.INFO.{one.config.name}")))
    render.show(page.text(info))
