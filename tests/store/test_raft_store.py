"""A Raft member's directory against a model: crashes, refusals and damage at every operation.

What may be found after a crash is what the last call that returned left, or a beginning of what the call that
did not return would have left; it is never a loss. Damage is a loss, which is reported and remembered, or it
is harmless. Nothing is returned but what was written.
"""

from __future__ import annotations

import copy
import errno
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any

import pytest
from lib.examples import seeds
from lib.fake_disk import FakeDisk, PowerCut
from lib.sealed_disk import disk_of
from pyjs.store.errors import Damaged, NotFound
from pyjs.store.raft import RaftStore, StoredRaft, StoredSnapshot, StoredState
from pyjs.store.raft import store as module
from pyjs.store.raft.state_files import read_state, write_state

PATH = "/raft"
SEGMENT = 300
Entry = tuple[int, int, bytes]


@dataclass
class Model:
    """What a member holds. entries by index, without holes, up to `last`."""

    state: StoredState = field(default_factory=StoredState)
    snapshot: StoredSnapshot = field(default_factory=lambda: StoredSnapshot(0, 0, b"[]", b"0"))
    entries: dict[int, Entry] = field(default_factory=dict)
    last: int = 0
    ever: dict[int, list[Entry]] = field(default_factory=dict)  # all that was ever written

    def copy(self) -> Model:
        return replace(self, entries=dict(self.entries))

    def term(self, index: int) -> int:
        return self.snapshot.term if index == self.snapshot.index else self.entries[index][0]

    def tail(self) -> dict[int, Entry]:
        """What comes after the snapshot."""
        return {index: entry for index, entry in self.entries.items() if index > self.snapshot.index}


