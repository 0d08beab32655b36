"""Configurations on the disk: found again under any name, replaced in one step, reported when damaged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.examples import one_in
from lib.fake_disk import FakeDisk
from lib.sealed_disk import disk_of
from pyjs.store.configs import Storage, StoredConfig
from pyjs.store.consumer_state import ConsumerState
from pyjs.store.meta_file import directory_name

NAMES = ["S", "$G", "..", ".", "a/b", "A b", "ü", "%2E", "x" * 255, "x" * 254 + "y", "", "con:1", "a~b"]


def test_any_name_is_a_safe_directory_and_found_again(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    for account in NAMES:
        storage.account(account).write_stream("S", {"config": account})
    assert len({directory_name(name) for name in NAMES}) == len(NAMES)
    for account in NAMES:
        assert storage.account(account).streams() == [StoredConfig("S", {"config": account})]
    streams = storage.account("A")
    for name in NAMES:
        streams.write_stream(name, {"n": name})
        streams.write_consumer("S", name, {"c": name})
    assert sorted(stored.name for stored in streams.streams()) == sorted(NAMES)
    assert {stored.name: stored.document for stored in streams.consumers("S")} == {n: {"c": n} for n in NAMES}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["jetstream"]
    storage.close()


@given(st.text(max_size=300))
def test_directory_names_hold_nothing_unsafe(name: str) -> None:
    safe = directory_name(name)
    assert 0 < len(safe) <= 200
    assert not safe.startswith(".")
    assert safe.isascii()
    assert not set(safe) & set('/\\:*?"<>| \0')


def test_a_stream_and_its_consumer_live_in_their_folders(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    account = storage.account("$G")
    account.write_stream("S", {"a": 1})
    account.write_stream("S", {"a": 2})
    account.write_consumer("S", "C", {"b": 1})
    stream = account.open_stream("S")
    stream.append("s", b"", b"", 1)
    stream.close()
    consumer = account.open_consumer("S", "C")
    consumer.save(ConsumerState((1, 1)))
    consumer.close()
    folder = tmp_path / "jetstream" / "$G" / "streams" / "S"
    document = ["meta.json", "meta.json.copy"]
    assert sorted(path.name for path in folder.iterdir()) == ["consumers", *document, "msgs"]
    kept = sorted(path.name for path in (folder / "consumers" / "C").iterdir())
    assert kept == [*document, "state", "state.copy"]
    assert storage.accounts() == ["$G"]
    assert account.streams() == [StoredConfig("S", {"a": 2})]
    assert account.open_consumer("S", "C").load() == ConsumerState((1, 1))
    account.remove_consumer("S", "C")
    assert account.consumers("S") == []
    account.remove_stream("S")
    account.remove_stream("S")
    assert account.streams() == []
    assert not folder.exists()
    storage.close()


META = "/d/jetstream/A/streams/S/meta.json"
COPY = META + ".copy"


@one_in(2)
@given(st.data())
def test_one_damaged_file_of_a_configuration_is_repaired_and_reported(data: st.DataObject) -> None:
    disk = FakeDisk()
    account = Storage("/d", fs=disk).account("A")
    account.write_stream("S", {"subjects": ["a", "b"]})
    path = data.draw(st.sampled_from([META, COPY]))
    size = len(disk.seen[path].seen)
    disk.flip(path, data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, 255)))
    read = account.read_stream("S")
    assert read == StoredConfig("S", {"subjects": ["a", "b"]})
    [stored] = account.streams()
    assert stored.document == {"subjects": ["a", "b"]}
    assert path in stored.repaired
    assert account.streams() == [StoredConfig("S", {"subjects": ["a", "b"]})]
    assert disk.seen[META].seen == disk.seen[COPY].seen


@one_in(2)
@given(st.data())
def test_a_damaged_configuration_is_reported_and_kept(data: st.DataObject) -> None:
    disk = FakeDisk()
    account = Storage("/d", fs=disk).account("A")
    account.write_stream("S", {"subjects": ["a", "b"]})
    for path in (META, COPY):
        size = len(disk.seen[path].seen)
        disk.flip(path, data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, 255)))
    [stored] = account.streams()
    assert stored.name == "S"
    assert stored.document is None
    assert "meta.json" in stored.damage
    assert {META, COPY} <= set(disk.seen)


@pytest.mark.parametrize("kind", ["stream", "consumer"])
def test_what_holds_data_and_no_configuration_is_reported(kind: str) -> None:
    disk = FakeDisk()
    account = Storage("/d", fs=disk).account("A")
    account.write_stream("S", {})
    if kind == "stream":
        stream = account.open_stream("S")
        stream.append("a", b"", b"", 1)
        stream.close()
    else:
        account.write_consumer("S", "C", {})
        consumer = account.open_consumer("S", "C")
        consumer.save(ConsumerState((1, 1)))
        consumer.close()
    folder = "/d/jetstream/A/streams/S" if kind == "stream" else "/d/jetstream/A/streams/S/consumers/C"
    disk.remove(f"{folder}/meta.json")
    [stored] = account.streams() if kind == "stream" else account.consumers("S")
    assert (stored.document, f"{folder}/meta.json is missing" in stored.repaired) == ({}, True)
    disk.remove(f"{folder}/meta.json")
    disk.remove(f"{folder}/meta.json.copy")
    [stored] = account.streams() if kind == "stream" else account.consumers("S")
    assert (stored.name, stored.document) == (folder[-1], None)
    assert "missing" in stored.damage


def test_a_configuration_of_the_version_before_is_read_and_gets_its_copy() -> None:
    disk = FakeDisk()
    account = Storage("/d", fs=disk).account("A")
    before = b'pyjs-meta-1 893ca19a S\n{\n "n": 1\n}'
    disk.make_directory(META.rpartition("/")[0])
    disk.write(disk.open(META, create=True), before, 0)
    assert account.streams() == [StoredConfig("S", {"n": 1})]
    assert bytes(disk.seen[COPY].seen) == bytes(disk.seen[META].seen) == before
    account.write_stream("S", {"n": 2})
    disk.remove(COPY)
    assert account.streams() == [StoredConfig("S", {"n": 2}, repaired=f"{COPY} is missing")]


@one_in(2)
@given(st.data())
def test_a_crash_leaves_the_old_or_the_new_configuration(data: st.DataObject) -> None:
    disk = disk_of(data.draw(st.integers(0, 1)))
    account = Storage("/d", fs=disk).account("A")
    account.write_stream("S", {"n": 1})
    fault = data.draw(st.sampled_from(["", "open", "write", "sync", "rename", "sync_directory"]))
    if fault:
        disk.fail(fault)
    try:
        account.write_stream("S", {"n": 2, "more": "x" * 600})
        allowed = [2]
    except OSError:
        allowed = [1, 2]
    disk.crash(lambda most: data.draw(st.integers(0, most)), lose_sectors=True)
    [stored] = account.streams()
    assert stored.document is not None
    assert stored.document["n"] in allowed
    account.write_stream("S", {"n": 3})
    assert account.streams()[0].document == {"n": 3}


def test_a_creation_that_never_ended_is_no_stream() -> None:
    disk = FakeDisk()
    account = Storage("/d", fs=disk).account("A")
    disk.fail("rename")
    with pytest.raises(OSError, match="error"):
        account.write_stream("S", {})
    assert account.streams() == []


def test_a_configuration_can_be_read_by_people(tmp_path: Path) -> None:
    account = Storage(str(tmp_path)).account("A")
    account.write_stream("S", {"config": {"name": "S", "subjects": ["ü"]}})
    text = (tmp_path / "jetstream/A/streams/S/meta.json").read_text()
    assert json.loads(text.partition("\n")[2]) == {"config": {"name": "S", "subjects": ["ü"]}}


def test_all_that_is_set_aside_is_kept_until_it_is_released(tmp_path: Path) -> None:
    directory = Storage(str(tmp_path)).account("A")
    directory.write_stream("S", {})
    directory.set_aside("S")  # there is nothing yet
    folder = tmp_path / "jetstream" / "A" / "streams" / "S"
    for text in ("full", "half", "less"):
        (folder / "msgs").mkdir()
        (folder / "msgs" / "1").write_text(text)
        directory.set_aside("S")
    kept = {path.name: (path / "1").read_text() for path in folder.glob("lost.msgs*")}
    assert kept == {"lost.msgs": "full", "lost.msgs.2": "half", "lost.msgs.3": "less"}
    directory.remove_set_aside("S")
    assert sorted(path.name for path in folder.iterdir()) == ["meta.json", "meta.json.copy"]


def test_a_folder_with_the_configuration_of_another_asset_is_reported_and_not_opened(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    account = storage.account("$G")
    account.write_stream("A", {"n": "A"})
    account.write_stream("B", {"n": "B"})
    streams = tmp_path / "jetstream" / "$G" / "streams"
    shutil.copytree(streams / "A", streams / "A.bak")
    (streams / "B" / "meta.json").write_bytes((streams / "A" / "meta.json").read_bytes())
    first, copy, repaired = account.streams()
    assert first == StoredConfig("A", {"n": "A"})
    assert (copy.name, copy.document) == ("A.bak", None)
    assert "belongs to 'A'" in copy.damage
    assert (repaired.name, repaired.document) == ("B", {"n": "B"})
    assert "belongs to 'A'" in repaired.repaired
    assert account.streams()[2] == StoredConfig("B", {"n": "B"})
    storage.close()


def test_what_is_no_folder_keeps_no_stream_from_being_found(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    account = storage.account("$G")
    account.write_stream("S", {"n": 1})
    account.write_consumer("S", "C", {"n": 2})
    streams = tmp_path / "jetstream" / "$G" / "streams"
    for folder in (streams, streams / "S" / "consumers"):
        (folder / "notes").write_text("what others put here")
    assert [(stored.name, stored.document) for stored in account.streams()] == [
        ("S", {"n": 1}),
        ("notes", None),
    ]
    assert [stored.name for stored in account.consumers("S") if stored.document] == ["C"]
    storage.close()


def test_only_what_was_taken_away_goes_with_the_next_start(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    account = storage.account("$G")
    for name in ("A", "B"):
        account.write_stream(name, {"n": name})
    streams = tmp_path / "jetstream" / "$G" / "streams"
    gone = Path(account.take_away_stream("A"))
    (streams / "B").rename(streams / ".B.bak")
    (tmp_path / "jetstream" / ".snapshot").mkdir()
    assert gone.exists()
    assert account.streams() == []
    assert storage.accounts() == ["$G"]
    assert [path.name for path in streams.iterdir()] == [".B.bak"]
    assert (tmp_path / "jetstream" / ".snapshot").exists()
    storage.close()
