"""Zeros written ahead of a block's end: when there are some, and that they are neither data nor damage."""

from __future__ import annotations

import errno
from copy import deepcopy
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.fake_disk import SECTOR, FakeDisk
from lib.sealed_disk import disk_of
from pyjs.store.errors import Damaged
from pyjs.store.file import FileStream
from pyjs.store.file.block import AHEAD

DIRECTORY = "/s/msgs"
MANY = 40  # commits of one message, after which there are zeros


def opened(disk: FakeDisk, block_size: int = 1 << 20, *, to_commit: bool = False) -> FileStream:
    return FileStream(DIRECTORY, fs=disk, block_size=block_size, cut_to_last_commit=to_commit)


def fill(stream: FileStream, count: int, size: int = 40, *, together: int = 1) -> None:
    """Commit `count` times, each time so many messages; each body says its sequence."""
    for _ in range(count):
        for _ in range(together):
            seq = stream.last_seq + 1
            stream.append("a", b"", b"%06d" % seq + b"x" * size, seq)
        stream.commit_sync()


def blocks(disk: FakeDisk) -> list[bytearray]:
    return [disk.seen[path].seen for path in sorted(disk.seen) if path.endswith(".blk")]


def end_of(disk: FakeDisk) -> int:
    """Return where the records of the only block end: as long as the file is, once it was opened again."""
    opened(copy := deepcopy(disk))
    return len(blocks(copy)[0])


