"""Files of another stream or consumer, or older ones, in a stream's place: never served, reported, kept."""

from __future__ import annotations

import re

import pytest
from lib.damage.old_store import old_store
from lib.fake_disk import FakeDisk, Inode
from pyjs.store.configs import AccountDirectory, Storage
from pyjs.store.consumer_state import ConsumerState
from pyjs.store.errors import Damaged
from pyjs.store.file import FileStream
from pyjs.store.identity import ForeignFilesError

STREAMS = "/d/jetstream/A/streams"
BLOCK = "0000000001-0"
MESSAGES = 20


def account(disk: FakeDisk, name: str = "A") -> AccountDirectory:
    """The account as a server that has just started sees it."""
    return Storage("/d", fs=disk).account(name)


def bodies(stream: FileStream) -> list[bytes]:
    found = [stream.next((), seq) for seq in range(1, stream.last_seq + 1)]
    return sorted({message.body for message in found if message is not None})


def fill(directory: AccountDirectory, name: str, *, purged: int = 0) -> None:
    directory.write_stream(name, {"n": name})
    stream = directory.open_stream(name)
    for number in range(MESSAGES):
        stream.append("s", b"", b"%s-%02d" % (name.encode(), number), 1000 + number)
        if number in (7, 13):
            stream.commit_sync()
            stream._roll()
    stream.commit_sync()
    if purged:
        stream.purge(up_to=purged)
    stream.close()


def two_streams(*, purged: int = 0) -> FakeDisk:
    disk = FakeDisk()
    fill(account(disk), "S", purged=purged)
    fill(account(disk), "T")
    return disk


def put(disk: FakeDisk, path: str, data: bytes) -> None:
    for names in (disk.seen, disk.safe):
        names[path] = Inode(bytearray(data), data)


def copy(disk: FakeDisk, source: str, target: str) -> None:
    put(disk, target, bytes(disk.seen[source].seen))


def exchange(disk: FakeDisk, one: str, other: str) -> None:
    """Exchange all files whose paths begin so."""
    for names in (disk.seen, disk.safe):
        moved = {}
        for path in [path for path in names if path.startswith((one, other))]:
            place, target = (one, other) if path.startswith(one) else (other, one)
            moved[target + path.removeprefix(place)] = names.pop(path)
        names.update(moved)


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("manifest", [True, False])
@pytest.mark.parametrize("index", ["own", "foreign", "none"])
def test_a_block_of_another_stream_is_set_aside_and_named_as_lost(
    number: int, manifest: bool, index: str
) -> None:
    disk = two_streams()
    path = f"{number:010d}-0"
    copy(disk, f"{STREAMS}/S/msgs/{path}.blk", f"{STREAMS}/T/msgs/{path}.blk")
    if index == "foreign":
        copy(disk, f"{STREAMS}/S/msgs/{path}.idx", f"{STREAMS}/T/msgs/{path}.idx")
    elif index == "none":
        disk.remove(f"{STREAMS}/T/msgs/{path}.idx")
    if not manifest:
        disk.remove(f"{STREAMS}/T/msgs/manifest")
    known = manifest or number < 3 or index == "own"
    for turn in range(3):
        stream = account(disk).open_stream("T")
        there = bodies(stream)
        own = [body for body in there if body.startswith(b"T-")]
        assert set(there) - set(own) <= {b"new"}
        assert len(own) + len(stream.damaged()) == MESSAGES if known else len(own) == 14
        assert turn or any("belongs to another stream, and is set aside" in one for one in stream.faults)
        assert stream.append("s", b"", b"new", 5000) > (MESSAGES if known else 14)
        stream.close()
    assert f"{STREAMS}/T/msgs/{path}.blk.strange" in disk.seen


@pytest.mark.parametrize("name", ["manifest", f"{BLOCK}.idx", "0000000003-0.idx", "0000000009-0.idx"])
def test_what_the_manifest_or_an_index_of_another_stream_says_counts_for_nothing(name: str) -> None:
    disk = two_streams(purged=15)
    source = name if name != "0000000009-0.idx" and f"{STREAMS}/S/msgs/{name}" in disk.seen else "manifest"
    if source != name:
        source = next(path for path in disk.seen if path.startswith(f"{STREAMS}/S/msgs/") and "idx" in path)
        source = source.rpartition("/")[2]
    copy(disk, f"{STREAMS}/S/msgs/{source}", f"{STREAMS}/T/msgs/{name}")
    stream = account(disk).open_stream("T")
    assert len(bodies(stream)) == stream.messages == MESSAGES
    assert any("another" in one and "set aside" in one for one in stream.repaired)
    assert f"{STREAMS}/T/msgs/{name}.strange" in disk.seen
    assert stream.append("s", b"", b"", 5000) == MESSAGES + 1
    stream.close()
    again = account(disk).open_stream("T")
    assert (again.faults, again.repaired) == ([], [])


