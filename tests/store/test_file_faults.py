"""A file stream on a failing disk: what is acknowledged is kept, damage is reported and never served."""

from __future__ import annotations

import errno
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.fake_disk import FakeDisk
from lib.sealed_disk import disk_of
from pyjs.store.errors import Damaged, NotFound, StoreFailed
from pyjs.store.file import FileStream
from pyjs.store.file.header import HEADER_SIZE
from pyjs.store.record import FIXED

DIRECTORY = "/s/msgs"


def fill(stream: FileStream, count: int, *, batch: int = 5, size: int = 40) -> None:
    """Store `count` messages, committed in batches; the body says which it is."""
    for number in range(count):
        seq = stream.last_seq + 1
        stream.append(f"a.{seq % 3}", b"", b"%06d" % seq + b"x" * size, seq)
        if number % batch == batch - 1:
            stream.commit_sync()
    stream.commit_sync()


def opened(disk: FakeDisk, **options: Any) -> FileStream:
    return FileStream(DIRECTORY, fs=disk, **options)


def made(count: int = 20, **options: Any) -> FakeDisk:
    """A disk with a stream on it, whose process was killed."""
    disk = FakeDisk()
    fill(opened(disk, **options), count)
    disk.kill()
    return disk


def check_bodies(stream: FileStream, lost: set[int], last: int) -> None:
    """Everything but `lost` is there and right; what is lost is named and not given out."""
    assert set(stream.damaged()) == lost
    for seq in range(1, last + 1):
        if seq in lost:
            with pytest.raises(Damaged):
                stream.get(seq)
        else:
            assert stream.get(seq).body.startswith(b"%06d" % seq)
    served = []
    seq = 1
    while (message := stream.next((), seq)) is not None:
        served.append(message.seq)
        seq = message.seq + 1
    assert served == [seq for seq in range(1, last + 1) if seq not in lost]


def parse_block_name(disk: FakeDisk, path: str, seq: int) -> int:
    return bytes(disk.seen[path].seen).index(b"%06d" % seq)


def block(disk: FakeDisk, number: int = 1) -> str:
    return next(path for path in sorted(disk.seen) if f"/{number:010d}-" in path and path.endswith(".blk"))


def test_a_flipped_bit_in_the_last_block_is_found_on_opening() -> None:
    disk = made()
    disk.flip(block(disk), parse_block_name(disk, block(disk), 7))
    stream = opened(disk)
    assert stream.faults
    assert stream.messages == 19
    check_bodies(stream, {7}, 20)


def test_a_flipped_bit_in_the_last_acknowledged_message_is_damage_and_not_an_unfinished_write() -> None:
    disk = made()
    disk.flip(block(disk), parse_block_name(disk, block(disk), 20))
    stream = opened(disk)
    check_bodies(stream, {20}, 20)
    assert stream.append("a", b"", b"", 1) == 21


def test_a_flipped_bit_in_a_sealed_block_is_found_when_it_is_read() -> None:
    disk = made(40, block_size=500)
    reported: list[int] = []
    disk.flip(block(disk), parse_block_name(disk, block(disk), 3))
    stream = FileStream(DIRECTORY, fs=disk, block_size=500, on_damage=lambda seq, _: reported.append(seq))
    assert stream.messages == 40
    assert stream.verify(1, 1000) == 0
    assert reported == [3]
    check_bodies(stream, {3}, 40)
    assert stream.messages == 39
    assert stream.bytes == sum(stream.size_of("a.1", 0, 46) for _ in range(39))


@pytest.mark.parametrize("damaged", [1, 3, 4])
@pytest.mark.parametrize("back", [0, 30])
def test_a_run_of_messages_ends_before_a_damaged_one(damaged: int, back: int) -> None:
    disk = made(40, block_size=500)
    disk.flip(block(disk), parse_block_name(disk, block(disk), damaged) - back)
    stream = opened(disk, block_size=500)
    run = stream.next_run((), 1, 40, 40, 1 << 20)
    assert [message.seq for message in run] == list(range(1, damaged))
    rest = stream.next_run((), damaged + 1, 40, 40, 1 << 20)
    assert [message.body[:6] for message in rest] == [b"%06d" % seq for seq in range(damaged + 1, 41)]


