"""`pyjs backup`: verify backups. `pyjs backup DIR` is `pyjs account backup DIR`."""

from __future__ import annotations

from pathlib import Path

import click

from ...cli import output, render
from ...cli.command import Command, CommandGroup, CommandRow
from ...cli.connection import connect
from ...cli.errors import CliError, DiffersError, UsageError
from ...cli.jetstream import stream_is_gone
from ...cli.param import ExistingPath
from ..object.progress import progress
from . import session
from .encryption import BackupKey
from .folder import MANIFEST, BackupFolder
from .verify import Compared, compare

FEW = 10  # sequences that are told


class Backups(CommandGroup):
    """A group in which everything that is no sub command is `account backup`, as `nats` had it once."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the line, with `account` put in front if it names no sub command."""
        named = any(each in self.rows for each in args) or not [each for each in args if each != "--help"]
        return super().parse_args(ctx, args if named else ["account", *args])


backup = Backups(
    name="backup",
    help="Verify backups. 'backup DIR' saves all Streams, as 'account backup DIR' does.",
    rows=[
        CommandRow(
            "verify", "pyjs.plugins.backup.command:verify", "Read a backup, and compare its checksums"
        ),
        CommandRow("account", "pyjs.plugins.account.backup:backup", hidden=True),
    ],
)

RESULT = output.Table(
    "backups",
    "Backups",
    (
        output.Column("stream", "Stream", output.NAME),
        output.Column("directory", "Directory", output.NAME),
        output.Column("messages", "Messages", output.NUMBER),
        output.Column("taken", "Taken", output.TIME),
        output.Column("result", "Result", output.TEXT, main=True),
    ),
    key="stream",
    spare=("directory", "taken", "messages"),
)


@click.command(cls=Command)
@output.listing(RESULT)
@click.argument("directory", type=ExistingPath(file_okay=False))
@session.KEY
@session.PROGRESS
@click.option("--live", is_flag=True, help="Compare with the Streams of the server, too.")
@click.option("--stream", help="Compare with this Stream instead of the one that was saved.")
async def verify(
    directory: str, key_file: str | None, progress: bool, live: bool, stream: str | None
) -> None:
    """Read every message of a backup, and compare it with the manifest.

    DIRECTORY is the backup of a Stream, or of an account. Exits with 5 if anything differs, or if a Stream is
    gone with which --live compares.
    """
    key = session.read_key(key_file)
    path = Path(directory)
    inside = _folders(path, key)
    if stream and len(inside.folders) != 1:
        raise UsageError("--stream needs the backup of one Stream")
    rows, faults = [], []
    for folder in inside.folders:
        found = session.verified(folder, shown=progress)
        if folder.of_nats and folder.path.name in inside.group:
            found.faults, found.notes = [f"{MANIFEST} is missing, with which it was saved", *found.faults], []
        result = "; ".join((*found.faults, *found.notes)) or "as in the manifest"
        manifest = found.manifest
        if manifest and not found.faults and (live or stream):
            result, differs = await _beside_live(folder, manifest.stream, stream, shown=progress)
            if differs:
                faults.append(f"{folder.path}: {result}")
        faults += [f"{folder.path}: {each}" for each in found.faults]
        rows.append(
            {
                "stream": manifest.stream if manifest else folder.path.name,
                "directory": str(folder.path),
                "messages": found.messages,
                "taken": manifest.taken if manifest else "",
                "result": result,
            }
        )
    output.show(RESULT.of(rows))
    for name in inside.left:
        render.show(f"{path / name} is of a Stream that was gone at the last backup")
    if faults:
        raise DiffersError(f"the backup in {path} differs from what it should be", *faults)


def _folders(path: Path, key: BackupKey | None) -> session.AccountFolders:
    """Return the backups in a directory: its own, or those of the streams in it."""
    one = BackupFolder(path, key)
    if one.complete or one.begun:
        return session.AccountFolders([one], [], frozenset())
    return session.account_folders(path, key)


async def _beside_live(
    folder: BackupFolder, saved: str, named: str | None, *, shown: bool
) -> tuple[str, bool]:
    """Compare a backup with the live Stream; return what was found in words, and whether it differs.

    named: the Stream that the line names: if it is not there, the line is wrong. That the Stream which was
        saved is gone is what a comparison may find, and the other backups are compared, too.
    """
    try:
        compared = await _live(folder, named or saved, shown=shown)
    except CliError as error:
        if named or not stream_is_gone(error):
            raise
        return f"the server has no Stream {saved}", True
    return _words(compared), compared.differs


async def _live(folder: BackupFolder, stream: str, *, shown: bool) -> Compared:
    async with connect() as connection:
        info = await connection.js.stream_info(stream)
        total = int(info["state"]["bytes"])
        with session.reported(folder.path), progress(shown, f"compare {stream}", total) as advance:
            return await compare(connection, folder, folder.manifest(), stream, advance)


def _words(found: Compared) -> str:
    """Return what a comparison found, in words."""
    said = [f"{render.counted(found.same, 'message')} as in the Stream"]
    for sequences, what in ((found.different, "differ"), (found.missing, "are only in the Stream")):
        if sequences:
            some = ", ".join(map(str, sequences[:FEW])) + (", …" if len(sequences) > FEW else "")
            said.append(f"{render.number(len(sequences))} {what}: {some}")
    if found.removed:
        said.append(f"{render.number(found.removed)} no longer in the Stream")
    if found.newer:
        said.append(f"{render.number(found.newer)} newer in the Stream")
    return "; ".join(said)
