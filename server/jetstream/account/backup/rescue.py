"""Rescue: a backup of what can still be read of a stream in the directories of several servers.

It is for a stream of which no server has a complete copy.

Promises:
- The directories are only read, so that a rescue can be repeated with more of them.
- Each message is the one that was stored under its sequence, as every record has a checksum.
- A message that one copy lost is taken from another one.
- A message that some copy knows to be removed stays removed.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .....protocol import s2
from .....protocol.api.stream import StreamConfig, StreamState
from .....protocol.archive.entries import END, MAGIC, encode
from .....protocol.lazy_dataclass import dataclass
from .....protocol.timestamp import parse_rfc3339
from .....store.configs import Storage
from .....store.errors import StoreError
from .....store.extents.unlocking import opened
from .....store.file import FileStream
from .....store.fs import Disk, FileSystem
from .....store.identity import ForeignFilesError, Identity
from .content import state_entry

if TYPE_CHECKING:
    from .....store.message import StoredMessage
    from .....store.stream import StreamStore

_CERTAIN = 1024  # a copy that lost this many messages may have lost more than it knows of


class RescueError(Exception):
    """No messages of the stream can be read, or its configuration cannot."""


@dataclass(slots=True)
class RescueResult:
    """The result of a rescue.

    config: the stream's configuration.
    state: the state of the rescued stream.
    copies: the number of messages in each folder that was read.
    lost: the sequences of which no copy has the message intact.
    """

    config: StreamConfig
    state: StreamState
    copies: dict[str, int] = field(default_factory=dict)
    lost: list[int] = field(default_factory=list)


def rescue(
    stores: Sequence[str], account: str, stream: str, data: Path, keys: Sequence[str] = ()
) -> RescueResult:
    """Write the archive `data` from the `store_dir`s of servers. Raises RescueError and OSError.

    While it works, it needs space beside `data` for one more copy of each of the stream's folders.

    keys: those of the servers that encrypt, in any order.
    """
    try:
        return _rescue(stores, account, stream, data, keys)
    except StoreError as error:
        raise RescueError(str(error)) from error


def _rescue(
    stores: Sequence[str], account: str, stream: str, data: Path, keys: Sequence[str]
) -> RescueResult:
    documents, folders = _found(stores, account, stream, keys)
    newest = max(documents, key=lambda document: parse_rfc3339(document["created"]))
    config = StreamConfig.from_json(newest["config"])
    with tempfile.TemporaryDirectory(prefix="rescue-", dir=data.parent) as room:
        copies: dict[str, StreamStore] = {}
        for number, (folder, found) in enumerate(folders.items()):
            copy = f"{room}/{number}"
            shutil.copytree(folder, copy)
            with suppress(ForeignFilesError):  # a folder of another stream
                copies[folder] = FileStream(copy, fs=found.disk, identity=found.identity)
        if not copies:
            raise RescueError(f"what lies there as stream {stream!r} belongs to other streams")
        try:
            return _write(config, copies, data, Path(room) / "messages")
        finally:
            for store in copies.values():
                store.abandon()


class _Folder(NamedTuple):
    """A folder of messages: the identity expected in it, and the disk that reads it."""

    identity: Identity
    disk: FileSystem


def _found(
    stores: Sequence[str], account: str, stream: str, keys: Sequence[str]
) -> tuple[list[dict[str, Any]], dict[str, _Folder]]:
    """Return the stream's documents, and its folders of messages."""
    documents: list[dict[str, Any]] = []
    folders: dict[str, _Folder] = {}
    for store_dir in stores:
        disk = opened(Disk(), store_dir, keys)
        storage = Storage(store_dir, fs=disk)
        directory = storage.account(account)
        stored = directory.read_stream(stream)
        if stored is not None and stored.document is not None:
            documents.append(stored.document)
        folder = _Folder(directory.identity(stream), disk)
        folders |= dict.fromkeys(directory.copies(stream), folder)
        storage.close()
    if not folders:
        raise RescueError(f"no messages of stream {stream!r} of account {account!r} are there")
    if not documents:
        raise RescueError(f"the configuration of stream {stream!r} cannot be read in any of the directories")
    return documents, folders


def _write(config: StreamConfig, copies: dict[str, StreamStore], data: Path, body: Path) -> RescueResult:
    found = RescueResult(config, StreamState(), {folder: store.messages for folder, store in copies.items()})
    state, stores = found.state, list(copies.values())
    state.first_seq = min((store.first_seq for store in stores if store.last_seq), default=1)
    state.last_seq = max(store.last_seq for store in stores)
    subjects: set[str] = set()
    with body.open("wb") as out:
        pending = bytearray()
        for message in _messages(stores, state, found.lost):
            state.messages += 1
            state.bytes += stores[0].size_of(message.subject, len(message.header), len(message.body))
            state.first_ts, state.last_ts = state.first_ts or message.time, message.time
            subjects.add(message.subject)
            pending += encode(message.subject, message.time, message.seq, message.header, message.body)
            while len(pending) >= s2.CHUNK:
                out.write(s2.snappy_chunk(bytes(pending[: s2.CHUNK])))
                del pending[: s2.CHUNK]
        pending += END.encode()
        for at in range(0, len(pending), s2.CHUNK):
            out.write(s2.snappy_chunk(bytes(pending[at : at + s2.CHUNK])))
    state.num_subjects = len(subjects)
    with data.open("wb") as out, body.open("rb") as made:
        out.write(s2.begin() + s2.snappy_chunk(MAGIC + state_entry(state, state.last_ts).encode()))
        shutil.copyfileobj(made, out)
    return found


def _messages(stores: list[StreamStore], state: StreamState, lost: list[int]) -> Iterator[StoredMessage]:
    """Yield each message that some copy has intact, in order; add the sequences of the others to `lost`."""
    missed = {sequence for store in stores for sequence in store.damaged()}
    gone = [(store, set(store.damaged())) for store in stores if len(store.damaged()) < _CERTAIN]
    sequence = state.first_seq
    while True:
        nexts = [(found, store) for store in stores if (found := store.next_seq((), sequence))]
        near = min((found for found, _ in nexts), default=state.last_seq + 1)
        lost += sorted(seq for seq in missed if sequence <= seq < near and not _is_removed(seq, gone))
        if not nexts:
            return
        message = _whole(near, [store for found, store in nexts if found == near])
        if message is None:
            lost.append(near)
        elif not _is_removed(near, gone):
            yield message
        sequence = near + 1


def _is_removed(sequence: int, stores: list[tuple[StreamStore, set[int]]]) -> bool:
    """Return whether some copy knows that this message was removed."""
    return any(
        sequence <= store.last_seq and sequence not in lost and store.next_seq((), sequence) != sequence
        for store, lost in stores
    )


def _whole(sequence: int, stores: list[StreamStore]) -> StoredMessage | None:
    for store in stores:
        try:
            return store.get(sequence)
        except StoreError:
            continue
    return None


def document(found: RescueResult) -> str:
    """Return the JSON document to write beside the archive, as `stream backup` does.

    Interest retention becomes limits retention, as the stream has no consumers and would keep no messages.
    """
    config = found.config.to_json()
    if config.get("retention") == "interest":
        config["retention"] = "limits"
    return json.dumps({"config": config, "state": found.state.to_json()}, indent=2)