def test_a_run_of_messages_is_what_single_reads_give() -> None:
    disk = FakeDisk()
    stream = opened(disk, block_size=2000)
    for seq in range(1, 101):
        header = b"NATS/1.0\r\nA: b\r\n\r\n" if seq % 3 == 0 else b""
        stream.append("a" * (seq % 5 + 1), header, b"x" * (seq * 7 % 40), seq)
        if seq % 4 == 0:
            stream.commit_sync()
    for seq in range(5, 100, 9):
        stream.remove(seq)
    stream.commit_sync()
    disk.kill()
    stream = opened(disk, block_size=2000)
    single = [stream.get(seq) for seq in range(1, 101) if seq % 9 != 5]
    assert stream.next_run((), 1, 100, 100, 1 << 20) == single
    some = stream.next_run((), 1, 100, 100, 200)
    assert some == single[: len(some)]
    assert sum(len(message.body) for message in some[:-1]) < 200


def test_a_sealed_block_without_its_sidecar_is_read_whole_and_damage_in_it_found() -> None:
    disk = made(40, block_size=500)
    for path in [path for path in disk.seen if path.endswith(".idx")]:
        disk.remove(path)
    disk.flip(block(disk), parse_block_name(disk, block(disk), 3))
    disk.flip(block(disk, 2), parse_block_name(disk, block(disk, 2), 8), 0xFF)
    stream = opened(disk, block_size=500)
    check_bodies(stream, {3, 8}, 40)


def test_a_damaged_sidecar_is_not_believed() -> None:
    disk = made(40, block_size=500)
    for path in [path for path in disk.seen if path.endswith(".idx")]:
        disk.flip(path, 200)
    stream = opened(disk, block_size=500)
    check_bodies(stream, set(), 40)


@given(st.data())
def test_any_damaged_byte_loses_at_most_the_message_it_is_in(data: st.DataObject) -> None:
    disk = made(30, block_size=data.draw(st.sampled_from([500, 1 << 20])))
    if data.draw(st.booleans()):
        for path in [path for path in disk.seen if path.endswith(".idx")]:
            disk.remove(path)
    path = data.draw(st.sampled_from(sorted(path for path in disk.seen if path.endswith(".blk"))))
    offset = data.draw(st.integers(HEADER_SIZE, len(disk.seen[path].seen) - 1))
    disk.flip(path, offset, data.draw(st.integers(1, 255)))
    stream = opened(disk, block_size=500)
    stream.verify(1, 1000)
    lost = set(stream.damaged())
    assert len(lost) <= 1
    check_bodies(stream, lost, 30)
    assert stream.append("a", b"", b"", 1) == 31


@given(st.data())
def test_any_overwritten_stretch_is_named_and_nothing_else_is_lost(data: st.DataObject) -> None:
    disk = made(30)
    path = block(disk)
    content = disk.seen[path].seen
    start = data.draw(st.integers(HEADER_SIZE, len(content) - 200))
    end = start + data.draw(st.integers(1, 400))
    end = min(end, len(content) - 40)  # the last commit stays whole: before it, this is damage
    places = {seq: parse_block_name(disk, path, seq) for seq in range(1, 31)}
    expected = {seq for seq, at in places.items() if at - 35 < end and at + 46 > start}
    filling = data.draw(st.sampled_from([0, 255, 181, None]))
    source = random.Random(start)
    for offset in range(start, end):
        disk.flip(path, offset, (source.randrange(256) if filling is None else filling) ^ content[offset])
    stream = opened(disk)
    assert set(stream.damaged()) <= expected
    check_bodies(stream, set(stream.damaged()), 30)


