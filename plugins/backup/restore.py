"""Restore a stream from a folder, after its backup was read and compared with the manifest.

Promises: `prepare` changes nothing, and raises an error for whatever can be known before. A restore that is
cut or killed leaves no stream that looks whole. pyjs-server shows a stream when it has all of it, and gives
a restore up after 30 s without data. nats-server shows it from the beginning, and keeps what arrived: so a
stream has the metadata `MARK` until it is complete, and the next restore replaces a stream that has it. A
sealed stream cannot be changed any more, and is not marked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ...cli.connection import NatsConnection
from ...cli.errors import CliError, RemoteError, warn
from ...cli.proposal import in_hint
from ...protocol import s2
from ...protocol.api.stream import StreamConfig
from ...protocol.archive.entries import END, MAGIC, STATE, ArchiveEntry
from .archive import pieces
from .folder import TAR_FILE, BackupFolder
from .manifest import BackupManifest, Info

PIECE = 64 * 1024  # bytes in a request
SECONDS = 30.0  # for the answer to a piece
OCCUPIED, AGAIN = 40.0, 0.5  # to wait for a restore that was killed, and between two questions
UNDER_WAY = "is under way"  # in pyjs-server's error
FINISH_SECONDS = 3600.0  # a server may need long to process what it was sent
KV, OBJECTS = "KV_", "OBJ_"
MARK, UNFINISHED = "pyjs.restore", "unfinished"
Advance = Callable[[int], object]
Rename = Callable[[str], str]  # of a message's subject


@dataclass(slots=True)
class Prepared:
    """A restore that can begin.

    rename: of subjects, None to keep them.
    low_floors: whether a consumer's ack floor is below the stream's first message.
    """

    folder: BackupFolder
    manifest: BackupManifest
    config: StreamConfig
    rename: Rename | None = None
    low_floors: bool = False

    @property
    def as_sent(self) -> bool:
        """Whether the server can be sent the file as it is."""
        return len(self.folder.files(self.manifest)) == 1 and self.rename is None and not self.low_floors


def renamed(config: StreamConfig, name: str) -> Rename | None:
    """Give a configuration another name; return how subjects change, None if they do not.

    The subjects of a KV bucket have its name in them. Raises CliError for what cannot be renamed.
    """
    old, config.name = config.name, name
    kinds = {prefix for prefix in (KV, OBJECTS) for each in (old, name) if each.startswith(prefix)}
    if not kinds:
        return None
    if kinds != {KV} or not (old.startswith(KV) and name.startswith(KV)):
        raise CliError(f"{old} cannot be restored as {name}", _why_kept(old, name))
    before, after = f"$KV.{old.removeprefix(KV)}.", f"$KV.{name.removeprefix(KV)}."

    def rename(subject: str) -> str:
        return after + subject.removeprefix(before) if subject.startswith(before) else subject

    config.subjects = [rename(subject) for subject in config.subjects]
    return rename


def _why_kept(old: str, name: str) -> str:
    """Return why a stream cannot have a name, where one of the two is that of a bucket."""
    if old.startswith(OBJECTS):
        return "an object bucket keeps its name, which is in its entries"
    if old.startswith(KV):
        return f"{old} is a key-value bucket and stays one: its new name begins with {KV}, too"
    kind, prefix = ("key-value", KV) if name.startswith(KV) else ("object", OBJECTS)
    return f"{name} is the name of a bucket of the kind {kind}, and {old} is none: leave out {prefix}"


def is_unfinished(config: Info) -> bool:
    """Return whether a stream was left by a restore that did not end."""
    return bool((config.get("metadata") or {}).get(MARK))


async def prepare(connection: NatsConnection, prepared: Prepared, *, single: bool = True) -> None:
    """Check what can be checked before a restore. Raises CliError.

    single: whether it is the restore of this stream alone, which has flags for another name and subjects.
    """
    if not prepared.as_sent and prepared.folder.is_tar(prepared.manifest):
        raise CliError(
            f"the backup in {prepared.folder.path} is {TAR_FILE}: it keeps the name of its bucket",
            "restore it as it is into nats-server 2.15, and save it again there",
        )
    name = prepared.config.name
    names = await connection.js.stream_names()
    if name in names and not is_unfinished((await connection.js.stream_info(name))["config"]):
        raise CliError(
            f'Stream "{name}" exists already',
            f"{in_hint('stream rm')} it first, or restore under another --name"
            if single
            else "--skip-existing leaves the Streams that are there as they are",
        )
    for subject in prepared.config.subjects:
        for other in set(await connection.js.stream_names(subject)) - {name}:
            raise CliError(
                f"the Stream {other} listens to {subject} already",
                "give the restored Stream other subjects with --subjects: its messages keep theirs"
                if single
                else f"{in_hint(f'stream restore {prepared.folder.path} --subjects …')} gives it others",
            )


async def restore(connection: NatsConnection, prepared: Prepared, advance: Advance) -> None:
    """Send a stream to a server. Raises CliError, and DamagedError if a file changes meanwhile."""
    config, manifest = prepared.config, prepared.manifest
    wanted = config.to_json()
    marked = wanted if config.sealed else wanted | {"metadata": {**config.metadata, MARK: UNFINISHED}}
    request = {"config": marked, "state": manifest.state}
    try:
        if config.name in await connection.js.stream_names():  # `prepare` saw the mark
            await connection.js.request(f"STREAM.DELETE.{config.name}")
        answer = await _begun(connection, config.name, request)
        subject, timeout = answer["deliver_subject"], max(SECONDS, connection.timeout)
        for piece in _pieces(prepared):
            _accepted(await connection.nc.request(subject, piece, timeout=timeout))
            advance(len(piece))
        _accepted(await connection.nc.request(subject, b"", timeout=FINISH_SECONDS))
        if marked is not wanted:
            await connection.js.request(f"STREAM.UPDATE.{config.name}", wanted)
    except RemoteError as error:
        hint = "somebody else restores it" if UNDER_WAY in error.message else ""
        raise error.while_doing(f"could not restore Stream {config.name}", hint) from None


async def _begun(connection: NatsConnection, name: str, request: Info) -> Info:
    """Ask for a restore, and return the answer. Waits until a killed one has given the name up."""
    wait_left = OCCUPIED
    while True:
        try:
            return await connection.js.request(f"STREAM.RESTORE.{name}", request)
        except RemoteError as error:
            if UNDER_WAY not in error.message or wait_left <= 0:
                raise
        if wait_left == OCCUPIED:
            warn(
                f"a restore of {name} was begun and did not end: it gives the name up after 30 s without data"
            )
        wait_left -= AGAIN
        await asyncio.sleep(AGAIN)


def _pieces(prepared: Prepared) -> Iterator[bytes]:
    """Yield what the server is sent: the file as it is, or what all files have together."""
    folder = prepared.folder
    if not prepared.as_sent:
        yield from _framed(_joined(prepared))
        return
    for data in pieces(folder.named(folder.files(prepared.manifest)[0]), folder.key):
        for at in range(0, len(data), PIECE):
            yield data[at : at + PIECE]


def _joined(prepared: Prepared) -> Iterator[ArchiveEntry]:
    """Yield the entries of the archive that the files make together."""
    manifest, rename = prepared.manifest, prepared.rename
    head = prepared.folder.head(manifest)
    state = {
        key: value for key, value in manifest.state.items() if key not in ("deleted", "lost", "subjects")
    }
    yield ArchiveEntry(STATE, body=json.dumps(state | {"consumer_count": len(head)}).encode())
    for consumer in head:
        raised = _with_floor(consumer, int(manifest.state["first_seq"]))
        yield _with_filters(raised, rename) if rename else raised
    for entry in prepared.folder.messages(manifest):
        yield replace(entry, name=rename(entry.name)) if rename else entry
    yield END


def has_low_floors(folder: BackupFolder, manifest: BackupManifest) -> bool:
    """Return whether a consumer's ack floor is below the first message of the stream.

    nats-server 2.15 takes such a state for an old one and drops it without a word (`Update` of
    consumerFileStore in filestore.go): what was acknowledged would be delivered again.
    """
    if folder.is_tar(manifest):
        return False
    first = int(manifest.state["first_seq"])
    states = [json.loads(each.body)["state"] for each in folder.head(manifest)]
    return any(int(each["ack_floor"]["stream_seq"]) + 1 < first for each in states)


def _with_floor(consumer: ArchiveEntry, first: int) -> ArchiveEntry:
    """Return a consumer whose floors are not below the messages before the first one, which are gone."""
    document: Info = json.loads(consumer.body)
    state = document["state"]
    for name in ("delivered", "ack_floor"):
        state[name]["stream_seq"] = max(int(state[name]["stream_seq"]), first - 1)
    for name in ("pending", "redelivered"):
        if state.get(name):
            state[name] = {key: value for key, value in state[name].items() if int(key) >= first}
    return replace(consumer, body=json.dumps(document).encode())


def _with_filters(consumer: ArchiveEntry, rename: Rename) -> ArchiveEntry:
    """Return a consumer whose filters have the new subjects."""
    document: Info = json.loads(consumer.body)
    config = document["config"]
    if config.get("filter_subject"):
        config["filter_subject"] = rename(config["filter_subject"])
    if config.get("filter_subjects"):
        config["filter_subjects"] = [rename(each) for each in config["filter_subjects"]]
    return replace(consumer, body=json.dumps(document).encode())


def _framed(entries: Iterator[ArchiveEntry]) -> Iterator[bytes]:
    yield s2.begin()
    buffer = bytearray(MAGIC)
    for entry in entries:
        buffer += entry.encode()
        while len(buffer) >= s2.CHUNK:
            yield s2.snappy_chunk(bytes(buffer[: s2.CHUNK]))
            del buffer[: s2.CHUNK]
    if buffer:
        yield s2.snappy_chunk(bytes(buffer))


def _accepted(answer: object) -> None:
    """Raise RemoteError if the answer to a piece is an error."""
    data = getattr(answer, "data", b"")
    error = json.loads(data).get("error") if data else None
    if error:
        raise RemoteError(error.get("code", 0), error.get("err_code", 0), error.get("description", ""))