def test_blocks_of_one_stream_that_were_exchanged_are_lost_and_kept() -> None:
    disk = two_streams()
    msgs = f"{STREAMS}/T/msgs"
    exchange(disk, f"{msgs}/{BLOCK}.blk", f"{msgs}/0000000002-0.blk")
    stream = account(disk).open_stream("T")
    assert stream.damaged() == list(range(1, 15))
    assert any("is the stream's block 2-0" in one for one in stream.faults)
    copy(disk, f"{msgs}/{BLOCK}.blk.strange", f"{msgs}/0000000002-0.blk")
    copy(disk, f"{msgs}/0000000002-0.blk.strange", f"{msgs}/{BLOCK}.blk")
    assert account(disk).open_stream("T").messages == MESSAGES


def test_a_folder_of_another_streams_messages_is_not_opened_and_not_touched() -> None:
    disk = two_streams()
    exchange(disk, f"{STREAMS}/S/msgs/", f"{STREAMS}/T/msgs/")
    before = {path: bytes(inode.seen) for path, inode in disk.seen.items()}
    for name in ("S", "T"):
        with pytest.raises(ForeignFilesError, match="belongs to another stream"):
            account(disk).open_stream(name)
    assert {path: bytes(inode.seen) for path, inode in disk.seen.items()} == before
    exchange(disk, f"{STREAMS}/S/msgs/", f"{STREAMS}/T/msgs/")
    assert account(disk).open_stream("S").messages == MESSAGES


def test_the_stream_of_that_name_that_was_deleted_before_is_another_one() -> None:
    disk = two_streams()
    path = f"{STREAMS}/S/msgs/{BLOCK}.blk"
    old = bytes(disk.seen[path].seen)
    directory = account(disk)
    directory.remove_stream("S")
    fill(directory, "S")
    put(disk, path, old)
    stream = account(disk).open_stream("S")
    assert stream.damaged() == list(range(1, 9))


def test_an_older_copy_of_the_newest_block_is_reported() -> None:
    disk = two_streams()
    path = f"{STREAMS}/S/msgs/0000000003-0.blk"
    old = bytes(disk.seen[path].seen)
    stream = account(disk).open_stream("S")
    for number in range(5):
        stream.append("s", b"", b"more %d" % number, 3000)
    stream.close()
    put(disk, path, old)
    stream = account(disk).open_stream("S")
    assert stream.damaged() == list(range(21, 26))
    assert stream.append("s", b"", b"", 5000) == 26


def test_a_stream_of_another_account_is_not_opened() -> None:
    disk = two_streams()
    fill(account(disk, "B"), "S")
    exchange(disk, f"{STREAMS}/S/", "/d/jetstream/B/streams/S/")
    for name in ("A", "B"):
        found = {one.name: one for one in account(disk, name).streams()}
        assert found["S"].document is None
        assert f"belongs to account '{'B' if name == 'A' else 'A'}'" in found["S"].damage


def test_an_older_document_put_back_is_reported_and_not_believed() -> None:
    disk = FakeDisk()
    directory = account(disk)
    directory.write_stream("S", {"n": 1})
    old = bytes(disk.seen[f"{STREAMS}/S/meta.json"].seen)
    directory.write_stream("S", {"n": 2})
    put(disk, f"{STREAMS}/S/meta.json", old)
    [stored] = account(disk).streams()
    assert stored.document == {"n": 2}
    assert stored.repaired == f"{STREAMS}/S/meta.json is older than its copy"
    assert [one.repaired for one in account(disk).streams()] == [""]


def test_two_documents_of_different_streams_are_reported_and_neither_is_repaired_from_the_other() -> None:
    disk = two_streams()
    path = f"{STREAMS}/S/meta.json"
    old = bytes(disk.seen[path].seen)
    directory = account(disk)
    directory.remove_stream("S")
    fill(directory, "S")
    own = bytes(disk.seen[path].seen)
    for wrong, right in ((path, f"{path}.copy"), (f"{path}.copy", path)):
        put(disk, wrong, old)
        [stored, _] = account(disk).streams()
        assert stored.document is None
        assert "belong to different ones" in stored.damage
        assert (bytes(disk.seen[wrong].seen), bytes(disk.seen[right].seen)) == (old, own)
        disk.remove(wrong)
        assert [one.name for one in account(disk).streams() if one.document] == ["S", "T"]
        assert account(disk).open_stream("S").messages == MESSAGES


# -- consumers


def consumers(disk: FakeDisk) -> None:
    for stream, delivered in (("S", 5), ("T", 9)):
        directory = account(disk)
        directory.write_consumer(stream, "C", {"of": stream})
        store = directory.open_consumer(stream, "C")
        for number in range(1, delivered + 1):
            store.save(ConsumerState((number, number), (number, number)))
            store.commit_sync()
        store.close()


def test_the_state_of_another_consumer_is_set_aside_and_the_copy_counts() -> None:
    for name in ("state", "state.copy"):
        disk = two_streams()
        consumers(disk)
        place = f"{STREAMS}/S/consumers/C/{name}"
        copy(disk, f"{STREAMS}/T/consumers/C/{name}", place)
        store = account(disk).open_consumer("S", "C")
        assert store.load() == ConsumerState((5, 5), (5, 5))
        assert f"another consumer's and set aside ({place}.strange)" in store.repaired
        assert f"{place}.strange" in disk.seen
        store.close()
        store = account(disk).open_consumer("S", "C")
        assert (store.load(), store.repaired) == (ConsumerState((5, 5), (5, 5)), "")


