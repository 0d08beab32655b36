"""A lazy disk: what is synced and when."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nats
import pytest
from lib.fake_clock import FakeClock
from pyjs.server.app import Server
from pyjs.server.jetstream.lazydisk import LazyDisk, PeriodicSync
from pyjs.server.logging import NullLogger
from pyjs.store.configs import Storage
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


def test_what_cannot_be_synced_is_told_after_the_others_and_due_again(
    tmp_path: Path, synced: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = LazyDisk()
    bad = disk.open(message_file(tmp_path), create=True)
    good = disk.open(str(tmp_path / "msgs" / "2.blk"), create=True)
    for file, data in ((bad, b"x"), (good, b"hello")):
        disk.write(file, data, 0)
        disk.sync(file)
    real = Disk.sync

    def refused(self: Disk, file: int) -> None:
        if self.size(file) == 1:
            raise OSError("the disk is gone")
        real(self, file)

    open_files = len(list(Path("/dev/fd").iterdir()))
    with monkeypatch.context() as patch:
        patch.setattr(Disk, "sync", refused)
        for _ in range(2):
            with pytest.raises(OSError, match="the disk is gone"):
                disk.flush()
    assert (synced, len(list(Path("/dev/fd").iterdir()))) == ([5], open_files)
    disk.flush()
    assert synced == [5, 1]
    disk.close(bad)
    disk.close(good)


@pytest.mark.parametrize("replicated", [True, False])
def test_only_a_stream_without_a_log_of_its_own_is_synced_later(
    tmp_path: Path, synced: list[int], replicated: bool
) -> None:
    """A replica compacts its log up to what its stream has committed: that must be on the disk."""
    disk = LazyDisk()
    storage = Storage(str(tmp_path), fs=disk)
    stream = storage.account("A").open_stream("S", cut_to_last_commit=replicated)
    for time in (1, 2):  # the first commit makes the file, which is synced in any case
        synced.clear()
        stream.append("s", b"", b"hello", time)
        stream.commit_sync()
    assert bool(synced) == replicated
    stream.close()
    storage.close()
    assert synced


def test_a_disk_is_synced_after_each_interval_until_it_is_stopped(tmp_path: Path, synced: list[int]) -> None:
    disk, clock = LazyDisk(), FakeClock()
    file = disk.open(message_file(tmp_path), create=True)
    with ThreadPoolExecutor(1) as executor:
        sync = PeriodicSync(disk, 100, clock, executor, NullLogger())
        for size in (1, 2):
            disk.write(file, b"xy"[:size], 0)
            disk.sync(file)
            clock.advance(100)
            executor.submit(lambda: None).result()  # the one thread has synced by then
        sync.stop()
        disk.write(file, b"xyz", 0)
        disk.sync(file)
        clock.advance(1000)
    assert synced == [1, 2]
    disk.close(file)


def test_a_stream_with_async_persistence_is_acknowledged_before_its_sync(
    tmp_path: Path, synced: list[int]
) -> None:
    asyncio.run(_acknowledged_before_its_sync(tmp_path, synced))


async def _acknowledged_before_its_sync(tmp_path: Path, synced: list[int]) -> None:
    async with Server(store_dir=tmp_path) as server:
        client = await nats.connect(server.url)

        async def call(subject: str, body: Any) -> dict[str, Any]:
            text = body if isinstance(body, bytes) else json.dumps(body).encode()
            return dict(json.loads((await client.request(subject, text, timeout=10)).data))

        for name, mode in (("LAZY", "async"), ("EAGER", "default")):
            wanted = {"name": name, "subjects": [name], "persist_mode": mode}
            assert "error" not in await call(f"$JS.API.STREAM.CREATE.{name}", wanted)
        assert (await call("LAZY", b"x"))["seq"] == 1  # its files are made
        synced.clear()
        for number in range(2, 20):
            assert (await call("LAZY", b"x"))["seq"] == number
        assert synced == []
        await call("EAGER", b"x")
        assert synced != []
        await client.close()
    async with Server(store_dir=tmp_path) as server:  # what was written is synced when a server stops
        client = await nats.connect(server.url)
        assert (await call("LAZY", b"x"))["seq"] == 20
        await client.close()
