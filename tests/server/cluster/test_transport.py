"""Transport and membership changes: damaged messages are dropped; which change of members comes next."""

from __future__ import annotations

from random import Random

import pytest
from lib.cluster import Bus, BusClient, ClockExecutor, Note
from lib.examples import seeds
from lib.fake_clock import FakeClock
from pyjs.raft import AppendEntries, Entry, EntryType, Heartbeat, Members, RaftMessage
from pyjs.server.cluster.announce import Announce, AnnounceError
from pyjs.server.cluster.membership_policy import MembershipView, next_members, surplus
from pyjs.server.cluster.ticker import TICK, Ticker
from pyjs.server.cluster.transport import ANNOUNCE, DELAY, RaftTransport


class Pair:
    """Two transports; what b has received."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.bus = Bus(self.clock)
        self.clients = {name: BusClient(self.bus, name) for name in ("aaaaaaaa", "bbbbbbbb")}
        self.tickers = {name: Ticker(self.clock) for name in self.clients}
        self.transports = {
            name: RaftTransport(name, client, ClockExecutor(self.clock), self.tickers[name], piece_bytes=300)
            for name, client in self.clients.items()
        }
        self.received: list[RaftMessage] = []
        self.announces: list[Announce] = []
        for transport in self.transports.values():
            transport.start()
        self.transports["bbbbbbbb"].subscribe_raft("g", self.received.append)
        self.transports["bbbbbbbb"].subscribe_announcements("g", self.announces.append)


def heartbeat(number: int) -> Heartbeat:
    return Heartbeat("aaaaaaaa-1", "bbbbbbbb-1", number, 0, 0, 0, False)


def test_messages_of_a_turn_travel_together_and_in_order() -> None:
    pair = Pair()
    for number in range(5):
        pair.transports["aaaaaaaa"].send("g", heartbeat(number))
    pair.transports["aaaaaaaa"].send("another", heartbeat(9))
    pair.clock.advance(10**9)
    assert [message.term for message in pair.received] == [0, 1, 2, 3, 4]
    assert pair.bus.published == 2  # 300 bytes are not enough for all six


def test_what_can_wait_goes_first_with_the_next_and_not_much_later() -> None:
    pair = Pair()
    sender, ticker = pair.transports["aaaaaaaa"], pair.tickers["aaaaaaaa"]
    sender.send("g", heartbeat(1), waits=True)
    pair.clock.advance(TICK)
    assert pair.received == []
    sender.send("g", heartbeat(2))
    pair.clock.advance(TICK)
    assert [message.term for message in pair.received] == [1, 2]
    ticker.add(lambda: None)
    sender.send("g", heartbeat(3), waits=True)
    pair.clock.advance((DELAY + 1) * TICK)
    assert [message.term for message in pair.received] == [1, 2, 3]
    assert pair.bus.published == 2


@pytest.mark.parametrize("size", [0, 250, 300, 301, 599, 5000])
def test_large_ones_arrive_whole(size: int) -> None:
    pair = Pair()
    data = Random(size).randbytes(size)
    message = AppendEntries("aaaaaaaa-1", "bbbbbbbb-1", 1, 0, 0, [Entry(1, EntryType.DATA, data)], 0, 1, 0)
    pair.transports["aaaaaaaa"].send("g", message)
    pair.clock.advance(10**9)
    assert pair.received == [message]
    assert pair.bus.largest < 400


@seeds(50)
def test_nonsense_is_dropped(seed: int) -> None:
    pair = Pair()
    random = Random(seed)
    pair.transports["aaaaaaaa"].send("g", heartbeat(1))
    sent: list[bytes] = []
    pair.clients["bbbbbbbb"].take = lambda subject, body: sent.append(body)  # type: ignore[method-assign]
    pair.clock.advance(10**9)
    body = bytearray(sent[0])
    for _ in range(3):
        body[random.randrange(len(body))] = random.randrange(256)
    cut = bytes(body[: random.randint(0, len(body))])
    for _, callback in pair.clients["bbbbbbbb"].subscriptions:
        callback(Note(cut))
    pair.transports["bbbbbbbb"].stop()
    assert pair.clients["bbbbbbbb"].subscriptions == []


def test_announcements_reach_all_and_bad_ones_nobody() -> None:
    pair = Pair()
    announce = Announce("g", "a", "SA", "", "aaaaaaaa-1", ("aaaaaaaa-1",), commit=3)
    pair.transports["aaaaaaaa"].announce(announce)
    pair.clients["aaaaaaaa"].publish(ANNOUNCE, b"\x02{}")
    pair.clients["aaaaaaaa"].publish(ANNOUNCE, b"\x02[1]")
    pair.clients["aaaaaaaa"].publish(ANNOUNCE, b"")
    pair.clock.advance(10**9)
    assert pair.announces == [announce]
    with pytest.raises(AnnounceError):
        Announce.decode(announce.encode().replace(b'"commit": 3', b'"commit": "3"'))


def fresh(member: str) -> Announce:
    return Announce("g", member[:1], f"S{member}", "", member)


@pytest.mark.parametrize(
    ("voters", "learners", "alive", "caught_up", "present", "wanted", "then"),
    [
        ("a-1 b-1 c-1", "", "b-1 c-1", "", "", None, None),
        ("a-1 b-1", "c-2", "b-1 c-2", "c-2", "", None, ("a-1 b-1 c-2", "")),
        ("a-1 b-1", "c-2", "b-1", "c-2", "", None, None),
        ("a-1 b-1 c-1", "", "b-1", "", "c-2", None, ("a-1 b-1", "")),
        ("a-1 b-1 c-1", "", "b-1 c-1", "", "c-2", None, None),
        ("a-1 b-1 c-1", "", "", "", "c-2", None, None),
        ("a-1 b-1", "", "b-1", "", "c-2", None, ("a-1 b-1", "c-2")),
        ("a-1 b-1", "", "b-1", "", "c-2", "a b", None),
        ("a-1 b-1 c-1", "", "b-1 c-1", "", "", "a b", ("a-1 b-1", "")),
    ],
)
def test_the_next_change(
    voters: str,
    learners: str,
    alive: str,
    caught_up: str,
    present: str,
    wanted: str | None,
    then: tuple[str, str] | None,
) -> None:
    view = MembershipView(
        "a-1",
        Members.of(voters.split(), learners.split()),
        frozenset(alive.split()),
        frozenset(caught_up.split()),
        tuple(fresh(member) for member in present.split()),
        None if wanted is None else frozenset(wanted.split()),
    )
    change = next_members(view)
    assert change == (None if then is None else Members.of(then[0].split(), then[1].split()))
    assert not surplus(view)
