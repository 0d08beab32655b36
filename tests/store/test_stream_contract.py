"""What every stream store must do, one by one; each test runs on every implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyjs.store.errors import NotFound, StoreClosed
from pyjs.store.file import FileStream
from pyjs.store.memory import MemoryStream
from pyjs.store.message import StoredMessage, columns
from pyjs.store.stream import StreamStore
from pyjs.store.subjects import releasing

Make = Callable[[], StreamStore]


@pytest.fixture(params=["memory", "file", "small blocks"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    made: list[MemoryStream | FileStream] = []

    def build() -> StreamStore:
        if request.param == "memory":
            store: MemoryStream | FileStream = MemoryStream()
        else:
            size = 16 << 20 if request.param == "file" else 400
            store = FileStream(str(tmp_path / f"{len(made)}" / "msgs"), block_size=size)
        made.append(store)
        return store

    yield build
    for store in made:
        store.close()


@pytest.fixture
def store(make: Make) -> StreamStore:
    return make()


def fill(store: StreamStore, *subjects: str) -> None:
    for number, subject in enumerate(subjects):
        store.append(subject, b"", b"%d" % number, 1000 + number)


def test_an_unused_stream_begins_at_zero(store: StreamStore) -> None:
    assert (store.messages, store.bytes, store.first_seq, store.last_seq) == (0, 0, 0, 0)
    assert (store.first_time, store.last_time, store.num_deleted, store.num_subjects) == (0, 0, 0, 0)
    assert store.next((), 1) is None
    assert store.last(">") is None
    assert store.count((), 0) == 0
    assert store.seq_at(5) == 1
    with pytest.raises(NotFound):
        store.get(1)
    with pytest.raises(NotFound):
        store.get(0)
    with pytest.raises(NotFound):
        store.remove_first()


def test_sequences_begin_at_one_and_messages_come_back_as_they_were(store: StreamStore) -> None:
    header = b"NATS/1.0\r\nA: b\r\n\r\n"
    assert store.append("a.b", header, b"body", 7) == 1
    assert store.append("ü.\udce9", b"", b"", -1) == 2
    assert store.get(1) == (1, "a.b", header, b"body", 7)
    assert store.get(2) == (2, "ü.\udce9", b"", b"", -1)


def test_a_sequence_cannot_be_given_twice(store: StreamStore) -> None:
    store.append_each(*columns([StoredMessage(5, "a", b"", b"", 1)]))
    with pytest.raises(ValueError, match="do not rise from 5"):
        store.append_each(*columns([StoredMessage(5, "a", b"", b"", 1)]))
    store.remove(5)
    assert store.append("a", b"", b"", 1) == 6


def test_bytes_are_counted_as_the_reference_counts_them(make: Make) -> None:
    store = make()
    store.append("test", b"", b"hello world", 1)
    memory = isinstance(store, MemoryStream)
    assert store.bytes == (16 + 4 + 11 if memory else 45)
    store.append("s.2", b"h" * 20, b"world", 1)
    assert store.bytes == 31 + 28 + 16 if memory else 45 + 62
    assert store.size_of("s.1", 0, 5) == (24 if memory else 38)


def test_the_gap_before_a_given_sequence_is_deleted(store: StreamStore) -> None:
    store.append("a", b"", b"", 1)
    store.append_each(*columns([StoredMessage(4, "a", b"", b"", 2)]))
    assert (store.messages, store.num_deleted, list(store.gaps())) == (2, 2, [(2, 3)])
    store.skip_to(6)
    store.skip_to(5)
    assert (store.last_seq, list(store.gaps())) == (6, [(2, 3), (5, 6)])
    assert [list(store.gaps(start)) for start in (3, 4, 6, 7)] == [[(3, 3), (5, 6)], [(5, 6)], [(6, 6)], []]
    assert store.append("a", b"", b"", 3) == 7


def test_an_emptied_stream_starts_after_its_last_sequence(store: StreamStore) -> None:
    fill(store, "a", "a")
    assert store.remove(2) == store.size_of("a", 0, 1)
    assert store.remove(2) is None
    assert store.remove(77) is None
    assert store.remove_first() == (1, "a", store.size_of("a", 0, 1))
    assert (store.first_seq, store.last_seq, store.bytes, store.num_subjects) == (3, 2, 0, 0)
    assert (store.first_time, store.last_time) == (0, 1001)


def test_purge_by_subject_sequence_and_keep(make: Make) -> None:
    store = make()
    fill(store, *["a.1", "b", "a.2"] * 4)
    assert store.purge(subject="a.*", keep=6) == 2
    assert store.first_seq == 2
    assert store.purge(subject="b", up_to=6) == 2
    assert store.purge(up_to=1) == 0
    assert store.purge(up_to=8) == 3
    assert (store.first_seq, store.messages) == (8, 5)
    assert store.purge(keep=2) == 3
    assert store.first_seq == 11
    assert store.purge() == 2
    assert (store.first_seq, store.last_seq) == (13, 12)
    assert store.purge(up_to=100) == 0
    assert (store.first_seq, store.last_seq) == (100, 99)
    assert store.append("a", b"", b"", 1) == 100


def test_many_filters_do_not_count_a_message_twice(store: StreamStore) -> None:
    fill(store, "a.b", "a.c", "c", "d", "a.b")
    filters = ("a.*", "a.b", "c")
    assert store.count(filters, 1) == 4
    assert store.count(filters, 2) == 3
    assert store.next_seq(filters, 4) == 5
    assert store.last_per_subject(filters) == [2, 3, 5]
    assert store.last_per_subject((), 4) == [1, 2, 3, 4]
    assert store.subjects("a.>") == {"a.b": 2, "a.c": 1}


def test_a_filter_asked_for_early_learns_of_later_subjects(store: StreamStore) -> None:
    assert store.count(("a.*",), 1) == 0
    fill(store, *[f"a.{number}" for number in range(30)], "b")
    assert store.count(("a.*",), 1) == 30
    store.purge(subject="a.7")
    store.append("a.new", b"", b"", 1)
    assert store.count(("a.*",), 1) == 30
    assert store.next_seq(("a.*",), 8) == 9
    assert store.next_seq(("a.*",), 31) == 32


def test_the_first_sequence_at_a_time(store: StreamStore) -> None:
    for time in (10, 20, 20, 15, 30):
        store.append("a", b"", b"", time)
    store.remove(2)
    assert [store.seq_at(time) for time in (0, 10, 11, 20, 21, 31)] == [1, 1, 3, 3, 5, 6]


def test_a_closed_stream_takes_nothing(store: StreamStore) -> None:
    fill(store, "a")
    store.close()
    store.close()
    for refused in (lambda: store.append("a", b"", b"", 1), lambda: store.purge(), lambda: store.skip_to(9)):
        with pytest.raises(StoreClosed):
            refused()


def test_a_deleted_stream_leaves_nothing(make: Make) -> None:
    store = make()
    fill(store, "a", "b")
    store.commit_sync()
    store.delete()
    if isinstance(store, FileStream):
        assert not Path(store.directory).exists()


def test_what_is_committed_while_more_arrives(make: Make) -> None:
    store = make()
    if isinstance(store, MemoryStream):
        assert store.begin_commit() is None
        return
    assert store.begin_commit() is None
    fill(store, "a", "b")
    commit = store.begin_commit()
    assert commit is not None
    assert commit.last_seq == 2
    store.append("c", b"", b"late", 1)
    with pytest.raises(RuntimeError):
        store.begin_commit()
    assert store.get(3).body == b"late"
    commit.run()
    store.finish(commit)
    second = store.begin_commit()
    assert second is not None
    assert second.last_seq == 3
    second.run()
    store.finish(second)
    assert store.begin_commit() is None


def test_a_released_stream_is_closed_and_its_files_stay(make: Make) -> None:
    store = make()
    fill(store, *[f"a.{number}" for number in range(20)])
    store.commit_sync()
    remains = store.release()
    assert sum(map(len, remains)) >= 40
    for _ in releasing(remains):
        pass
    assert not any(remains)
    with pytest.raises(StoreClosed):
        store.append("a", b"", b"", 1)
    if isinstance(store, FileStream):
        again = FileStream(store.directory)
        assert again.messages == 20
        again.close()
