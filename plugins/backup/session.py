"""One backup or restore as a command shows it: flags, progress with its rate, and lines about it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ...cli import document, render
from ...cli.connection import NatsConnection
from ...cli.errors import CliError, NotFoundError, UnavailableError, warn
from ...cli.param import ExistingPath
from ...cli.proposal import in_hint
from ...protocol.api.stream import StreamConfig
from ...protocol.timestamp import parse_exact
from ..object.progress import progress
from .archive import BackupDamagedError
from .encryption import BackupKey, EncryptionError
from .fetch import CutError
from .folder import BackupFolder
from .manifest import BackupManifest
from .restore import Prepared, has_low_floors, prepare, renamed, restore
from .save import Save, Saved, SaveOptions
from .verify import Verified, verify

Decorator = Callable[[Any], Any]
FEW = 10  # damaged backups that are named
KEY = click.option(
    "--key",
    "key_file",
    type=ExistingPath(dir_okay=False),
    help="Encrypt or decrypt with the key in this file.",
)
PROGRESS = click.option("--progress/--no-progress", default=True, help="Show progress on a terminal.")
CHECK = click.option("--check", is_flag=True, help="Let the server check the messages first.")
CONSUMERS = click.option("--consumers/--no-consumers", default=True, help="Include the Consumers.")
INCREMENTAL = click.option(
    "--incremental", is_flag=True, help="Add what is newer to the backup that is there."
)
RESTART = click.option("--restart", is_flag=True, help="Do not continue a backup that was interrupted.")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Check everything, and change nothing.")


def read_key(path: str | None) -> BackupKey | None:
    """Return the key in a file. Raises CliError."""
    if not path:
        return None
    with reported(path):
        return BackupKey.read(Path(path))


@contextmanager
def reported(where: object) -> Iterator[None]:
    """Turn what is wrong with a folder into an error of the command line."""
    try:
        yield
    except (BackupDamagedError, EncryptionError) as error:
        raise CliError(f"{where}: {error}") from None


async def save_stream(
    connection: NatsConnection, stream: str, folder: BackupFolder, options: SaveOptions, *, shown: bool
) -> Saved:
    """Save a stream, and tell how it went. Raises CliError."""
    info = await connection.js.stream_info(stream)
    total = int(info["state"]["bytes"])
    size = render.size(total)
    render.show(f'Starting backup of Stream "{stream}" with {size}\n')
    begin = time.monotonic()
    with reported(folder.path), progress(shown and not connection.js.trace, stream, total) as bar:
        try:
            saved = await Save(connection, stream, folder, options, bar, warn).run()
        except CutError as error:
            hint = "the same command goes on with it" if folder.unfinished() else ""
            raise UnavailableError(error.message, *error.hints, hint) from None
    seconds = time.monotonic() - begin
    rate = render.size(int(total / max(seconds, 0.001)))
    if saved.received:
        render.show(
            f"Received {render.size(saved.received)} compressed data in {saved.chunks} chunks "
            f'for stream "{stream}" in {seconds:.2f}s, {size} uncompressed, {rate}/s'
        )
    else:
        parts = f": {render.number(saved.kept)} kept, {render.number(saved.messages - saved.kept)} fetched"
        count = render.counted(saved.messages, "message")
        render.show(f'Saved {count} of "{stream}" in {seconds:.2f}s' + (parts if saved.kept else ""))
    return saved


def verified(folder: BackupFolder, *, shown: bool) -> Verified:
    """Read a whole backup, with progress. Raises CliError if the key, or none, does not fit."""
    if closed := folder.why_closed():
        hint = "--key FILE gives the key" if folder.encrypted else "leave out --key"
        raise CliError(f"{folder.path}: {closed}", hint)
    paths = [path for path in folder.path.glob("*") if path.is_file()]
    total = sum(path.stat().st_size for path in paths)
    with reported(folder.path), progress(shown, f"verify {folder.path.name}", total or None) as advance:
        return verify(folder, advance)


def must_be_whole(folder: BackupFolder, found: Verified) -> BackupManifest:
    """Return the manifest of a backup without a fault. Raises CliError that tells the faults."""
    if found.faults or found.manifest is None:
        raise CliError(f"{folder.path} cannot be restored: {found.faults[0]}", *found.faults[1:])
    for note in found.notes:
        warn(f"{folder.path}: {note}")
    return found.manifest


def prepared(
    folder: BackupFolder,
    manifest: BackupManifest,
    name: str,
    file: str | None,
    change: Callable[[StreamConfig], None],
) -> Prepared:
    """Return a restore with the configuration that the flags ask for. Raises CliError.

    name: the new name, empty to keep it.
    file: a configuration that replaces the saved one.
    """
    config = document.without_reserved(StreamConfig.from_json(manifest.config))
    if file:
        other = document.read(StreamConfig, file)
        if other.name not in ("", config.name) and not name:
            raise CliError(
                f'the backup is of stream "{config.name}", {file} describes "{other.name}"',
                f"--name {other.name} restores it under that name",
            )
        other.name, config = config.name, other
    rename = renamed(config, name) if name and name != config.name else None
    change(config)
    with reported(folder.path):
        return Prepared(folder, manifest, config, rename, has_low_floors(folder, manifest))


async def restore_stream(connection: NatsConnection, one: Prepared, *, shown: bool) -> None:
    """Restore a stream that was checked, and tell how it went."""
    name, path = one.config.name, one.folder.path
    begin = time.monotonic()
    render.show(f'Starting restore of Stream "{name}" from "{path}"\n')
    sizes = [one.folder.named(file).stat().st_size for file in one.folder.files(one.manifest)]
    total = sum(sizes) if one.as_sent else int(one.manifest.state["bytes"])
    with reported(path), progress(shown and not connection.js.trace, name, total) as advance:
        await restore(connection, one, advance)
    render.show(f'Restored stream "{name}" in {time.monotonic() - begin:.2f}s\n')


async def check_all(
    connection: NatsConnection,
    folders: list[BackupFolder],
    *,
    shown: bool,
    change: Callable[[StreamConfig], None],
) -> list[Prepared]:
    """Return the restores of several backups, all checked.

    Raises CliError that names the damaged ones, or else the first that the server would refuse.
    Damage comes before what the server has against a restore: what a folder lacks, no server can change.
    """
    whole_ones, faulty = [], []
    for folder in folders:
        found = verified(folder, shown=shown)
        try:
            whole_ones.append((folder, must_be_whole(folder, found)))
        except CliError as error:
            faulty.append(error)
    if faulty:
        raise _damaged(faulty, folders[0].path.parent)
    ready = []
    for folder, manifest in whole_ones:
        one = prepared(folder, manifest, "", None, change)
        with reported(folder.path):
            await prepare(connection, one, single=False)
        ready.append(one)
    return ready


def _damaged(faulty: list[CliError], parent: Path) -> CliError:
    """Return one error for damaged backups: all that is wrong with a single one, else the first of each."""
    whole = f"{in_hint(f'backup verify {parent}')} says which are whole"
    hint = f"{whole}; {in_hint(f'stream restore {parent}/NAME')} loads one"
    if len(faulty) == 1:
        return CliError(faulty[0].message, *faulty[0].hints, hint)
    named = [error.message for error in faulty[:FEW]]
    if len(faulty) > FEW:
        named.append(f"and {render.number(len(faulty) - FEW)} more")
    return CliError(f"{len(faulty)} backups in {parent} cannot be restored", *named, hint)


@dataclass(frozen=True, slots=True)
class AccountFolders:
    """The backups in the folder of an account.

    folders: of the streams that were there at the last backup, also where one is missing or damaged.
    left: the names of others, whose streams were gone by then.
    group: the names that a manifest has; empty if none has any, as in a folder of `nats`.
    """

    folders: list[BackupFolder]
    left: list[str]
    group: frozenset[str]


def account_folders(path: Path, key: BackupKey | None) -> AccountFolders:
    """Return what the folder of an account has. Raises NotFoundError if there is no backup in it."""
    inside = sorted(each for each in path.iterdir() if each.is_dir()) if path.is_dir() else []
    folders = {each.name: BackupFolder(each, key) for each in inside}
    if not folders:
        one = f"it is the backup of one Stream: {in_hint(f'stream restore {path}')} loads it"
        raise NotFoundError(f"{path} has no backups of Streams", one if BackupFolder(path).complete else "")
    newest: BackupManifest | None = None
    unread = set()  # it cannot be known whether these are part of it
    for name, folder in folders.items():
        try:
            found = folder.manifest()
        except FileNotFoundError:
            continue  # told when it is verified
        except (BackupDamagedError, EncryptionError):
            unread.add(name)
            continue
        if found.group and (newest is None or parse_exact(found.taken) > parse_exact(newest.taken)):
            newest = found
    group = frozenset(newest.group if newest else ())
    chosen = {*group, *unread} if newest else set(folders)
    return AccountFolders(
        [folders.get(name) or BackupFolder(path / name, key) for name in sorted(chosen)],
        sorted(set(folders) - chosen),
        group,
    )


def streams_in(path: Path, key: BackupKey | None) -> tuple[list[BackupFolder], list[str]]:
    """Return the backups of an account's backup, and the names in it that are no longer part of it.

    Raises CliError if one is missing.
    """
    found = account_folders(path, key)
    if any(not folder.path.is_dir() for folder in found.folders):
        missing = [folder.path.name for folder in found.folders if not folder.complete]
        raise CliError(
            f"{path} is not complete: it has no whole backup of {', '.join(missing)}",
            "a backup that was cut goes on when its command is repeated",
        )
    return found.folders, found.left
