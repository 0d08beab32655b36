"""A consumer's state survives crashes, costs by what changed, and reports damage."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.fake_disk import FakeDisk
from lib.sealed_disk import disk_of
from pyjs.store.consumer import FileConsumer, MemoryConsumer
from pyjs.store.consumer_state import ConsumerState
from pyjs.store.errors import Damaged, StoreClosed, StoreFailed

PENDING = 2_000
PLACE = st.integers(1, 40)
STATES = st.builds(
    ConsumerState,
    st.tuples(PLACE, PLACE),
    st.tuples(PLACE, PLACE),
    st.dictionaries(PLACE, st.tuples(PLACE, st.integers(0, 2**62)), max_size=6),
    st.dictionaries(PLACE, PLACE, max_size=4),
)


def test_the_last_saved_state_is_loaded(tmp_path: Path) -> None:
    store = FileConsumer(str(tmp_path / "c"))
    assert store.load() is None
    store.save(ConsumerState((1, 1)))
    state = ConsumerState((2, 9), (1, 3), {9: (2, 77)}, {9: 3})
    store.save(state)
    assert store.begin_commit() is not None
    with pytest.raises(RuntimeError):
        store.begin_commit()
    store = FileConsumer(str(tmp_path / "c"))
    store.save(state)
    store.close()
    store.close()
    with pytest.raises(StoreClosed):
        store.save(state)
    again = FileConsumer(str(tmp_path / "c"))
    assert again.load() == state
    again.delete()
    assert FileConsumer(str(tmp_path / "c")).load() is None


def test_a_memory_consumer_keeps_its_state_while_it_lives() -> None:
    store = MemoryConsumer()
    store.save(ConsumerState((1, 1)))
    assert store.begin_commit() is None
    store.commit_sync()
    store.close()
    assert store.load() == ConsumerState((1, 1))
    store.delete()
    assert store.load() is None


@given(st.lists(STATES, min_size=1, max_size=12), st.data())
def test_a_crash_leaves_a_state_not_older_than_the_last_commit(
    states: list[ConsumerState], data: st.DataObject
) -> None:
    disk = disk_of(data.draw(st.integers(0, 1)))
    store = FileConsumer("/c", fs=disk)
    committed = -1
    for number, state in enumerate(states):
        store.save(state)
        if data.draw(st.booleans()):
            store.commit_sync()
            committed = number
        if data.draw(st.integers(0, 3)) == 0:
            commit = store.begin_commit()
            if commit is not None and data.draw(st.booleans()):
                disk.fail("sync")
                with pytest.raises(OSError, match="error"):
                    commit.run()
            disk.crash(lambda most: data.draw(st.integers(0, most)))
            store = FileConsumer("/c", fs=disk)
            loaded = store.load()
            assert store.damage == ""
            assert loaded in ([None] if committed < 0 else []) + states[max(committed, 0) : number + 1]
    store.save(states[-1])
    store.close()
    assert FileConsumer("/c", fs=disk).load() == states[-1]


def test_a_save_costs_by_what_changed_and_the_log_stays_bounded() -> None:
    disk = FakeDisk()
    store = FileConsumer("/c", fs=disk)
    pending = {seq: (seq, seq) for seq in range(1, PENDING + 1)}
    for number in range(1, 601):
        pending = dict(pending)
        del pending[number]
        pending[PENDING + number] = (PENDING + number, 1)
        store.save(ConsumerState((PENDING + number, PENDING + number), (number, number), pending, {}))
        before = store._end
        store.commit_sync()
        if number > 1:
            assert store._end - before < 200
    assert len(disk.seen["/c/state"].seen) < 5 * PENDING * 24
    last = PENDING + 600
    assert FileConsumer("/c", fs=disk).load() == ConsumerState((last, last), (600, 600), pending, {})


def test_the_log_is_started_again_when_it_has_grown() -> None:
    disk = FakeDisk()
    store = FileConsumer("/c", fs=disk)
    for number in range(1, 3000):
        store.save(ConsumerState((number, number), (0, 0), {number: (number, number)}, {}))
        store.commit_sync()
    assert len(disk.seen["/c/state"].seen) < 70_000
    assert not [path for path in disk.seen if path.endswith(".tmp")]


def saved(count: int) -> FakeDisk:
    """A consumer's files after so many saves, each of the same size; the process has ended."""
    disk = FakeDisk()
    store = FileConsumer("/c", fs=disk)
    for number in range(1, count + 1):
        store.save(ConsumerState((number, number)))
        store.commit_sync()
    disk.kill()
    return disk


