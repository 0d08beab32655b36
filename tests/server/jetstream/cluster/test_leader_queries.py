"""What servers ask each other about streams, over a network that may be cut."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from lib.cluster import Bus, BusClient, ClockExecutor
from lib.fake_clock import FakeClock
from pyjs.protocol.api.consumer import ConsumerInfo
from pyjs.protocol.api.stream import StreamConfig, StreamInfo
from pyjs.protocol.errors import api_error
from pyjs.server import slices
from pyjs.server.clock import SECOND
from pyjs.server.jetstream.cluster.leader_queries import INFO_REQUEST, LeaderQueries
from pyjs.server.jetstream.meta.responder import LeaderStatus


@dataclass
class FakeLocalStream:
    """A stream that somebody leads."""

    name: str
    leading: bool = True
    leader: LeaderStatus | None = None
    names: list[str] = field(default_factory=list)

    @property
    def assignment(self) -> FakeLocalStream:
        return self

    @property
    def stream(self) -> FakeLocalStream:
        return self

    @property
    def consumers(self) -> dict[str, str]:
        return dict.fromkeys([*self.names, "going"], "")

    def leads(self) -> bool:
        return self.leading

    def leader_status(self) -> LeaderStatus | None:
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
        self.bus = Bus(self.clock)
        self.local_streams: dict[str, dict[Any, Any]] = {"n1": {}, "n2": {}}
        self.leader_queries = {}
        for node, local_streams in self.local_streams.items():
            made = LeaderQueries(
                node, BusClient(self.bus, node), self.clock, ClockExecutor(self.clock), local_streams
            )
            made.start()
            self.leader_queries[node] = made

    def hold(self, node: str, account: str, local: FakeLocalStream) -> None:
        self.local_streams[node][account, local.name] = local

    def ask(self, kind: Any, stream: str = "", consumer: str = "", **more: Any) -> list[str]:
        """What n1 receives about account A within 5 s."""
        found: list[str] = []
        self.leader_queries["n1"].ask(kind, "A", stream, consumer, lambda name, _: found.append(name), **more)
        self.clock.advance(5 * SECOND)
        assert self.clock.pending() == 0
        return sorted(found)


@pytest.fixture
def places() -> Places:
    return Places()


def test_leaders_answer_wherever_they_are(places: Places) -> None:
    places.hold("n1", "A", FakeLocalStream("HERE"))
    places.hold("n2", "A", FakeLocalStream("THERE", names=["c1", "c2"]))
    places.hold("n2", "A", FakeLocalStream("FOLLOWS", leading=False, leader=LeaderStatus("n9-1")))
    places.hold("n2", "B", FakeLocalStream("OTHER"))
    assert places.ask("SI") == ["HERE", "THERE"]
    assert places.ask("SI", "THERE") == ["THERE"]
    assert places.ask("SI", names=["HERE", "FOLLOWS"]) == ["HERE"]
    assert places.ask("CI", "THERE") == ["c1", "c2"]
    assert places.ask("CI", "THERE", "c2") == ["c2"]


def test_members_without_a_leader_answer_what_they_know_after_a_while(places: Places) -> None:
    places.hold("n2", "A", FakeLocalStream("LONG", leading=False, leader=LeaderStatus("", 11 * SECOND, True)))
    places.hold("n2", "A", FakeLocalStream("SHORT", leading=False, leader=LeaderStatus("", 9 * SECOND, True)))
    assert places.ask("SI") == ["LONG"]


def test_who_ends_it_receives_nothing_more(places: Places) -> None:
    places.hold("n2", "A", FakeLocalStream("S"))
    found: list[str] = []
    end = places.leader_queries["n1"].ask("SI", "A", "", "", lambda name, _: found.append(name))
    end()
    places.clock.advance(5 * SECOND)
    assert found == [] and places.clock.pending() == 0


def test_who_waits_receives_one_info_of_whoever_serves_it(places: Places) -> None:
    received: list[Any] = []
    for _ in range(2):
        places.leader_queries["n1"].when_served(("A", "S", ""), received.append)
    places.leader_queries["n1"].when_served(("A", "S", "c"), lambda info: received.append(("c", info)))
    places.leader_queries["n2"].announce_served(("A", "S", ""), {"n": 1})
    places.clock.advance(SECOND)
    assert received == [{"n": 1}] * 2
    places.leader_queries["n1"].announce_served(("A", "S", "c"), {"n": 2})
    places.leader_queries["n1"].announce_served(("A", "S", "c"), {"n": 3})
    assert len(received) == 2  # not before what is being done now is done
    places.clock.advance(5 * SECOND)
    assert received[2:] == [("c", {"n": 2})] and places.clock.pending() == 0


def test_who_waits_in_vain_gets_nothing_after_a_while(places: Places) -> None:
    received: list[Any] = []
    places.leader_queries["n1"].when_served(("A", "S", ""), received.append)
    cancel = places.leader_queries["n1"].when_served(("A", "S", ""), lambda _: received.append("cancelled"))
    cancel()
    cancel()
    places.clock.advance(3 * SECOND)
    assert received == []
    places.clock.advance(2 * SECOND)
    assert received == [None]


def test_what_makes_no_sense_is_dropped(places: Places) -> None:
    client = places.bus.clients[1]
    for body in (b"", b"{", b"[]", b"{}", b"[1,2]"):
        for subject in (INFO_REQUEST, "$JSC.UP", "$JSC.TELL.n1"):
            client.publish(subject, body)
    places.clock.advance(SECOND)
    places.hold("n2", "A", FakeLocalStream("S"))
    assert places.ask("SI") == ["S"]


def test_a_stop_leaves_no_timer(places: Places) -> None:
    received: list[Any] = []
    leader_queries = places.leader_queries["n1"]
    leader_queries.when_served(("A", "S", ""), received.append)
    leader_queries.ask("SI", "A", "", "", lambda name, _: received.append(name))
    leader_queries.stop()
    assert places.clock.pending() <= 2  # what is on its way to this server, and is not received
    places.clock.advance(SECOND)
    assert received == [] and places.clock.pending() == 0


def test_who_leads_many_sends_them_in_slices(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    turn, seconds, sent_in = 0, 0.0, list[int]()
    later = places.clock.call_later

    def counted(delay: int, callback: Any) -> Any:
        def run() -> None:
            nonlocal turn
            turn += 1
            callback()

        return later(delay, run)

    class Large(FakeLocalStream):
        def info(self) -> StreamInfo:
            nonlocal seconds
            seconds += slices.SECONDS
            sent_in.append(turn)
            return super().info()

    monkeypatch.setattr(places.clock, "call_later", counted)
    monkeypatch.setattr(slices, "perf_counter", lambda: seconds)
    names = [f"S{number}" for number in range(10)]
    for name in names:
        places.hold("n2", "A", Large(name))
    assert places.ask("SI") == names
    assert len(set(sent_in)) == 10
