"""Random histories of a stream with one damaged file: what is opened afterwards, compared with a model.

Whatever is damaged: no wrong message is returned, nothing that was removed comes back, what is missing is
reported, after later openings too, and no sequence is used twice.
"""

from __future__ import annotations

from random import Random

import pytest
from lib.damage.harm import HARMS
from lib.fake_disk import FakeDisk, Inode
from pyjs.store.errors import NotFound
from pyjs.store.file import FileStream
from pyjs.store.indexed import MOST_NAMED

DIRECTORY = "/m"
HISTORIES = 300


class History:
    """One stream. held: sequence -> body of what must be there or named as lost, lost: what is named."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.disk = FakeDisk()
        self.block_size = self.rng.choice([400, 900, 3000])
        self.stored: dict[int, bytes] = {}
        self.lost: set[int] = set()
        self.last = 0
        self.open()

    def open(self) -> None:
        self.store = FileStream(DIRECTORY, fs=self.disk, block_size=self.block_size)

    def live_on(self, steps: int) -> None:
        """Do random things, all of them committed at last."""
        doings = [self.append] * 16 + [self.remove] * 5 + [self.store.commit_sync] * 3
        doings += [self.remove_first, self.purge, self.skip, self.compact]
        for _ in range(steps):
            self.rng.choice(doings)()
        self.store.commit_sync()

    def append(self) -> None:
        body = b"%d-" % self.rng.randrange(10**6) * self.rng.randrange(1, 8)
        seq = self.store.append(self.rng.choice("abcd"), b"", body, 1000 + self.last)
        assert seq > self.last
        self.stored[seq], self.last = body, seq

    def remove(self) -> None:
        if self.stored:
            seq = self.rng.choice(sorted(self.stored))
            self.store.remove(seq, erase=self.rng.random() < 0.2)
            del self.stored[seq]

    def remove_first(self) -> None:
        try:
            self._gone(self.store.remove_first()[0] + 1)
        except NotFound:
            return

    def purge(self) -> None:
        up_to = self.rng.randrange(2, self.last + 5)
        self.store.purge(up_to=up_to)
        self._gone(up_to)
        self.last = max(self.last, up_to - 1)

    def _gone(self, below: int) -> None:
        self.stored = {seq: body for seq, body in self.stored.items() if seq >= below}
        self.lost = {seq for seq in self.lost if seq >= below}

    def skip(self) -> None:
        self.last += self.rng.randrange(1, 4)
        self.store.skip_to(self.last)

    def compact(self) -> None:
        self.store.commit_sync()
        work = self.store.begin_maintenance()
        if work is not None:
            work.run()
            self.store.finish(work)

    def end(self) -> None:
        """The process ends, in good order or not."""
        if self.rng.random() < 0.5:
            self.disk.kill()
        else:
            self.store.close()

    def harm(self) -> str:
        """Damage one file; says which and how."""
        path = self.rng.choice(sorted(self.disk.seen))
        name = self.rng.choice(sorted(HARMS))
        data = bytes(self.disk.seen[path].seen)
        harmed = HARMS[name](data) if data else data
        for names in (self.disk.seen, self.disk.safe):
            names.pop(path, None)
            if harmed is not None:
                names[path] = Inode(bytearray(harmed), harmed)
        return f"{path}: {name}"

    def compare(self, what: object) -> None:
        """See the module."""
        store = self.store
        store.verify(limit=1 << 20)
        named, there, message = set(store.damaged()), {}, store.next((), 1)
        while message is not None:
            there[message.seq] = message.body
            message = store.next((), message.seq + 1)
        assert store.last_seq >= self.last, what
        assert there.items() <= self.stored.items(), what
        missing = self.stored.keys() - there.keys()
        assert missing | self.lost <= named, what
        self.lost |= missing
        self.stored = there
        self.last = max(self.last, store.last_seq)


@pytest.mark.parametrize("part", range(4))
def test_one_damaged_file_in_a_random_history(part: int) -> None:
    losses = 0
    for seed in range(part * HISTORIES // 4, (part + 1) * HISTORIES // 4):
        history = History(seed)
        history.live_on(history.rng.randrange(5, 150))
        history.end()
        what = (seed, history.harm())
        for turn in range(3):
            history.open()
            history.compare((*what, turn))
            losses += bool(history.lost)
            history.live_on(history.rng.randrange(40))
            history.end()
    assert losses > 10


def test_all_of_a_big_part_that_is_gone_is_named() -> None:
    disk = FakeDisk()
    store = FileStream(DIRECTORY, fs=disk)
    for _ in range(5000):
        store.append("a", b"", b"x", 1)
    store.close()
    path = f"{DIRECTORY}/0000000001-0.blk"
    data = disk.seen[path].seen
    data[500:] = bytes(len(data) - 500)
    again = FileStream(DIRECTORY, fs=disk)
    again.verify(limit=1 << 20)
    disk.remove(f"{DIRECTORY}/0000000001-0.idx")
    for opened in (again, FileStream(DIRECTORY, fs=disk)):
        assert len(opened.damaged()) == 5000 - opened.messages > 4900
        assert opened.append("a", b"", b"after", 2) == 5001


def test_what_others_know_is_lost_without_taking_all_memory() -> None:
    store = FileStream(DIRECTORY, fs=FakeDisk())
    store.append("a", b"", b"x", 1)
    store.mark_used(10**12)
    assert store.append("a", b"", b"after", 2) == 10**12 + 1
    assert store.damaged() == list(range(10**12 + 1 - MOST_NAMED, 10**12 + 1))
