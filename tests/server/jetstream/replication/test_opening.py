"""Reading: what a worker reads before a replica is opened is taken once, or let go of."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyjs.server.jetstream.replication.opening import StoreLoader
from pyjs.store.errors import StoreClosed
from pyjs.store.file import FileStream


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


def test_what_is_not_taken_is_let_go_of(tmp_path: Path) -> None:
    stores: list[FileStream] = []
    reading = StoreLoader(lambda: opened(tmp_path, stores))
    reading.read()
    reading.read()
    reading.let_go()
    reading.let_go()
    for store in stores:
        with pytest.raises(StoreClosed):
            store.append("a", b"", b"x", 1)


def test_what_went_wrong_is_told_to_who_takes_it(tmp_path: Path) -> None:
    def refuse() -> FileStream:
        raise OSError(5, "Input/output error")

    reading = StoreLoader(refuse)
    reading.read()
    with pytest.raises(OSError, match="Input/output"):
        reading.take()
