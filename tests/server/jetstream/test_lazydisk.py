"""A lazy disk: what is synced when."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyjs.server.jetstream.lazydisk import LazyDisk
from pyjs.store.fs import Disk


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of files at the times they were really synced."""
    sizes: list[int] = []
    real = Disk.sync

    def sync(self: Disk, file: int) -> None:
        sizes.append(self.size(file))
        real(self, file)

    monkeypatch.setattr(Disk, "sync", sync)
    return sizes


def message_file(tmp_path: Path) -> str:
    (tmp_path / "msgs").mkdir()
    return str(tmp_path / "msgs" / "1.blk")


def test_messages_are_synced_by_the_flush_and_not_before(tmp_path: Path, synced: list[int]) -> None:
    disk = LazyDisk()
    file = disk.open(message_file(tmp_path), create=True)
    disk.write(file, b"hello", 0)
    disk.sync(file)
    assert synced == []
    disk.flush()
    assert synced == [5]
    disk.flush()
    assert synced == [5]
    disk.close(file)
    assert synced == [5]


def test_a_file_that_closes_unsynced_is_synced_first(tmp_path: Path, synced: list[int]) -> None:
    disk = LazyDisk()
    file = disk.open(message_file(tmp_path), create=True)
    disk.write(file, b"hello", 0)
    disk.sync(file)
    disk.close(file)
    assert synced == [5]


def test_configurations_are_synced_at_once(tmp_path: Path, synced: list[int]) -> None:
    disk = LazyDisk()
    file = disk.open(str(tmp_path / "meta.json"), create=True)
    disk.write(file, b"{}", 0)
    disk.sync(file)
    assert synced == [2]
    disk.close(file)