@pytest.fixture(autouse=True, params=["later", "at once"])
def zeros(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """When zeros are written ahead: after a long run of small writes, or always and few of them."""
    if request.param == "at once":
        monkeypatch.setattr(module, "_RUN", 0)
        monkeypatch.setattr(module, "AHEAD", 700)


Call = Callable[[RaftStore], None]
Step = tuple[
    Call, list[Model]
]  # what is done, and what may be found if it is cut short; the last: it was not


def plan(random: Random, steps: int = 14) -> Iterator[Step]:
    """Calls that a member could make, with their effects."""
    now = Model()
    for _ in range(steps):
        kind = random.choice(["append", "append", "append", "replace", "state", "install", "compact"])
        before, term = now.copy(), now.state.term + random.randint(0, 1)
        after = now.copy()
        if kind in ("append", "replace"):
            lowest = before.snapshot.index + 1
            first = random.randint(lowest, before.last + 1) if kind == "replace" else before.last + 1
            new = [
                (max(term, 1), 0, random.randbytes(random.randint(0, 90)))
                for _ in range(random.randint(1, 4))
            ]
            state = StoredState(term=max(term, 1)) if random.random() < 0.5 else None
            outcomes = _append(before, after, first, new, state)
            yield _call("write", state=state, first=first, entries=new), outcomes
        elif kind == "state":
            after.state = StoredState(term=term, vote=random.choice(["", "a", "b"]))
            yield _call("write", state=after.state), [before, after]
        elif kind == "install":
            index = before.last + random.randint(1, 20)
            after.snapshot = StoredSnapshot(index, max(term, 1), b"[]", random.randbytes(40))
            after.entries, after.last = {}, index
            yield _call("write", snapshot=after.snapshot), [before, after]
        else:
            index = random.randint(before.snapshot.index, before.last)
            after.snapshot = StoredSnapshot(index, before.term(index), b"[]", random.randbytes(40))
            base = max(0, index - 2)
            yield _call("compact", after.snapshot, base), [before, after]
        now = after


def _append(
    before: Model, after: Model, first: int, new: list[Entry], state: StoredState | None
) -> list[Model]:
    outcomes = [before]
    if state is not None:
        after.state = state
        outcomes.append(replace(before.copy(), state=state))
    for count in range(1, len(new) + 1):
        cut = after.copy()
        cut.entries = {index: entry for index, entry in before.entries.items() if index < first}
        cut.entries.update({first + place: new[place] for place in range(count)})
        cut.last = first + count - 1
        outcomes.append(cut)
    for place, entry in enumerate(new):
        after.ever.setdefault(first + place, []).append(entry)
    after.entries, after.last = outcomes[-1].entries, outcomes[-1].last
    return outcomes


def _call(name: str, *given: Any, **named: Any) -> Call:
    return lambda store: getattr(store, name)(*given, **named)


def made(disk: FakeDisk) -> RaftStore:
    store = RaftStore(PATH, fs=disk, segment_bytes=SEGMENT)
    store.create(Model().snapshot)
    store = RaftStore(PATH, fs=disk, segment_bytes=SEGMENT)
    store.open()
    return store


def found(stored: StoredRaft) -> tuple[Any, ...]:
    """What was read, as far as it counts."""
    entries = {
        index: tuple(record)
        for index, record in enumerate(stored.entries, stored.base + 1)
        if index > stored.snapshot.index
    }
    return stored.state.term, stored.state.vote, stored.snapshot, entries


def expected(model: Model) -> tuple[Any, ...]:
    return model.state.term, model.state.vote, model.snapshot, model.tail()


def reopened(disk: FakeDisk) -> tuple[RaftStore, StoredRaft]:
    store = RaftStore(PATH, fs=disk, segment_bytes=SEGMENT)
    return store, store.open()


def works(disk: FakeDisk, stored: StoredRaft, store: RaftStore) -> None:
    """It takes more, and gives that again."""
    last = stored.base + len(stored.entries)
    store.write(state=stored.state._replace(term=99), first=last + 1, entries=[(99, 0, b"more")])
    disk.crash(lambda most: 0)
    _, again = reopened(disk)
    assert again.lost == ""
    assert again.state.term == 99
    assert again.base + len(again.entries) == last + 1
    assert tuple(again.entries[-1]) == (99, 0, b"more")
    assert again.state.boot == stored.state.boot + 1


@seeds(25)
def test_what_was_written_is_read_again(seed: int) -> None:
    disk = disk_of(seed)
    store = made(disk)
    random = Random(seed)
    for call, outcomes in plan(random, 40):
        call(store)
        if random.random() < 0.3:
            store.close()
            disk.crash(lambda most: 0)
            store, stored = reopened(disk)
            assert stored.lost == ""
            assert found(stored) == expected(outcomes[-1])
    store.close()
    store, stored = reopened(disk)
    works(disk, stored, store)


@seeds(10)
def test_a_power_cut_at_every_operation(seed: int) -> None:
    steps = list(plan(Random(seed)))
    cut = 0
    while True:
        disk = disk_of(seed)
        store = made(disk)
        disk.cut_after(cut)
        possible = [Model()]
        rng = Random(seed * 1000 + cut)
        for call, outcomes in steps:
            if _cut(disk, partial(call, store), rng, lose_sectors=cut % 3 == 0):
                possible = outcomes
                break
            possible = outcomes[-1:]
        else:
            return
        store, stored = reopened(disk)
        assert stored.lost == ""
        assert found(stored) in [expected(each) for each in possible]
        works(disk, stored, store)
        cut += 1


@seeds(5)
def test_a_power_cut_at_every_operation_of_opening(seed: int) -> None:
    steps = list(plan(Random(seed)))
    for cut in range(60):
        disk = disk_of(seed)
        store = made(disk)
        model = _done(store, steps)
        disk.kill()
        disk.cut_after(cut)
        if not _cut(disk, partial(reopened, disk), Random(cut)):
            return
        store, stored = reopened(disk)
        assert stored.lost == ""
        assert found(stored) == expected(model)
        works(disk, stored, store)


@pytest.mark.parametrize("operation", ["write", "sync", "rename", "sync_directory", "open", "remove", "full"])
@pytest.mark.parametrize("seed", range(8))
def test_a_refusal_ends_it_and_who_opens_it_goes_on(seed: int, operation: str) -> None:
    """Also on a system that forgets what a failed sync left unwritten, and shows it nevertheless."""
    steps = list(plan(Random(seed)))
    for when in range(12):
        disk = disk_of(seed)
        disk.forgets = True
        store = made(disk)
        possible = [Model()]
        try:
            for place, (call, outcomes) in enumerate(steps):
                if place == when and operation == "full":
                    disk.space = Random(when).randint(0, 120)
                elif place == when:
                    disk.fail(operation, errno.EIO)
                possible = outcomes
                call(store)
                possible = outcomes[-1:]
        except OSError:
            assert store.failed
            with pytest.raises(OSError, match="earlier"):
                store.write(state=StoredState(7))
        store.close()
        disk.space = None
        disk._failures.clear()
        store, stored = reopened(disk)
        assert stored.lost == ""
        assert found(stored) in [expected(each) for each in possible]
        store.close()
        disk.crash(lambda most: 0)
        store, again = reopened(disk)
        assert found(again) == found(stored), "what was vouched for was not durable"
        works(disk, again, store)


def _done(store: RaftStore, steps: Iterable[Step]) -> Model:
    """All of a plan; what is there afterwards."""
    model = Model()
    for call, outcomes in steps:
        call(store)
        model = outcomes[-1]
    return model


def _cut(disk: FakeDisk, action: Callable[[], object], rng: Random, *, lose_sectors: bool = False) -> bool:
    """Whether the power went in the middle of it."""
    try:
        action()
    except PowerCut:
        disk.crash(lambda most: rng.randint(0, most), lose_sectors=lose_sectors)
        return True
    return False


def _full(seed: int) -> tuple[FakeDisk, Model]:
    disk = disk_of(seed)
    store = made(disk)
    model = _done(store, plan(Random(seed), 25))
    store.close()
    disk.kill()
    return disk, model


def _damages(disk: FakeDisk, random: Random) -> Iterator[tuple[str, str, int]]:
    for path in sorted(disk.seen):
        size = len(disk.seen[path].seen)
        yield path, "lose", 0
        for at in sorted({0, size // 2, max(0, size - 1), *(random.randrange(size) for _ in range(6))}):
            yield path, "flip", at
            yield path, "cut", at


def _hurt(disk: FakeDisk, path: str, how: str, at: int) -> None:
    if how == "lose":
        disk.remove(path)
        disk.sync_directory(PATH)
    elif how == "flip":
        disk.flip(path, at, 1 << (at % 8))
    else:
        del disk.seen[path].seen[at:]
        disk.seen[path].safe = bytes(disk.seen[path].seen)


@seeds(6)
def test_damage_of_every_kind_of_file_is_reported_or_harmless(seed: int) -> None:
    whole, model = _full(seed)
    for path, how, at in list(_damages(whole, Random(seed))):
        disk = copy.deepcopy(whole)
        _hurt(disk, path, how, at)
        what = f"{how} {path} at {at}"
        store, stored = reopened(disk)
        if "/state" in path or path.endswith("/synced"):
            told = [stored.repaired, *getattr(disk, "reported", ())]  # what the encryption itself tells of
            assert any(path in one for one in told), what
        if not stored.lost:
            assert found(stored) == expected(model), what
            assert not stored.state.recovering, what
        else:
            assert stored.state.recovering, what
            _only_what_was_written(stored, model, what)
        boot = stored.state.boot
        last = stored.base + len(stored.entries)
        store.write(first=last + 1, entries=[(50, 0, b"refilled")])
        disk.crash(lambda most: 0)
        store, again = reopened(disk)
        assert again.lost == "", what
        assert again.state.recovering == stored.state.recovering, f"{what}: it is remembered"
        assert again.state.boot == boot + 1, what
        assert tuple(again.entries[-1]) == (50, 0, b"refilled"), what


def _only_what_was_written(stored: StoredRaft, model: Model, what: str) -> None:
    if stored.snapshot.members:
        assert stored.snapshot == model.snapshot, what
    for index, record in enumerate(stored.entries, stored.base + 1):
        assert tuple(record) in model.ever[index], what  # perhaps what was replaced by what is lost


@seeds(16)
def test_after_a_power_cut_what_is_damaged_before_the_last_write_is_reported(seed: int) -> None:
    """Without `synced`, which the power took: only the very last write may pass for one cut short."""
    disk = FakeDisk()
    store = made(disk)
    ends = []
    for index in range(1, 6):
        store.write(first=index, entries=[(1, 0, bytes([0x80 + index % 3] * 40))])
        ends.append(store._size)
    disk.crash(lambda most: 0)
    disk.remove(f"{PATH}/synced")
    disk.flip(f"{PATH}/log.1", Random(seed).randrange(ends[3]), 1 << (seed % 8))
    _, stored = reopened(disk)
    assert stored.lost
    assert stored.state.recovering


def test_an_empty_directory_is_nobodys() -> None:
    disk = FakeDisk()
    disk.make_directory(PATH)
    with pytest.raises(NotFound):
        reopened(disk)


def test_a_creation_cut_short_is_none_or_whole() -> None:
    for cut in range(80):
        disk = disk_of(cut)
        disk.cut_after(cut)
        store = RaftStore(PATH, fs=disk)
        if not _cut(disk, partial(store.create, Model().snapshot), Random(cut)):
            return
        try:
            _, stored = reopened(disk)
            assert found(stored) == expected(Model())
        except (Damaged, NotFound):
            RaftStore(PATH, fs=disk).create(Model().snapshot)
            assert found(reopened(disk)[1]) == expected(Model())


def test_an_older_state_put_back_does_not_count() -> None:
    disk = FakeDisk()
    disk.make_directory("/r")
    write_state(disk, "/r/state", StoredState(term=3, boot=1))
    old = bytes(disk.seen["/r/state"].seen)
    newer = StoredState(term=3, vote="b", boot=1)
    write_state(disk, "/r/state", newer)
    disk.seen["/r/state"].seen[:] = old
    assert read_state(disk, "/r/state") == (newer, "/r/state is older than its copy")


def _log(disk: FakeDisk, number: int = 1) -> bytes:
    return bytes(disk.seen[f"{PATH}/log.{number}"].seen)


def _has_zeros(disk: FakeDisk, number: int = 1) -> bool:
    return _log(disk, number).endswith(bytes(64))


def _small_writes(store: RaftStore, first: int, count: int, size: int = 40) -> None:
    for index in range(first, first + count):
        store.write(first=index, entries=[(1, 0, b"x" * size)])


def _large(disk: FakeDisk, segment: int = 4000) -> RaftStore:
    """The member that `made` makes, with larger segments."""
    made(disk).close()
    store = RaftStore(PATH, fs=disk, segment_bytes=segment)
    store.open()
    return store


def test_a_run_of_small_writes_gets_zeros_which_are_cut_off_at_its_end() -> None:
    disk = FakeDisk()
    store = _large(disk)
    _small_writes(store, 1, 40)
    assert _has_zeros(disk)
    if module._RUN:
        size = len(_log(disk))
        _small_writes(store, 41, 2)
        assert len(_log(disk)) == size, "they were overwritten"
    _small_writes(store, store._last + 1, 102 - store._last)
    assert not _has_zeros(disk), "a newer segment has begun"
    if not module._RUN:
        assert _has_zeros(disk, 2)
    disk.kill()
    store = RaftStore(PATH, fs=disk, segment_bytes=4000)
    stored = store.open()
    assert (stored.lost, len(stored.entries), _has_zeros(disk, 2)) == ("", 102, False)
    _small_writes(store, 103, 20)
    assert _has_zeros(disk, 2)
    store.close()
    assert not _has_zeros(disk, 2)
    assert len(reopened(disk)[1].entries) == 122


def test_a_large_write_ends_the_run() -> None:
    disk = FakeDisk()
    store = _large(disk, 1 << 20)
    _small_writes(store, 1, 30)
    assert _has_zeros(disk)
    store.write(first=31, entries=[(1, 0, b"x" * (module.AHEAD + 5000))])
    assert not _has_zeros(disk)


def test_where_there_is_no_room_for_zeros_the_entries_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AHEAD", 1 << 16)
    disk = FakeDisk()
    store = _large(disk)
    disk.space = 2500
    _small_writes(store, 1, 25)
    assert not store.failed
    assert not _has_zeros(disk)
    disk.space = None
    assert len(reopened(disk)[1].entries) == 25


@seeds(20)
def test_a_snapshot_of_the_leader_replaces_a_log_with_zeros(seed: int) -> None:
    """Whenever the power goes, the old log or the new one is there, and nothing is a loss."""
    for cut in range(60):
        disk = FakeDisk()
        store = _large(disk, 1 << 20)
        _small_writes(store, 1, 25)
        disk.cut_after(cut)
        install = partial(store.write, snapshot=StoredSnapshot(90, 3, b"[]", b"new"))
        if not _cut(disk, install, Random(seed * 100 + cut), lose_sectors=True):
            return
        _, stored = reopened(disk)
        assert stored.lost == ""
        assert stored.snapshot.index == 90 or len(stored.entries) == 25