def test_a_block_file_that_is_cut_short_is_reported() -> None:
    disk = made(40, block_size=500)
    for path in [path for path in disk.seen if path.endswith(".idx")]:
        disk.remove(path)
    del disk.seen[block(disk)].seen[parse_block_name(disk, block(disk), 4) :]
    stream = opened(disk, block_size=500)
    assert stream.damaged()[0] == 4
    check_bodies(stream, set(stream.damaged()), 40)


def test_a_compacted_block_that_is_cut_between_two_records_is_reported() -> None:
    disk = made(40, block_size=1000)
    stream = opened(disk, block_size=1000)
    removed = {2, 3, 4, 5, 6, 7}
    for seq in removed:
        stream.remove(seq)
    stream.commit_sync()
    work = stream.begin_maintenance()
    assert work is not None
    work.run()
    stream.finish(work)
    stream.close()
    path = block(disk)
    assert path.endswith("-1.blk")
    last = max(seq for seq in range(1, 41) if b"%06d" % seq in disk.seen[path].seen)
    start = parse_block_name(disk, path, last) - FIXED - len("a.1")
    del disk.seen[path].seen[start:]
    assert last in opened(disk, block_size=1000).damaged()


def test_damage_is_still_known_when_its_block_is_sealed_later() -> None:
    disk = made(10)
    disk.flip(block(disk), parse_block_name(disk, block(disk), 7))
    stream = opened(disk, block_size=500)
    fill(stream, 10)
    stream.close()
    check_bodies(opened(disk, block_size=500), {7}, 20)


def test_a_block_file_that_is_gone_is_reported() -> None:
    disk = made(40, block_size=500)
    disk.remove(block(disk, 2))
    stream = opened(disk, block_size=500)
    assert stream.damaged()
    check_bodies(stream, set(stream.damaged()), 40)


