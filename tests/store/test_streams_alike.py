"""File and memory streams give the answers of a simple model, through crashes, compaction and reopening."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import suppress
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from lib.examples import one_in
from lib.fake_disk import FakeDisk, PowerCut
from lib.stream_model import Model, check
from pyjs.store import indexed, subjects
from pyjs.store.file import FileStream
from pyjs.store.memory import MemoryStream
from pyjs.store.message import StoredMessage, columns

SUBJECTS = st.sampled_from(
    ["a.b", "a.c", "a", "c", "b.b", "b.c.d", "x.1", "x.2", "a.d", "a.e", "a.f", "a.g", "ü"]
)
BODIES = st.binary(max_size=60)
HEADERS = st.sampled_from([b"", b"", b"NATS/1.0\r\nA: b\r\n\r\n"])
ANYWHERE = st.integers(0, 200)


OVER: Sequence[int] = [-1]  # stands for the end of a purge


class Streams(RuleBasedStateMachine):
    """What must hold after every step is in `check`; what a crash may take is in `_survivors`."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = FakeDisk()
        self.memory = MemoryStream()
        self.model = Model()
        self.committed = Model()
        self.ever = dict(self.model.messages)
        self.time = 0

    @initialize(size=st.sampled_from([300, 700, 1 << 20]))
    def begin(self, size: int) -> None:
        self.size = size
        self.open()

    def open(self) -> None:
        self.file = FileStream("/s/msgs", fs=self.disk, block_size=self.size)
        assert self.file.faults == []
        assert self.file.damaged() == []

    @rule(
        subject=SUBJECTS,
        header=HEADERS,
        body=BODIES,
        gap=st.sampled_from([0, 0, 0, 1, 7]),
        step=st.integers(-1, 3),
    )
    def append(self, subject: str, header: bytes, body: bytes, gap: int, step: int) -> None:
        self.time = max(1, self.time + step)
        seq = self.model.last_seq + 1 + gap
        self.model.append_at(seq, subject, header, body, self.time)
        for one in (self.memory, self.file):
            one.append_each(*columns([self.model.messages[seq]]))
        self.ever[seq] = self.model.messages[seq]

    @rule(
        messages=st.lists(st.tuples(SUBJECTS, HEADERS, BODIES), min_size=1, max_size=12),
        gaps=st.lists(st.sampled_from([1, 1, 1, 1, 2, 9]), min_size=12, max_size=12),
        steps=st.lists(st.integers(-1, 2), min_size=12, max_size=12),
    )
    def append_each(
        self, messages: list[tuple[str, bytes, bytes]], gaps: list[int], steps: list[int]
    ) -> None:
        run, seq = [], self.model.last_seq
        for message, gap, step in zip(messages, gaps, steps, strict=False):
            seq, self.time = seq + gap, max(1, self.time + step)
            run.append(StoredMessage(seq, *message, self.time))
            self.model.append_at(seq, *message, self.time)
            self.ever[seq] = self.model.messages[seq]
        for one in (self.memory, self.file):
            for wrong in ([run[0]._replace(seq=one.last_seq)], [run[0], run[0]]):
                with pytest.raises(ValueError, match="do not rise"):
                    one.append_each(*columns(wrong))
            one.append_each(*columns(run))

    @rule(count=st.integers(2, 12), subject=SUBJECTS)
    def append_many(self, count: int, subject: str) -> None:
        for number in range(count):
            seq = self.model.last_seq + 1
            body = b"%d" % number
            assert self.file.append(subject, b"", body, self.time) == seq
            assert self.memory.append(subject, b"", body, self.time) == seq
            self.model.append_at(seq, subject, b"", body, self.time)
            self.ever[seq] = self.model.messages[seq]

    @rule(ahead=st.integers(0, 5))
    def skip(self, ahead: int) -> None:
        for one in (self.memory, self.file, self.model):
            one.skip_to(self.model.last_seq + ahead)

    @rule(place=ANYWHERE, erase=st.booleans())
    def remove(self, place: int, erase: bool) -> None:
        seq = sorted(self.model.messages)[place % len(self.model.messages)] if self.model.messages else place
        message = self.model.messages.pop(seq, None)
        for one in (self.memory, self.file):
            expected = (
                one.size_of(message.subject, len(message.header), len(message.body)) if message else None
            )
            assert one.remove(seq, erase=erase) == expected

    @precondition(lambda self: self.model.messages)
    @rule(count=st.integers(1, 5))
    def remove_first(self, count: int) -> None:
        for _ in range(min(count, len(self.model.messages))):
            message = self.model.messages.pop(min(self.model.messages))
            for one in (self.memory, self.file):
                size = one.size_of(message.subject, len(message.header), len(message.body))
                assert one.remove_first() == (message.seq, message.subject, size)

    @rule(subject=st.sampled_from([None, ">", "a.*", "a.b", "none"]), up_to=ANYWHERE, keep=st.integers(0, 3))
    def purge(self, subject: str | None, up_to: int, keep: int) -> None:
        if up_to > 100:
            up_to = 0
        elif up_to:
            keep = 0  # the API takes one of the two
            up_to = max(1, self.model.last_seq - 90 + up_to)
        expected = self.model.purge(subject, up_to, keep)
        for one in (self.memory, self.file):
            assert one.purge(subject=subject, up_to=up_to, keep=keep) == expected

    @rule(
        subject=st.sampled_from([None, "a.*", "a.b", "none"]),
        up_to=ANYWHERE,
        keep=st.integers(0, 3),
        new=st.lists(SUBJECTS, max_size=4),
        cheap=st.booleans(),
    )
    def purge_in_steps(self, subject: str | None, up_to: int, keep: int, new: list[str], cheap: bool) -> None:
        """What comes meanwhile is kept, and after each step it is as if less had been asked for."""
        if up_to > 100:
            up_to = 0
        elif up_to:
            keep, up_to = 0, max(1, self.model.last_seq - 90 + up_to)
        wanted = self.model.copy()
        wanted.purge(subject, up_to, keep)
        doomed = sorted(set(self.model.messages) - set(wanted.messages))
        with patch.object(indexed, "STEP", 2), patch.object(subjects, "STEP", 2):
            for one in (self.memory, self.file):
                one._is_cheap = lambda seq: cheap  # type: ignore[method-assign]
            under_way: list[Generator[Sequence[int] | None] | None] = [
                one.purging(subject=subject, up_to=up_to, keep=keep) for one in (self.memory, self.file)
            ]
            gone = [0, 0]
            while under_way != [None, None]:
                for place, store in enumerate((self.memory, self.file)):
                    steps = under_way[place]
                    if steps is None:
                        continue
                    removed = next(steps, OVER)
                    if removed is OVER:
                        under_way[place] = None
                        assert gone[place] == len(doomed)
                    elif removed is None:
                        gone[place] = sum(seq < store.first_seq for seq in doomed)
                    else:
                        assert list(removed) == doomed[gone[place] : gone[place] + len(removed)]
                        gone[place] += len(removed)
                    assert [seq for seq in doomed if seq in store._index.live] == doomed[gone[place] :]
                if new:
                    self.model.last_seq = max(self.model.last_seq, wanted.last_seq)
                    self.append(new.pop(), b"", b"meanwhile", 0, 0)
        for seq in doomed:
            del self.model.messages[seq]
        self.model.last_seq = max(self.model.last_seq, wanted.last_seq)

    @rule()
    def commit(self) -> None:
        self.file.commit_sync()
        self.committed = self.model.copy()

    @rule(subject=SUBJECTS, body=BODIES, die=st.sampled_from([0, 0, 1, 2]), data=st.data())
    def append_while_committing(self, subject: str, body: bytes, die: int, data: st.DataObject) -> None:
        commit = self.file.begin_commit()
        at_begin = self.model.copy()
        self.append(subject, b"", body, 0, 1)
        if commit is None:
            return
        if die == 1:
            self.crash(data)
            return
        commit.run()
        self.committed = at_begin
        if die == 2:
            self.crash(data)
            return
        self.file.finish(commit)

    @rule()
    def maintain(self) -> None:
        while (work := self.file.begin_maintenance()) is not None:
            work.run()
            self.file.finish(work)

    @rule(subject=SUBJECTS, body=BODIES, after=st.integers(0, 12), data=st.data())
    def power_goes_while_committing(self, subject: str, body: bytes, after: int, data: st.DataObject) -> None:
        commit = self.file.begin_commit()
        at_begin = self.model.copy()
        self.append(subject, b"", body, 0, 1)
        if commit is None:
            return
        self.disk.cut_after(after)
        try:
            commit.run()
        except PowerCut:
            self.crash(data)
            return
        self.disk.kill()
        self.committed = at_begin
        self._survivors()

    @rule(after=st.integers(0, 8), data=st.data())
    def power_goes_while_maintaining(self, after: int, data: st.DataObject) -> None:
        work = self.file.begin_maintenance()
        if work is None:
            return
        self.disk.cut_after(after)
        try:
            work.run()
            self.file.finish(work)
        except PowerCut:
            self.crash(data)
            return
        self.disk.kill()
        self._survivors()

    @rule(after=st.integers(0, 12), tear=st.booleans(), data=st.data())
    def power_goes_while_opening(self, after: int, tear: bool, data: st.DataObject) -> None:
        if tear:
            self.disk.crash(lambda most: data.draw(st.integers(0, most)))
        else:
            self.disk.kill()
        self.disk.cut_after(after)
        with suppress(PowerCut):
            FileStream("/s/msgs", fs=self.disk, block_size=self.size)
        self.crash(data)

    @rule(place=ANYWHERE, die=st.booleans(), data=st.data())
    def remove_while_maintaining(self, place: int, die: bool, data: st.DataObject) -> None:
        work = self.file.begin_maintenance()
        self.remove(place, erase=place % 2 == 0)
        if work is None:
            return
        work.run()
        if die:
            self.crash(data)
            return
        if place % 3 == 0:
            self.commit()
        self.file.finish(work)

    @rule()
    def reopen(self) -> None:
        self.file.close()
        self.committed = self.model.copy()
        assert not self.disk.files
        self.open()

    @rule()
    def kill(self) -> None:
        self.disk.kill()
        self._survivors()

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        self.disk.crash(lambda most: data.draw(st.integers(0, most)))
        self._survivors()

    def _survivors(self) -> None:
        """Open what a crash left, compare it with what may and must be there, and go on from it."""
        self.open()
        survived = self.file
        assert self.committed.last_seq <= survived.last_seq <= self.model.last_seq
        if survived.last_seq == self.committed.last_seq:
            assert survived.last_time == self.committed.last_time
        present = {message.seq: message for message in _all(survived)}
        for seq, message in self.committed.messages.items():
            if seq in self.model.messages:
                assert present[seq] == message, "an acknowledged message is lost"
        for seq, message in present.items():
            assert message == self.ever[seq], "what nobody wrote is there"
            assert seq > self.committed.last_seq or seq in self.committed.messages, (
                "a removed message is back"
            )
        self.model.messages = present
        self.model.last_seq, self.model.last_time = survived.last_seq, survived.last_time
        self.memory = MemoryStream()
        self.ever = dict(present)
        if survived.last_time:
            # The memory stream must know the same last time, which may be a removed message's.
            before = min(present, default=survived.last_seq + 1)
            if before > 1:
                gone = StoredMessage(before - 1, "gone", b"", b"", survived.last_time)
                self.memory.append_each(*columns([gone]))
                self.memory.remove(before - 1)
        for message in present.values():
            self.memory.append_each(*columns([message]))
        self.memory.skip_to(survived.last_seq)
        self.memory.last_time = survived.last_time
        self.file.commit_sync()
        self.committed = self.model.copy()

    @invariant()
    def alike(self) -> None:
        if not hasattr(self, "file"):
            return
        check(self.memory, self.model)
        check(self.file, self.model)

    def teardown(self) -> None:
        if hasattr(self, "file"):
            self.file.close()
            assert not self.disk.files


def _all(store: FileStream):  # type: ignore[no-untyped-def]
    seq = 1
    while (message := store.next((), seq)) is not None:
        yield message
        seq = message.seq + 1


Streams.TestCase.settings = settings(
    one_in(4), stateful_step_count=30, suppress_health_check=list(HealthCheck)
)
TestStreamsAlike = Streams.TestCase
