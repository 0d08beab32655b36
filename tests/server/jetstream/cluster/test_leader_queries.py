"""What servers ask each other about streams, over a post that may be cut."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from lib.cluster import Box, Hands, Post
from lib.fake_clock import FakeClock
from pyjs.protocol.api.consumer import ConsumerInfo
from pyjs.protocol.api.stream import StreamConfig, StreamInfo
from pyjs.protocol.errors import api_error
from pyjs.server import slices
from pyjs.server.clock import SECOND
from pyjs.server.jetstream.cluster.leader_queries import ASK, LeaderQueries
from pyjs.server.jetstream.meta.responder import LeaderStatus


@dataclass
class FakeAsset:
    """A stream that somebody leads."""

    name: str
    leading: bool = True
    leader: LeaderStatus | None = None
    names: list[str] = field(default_factory=list)

    @property
    def assignment(self) -> FakeAsset:
        return self

    @property
    def stream(self) -> FakeAsset:
        return self

    @property
    def consumers(self) -> dict[str, str]:
        return dict.fromkeys([*self.names, "going"], "")

    def leads(self) -> bool:
        return self.leading

    def led(self) -> LeaderStatus | None:
        return self.leader

    def info(self) -> StreamInfo:
        return StreamInfo(config=StreamConfig(name=self.name))

    def consumer_info(self, name: str) -> ConsumerInfo:
        if name == "going":
            raise api_error("JSConsumerNotFoundErr")
        return ConsumerInfo(name=name)


class Places:
    """Questions of two servers, n1 and n2."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.post = Post(self.clock)
        self.assets: dict[str, dict[Any, Any]] = {"n1": {}, "n2": {}}
        self.questions = {}
        for node, assets in self.assets.items():
            made = LeaderQueries(node, Box(self.post, node), self.clock, Hands(self.clock), assets)
            made.start()
            self.questions[node] = made

    def hold(self, node: str, account: str, asset: FakeAsset) -> None:
        self.assets[node][account, asset.name] = asset

    def ask(self, kind: Any, stream: str = "", consumer: str = "", **more: Any) -> list[str]:
        """What n1 is told of account A within 5 s."""
        found: list[str] = []
        self.questions["n1"].ask(kind, "A", stream, consumer, lambda name, _: found.append(name), **more)
        self.clock.advance(5 * SECOND)
        assert self.clock.pending() == 0
        return sorted(found)


@pytest.fixture
def places() -> Places:
    return Places()


def test_leaders_tell_wherever_they_are(places: Places) -> None:
    places.hold("n1", "A", FakeAsset("HERE"))
    places.hold("n2", "A", FakeAsset("THERE", names=["c1", "c2"]))
    places.hold("n2", "A", FakeAsset("FOLLOWS", leading=False, leader=LeaderStatus("n9-1")))
    places.hold("n2", "B", FakeAsset("OTHER"))
    assert places.ask("SI") == ["HERE", "THERE"]
    assert places.ask("SI", "THERE") == ["THERE"]
    assert places.ask("SI", names=["HERE", "FOLLOWS"]) == ["HERE"]
    assert places.ask("CI", "THERE") == ["c1", "c2"]
    assert places.ask("CI", "THERE", "c2") == ["c2"]


def test_members_without_a_leader_tell_what_they_know_after_a_while(places: Places) -> None:
    places.hold("n2", "A", FakeAsset("LONG", leading=False, leader=LeaderStatus("", 11 * SECOND, True)))
    places.hold("n2", "A", FakeAsset("SHORT", leading=False, leader=LeaderStatus("", 9 * SECOND, True)))
    assert places.ask("SI") == ["LONG"]


def test_who_ends_it_is_told_nothing_more(places: Places) -> None:
    places.hold("n2", "A", FakeAsset("S"))
    found: list[str] = []
    end = places.questions["n1"].ask("SI", "A", "", "", lambda name, _: found.append(name))
    end()
    places.clock.advance(5 * SECOND)
    assert found == [] and places.clock.pending() == 0


def test_who_waits_is_told_once_by_whoever_serves_it(places: Places) -> None:
    told: list[Any] = []
    for _ in range(2):
        places.questions["n1"].when_up(("A", "S", ""), told.append)
    places.questions["n1"].when_up(("A", "S", "c"), lambda info: told.append(("c", info)))
    places.questions["n2"].say_up(("A", "S", ""), {"n": 1})
    places.clock.advance(SECOND)
    assert told == [{"n": 1}] * 2
    places.questions["n1"].say_up(("A", "S", "c"), {"n": 2})
    places.questions["n1"].say_up(("A", "S", "c"), {"n": 3})
    assert len(told) == 2  # not before what is being done now is done
    places.clock.advance(5 * SECOND)
    assert told[2:] == [("c", {"n": 2})] and places.clock.pending() == 0


def test_who_waits_in_vain_gets_nothing_after_a_while(places: Places) -> None:
    told: list[Any] = []
    places.questions["n1"].when_up(("A", "S", ""), told.append)
    cancel = places.questions["n1"].when_up(("A", "S", ""), lambda _: told.append("cancelled"))
    cancel()
    cancel()
    places.clock.advance(3 * SECOND)
    assert told == []
    places.clock.advance(2 * SECOND)
    assert told == [None]


def test_what_makes_no_sense_is_dropped(places: Places) -> None:
    box = places.post.boxes[1]
    for body in (b"", b"{", b"[]", b"{}", b"[1,2]"):
        for subject in (ASK, "$JSC.UP", "$JSC.TELL.n1"):
            box.publish(subject, body)
    places.clock.advance(SECOND)
    places.hold("n2", "A", FakeAsset("S"))
    assert places.ask("SI") == ["S"]


def test_a_stop_leaves_no_timer(places: Places) -> None:
    told: list[Any] = []
    questions = places.questions["n1"]
    questions.when_up(("A", "S", ""), told.append)
    questions.ask("SI", "A", "", "", lambda name, _: told.append(name))
    questions.stop()
    assert places.clock.pending() <= 2  # what is on its way to this server, and is not heard
    places.clock.advance(SECOND)
    assert told == [] and places.clock.pending() == 0


def test_who_leads_many_tells_them_in_slices(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    turn, seconds, told_in = 0, 0.0, list[int]()
    later = places.clock.call_later

    def counted(delay: int, callback: Any) -> Any:
        def run() -> None:
            nonlocal turn
            turn += 1
            callback()

        return later(delay, run)

    class Large(FakeAsset):
        def info(self) -> StreamInfo:
            nonlocal seconds
            seconds += slices.SECONDS
            told_in.append(turn)
            return super().info()

    monkeypatch.setattr(places.clock, "call_later", counted)
    monkeypatch.setattr(slices, "perf_counter", lambda: seconds)
    names = [f"S{number}" for number in range(10)]
    for name in names:
        places.hold("n2", "A", Large(name))
    assert places.ask("SI") == names
    assert len(set(told_in)) == 10
