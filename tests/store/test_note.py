"""A file stream's note: what its owner stores with a commit comes back with just that commit's messages."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st
from lib.fake_disk import FakeDisk, PowerCut
from lib.sealed_disk import disk_of
from pyjs.store.file import FileStream

DIRECTORY = "/s/msgs"


def opened(disk: FakeDisk, block_size: int = 600) -> FileStream:
    return FileStream(DIRECTORY, fs=disk, block_size=block_size, cut_to_last_commit=True)


def contents(stream: FileStream) -> dict[int, bytes]:
    found, sequence = {}, 1
    while (message := stream.next((), sequence)) is not None:
        found[message.seq] = message.body
        sequence = message.seq + 1
    return found


@given(st.data())
def test_a_crash_gives_the_state_of_the_last_commit_or_of_the_one_under_way(data: st.DataObject) -> None:
    disk = disk_of(data.draw(st.integers(0, 1)))
    stream = opened(disk)
    states: dict[bytes, tuple[int, int, dict[int, bytes]]] = {b"": (0, 0, {})}
    promised = b""
    for turn in range(data.draw(st.integers(1, 12))):
        try:
            for _ in range(data.draw(st.integers(0, 8))):
                what = data.draw(st.sampled_from("aaaarpse"))
                if what == "a":
                    stream.append("a", b"", b"%d" % stream.last_seq + b"x" * 90, turn)
                elif what == "r" and stream.last_seq:
                    stream.remove(data.draw(st.integers(1, stream.last_seq)))
                elif what == "e" and stream.last_seq:
                    stream.remove(data.draw(st.integers(1, stream.last_seq)), erase=True)
                elif what == "p":
                    stream.purge(keep=data.draw(st.integers(0, 3)))
                else:
                    stream.skip_to(stream.last_seq + 2)
            stream.note = b"%d" % (turn + 1)
            states[stream.note] = (stream.first_seq, stream.last_seq, contents(stream))
            if data.draw(st.booleans()):
                disk.cut_after(data.draw(st.integers(0, 12)))
            stream.commit_sync()
            promised = stream.note
            work = stream.begin_maintenance() if data.draw(st.booleans()) else None
            if work is not None:
                work.run()
                stream.finish(work)
        except PowerCut:
            cut = True
        else:
            cut = False
        disk.cut_after(1 << 30)
        if cut or data.draw(st.booleans()):
            disk.crash(lambda most: data.draw(st.integers(0, most)))
            stream = opened(disk)
            assert int(stream.note or b"0") >= int(promised or b"0")
            first, last, messages = states[stream.note]
            assert (stream.first_seq, stream.last_seq) == (first, last)
            there = contents(stream)
            # An erasure is done once its commit is; one that was cut short is found as damage, not as data.
            assert there == messages
            assert stream.faults == []
            promised = stream.note


def test_what_no_commit_ended_is_gone() -> None:
    disk = FakeDisk()
    stream = opened(disk)
    stream.append("a", b"", b"1", 1)
    stream.note = b"one"
    stream.commit_sync()
    for number in range(40):
        stream.append("a", b"", b"%d" % number + b"y" * 90, 1)
    stream.note = b"two"
    disk.fail("sync", path="0000000003")
    commit = stream.begin_commit()
    assert commit is not None
    with contextlib.suppress(OSError):
        commit.run()
    disk.kill()
    again = opened(disk)
    assert (again.note, contents(again), again.faults) == (b"one", {1: b"1"}, [])
    again.append("a", b"", b"2", 2)
    again.note = b"three"
    again.commit_sync()
    disk.kill()
    assert contents(opened(disk)) == {1: b"1", 2: b"2"}


def test_a_closed_stream_keeps_its_note() -> None:
    disk = FakeDisk()
    stream = opened(disk)
    stream.note = b"only a note"
    stream.close()
    assert opened(disk).note == b"only a note"


def test_a_stream_without_a_note_writes_what_it_always_wrote() -> None:
    disk = FakeDisk()
    stream = opened(disk)
    stream.append("a", b"", b"1", 1)
    stream.commit_sync()
    assert stream.begin_commit() is None
