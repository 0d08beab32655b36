"""Opening a replica: a store that a worker has read is used once, and a damaged one is set aside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyjs.protocol.api.stream import StreamConfig
from pyjs.server.jetstream.replication.opening import ReplicaOpener, StoreLoader
from pyjs.server.jetstream.replication.state import ReplicaStateError
from pyjs.store.errors import StoreClosed
from pyjs.store.file import FileStream
from pyjs.store.identity import ForeignFilesError
from pyjs.store.memory import MemoryStream


def opened(path: Path, count: list[FileStream]) -> FileStream:
    count.append(FileStream(str(path)))
    return count[-1]


def test_what_was_read_is_taken_once(tmp_path: Path) -> None:
    stores: list[FileStream] = []
    reading = StoreLoader(lambda: opened(tmp_path, stores))
    reading.read()
    assert reading.take() is stores[0] and len(stores) == 1
    assert reading.take() is stores[1], "what lies there now"
    stores[0].append("a", b"", b"x", 1)


def test_what_is_not_taken_is_dropped(tmp_path: Path) -> None:
    stores: list[FileStream] = []
    reading = StoreLoader(lambda: opened(tmp_path, stores))
    reading.read()
    reading.read()
    reading.discard()
    reading.discard()
    for store in stores:
        with pytest.raises(StoreClosed):
            store.append("a", b"", b"x", 1)


def test_a_failure_is_reported_to_the_receiver(tmp_path: Path) -> None:
    def refuse() -> FileStream:
        raise OSError(5, "Input/output error")

    reading = StoreLoader(refuse)
    reading.read()
    with pytest.raises(OSError, match="Input/output"):
        reading.take()


class Files:
    """`ReplicaFiles` of a stream in a directory of the test; what is done to them is noted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done: list[str] = []
        self.foreign = False
        self.stores: list[FileStream] = []

    def claim(self, group: str) -> None:
        self.done.append(f"claim {group}")

    def write(self, config: StreamConfig, created: int) -> None:
        self.done.append(f"write {config.name} {created}")

    def open_store(self, damaged: Callable[[str], None]) -> FileStream:
        if self.foreign:
            raise ForeignFilesError("it is of another stream")
        self.stores.append(FileStream(str(self.path), on_damage=lambda _, where: damaged(where)))
        return self.stores[-1]

    def log_repairs(self, store: FileStream) -> None:
        self.done.append("tell")

    def set_aside(self) -> str:
        self.done.append("set aside")
        self.foreign = False
        self.path = self.path.with_name("new")
        return "/kept"

    def remove_set_aside(self) -> None:
        self.done.append("let go")


def opener(files: Files, reported: list[str], make: Callable[..., Any], **rest: Any) -> ReplicaOpener:
    return ReplicaOpener(files, "G", make, reported.append, reported.append, **rest)


def over(config: StreamConfig, store: Any) -> Any:
    """In the place of a replica: its store."""
    del config
    return store


def made(opening: ReplicaOpener) -> object:
    """What `make` returned: here a store instead of a replica."""
    return opening.open(FILE, 7)


FILE = StreamConfig.from_json({"name": "S", "storage": "file"})
MEMORY = StreamConfig.from_json({"name": "S", "storage": "memory"})


def test_a_replica_is_opened_over_what_was_read(tmp_path: Path) -> None:
    files = Files(tmp_path / "msgs")
    reported: list[str] = []
    opening = opener(files, reported, over)
    opening.read()
    assert made(opening) is files.stores[0]
    assert files.done == ["claim G", "write S 7", "tell"]
    assert (len(files.stores), reported, opening.damage) == (1, [], "")


def test_a_stream_in_memory_has_no_document(tmp_path: Path) -> None:
    files = Files(tmp_path / "msgs")
    opening = opener(files, [], over)
    assert isinstance(opening.open(MEMORY, 7), MemoryStream)
    assert files.done == ["claim G"]


def test_a_store_that_was_handed_over_is_used_once(tmp_path: Path) -> None:
    files = Files(tmp_path / "msgs")
    reported: list[str] = []
    handed = FileStream(str(tmp_path / "handed"))
    opening = opener(files, reported, over, store=handed)
    opening.read()
    assert not files.stores, "what lies on the disk is not asked for"
    assert made(opening) is handed
    assert handed.on_damage is not None
    handed.on_damage(1, "block 1")
    assert reported == ["block 1"]
    assert made(opening) is files.stores[0]


@pytest.mark.parametrize("foreign", [True, False])
def test_what_cannot_be_trusted_is_set_aside(tmp_path: Path, foreign: bool) -> None:
    files = Files(tmp_path / "msgs")
    reported: list[str] = []
    files.foreign = foreign
    refusals = [] if foreign else [ReplicaStateError("it is of another group")]

    def make(config: StreamConfig, store: Any) -> Any:
        if refusals:
            raise refusals.pop()
        return store

    opening = opener(files, reported, make)
    assert made(opening) is files.stores[-1]
    assert files.stores[-1].messages == 0
    assert files.done[-1] == "set aside"
    assert opening.damage and not opening.due
    assert [line.split(":")[0] for line in reported] == [
        "is damaged here and will be fetched from the other servers",
        "is started again here; what was damaged is kept in /kept",
    ]
    if not foreign:
        with pytest.raises(StoreClosed):
            files.stores[0].append("a", b"", b"x", 1)


def test_damage_that_was_marked_is_set_aside_by_the_next_replica(tmp_path: Path) -> None:
    files = Files(tmp_path / "msgs")
    reported: list[str] = []
    opening = opener(files, reported, over)
    opening.open(FILE, 7)
    opening.mark_damaged("a message is damaged")
    opening.read()
    assert len(files.stores) == 1, "what is to be set aside is not read"
    opening.open(FILE, 7)
    assert files.done.count("set aside") == 1
    opening.open(FILE, 7)
    assert files.done.count("set aside") == 1
    assert opening.damage == "a message is damaged"
    opening.filled("file")
    assert (opening.damage, files.done[-1]) == ("", "let go")