def test_what_only_the_copy_knows_is_reported_and_is_the_state() -> None:
    disk = saved(3)
    size = len(disk.seen["/c/state"].seen) // 3
    disk.flip("/c/state", size + 40)
    store = FileConsumer("/c", fs=disk)
    assert store.load() == ConsumerState((3, 3))
    assert (store.damage, store.repaired) == ("", "/c/state is damaged, rewritten from its copy")
    store.save(ConsumerState((4, 4)))
    store.close()
    again = FileConsumer("/c", fs=disk)
    assert (again.load(), again.damage, again.repaired) == (ConsumerState((4, 4)), "", "")
    assert disk.seen["/c/state"].seen == disk.seen["/c/state.copy"].seen


def test_of_two_damaged_logs_the_older_state_is_taken_and_always_reported() -> None:
    disk = saved(3)
    size = len(disk.seen["/c/state"].seen) // 3
    for path in ("/c/state", "/c/state.copy"):
        disk.flip(path, size + 40)
    damaged = FileConsumer("/c", fs=disk)
    assert damaged.load() == ConsumerState((1, 1))
    assert "damaged" in damaged.damage
    damaged.save(ConsumerState((4, 4)))
    damaged.close()
    again = FileConsumer("/c", fs=disk)
    assert again.load() == ConsumerState((4, 4))
    assert "/c/state.damaged" in again.damage
    for path in ("/c/state", "/c/state.copy"):
        disk.flip(path, 40)
    with pytest.raises(Damaged):
        FileConsumer("/c", fs=disk).load()
    assert {"/c/state", "/c/state.copy"} < set(disk.seen)


def test_a_crash_between_the_two_files_is_no_damage_to_the_state() -> None:
    disk = FakeDisk()
    store = FileConsumer("/c", fs=disk)
    for number in (1, 2, 3):
        store.save(ConsumerState((number, number)))
        store.commit_sync()
    disk.crash(lambda most: 0)  # the copy was never synced
    store = FileConsumer("/c", fs=disk)
    assert (store.load(), store.damage) == (ConsumerState((3, 3)), "")
    disk.remove("/c/state")
    store = FileConsumer("/c", fs=disk)
    assert (store.load(), store.repaired) == (
        ConsumerState((3, 3)),
        "/c/state is missing, rewritten from its copy",
    )


def test_a_save_costs_one_sync() -> None:
    disk = FakeDisk()
    store = FileConsumer("/c", fs=disk)
    store.save(ConsumerState((1, 1)))
    store.commit_sync()
    before = disk.syncs
    for number in range(2, 102):
        store.save(ConsumerState((number, number)))
        store.commit_sync()
    assert disk.syncs - before == 100


# As the version before the copies wrote it: a checkpoint (3 delivered, 1 acked, 2 pending), then an ack.
OLD = bytes.fromhex(
    "0e59173eb506000090000000000000000300000000000000000000000000000003000000000000000300000000000000"
    "010000000000000001000000000000000200000001000000000000000000000002000000000000000200000000000000"
    "050000000000000003000000000000000300000000000000090000000000000003000000000000000100000000000000"
    "1496e39ab507000058000000000000000300000000000000000000000000000003000000000000000300000000000000"
    "02000000000000000200000000000000000000000000000001000000000000000200000000000000"
)


def test_a_state_of_the_version_before_is_read_and_gets_its_copy() -> None:
    disk = FakeDisk()
    disk.make_directory("/c")
    file = disk.open("/c/state", create=True)
    disk.write(file, OLD, 0)
    store = FileConsumer("/c", fs=disk)
    assert store.load() == ConsumerState((3, 3), (2, 2), {3: (3, 9)}, {3: 1})
    assert (store.damage, store.repaired) == ("", "")
    assert bytes(disk.seen["/c/state.copy"].seen) == OLD
    store.save(ConsumerState((4, 4), (2, 2), {3: (3, 9), 4: (4, 11)}, {3: 1}))
    store.close()
    assert FileConsumer("/c", fs=disk).load() == ConsumerState(
        (4, 4), (2, 2), {3: (3, 9), 4: (4, 11)}, {3: 1}
    )


def test_a_failed_save_is_not_repeated() -> None:
    disk = FakeDisk()
    store = FileConsumer("/c", fs=disk)
    store.save(ConsumerState((1, 1)))
    disk.fail("sync")
    with pytest.raises(OSError, match="error"):
        store.commit_sync()
    with pytest.raises(StoreFailed):
        store.save(ConsumerState((2, 2)))
    store.close()
