"""`pyjs object get`: an object saved to a file."""

from __future__ import annotations

import time
from pathlib import Path, PurePosixPath

import click

from ...cli import prompt, render
from ...cli.command import FORCE, Command
from ...cli.connection import connect
from ...cli.errors import UsageError
from .bucket import BUCKET, linked, open_bucket
from .progress import progress
from .transfer import Target, download

LONG = 2.0  # seconds from which on the average rate is shown


@click.command(cls=Command)
@BUCKET
@click.argument("name", metavar="FILE")
@click.option("-O", "--output", metavar="FILE", default="", help="Save it here (default: the object's name).")
@click.option("--progress/--no-progress", "shown", default=True, help="Show progress on a terminal.")
@FORCE
async def get(bucket: str, name: str, output: str, shown: bool, force: bool) -> None:
    """Save an object to a file, which has its name only when all of it is there and its digest is right."""
    async with connect() as connection:
        store, entry = await linked(await open_bucket(connection, bucket), name)
        path, exists = _target(output or _file_name(entry.name))
        if exists and not await prompt.sure(f"Replace existing target file {path}", forced=force):
            return
        begin = time.monotonic()
        target = Target(path)
        with target, progress(shown and not connection.js.trace, entry.name, entry.size) as advance:
            await download(store, entry, target.write, advance)
            target.commit()
    seconds = time.monotonic() - begin
    line = f"Wrote: {render.size(entry.size)} to {path} in {render.span(int(seconds * 1e9))}"
    if seconds > LONG:
        line += f" average {render.size(int(entry.size / seconds))}/s"
    click.echo(line, err=target.direct)  # the data themselves may be on stdout


def _target(name: str) -> tuple[Path, bool]:
    """Return the file to write, and whether there is one already."""
    path = Path(name).absolute()
    if path.is_dir():
        raise UsageError(f"{path} is a directory", "name a file with --output")
    return path, path.exists()


def _file_name(name: str) -> str:
    """Return the last part of an object's name as that of a file in the current directory."""
    last = PurePosixPath(name).name
    if last in ("", ".", "..") or "\0" in last:
        raise UsageError(f"{name!r} is no name for a file", "give one with --output")
    return last