@pytest.mark.parametrize("number", [1, 2, 99])
def test_a_block_without_a_readable_header_is_kept_reported_and_its_sequences_are_not_reused(
    number: int,
) -> None:
    disk = made(40, block_size=500)
    paths = sorted(path for path in disk.seen if path.endswith(".blk"))
    path = paths[min(number, len(paths)) - 1]
    for offset in (3, HEADER_SIZE // 2 + 3):
        disk.flip(path, offset)
    for _ in range(2):
        stream = opened(disk, block_size=500)
        assert any(path in fault for fault in stream.faults)
        assert path in disk.seen
        last = stream.last_seq
        assert last >= 40
        check_bodies(stream, set(stream.damaged()), last)
        assert stream.append("a.1", b"", b"%06d" % (last + 1), 1) == last + 1
        stream.close()


def test_one_damaged_header_copy_does_no_harm() -> None:
    disk = made()
    disk.flip(block(disk), 3)
    check_bodies(opened(disk), set(), 20)


def test_a_record_in_the_wrong_place_is_not_served() -> None:
    disk = made(40, block_size=500)
    content = disk.seen[block(disk)].seen
    start = parse_block_name(disk, block(disk), 2) - 35
    length = parse_block_name(disk, block(disk), 3) - parse_block_name(disk, block(disk), 2)
    content[start : start + length] = content[start + length : start + 2 * length]
    stream = opened(disk, block_size=500)
    with pytest.raises(Damaged):
        stream.get(2)
    check_bodies(stream, {2}, 40)


def test_removing_a_damaged_message_ends_its_being_reported() -> None:
    disk = made()
    disk.flip(block(disk), parse_block_name(disk, block(disk), 7))
    stream = opened(disk)
    assert stream.remove(7) == 0
    assert stream.damaged() == []
    with pytest.raises(NotFound):
        stream.get(7)
    stream.close()
    assert opened(disk).damaged() == []


def test_a_damaged_first_message_is_reported_again_until_limits_pass_it() -> None:
    disk = made()
    disk.flip(block(disk), parse_block_name(disk, block(disk), 1))
    stream = opened(disk)
    assert stream.first_seq == 2
    fill(stream, 1)
    stream.close()
    stream = opened(disk)
    assert stream.damaged() == [1]
    stream.remove_first()
    assert stream.damaged() == []
    stream.close()
    assert opened(disk).damaged() == []


def test_compaction_leaves_a_damaged_block_alone() -> None:
    disk = made(40, block_size=500)
    stream = opened(disk, block_size=500)
    disk.flip(block(disk), parse_block_name(disk, block(disk), 1))
    for seq in (2, 3, 4, 5):
        stream.remove(seq)
    stream.commit_sync()
    for _ in range(20):
        work = stream.begin_maintenance()
        if work is None:
            break
        work.run()
        stream.finish(work)
    else:
        raise AssertionError("maintenance does not end")
    assert stream.damaged() == [1]
    stream.close()
    assert opened(disk, block_size=500).verify(1, 100) == 0


@pytest.mark.parametrize("operation", ["write", "sync", "rename", "sync_directory", "open"])
def test_a_failed_commit_is_not_repeated_and_the_stream_takes_nothing_more(operation: str) -> None:
    disk = FakeDisk()
    stream = opened(disk)
    fill(stream, 3) if operation in {"write", "sync"} else None
    acknowledged = stream.last_seq
    stream.append("a.0", b"", b"not acknowledged", 1)
    disk.fail(operation)
    commit = stream.begin_commit()
    assert commit is not None
    with pytest.raises(OSError, match="Input/output"):
        commit.run()
    stream.finish(commit)
    with pytest.raises(StoreFailed):
        stream.append("a.0", b"", b"", 1)
    with pytest.raises(StoreFailed):
        stream.begin_commit()
    stream.close()
    disk.crash(lambda _most: 0)
    again = opened(disk)
    assert again.last_seq >= acknowledged
    check_bodies(again, set(), acknowledged)


def test_a_full_disk_fails_the_commit_and_loses_nothing_acknowledged() -> None:
    disk = made(10)
    stream = opened(disk)
    disk.space = 100
    for _ in range(5):
        stream.append("a.0", b"", b"y" * 50, 1)
    with pytest.raises(OSError) as raised:
        stream.commit_sync()
    assert raised.value.errno == errno.ENOSPC
    stream.close()
    disk.kill()
    again = opened(disk)
    assert again.last_seq >= 10
    for seq in range(1, 11):
        assert again.get(seq).body.startswith(b"%06d" % seq)
    fill(again, 2)


def test_a_full_disk_does_not_stop_a_stream_that_is_being_compacted() -> None:
    disk = made(40, block_size=500)
    stream = opened(disk, block_size=500)
    for seq in (2, 3, 4, 5):
        stream.remove(seq)
    stream.commit_sync()
    disk.space = 10
    work = stream.begin_maintenance()
    assert work is not None
    work.run()
    stream.finish(work)
    disk.space = None
    fill(stream, 3)
    assert stream.messages == 39


def test_a_message_the_disk_cannot_read_is_damaged() -> None:
    disk = made(40, block_size=500)
    stream = opened(disk, block_size=500)
    disk.fail("read", errno.EIO)
    with pytest.raises(Damaged):
        stream.get(1)
    check_bodies(stream, {1}, 40)


def test_a_read_that_fails_for_want_of_descriptors_is_no_damage() -> None:
    disk = made(40, block_size=500)
    stream = opened(disk, block_size=500)
    disk.fail("open", errno.EMFILE)
    with pytest.raises(OSError, match="open files"):
        stream.get(1)
    assert stream.get(1).seq == 1


def test_an_erased_message_leaves_nothing_of_it_on_the_disk() -> None:
    disk = FakeDisk()
    stream = opened(disk, block_size=500)
    fill(stream, 3)
    stream.append("a", b"NATS/1.0\r\nS: geheim\r\n\r\n", b"secret", 4)
    stream.commit_sync()
    stream.append("b", b"", b"secret too", 5)
    assert stream.remove(4, erase=True) == stream.size_of("a", 23, 6)
    assert stream.remove(5, erase=True) == stream.size_of("b", 0, 10)
    stream.commit_sync()
    content = b"".join(bytes(inode.seen) for inode in disk.seen.values())
    assert b"secret" not in content
    assert b"geheim" not in content
    disk.kill()
    again = opened(disk, block_size=500)
    assert again.faults == []
    assert (again.messages, again.last_seq, again.last_time) == (3, 5, 5)


@given(st.data())
def test_sectors_lost_from_an_unfinished_commit_never_touch_what_was_acknowledged(
    data: st.DataObject,
) -> None:
    disk = disk_of(data.draw(st.integers(0, 1)))
    stream = opened(disk, block_size=data.draw(st.sampled_from([2000, 1 << 20])))
    fill(stream, data.draw(st.integers(0, 25)), size=data.draw(st.sampled_from([10, 300])))
    acknowledged = stream.last_seq
    for _ in range(data.draw(st.integers(1, 12))):
        seq = stream.last_seq + 1
        stream.append("a.0", b"", b"%06d" % seq + b"z" * 200, seq)
    commit = stream.begin_commit()
    assert commit is not None
    disk.fail(data.draw(st.sampled_from(["sync", "write", "sync_directory"])))
    try:
        commit.run()
    except OSError:
        stream.finish(commit)
    else:
        acknowledged = stream.last_seq
    disk.crash(lambda most: data.draw(st.integers(0, most)), lose_sectors=True)
    again = opened(disk)
    assert again.last_seq >= acknowledged
    assert all(seq > acknowledged for seq in again.damaged())
    for seq in range(1, again.last_seq + 1):
        if seq not in again.damaged():
            assert again.get(seq).body.startswith(b"%06d" % seq)


def test_what_is_not_on_the_disk_yet_is_read_from_memory_when_its_block_is_sealed_meanwhile() -> None:
    disk = FakeDisk()
    stream = opened(disk, block_size=500)
    for seq in range(1, 4):
        stream.append("a", b"", b"%06d" % seq, seq)
    commit = stream.begin_commit()
    assert commit is not None
    for seq in range(4, 31):  # the first block, and some more
        stream.append("a", b"", b"%06d" % seq, seq)
    commit.run()
    stream.finish(commit)
    check_bodies(stream, set(), 30)
    stream.commit_sync()
    check_bodies(stream, set(), 30)
    disk.crash(lambda most: 0)
    check_bodies(opened(disk, block_size=500), set(), 30)


def test_hundreds_of_streams_share_a_few_open_files() -> None:
    from pyjs.store.handles import Handles

    disk = FakeDisk()
    handles = Handles(disk, 10)
    streams = [FileStream(f"/s{number}/msgs", fs=disk, handles=handles) for number in range(200)]
    for _ in range(2):
        for stream in streams:
            fill(stream, 1)
    assert disk.most_open <= 13
    for number, stream in enumerate(streams):
        assert stream.get(1).body.startswith(b"000001"), number
        stream.close()
    handles.close()
    assert not disk.files


def test_a_stream_that_was_only_read_writes_nothing_at_its_close() -> None:
    disk = made()
    opened(disk).close()
    written = disk.writes
    again = opened(disk)
    assert again.get(1).seq == 1
    again.close()
    assert disk.writes == written
    more = opened(disk)
    fill(more, 1)
    more.close()
    sidecar = next(path for path in disk.seen if path.endswith(".idx"))
    before = bytes(disk.seen[sidecar].seen)
    opened(disk).close()
    assert bytes(disk.seen[sidecar].seen) == before
    check_bodies(opened(disk), set(), 21)
