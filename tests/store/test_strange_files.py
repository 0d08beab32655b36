"""Files of another stream in a stream's folder, where its own are expected: never served, never believed."""

from __future__ import annotations

from lib.fake_disk import FakeDisk, Inode
from pyjs.store.file import FileStream

BLOCK = "0000000001-0"


def fill(disk: FakeDisk, directory: str, word: bytes, *, purged: int = 0) -> FileStream:
    """A stream of 20 messages, of which those below `purged` are removed; its block has an index."""
    stream = FileStream(directory, fs=disk)
    for number in range(20):
        stream.append("s", b"", b"%s-%02d" % (word, number), 1000 + number)
    stream.commit_sync()
    if purged:
        stream.purge(up_to=purged)
    stream.close()
    return stream


def copy(disk: FakeDisk, source: str, target: str) -> None:
    data = bytes(disk.seen[source].seen)
    disk.seen[target] = Inode(bytearray(data), data)


def test_a_block_of_another_stream_is_set_aside_and_what_was_there_is_named_as_lost() -> None:
    disk = FakeDisk()
    fill(disk, "/a", b"a")
    fill(disk, "/b", b"b")
    copy(disk, f"/a/{BLOCK}.blk", f"/b/{BLOCK}.blk")
    for _ in range(3):
        stream = FileStream("/b", fs=disk)
        assert list(stream.damaged())[:20] == list(range(1, 21))
        assert stream.last_seq >= 20
        assert all(
            message.body == b"new" for seq in range(1, 30) if (message := stream.next((), seq)) is not None
        )
        assert stream.append("s", b"", b"new", 5000) > 20
        stream.commit_sync()
        stream.close()
    assert f"/b/{BLOCK}.blk.strange" in disk.seen


def test_an_index_of_another_stream_removes_nothing() -> None:
    disk = FakeDisk()
    fill(disk, "/a", b"a", purged=15)
    fill(disk, "/b", b"b")
    for name in sorted(disk.seen):
        if name.startswith("/a/") and name.endswith(".idx"):
            copy(disk, name, f"/b/{BLOCK}.idx")
    stream = FileStream("/b", fs=disk)
    assert any("belongs to another block" in line for line in stream.repaired)
    assert stream.messages == 20 and not stream.damaged()
    assert stream.get(3).body == b"b-02"
    stream.close()
