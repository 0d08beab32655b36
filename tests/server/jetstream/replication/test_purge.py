"""A purge of many messages is several entries, with the effect of one."""

from __future__ import annotations

from typing import Any

import pytest
from lib.fake_clock import FakeClock
from lib.replicas import Alone, Member, MemoryLog
from pyjs.server.jetstream.replication import entry
from pyjs.store import indexed
from pyjs.store.file import FileStream

SUBJECTS = ("s.a", "s.b", "s.c.d")
CONFIG: dict[str, Any] = {"max_age": 0, "duplicate_window": 0}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexed, "STEP", 3)
    monkeypatch.setattr(FileStream, "_is_cheap", lambda *_: False)


def led() -> Member:
    log = MemoryLog()
    member = Member(log, CONFIG, FakeClock())
    member.clock.advance(1)
    log.lead(member)
    return member


def fill(target: Any, count: int = 30) -> None:
    target.receive_batch([(SUBJECTS[at % 3].encode(), b"", 0, 1, b"1\r\nx\r\n") for at in range(count)])


@pytest.mark.parametrize(
    "asked",
    [
        {"subject": "s.*"},
        {"subject": "s.a", "keep": 2},
        {"subject": "s.>", "keep": 40},
        {"up_to": 20},
        {"up_to": 100},
        {"keep": 12},
        {"subject": "s.b", "up_to": 17},
        {},
    ],
)
def test_it_comes_to_what_one_purge_would(asked: dict[str, Any]) -> None:
    member = led()
    alone = Alone(CONFIG)
    fill(member.replica.proposals)
    fill(alone.stream.ingest)
    got: list[Any] = []
    member.stream.removal.start_purge(got.append, **asked)
    alone.stream.removal.start_purge(got.append, **asked)
    assert got[0] == got[1]
    stores = member.stream.store, alone.stream.store
    sequences = [[message.seq for message in _all(store)] for store in stores]
    assert sequences[0] == sequences[1]
    assert stores[0].last_seq == stores[1].last_seq


def test_no_entry_removes_much(monkeypatch: pytest.MonkeyPatch) -> None:
    member = led()
    fill(member.replica.proposals)
    removed: list[Any] = []
    apply = member.replica.applier.applying

    def watch(index: int, data: bytes) -> Any:
        outcome = yield from apply(index, data)
        if isinstance(entry.decode(data), entry.Purge):
            removed.append(outcome)
        return outcome

    monkeypatch.setattr(member.replica.applier, "applying", watch)
    got: list[Any] = []
    member.stream.removal.start_purge(got.append, subject="s.*")
    assert got == [20]
    assert removed == [3, 3, 3, 3, 3, 3, 2]


def _all(store: Any) -> list[Any]:
    found, seq = [], 1
    while (message := store.next((), seq)) is not None:
        found.append(message)
        seq = message.seq + 1
    return found
