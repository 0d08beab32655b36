"""`pyjs account backup` and `pyjs account restore`: all streams of an account, a folder for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...cli import prompt, render
from ...cli.command import FORCE, Command
from ...cli.connection import connect
from ...cli.errors import CliError, RemoteError, UnavailableError, warn
from ...cli.param import ExistingPath
from ...cli.proposal import in_hint
from ...protocol.api.stream import StreamConfig
from ..backup import session
from ..backup.fetch import SnapshotOptions
from ..backup.folder import BackupFolder
from ..backup.progress import AccountProgress
from ..backup.restore import is_unfinished
from ..backup.save import SaveOptions
from ..stream.options import apply

MEMORY_STREAM = "memory streams do not support snapshots"


def _show(streams: list[dict[str, Any]], path: Path) -> None:
    """Show what will be saved."""
    states = [each["state"] for each in streams]
    pairs = (
        ("Streams", render.number(len(streams))),
        ("Size", render.size(sum(int(each["bytes"]) for each in states))),
        ("Consumers", render.number(sum(int(each["consumer_count"]) for each in states))),
        ("Directory", path),
    )
    render.show(render.fields(pairs) + "\n")


@click.command(cls=Command)
@click.argument("target", type=click.Path(file_okay=False))
@session.CHECK
@session.CONSUMERS
@FORCE
@click.option("-w", "--critical-warnings", is_flag=True, help="Treat warnings as failures.")
@session.PROGRESS
@session.INCREMENTAL
@session.RESTART
@session.KEY
async def backup(
    target: str,
    check: bool,
    consumers: bool,
    force: bool,
    critical_warnings: bool,
    progress: bool,
    incremental: bool,
    restart: bool,
    key_file: str | None,
) -> None:
    """Save all Streams of the account into a directory.

    A backup that was interrupted goes on when the command is repeated.
    """
    key, path = session.read_key(key_file), Path(target)
    async with connect() as connection:
        streams = await connection.js.streams()
        if not streams:
            raise CliError("no streams found")
        _show(streams, path)
        if not await prompt.sure("Perform backup", forced=force):
            return
        # Servers differ in whether they save memory streams: once those were tried, it is known who belongs
        # to the backup.
        streams.sort(key=lambda each: each["config"].get("storage") != "memory")
        group = {str(each["config"]["name"]) for each in streams if each["config"].get("storage") != "memory"}
        asked = SnapshotOptions(consumers, check)
        failures: list[str] = []
        warnings: list[str] = []
        hints: list[str] = []
        progressed = AccountProgress(path, restart=restart or incremental)
        for info in streams:
            name = str(info["config"]["name"])
            options = SaveOptions(incremental, restart, tuple(sorted({*group, name})), asked)
            try:
                folder = BackupFolder(path / name, key)
                if taken := progressed.taken(folder, info):
                    render.show(f'"{name}" was saved at {taken} by the backup that was cut')
                else:
                    await session.save_stream(connection, name, folder, options, shown=progress)
                    progressed.add(name)
                group.add(name)
            except RemoteError as error:
                kind = warnings if MEMORY_STREAM in error.message else failures
                kind.append(f"{name}: {error.message}")
            except (CliError, OSError) as error:
                failures.append(f"{name}: {error}")
                hints += error.hints if isinstance(error, CliError) else ()
                if isinstance(error, UnavailableError) and not connection.nc.is_connected:
                    break
            render.show()
        else:  # a stream that fails each time does not keep the others as they were
            progressed.end()
    for each in warnings:
        warn(each)
    if failures or (warnings and critical_warnings):
        raise CliError("backup failed", *failures, *dict.fromkeys(hints))


@click.command(cls=Command)
@click.argument("directory", type=ExistingPath(file_okay=False))
@click.option("--cluster", help="Place the Streams on a cluster.")
@click.option("--tag", multiple=True, help="Place the Streams on servers that have this tag.")
@click.option("--skip-existing", is_flag=True, help="Leave Streams that exist as they are.")
@session.PROGRESS
@session.DRY_RUN
@session.KEY
async def restore(
    directory: str,
    skip_existing: bool,
    progress: bool,
    dry_run: bool,
    key_file: str | None,
    **given: Any,
) -> None:
    """Load all Streams that `account backup` saved.

    All backups are verified before the first Stream is restored. '--js-domain' restores into another domain.
    """
    folders, left = session.streams_in(Path(directory), session.read_key(key_file))
    for name in left:
        warn(f"{name} was gone at the last backup, and is not restored: {in_hint('stream restore')} does it")

    def change(config: StreamConfig) -> None:
        apply(config, given)

    async with connect() as connection:
        if skip_existing:
            configs = [each["config"] for each in await connection.js.streams()]
            there = {each["name"] for each in configs if not is_unfinished(each)}
            for folder in [each for each in folders if each.path.name in there]:
                warn(f"Stream {folder.path.name} exists already, and stays as it is")
            folders = [each for each in folders if each.path.name not in there]
        ready = await session.check_all(connection, folders, shown=progress, change=change)
        count = render.counted(len(ready), "stream")
        if dry_run:
            render.show(f'{count} can be restored from "{directory}"')
            return
        render.show(f'Restoring backup of {count} in directory "{directory}"\n')
        done: list[str] = []
        for one in ready:
            try:
                await session.restore_stream(connection, one, shown=progress)
            except CliError as error:
                if done:
                    before = f"restored before: {', '.join(done)}; --skip-existing goes on with the others"
                    error.hints = (*error.hints, before)
                raise
            done.append(one.config.name)
