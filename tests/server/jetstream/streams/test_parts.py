"""The parts of a stream work on its contents and their ports, without the stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from lib.fake_clock import FakeClock
from lib.streams import HandRunner
from pyjs.protocol import headers
from pyjs.protocol.api.stream import StreamConfig
from pyjs.server import slices
from pyjs.server.accounts.account import HeadedAnswer
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.accounts.subscription import Publish
from pyjs.server.jetstream.host import BatchCapacity
from pyjs.server.jetstream.quota import Quota
from pyjs.server.jetstream.streams.commit import Answer, GroupCommit
from pyjs.server.jetstream.streams.contents import StreamContents
from pyjs.server.jetstream.streams.context import StreamDeps
from pyjs.server.jetstream.streams.ingest import Ingest
from pyjs.server.jetstream.streams.removal import MessageRemoval
from pyjs.server.jetstream.streams.source_offsets import SourceOffsets
from pyjs.server.jetstream.streams.stream_consumers import StreamConsumers
from pyjs.server.jetstream.streams.validation.config import check
from pyjs.server.jetstream.streams.validation.context import ValidationContext
from pyjs.server.slices import Steps, TurnScheduler, at_once
from pyjs.store import indexed
from pyjs.store.errors import StoreClosed
from pyjs.store.memory import MemoryStream


class ConsumerStub:
    """Keeps what it is told of a purge."""

    def __init__(self) -> None:
        self.reported: list[Any] = []

    def on_purging(self, gone: Sequence[int] | None) -> Steps[None]:
        self.reported.append(gone)
        yield from ()

    def after_purge(self) -> Steps[None]:
        self.reported.append("after")
        yield from ()


class Owner:
    """Fulfils the ports of all parts, and has them over a stream `S` in memory."""

    def __init__(self, **config: Any) -> None:
        clock, runner = FakeClock(), HandRunner()
        self.answers: list[Answer] = []
        self.failures: list[str] = []
        self.gone: list[int] = []
        self.consumer: Any = ConsumerStub()
        self.quota = Quota()
        deps = StreamDeps(clock, clock, clock, clock, lambda _: 0, self.quota, StreamConsumers())
        store = MemoryStream()
        self.queue = GroupCommit(
            store,
            runner,
            Flusher(clock),
            self._nothing,
            self.send_each,
            self._nothing,
            lambda error: str(error).encode(),
        )
        asked = {"name": "S", "storage": "memory", "subjects": ["s.>"], "num_replicas": 1, **config}
        made = check(StreamConfig.from_json(asked), ValidationContext())
        offsets = SourceOffsets(store, clock, lambda: None)
        self.contents = StreamContents(made, store, deps, self.queue, offsets, self, unreadable=())
        self.waiting: list[Callable[[], None]] = []
        self.removal = MessageRemoval(
            self.contents, TurnScheduler(self.waiting.append), self, {"c": self.consumer}, self.removed
        )
        self.ingest = Ingest(self.contents, self, BatchCapacity(), domain="")

    def _nothing(self, *_: object) -> None:
        """Nobody listens."""

    def publish(self, subject: bytes, body: bytes, header: bytes = b"") -> dict[str, Any]:
        """Publish; gives the answer."""
        size = len(header) + len(body)
        message: Publish = (subject, b"r", len(header), size, b"r %d\r\n%b%b\r\n" % (size, header, body))
        self.ingest.receive_batch([message])
        return dict(json.loads(self.answers.pop()[1]))

    # the ports

    def removed(self, sequence: int, _subject: str) -> None:
        self.gone.append(sequence)
        self.contents.update_usage()

    def remove_in_turns(self, steps: Steps[int]) -> None:
        self.removal.begin(steps)

    def leave_marker(self, subject: str, header: bytes) -> None:
        raise AssertionError((subject, header))

    def send_each(self, messages: list[Answer]) -> None:
        self.answers += messages

    def send_answers(self, answers: list[HeadedAnswer]) -> None:
        self.answers += [(subject, body) for subject, _, body in answers]

    def store_failed(self, error: Exception) -> None:
        self.failures.append(str(error))

    def log_failure(self, text: str) -> None:
        self.failures.append(text)

    def roll_up(self, rollups: list[tuple[str, int]]) -> list[Answer] | None:
        return self.removal.roll_up(rollups)

    def send(self, subject: str, header: bytes, body: bytes, *, own: bool = False) -> None:
        raise AssertionError((subject, header, body, own))


def test_a_publish_is_answered_and_counted_without_a_stream() -> None:
    owner = Owner(max_msgs=2)
    assert [owner.publish(b"s.a", body)["seq"] for body in (b"1", b"2", b"3")] == [1, 2, 3]
    assert owner.gone == [1]
    assert owner.quota.used == owner.contents.store.bytes > 0
    owner.contents.end_usage()
    assert owner.quota.used == 0


def test_a_store_that_fails_is_reported_and_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = Owner()

    def fail(*_: object) -> int:
        raise OSError("no space")

    monkeypatch.setattr(owner.contents.store, "append", fail)
    assert owner.publish(b"s.a", b"1")["error"]["err_code"] == 10077
    assert owner.failures == ["no space"]


@pytest.fixture
def _short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A purge of a few messages takes several steps, each in a turn of its own."""
    monkeypatch.setattr(indexed, "STEP", 2)
    monkeypatch.setattr(slices, "SECONDS", 0.0)


@pytest.mark.usefixtures("_short_steps")
def test_a_rollup_is_answered_when_all_before_it_is_gone() -> None:
    owner = Owner(allow_rollup_hdrs=True)
    for number in range(9):
        owner.publish(b"s.a", b"%d" % number)
    rollup = headers.encode({"Nats-Rollup": "sub"})
    message: Publish = (b"s.a", b"r", len(rollup), len(rollup), b"r %d\r\n%b\r\n" % (len(rollup), rollup))
    owner.ingest.receive_batch([message])
    assert (owner.answers, owner.removal.under_way) == ([], 1)
    while owner.waiting:
        owner.waiting.pop()()
    assert [json.loads(body)["seq"] for _, body in owner.answers] == [10]
    assert (owner.contents.store.messages, owner.removal.under_way) == (1, 0)


def test_consumers_learn_of_a_purge() -> None:
    owner = Owner()
    for number in range(5):
        owner.publish(b"s.a", b"%d" % number)
    assert at_once(owner.removal.purging(keep=2)) == 3
    assert owner.consumer.reported[-1] == "after"
    assert len(owner.consumer.reported) > 1


@pytest.mark.usefixtures("_short_steps")
def test_a_stream_that_has_stopped_removes_nothing_more() -> None:
    owner = Owner()
    for number in range(9):
        owner.publish(b"s.a", b"%d" % number)
    outcomes: list[int | Exception] = []
    owner.removal.begin(owner.removal.purging(subject="s.a"), outcomes.append)
    owner.removal.stopped = True
    while owner.waiting:
        owner.waiting.pop()()
    assert isinstance(outcomes[0], StoreClosed)
    assert owner.contents.store.messages > 1