def test_two_states_of_another_consumer_are_never_loaded() -> None:
    disk = two_streams()
    consumers(disk)
    exchange(disk, f"{STREAMS}/S/consumers/C/state", f"{STREAMS}/T/consumers/C/state")
    for stream in ("S", "T"):
        with pytest.raises(ForeignFilesError, match="belongs to another consumer"):
            account(disk).open_consumer(stream, "C").load()


def test_a_consumer_of_another_stream_is_not_found() -> None:
    disk = two_streams()
    consumers(disk)
    exchange(disk, f"{STREAMS}/S/consumers/C/", f"{STREAMS}/T/consumers/C/")
    for stream in ("S", "T"):
        [stored] = account(disk).consumers(stream)
        assert stored.document is None
        assert "belongs to a consumer of another stream" in stored.damage


def test_a_consumer_made_again_under_its_name_does_not_take_the_state_of_the_old_one() -> None:
    disk = two_streams()
    consumers(disk)
    place = f"{STREAMS}/S/consumers/C"
    old = bytes(disk.seen[f"{place}/state"].seen)
    directory = account(disk)
    directory.remove_consumer("S", "C")
    directory.write_consumer("S", "C", {})
    for name in ("state", "state.copy"):
        put(disk, f"{place}/{name}", old)
    with pytest.raises(Damaged):
        account(disk).open_consumer("S", "C").load()


# -- the version before


def old_disk() -> FakeDisk:
    disk = FakeDisk()
    for path, data in old_store()[0].items():
        disk.make_directory(path.rpartition("/")[0])
        put(disk, path, data)
    return disk


OLD = "/d/jetstream/$G/streams"


def test_a_stream_of_the_version_before_gets_its_identity_when_it_is_opened() -> None:
    disk = old_disk()
    directory = account(disk, "$G")
    before = {name: bodies(directory.open_stream(name)) for name in ("S", "ONE")}
    text = bytes(disk.seen[f"{OLD}/S/meta.json"].seen).decode()
    assert re.match(r'pyjs-meta-2 [0-9a-f]{8} S \{"identity": "[0-9a-f]{16}", "since": [1-9]', text)
    stream = account(disk, "$G").open_stream("S")
    assert bodies(stream) == before["S"]
    stream.append("S.1", b"", b"new", 1)
    stream._roll()
    stream.append("S.1", b"", b"newer", 1)
    stream.close()
    again = account(disk, "$G").open_stream("S")
    assert bodies(again) == sorted([*before["S"], b"new", b"newer"])
    assert (again.faults, again.damaged()) == ([], [])


def test_an_old_block_in_a_stream_of_this_version_is_foreign_and_the_other_way_round() -> None:
    disk = old_disk()
    directory = account(disk, "$G")
    old = directory.open_stream("ONE")
    old.close()
    fill(directory, "NEW")
    copy(disk, f"{OLD}/ONE/msgs/{BLOCK}.blk", f"{OLD}/NEW/msgs/{BLOCK}.blk")
    stream = account(disk, "$G").open_stream("NEW")
    assert stream.damaged() == list(range(1, 9))
    assert all(body.startswith(b"NEW") for body in bodies(stream))
    disk = old_disk()
    directory = account(disk, "$G")
    kept = bodies(directory.open_stream("ONE"))
    fill(directory, "NEW")
    copy(disk, f"{OLD}/NEW/msgs/{BLOCK}.blk", f"{OLD}/ONE/msgs/0000000007-0.blk")
    stream = account(disk, "$G").open_stream("ONE")
    assert bodies(stream) == kept
    assert any("belongs to another stream" in one for one in stream.faults)


def test_a_full_disk_keeps_no_stream_of_the_version_before_from_being_opened() -> None:
    disk = old_disk()
    disk.fail("write")
    stream = account(disk, "$G").open_stream("S")
    found = bodies(stream)
    assert found
    stream.append("S.1", b"", b"new", 1)
    stream._roll()
    stream.append("S.1", b"", b"newer", 1)
    stream.close()
    for _ in range(2):
        stream = account(disk, "$G").open_stream("S")
        assert (len(bodies(stream)), stream.faults) == (len(found) + 2, [])
        stream.close()


def test_the_state_of_a_consumer_of_the_version_before_gets_its_identity_with_the_next_document() -> None:
    disk = old_disk()
    directory = account(disk, "$G")
    directory.open_stream("S")
    [stored] = directory.consumers("S")
    state = directory.open_consumer("S", "C").load()
    assert state is not None and stored.document is not None
    directory.write_consumer("S", "C", stored.document)
    store = directory.open_consumer("S", "C")
    assert store.load() == state
    store.save(state)
    store.close()
    store = account(disk, "$G").open_consumer("S", "C")
    assert (store.load(), store.repaired) == (state, "")