def has_zeros(content: bytearray) -> bool:
    return content.endswith(bytes(AHEAD // 4))


def bodies(stream: FileStream) -> list[int]:
    """Return the sequences that are served; their bodies must be right."""
    served = []
    for seq in range(1, stream.last_seq + 1):
        try:
            body = stream.get(seq).body
        except Damaged:
            continue
        assert body.startswith(b"%06d" % seq)
        served.append(seq)
    return served


def test_a_run_of_single_commits_gets_them_and_a_few_or_large_ones_do_not() -> None:
    disk = FakeDisk()
    stream = opened(disk)
    fill(stream, 10)
    assert not has_zeros(blocks(disk)[0])
    fill(stream, MANY)
    assert has_zeros(blocks(disk)[0])
    size = len(blocks(disk)[0])
    fill(stream, 3)
    assert len(blocks(disk)[0]) == size
    fill(stream, 1, together=1000)
    fill(stream, 10)
    assert not has_zeros(blocks(disk)[0])


def test_they_are_cut_off_when_the_block_is_sealed_and_when_the_stream_closes() -> None:
    disk = FakeDisk()
    stream = opened(disk, 5000)
    fill(stream, 3 * MANY)
    assert len(blocks(disk)) > 1
    assert [has_zeros(block) for block in blocks(disk)[:-1]] == [False] * (len(blocks(disk)) - 1)
    assert has_zeros(blocks(disk)[-1])
    stream.close()
    assert not any(map(has_zeros, blocks(disk)))
    again = opened(disk, 5000)
    assert (again.faults, again.repaired, len(bodies(again))) == ([], [], 3 * MANY)


def test_where_there_is_no_room_for_them_the_messages_are_stored() -> None:
    disk = FakeDisk()
    stream = opened(disk)
    disk.space = 12_000
    fill(stream, MANY)
    assert stream.last_seq == MANY
    disk.fail("write", errno.EIO)
    with pytest.raises(OSError):
        fill(stream, 1)


def test_after_a_kill_they_are_neither_data_nor_damage() -> None:
    disk = FakeDisk()
    fill(opened(disk), MANY)
    disk.kill()
    again = opened(disk)
    assert (again.faults, again.repaired, bodies(again)) == ([], [], list(range(1, MANY + 1)))
    assert not has_zeros(blocks(disk)[0])
    fill(again, MANY)
    disk.kill()
    assert bodies(opened(disk)) == list(range(1, 2 * MANY + 1))


@pytest.mark.parametrize("to_commit", [False, True])
@given(data=st.data())
def test_no_power_cut_touches_what_was_acknowledged_or_reports_damage(
    data: st.DataObject, to_commit: bool
) -> None:
    disk = disk_of(data.draw(st.integers(0, 1)))
    stream = opened(disk, data.draw(st.sampled_from([5000, 1 << 20])))
    fill(stream, MANY + data.draw(st.integers(0, 30)), data.draw(st.sampled_from([10, 300, 1300])))
    acknowledged = stream.last_seq
    for _ in range(data.draw(st.integers(1, 4))):
        seq = stream.last_seq + 1
        stream.append("a", b"", b"%06d" % seq + bytes([data.draw(st.sampled_from([0, 90]))]) * 700, seq)
    commit = stream.begin_commit()
    assert commit is not None
    disk.fail(data.draw(st.sampled_from(["sync", "truncate"])))
    try:
        commit.run()
    except OSError:
        stream.finish(commit)
    disk.crash(lambda most: data.draw(st.integers(0, most)), lose_sectors=True)
    again = opened(disk, to_commit=to_commit)
    assert (again.faults, again.damaged()) == ([], [])
    served = bodies(again)
    assert served[:acknowledged] == list(range(1, acknowledged + 1))
    assert served == list(range(1, again.last_seq + 1))
    fill(again, 2)
    disk.kill()
    assert bodies(opened(disk)) == list(range(1, again.last_seq + 1))


def test_a_block_that_is_cut_anywhere_has_lost_what_is_missing_and_no_zeros() -> None:
    whole = FakeDisk()
    fill(opened(whole), MANY)
    content = bytes(blocks(whole)[0])
    end = end_of(whole)
    ends = [0, *(content.index(b"%06d" % seq) + 46 for seq in range(1, MANY + 1))]
    whole.kill()
    for size in [*range(ends[-4], end + 2), end + 511, end + 512, len(content) - 1]:
        disk = deepcopy(whole)
        del blocks(disk)[0][size:]
        again = opened(disk)
        lost = {seq for seq in range(1, MANY + 1) if ends[seq] > size}
        assert set(again.damaged()) == lost, size
        assert bool(again.faults or again.repaired) == (size < end), size
        assert bodies(again) == [seq for seq in range(1, MANY + 1) if seq not in lost]


def test_behind_a_sealed_block_they_are_cut_off_without_a_word() -> None:
    disk = FakeDisk()
    fill(opened(disk, 5000), 2 * MANY)
    disk.kill()
    size = len(blocks(disk)[0])
    blocks(disk)[0].extend(bytes(AHEAD))
    again = opened(disk, 5000)
    assert (again.faults, again.damaged(), len(blocks(disk)[0])) == ([], [], size)
    assert bodies(again) == list(range(1, 2 * MANY + 1))


def test_bits_that_flip_among_them_are_no_data() -> None:
    disk = FakeDisk()
    fill(opened(disk), MANY)
    disk.kill()
    path = next(path for path in disk.seen if path.endswith(".blk"))
    end = end_of(disk)
    for place in (end, end + 1, end + 40, end + SECTOR, len(blocks(disk)[0]) - 1):
        disk.flip(path, place)
    again = opened(disk)
    assert (again.faults, again.damaged(), bodies(again)) == ([], [], list(range(1, MANY + 1)))
    assert len(blocks(disk)[0]) == end


def test_zeros_before_data_are_damage() -> None:
    """Also in the last commit, which the manifest knows to be synced, and in an earlier one without it."""
    for back, manifest in ((0, True), (1, True), (3, True), (3, False)):
        disk = FakeDisk()
        stream = opened(disk)
        fill(stream, MANY)
        fill(stream, 5, 1500)
        disk.kill()
        content = blocks(disk)[0]
        seq = MANY + 5 - back
        start = content.index(b"%06d" % seq)
        first = -(-start // SECTOR) * SECTOR
        content[first : first + SECTOR] = bytes(SECTOR)
        if not manifest:
            for path in [path for path in disk.seen if "manifest" in Path(path).name]:
                disk.remove(path)
        again = opened(disk)
        assert again.faults, (back, manifest)
        assert list(again.damaged()) == [seq], (back, manifest)


def test_each_flip_in_what_was_acknowledged_is_told() -> None:
    made = FakeDisk()
    fill(opened(made), MANY)
    made.kill()
    content = bytes(blocks(made)[0])
    starts = [content.index(b"%06d" % seq) for seq in range(MANY - 2, MANY + 1)]
    for before, after in pairwise([*starts, end_of(made)]):
        for place in range(before, after):
            disk = deepcopy(made)
            disk.flip(next(path for path in disk.seen if path.endswith(".blk")), place)
            again = opened(disk)
            assert again.faults or bodies(again) == list(range(1, MANY + 1)), place
            assert bodies(again) == [s for s in range(1, MANY + 1) if s not in again.damaged()]
