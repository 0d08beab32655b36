"""`pyjs stream backup` and `pyjs stream restore`: a stream as a directory, in the form of `nats`.

The directory holds `backup.json` (configuration and state) and `stream.tar.s2` (the bytes that the server
sends, which are not interpreted here). Promises: a backup that fails at the start overwrites nothing; a
restore changes no stream that exists.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import click

from ...cli import complete, document, render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, RemoteError
from ...cli.param import SIZE
from ...protocol.api.stream import StreamConfig
from . import page
from .info import plain
from .leadership import gathered, stream_asset
from .options import apply

CHUNK = 128 * 1024
RESTORE_CHUNK = 64 * 1024
FINISH_SECONDS = 3600.0  # a server may need long to process what it was sent
DOCUMENT, DATA = "backup.json", "stream.tar.s2"


@click.command(cls=Command)
@click.argument("stream", shell_complete=complete.streams)
@click.argument("target", type=click.Path(file_okay=False))
@click.option("--progress/--no-progress", default=True, help="Show progress on a terminal.")
@click.option("--check", is_flag=True, help="Let the server check the messages first.")
@click.option("--consumers/--no-consumers", default=True, help="Include the Consumers.")
@click.option("--chunk-size", type=SIZE, default=CHUNK, help="Bytes per chunk.")
@click.option("--window-size", type=SIZE, help="Bytes the server may send ahead.")
async def backup(
    stream: str,
    target: str,
    progress: bool,
    check: bool,
    consumers: bool,
    chunk_size: int,
    window_size: int | None,
) -> None:
    """Save a Stream into a directory."""
    async with connect() as connection:
        inbox = connection.nc.new_inbox()
        arrived = await connection.nc.subscribe(inbox)
        request = {
            "deliver_subject": inbox,
            "no_consumers": not consumers,
            "jsck": check,
            "chunk_size": chunk_size,
            **({"window_size": window_size} if window_size else {}),
        }
        try:
            answer = await connection.js.request(f"STREAM.SNAPSHOT.{stream}", request)
        except RemoteError as error:
            explained = await connection.js.explained(error, stream=stream)
            raise explained.while_doing(f"could not back up Stream {stream}") from None
        size = render.size(answer["state"]["bytes"])
        render.show(f'Starting backup of Stream "{stream}" with {size}\n')
        folder = _prepared(target)
        begin = time.monotonic()
        chunks, received = await _receive(connection, arrived, folder / DATA, progress)
        saved = {"config": answer["config"], "state": answer["state"]}
        (folder / DOCUMENT).write_text(json.dumps(saved, indent=2), encoding="utf-8")
    seconds = time.monotonic() - begin
    render.show(
        f'Received {render.size(received)} compressed data in {chunks} chunks for stream "{stream}" '
        f"in {seconds:.2f}s, {size} uncompressed"
    )


def _prepared(target: str) -> Path:
    folder = Path(target)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _show_progress(wanted: bool, done: int) -> None:
    """Show the progress, on one line of a terminal's stderr."""
    if wanted and sys.stderr.isatty():
        click.echo(f"\r{render.size(done)} ", nl=False, err=True)


async def _receive(connection: NatsConnection, arrived: Any, path: Path, progress: bool) -> tuple[int, int]:
    """Write the chunks to a file until the empty one; return the numbers of chunks and bytes."""
    chunks = received = 0
    patience = max(5.0, connection.timeout)
    draft = path.with_name(path.name + ".part")
    with draft.open("wb") as out:
        while True:
            try:
                message = await arrived.next_msg(timeout=patience)
            except asyncio.TimeoutError:  # noqa: UP041 - nats-py's own subclass
                raise CliError(f"the backup stalled: nothing came for {patience:g}s") from None
            status = (message.headers or {}).get("Status", "")
            if not message.data:
                if status and status != "204":
                    reason = (message.headers or {}).get("Description", status)
                    raise CliError(f"the server gave the backup up: {reason}")
                break
            out.write(message.data)
            chunks += 1
            received += len(message.data)
            _show_progress(progress, received)
            if message.reply:
                await connection.nc.publish(message.reply, b"")
    draft.replace(path)
    return chunks, received


@click.command(cls=Command)
@click.argument("directory", metavar="FILE", type=click.Path(exists=True, file_okay=False))
@click.option("--progress/--no-progress", default=True, help="Show progress on a terminal.")
@click.option("--config", "file", type=click.Path(), help="Restore with this configuration.")
@click.option("--cluster", help="Place the Stream on a cluster.")
@click.option("--tag", multiple=True, help="Place the Stream on servers that have this tag.")
@click.option("--replicas", type=click.IntRange(min=1), help="How many replicas of the data to keep.")
async def restore(directory: str, progress: bool, file: str | None, **given: Any) -> None:
    """Load a Stream that `backup` saved."""
    folder = Path(directory)
    saved = _saved(folder)
    config = document.without_reserved(StreamConfig.from_json(saved["config"]))
    if file:
        other = document.read(StreamConfig, file)
        if other.name not in ("", config.name):
            raise CliError(f'the backup is of stream "{config.name}", {file} describes "{other.name}"')
        other.name = config.name
        config = other
    apply(config, given)
    async with connect() as connection:
        if config.name in await connection.js.stream_names():
            raise CliError(f'Stream "{config.name}" exists already', "'stream rm' it first")
        begin = time.monotonic()
        render.show(f'Starting restore of Stream "{config.name}" from "{folder}"\n')
        request = {"config": config.to_json(), "state": saved["state"]}
        try:
            answer = await connection.js.request(f"STREAM.RESTORE.{config.name}", request)
        except RemoteError as error:
            raise error.while_doing(f"could not restore Stream {config.name}") from None
        await _send(connection, answer["deliver_subject"], folder / DATA, progress)
        asset = stream_asset(connection, config.name)
        info = await gathered(asset, plain(await connection.js.request(f"STREAM.INFO.{config.name}")))
    render.show(f'Restored stream "{config.name}" in {time.monotonic() - begin:.2f}s\n')
    render.show(page.text(info))


def _saved(folder: Path) -> dict[str, Any]:
    """Return the document of a backup. Raises CliError if the directory is not a backup."""
    if not (folder / DATA).is_file():
        raise CliError(f"{folder} is no backup: it has no {DATA}")
    try:
        saved = json.loads((folder / DOCUMENT).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CliError(f"{folder / DOCUMENT} cannot be read: {error}") from None
    if not isinstance(saved, dict) or not isinstance(saved.get("config"), dict) or "state" not in saved:
        raise CliError(f"{folder / DOCUMENT} has no config and state")
    return saved


async def _send(connection: NatsConnection, subject: str, path: Path, progress: bool) -> None:
    """Send a backup's data in acknowledged pieces, and the empty piece that ends it."""
    with path.open("rb") as data:
        while piece := data.read(RESTORE_CHUNK):
            _accepted(await connection.nc.request(subject, piece, timeout=max(30.0, connection.timeout)))
            _show_progress(progress, data.tell())
    _accepted(await connection.nc.request(subject, b"", timeout=FINISH_SECONDS))


def _accepted(answer: Any) -> None:
    """Raise RemoteError if the answer to a piece is an error."""
    if not answer.data:
        return
    error = json.loads(answer.data).get("error")
    if error:
        raise RemoteError(error.get("code", 0), error.get("err_code", 0), error.get("description", ""))
