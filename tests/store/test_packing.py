"""Compressed blocks: less room, the same content, whatever happens while one is written again."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from lib.examples import seeds
from lib.fake_disk import FakeDisk, PowerCut
from lib.sealed_disk import KEYS, SealedFakeDisk
from pyjs.store.file import FileStream

DIRECTORY = "/s/msgs"
SIZE = 20_000


@pytest.fixture(params=["in the clear", "encrypted"])
def disk(request: pytest.FixtureRequest) -> SealedFakeDisk:
    return SealedFakeDisk(keys=KEYS if request.param == "encrypted" else None)


def opened(disk: SealedFakeDisk, *, compress: bool = True) -> FileStream:
    stream = FileStream(DIRECTORY, fs=disk, block_size=SIZE)
    stream.compress(compress)
    return stream


def body(seq: int) -> bytes:
    return b"message %d of many that are alike, " % seq * 8


def fill(stream: FileStream, count: int) -> None:
    for _ in range(count):
        stream.append("a", b"", body(stream.last_seq + 1), 1)
        stream.commit_sync()


def maintain(stream: FileStream, meanwhile: Callable[[], object] = lambda: None) -> int:
    """Do all the work there is. Return how many pieces."""
    pieces = 0
    while (work := stream.begin_maintenance()) is not None:
        meanwhile()
        work.run()
        stream.finish(work)
        pieces += 1
    return pieces


def check(stream: FileStream, gone: frozenset[int] = frozenset()) -> None:
    """Everything is there, and nothing that was removed."""
    assert (stream.faults, stream.damaged()) == ([], [])
    there, seq = {}, 1
    while (message := stream.next((), seq)) is not None:
        there[message.seq], seq = message.body, message.seq + 1
    assert there == {seq: body(seq) for seq in range(1, stream.last_seq + 1) if seq not in gone}


def stored(disk: SealedFakeDisk) -> int:
    return sum(len(inode.seen) for path, inode in disk.seen.items() if path.endswith(".blk"))


def test_full_blocks_take_less_room_and_are_read_as_before(disk: SealedFakeDisk) -> None:
    stream = opened(disk)
    fill(stream, 300)
    before = stored(disk)
    assert maintain(stream) > 0
    assert stored(disk) < before / 2
    assert maintain(stream) == 0
    check(stream)
    stream.close()
    check(opened(disk))
    disk.kill()
    again = opened(disk)
    check(again)
    maintain(again)  # which only looks at them
    assert stored(disk) < before / 2
    fill(again, 100)
    check(again)


def test_it_can_be_switched_on_and_off(disk: SealedFakeDisk) -> None:
    stream = opened(disk, compress=False)
    fill(stream, 150)
    plain = stored(disk)
    maintain(stream)
    assert stored(disk) > plain / 2
    stream.compress(True)
    stream.close()
    stream = opened(disk)
    maintain(stream)
    packed = stored(disk)
    assert packed < plain / 2
    stream.close()
    stream = opened(disk, compress=False)
    maintain(stream)
    fill(stream, 150)
    assert stored(disk) > packed + plain / 3
    check(stream)


def test_blocks_that_are_rewritten_without_removed_messages_are_compressed(disk: SealedFakeDisk) -> None:
    stream = opened(disk)
    fill(stream, 300)
    gone = frozenset(range(1, 300)) - frozenset(range(1, 300, 3))
    for seq in gone:
        stream.remove(seq)
    stream.commit_sync()
    maintain(stream)
    assert stored(disk) < 40_000
    check(stream, gone)


def test_without_compression_blocks_of_many_commits_are_written_in_larger_pieces_if_encrypted() -> None:
    disk = SealedFakeDisk()
    stream = opened(disk, compress=False)
    fill(stream, 300)
    before = stored(disk)
    assert maintain(stream) > 0
    assert stored(disk) < before * 0.9
    check(stream)
    plain = SealedFakeDisk(keys=None)
    stream = opened(plain, compress=False)
    fill(stream, 300)
    assert maintain(stream) == 0


def test_a_message_that_is_erased_meanwhile_stays_erased(disk: SealedFakeDisk) -> None:
    stream = opened(disk)
    fill(stream, 200)

    def erase(seq: int) -> None:
        stream.remove(seq, erase=True)
        stream.commit_sync()

    work = stream.begin_maintenance()
    assert work is not None
    erase(3)  # before it is copied: that work is given up
    work.run()
    stream.finish(work)
    work = stream.begin_maintenance()
    assert work is not None
    work.run()
    erase(5)  # in the old file, which is none any more
    stream.finish(work)
    stream.commit_sync()
    maintain(stream)
    check(stream, frozenset({3, 5}))
    for path in [path for path in disk.seen if path.endswith(".blk")]:
        file = disk.open(path)
        content = disk.read(file, 1 << 20, 0)
        disk.close(file)
        assert body(3) not in content
        assert body(5) not in content
    disk.kill()
    check(opened(disk), frozenset({3, 5}))


def test_what_erased_messages_leave_in_compressed_blocks_is_cleared_away(disk: SealedFakeDisk) -> None:
    stream = opened(disk)
    fill(stream, 300)
    maintain(stream)
    before = stored(disk)
    gone = frozenset(range(2, 240, 4))
    for seq in gone:
        stream.remove(seq, erase=True)
        stream.commit_sync()
    maintain(stream)
    full = sorted(path for path in disk.seen if path.endswith(".blk"))[:-1]
    assert sum(len(disk.seen[path].seen) for path in full) < before * 1.5
    check(stream, gone)


def test_a_damaged_message_stays_damaged(disk: SealedFakeDisk) -> None:
    stream = opened(disk)
    fill(stream, 200)
    stream.close()
    block = min(path for path in disk.seen if path.endswith(".blk"))
    disk.flip(block, 4000)
    stream = opened(disk)
    maintain(stream)
    stream.verify(limit=1 << 20)
    lost = stream.damaged()
    assert lost
    stream.close()
    disk.remove(block.replace(".blk", ".idx"))
    again = opened(disk)
    again.verify(limit=1 << 20)
    assert again.damaged() == lost


@seeds(15)
def test_a_power_cut_loses_nothing(disk: SealedFakeDisk, seed: int) -> None:
    random = Random(seed)
    stream = opened(disk)
    fill(stream, 150)
    disk.cut_after(random.randrange(25))
    with pytest.raises(PowerCut):
        maintain(stream)
        disk.cut_after(0)
        stream.commit_sync()
        fill(stream, 1)
    disk.crash(lambda most: random.randint(0, most), lose_sectors=True)
    again = opened(disk)
    check(again)
    assert again.last_seq >= 150
    maintain(again)
    check(again)


@pytest.mark.parametrize("operation", ["open", "write", "sync", "rename", "sync_directory"])
def test_a_disk_error_leaves_the_old_file(disk: SealedFakeDisk, operation: str) -> None:
    stream = opened(disk)
    fill(stream, 150)
    work = stream.begin_maintenance()
    assert work is not None
    disk.fail(operation)
    work.run()
    stream.finish(work)
    check(stream)
    disk.kill()
    check(opened(disk))
    assert isinstance(disk.fake, FakeDisk)
