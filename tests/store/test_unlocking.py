"""A store becomes encrypted, gets another key, or is refused: at every crash, and with every wrong key."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import pytest
from lib.fake_disk import Choose, FakeDisk, PowerCut
from pyjs.store.extents.disk import ExtentDisk
from pyjs.store.extents.keys import StoreKeys
from pyjs.store.extents.unlocking import Unlocking, WrongKeyError
from pyjs.store.fs import read_file, write_file

FILES = {
    "/s/jetstream/A/streams/S/meta.json": b"a secret configuration\n",
    "/s/jetstream/A/streams/S/msgs/0000000001-0.blk": b"a secret message " * 3000,
    "/s/cluster/group/log.1": b"a secret entry " * 50,
    "/s/cluster/group/empty": b"",
}
Unlock = Callable[[FakeDisk], object]


class WalkedDisk(FakeDisk):
    """A disk that tells folders from files, as the real one does."""

    def names(self, path: str) -> list[str]:
        if path in self.seen:
            raise NotADirectoryError(path)
        return super().names(path)


def plain() -> FakeDisk:
    disk = WalkedDisk()
    for path, content in FILES.items():
        disk.make_directory(path.rpartition("/")[0])
        write_file(disk, path, content)
    return disk


def unlock(disk: FakeDisk, key: str, previous: str = "", lines: list[str] | None = None) -> ExtentDisk:
    keys = StoreKeys(key, "chacha", previous)
    lines = [] if lines is None else lines
    Unlocking(disk, "/s", keys, lines.append, lines.append).run()
    return ExtentDisk(disk, keys)


def bytes_of(disk: FakeDisk) -> dict[str, bytes]:
    return {path: bytes(inode.seen) for path, inode in disk.seen.items()}


def contents(disk: ExtentDisk) -> dict[str, bytes]:
    return {path: read_file(disk, path) for path in FILES}


def test_what_was_in_the_clear_is_encrypted_and_read_with_the_key() -> None:
    disk = plain()
    lines: list[str] = []
    assert contents(unlock(disk, "k", lines=lines)) == FILES
    assert lines == ["Encrypting /s, which may take long", "Encrypted 3 files in /s"]
    assert not [path for path, data in bytes_of(disk).items() if b"secret" in data]
    before = bytes_of(disk)
    assert contents(unlock(disk, "k")) == FILES
    assert bytes_of(disk) == before


def test_what_was_compressed_is_encrypted_with_its_content() -> None:
    disk = plain()
    path = "/s/jetstream/A/streams/S/msgs/0000000001-0.blk"
    write_file(ExtentDisk(disk, None).packing(compress=True), path, FILES[path])
    assert len(disk.seen[path].seen) < len(FILES[path]) / 2
    assert contents(unlock(disk, "k")) == FILES


@pytest.mark.parametrize("keys", [("wrong", ""), ("wrong", "as wrong")])
def test_a_wrong_key_is_told_and_changes_nothing(keys: tuple[str, str]) -> None:
    disk = plain()
    unlock(disk, "k")
    for marked in (True, False):
        if not marked:
            disk.remove("/s/encryption")
            disk.remove("/s/encryption.copy")
        before = bytes_of(disk)
        with pytest.raises(WrongKeyError, match="another key"):
            unlock(disk, *keys)
        assert bytes_of(disk) == before
    assert contents(unlock(disk, "k")) == FILES


def test_another_key_replaces_the_former_one() -> None:
    disk = plain()
    lines: list[str] = []
    unlock(disk, "old")
    messages = bytes_of(disk)["/s/jetstream/A/streams/S/msgs/0000000001-0.blk"]
    assert contents(unlock(disk, "new", "old", lines)) == FILES
    assert lines == ["3 files in /s now have the new key"]
    assert bytes_of(disk)["/s/jetstream/A/streams/S/msgs/0000000001-0.blk"][160:] == messages[160:]
    assert contents(unlock(disk, "new")) == FILES
    with pytest.raises(WrongKeyError):
        unlock(disk, "old")


@pytest.mark.parametrize("change", ["encrypt", "exchange"])
def test_a_power_cut_at_every_operation_leaves_what_the_next_start_completes(change: str) -> None:
    start = plain()
    if change == "exchange":
        unlock(start, "old")
    keys = ("new", "old") if change == "exchange" else ("new", "")
    survivors: tuple[Choose, Choose] = (lambda most: 0, lambda most: most)
    for survive in (0, 1):
        for operation in range(10_000):
            disk = deepcopy(start)
            disk.cut_after(operation)
            try:
                unlock(disk, *keys)
                break
            except PowerCut:
                disk.crash(survivors[survive])
            before = bytes_of(disk)
            if operation % 5 == 0:
                try:
                    unlock(deepcopy(disk), "wrong")
                    wrong = False
                except WrongKeyError:
                    wrong = True
                assert wrong or not any(data.startswith(b"pyjsext1") for data in before.values())
            assert contents(unlock(disk, *keys)) == FILES
            assert contents(unlock(disk, "new")) == FILES
        assert operation > 20
        disk.kill()
        assert contents(unlock(disk, "new")) == FILES


def test_the_mark_is_rewritten_where_it_can_be_and_a_plain_file_beside_encrypted_ones_is_refused() -> None:
    disk = plain()
    lines: list[str] = []
    unlock(disk, "k")
    disk.flip("/s/encryption", 40)
    unlock(disk, "k", lines=lines)
    assert ["rewritten" in line for line in lines] == [True]
    for name in ("/s/encryption", "/s/encryption.copy"):
        disk.remove(name)
    assert contents(unlock(disk, "k", lines=lines)) == FILES
    assert "is missing, and is rewritten" in lines[-1]
    for name in ("/s/encryption", "/s/encryption.copy"):
        disk.remove(name)
    write_file(disk, "/s/jetstream/A/streams/S/forged", b"in the clear")
    before = bytes_of(disk)
    with pytest.raises(WrongKeyError, match="forged is not encrypted, as others are"):
        unlock(disk, "k")
    assert bytes_of(disk) == before
