"""Which subscriptions receive which messages: the table of rules, queue groups, leafs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from lib.fake_clock import FakeClock
from pyjs.protocol.wire.encode import tail
from pyjs.server.accounts import (
    INTERNAL,
    Account,
    ConnectionKind,
    Message,
    MessageEndpoint,
    RoutedMessage,
    Subscription,
)
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.accounts.routing import RULES, route


class Party(MessageEndpoint):
    """A source and sink of any kind that remembers what it was given."""

    def __init__(
        self, kind: ConnectionKind, cluster: str = "", *, spoke: bool = False, echo: bool = True
    ) -> None:
        self.kind = kind
        self.remote_cluster = cluster
        self.is_spoke = spoke
        self.echo = echo
        self.denied: set[str] = set()
        self.takes = True
        self.got: list[tuple[bytes, tuple[bytes, ...]]] = []

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        if self.takes:
            self.got.append((msg.shown or msg.subject, ()))
        return self.takes

    def may_send(self, subject: str) -> bool:
        return subject not in self.denied

    def deliver_to_server(self, msg: RoutedMessage, queues: tuple[bytes, ...]) -> bool:
        self.got.append((msg.subject, queues))
        return True

    def client_info(self, *, share: bool = True) -> dict[str, Any]:
        return {"acc": "A"}


@pytest.fixture
def account() -> Account:
    return Account("A", Flusher(FakeClock()))


def hears(account: Account, party: Party, subject: str, queue: str = "", weight: int = 1) -> Subscription:
    subscription = Subscription(subject, party, queue=queue, weight=weight)
    account.add_subscription(subscription)
    return subscription


def send(
    account: Account,
    source: Any,
    subject: bytes = b"s",
    queues: tuple[bytes, ...] | None = None,
    shown: bytes = b"",
) -> int:
    msg = RoutedMessage(source, subject, b"", 0, 1, tail(b"", b"", b"x"), shown)
    return route(account.plan(subject), msg, queues)


def test_the_table_covers_every_pair_of_kinds() -> None:
    sources = [kind for kind in ConnectionKind if kind is not ConnectionKind.IMPORT]
    assert set(RULES) == {(source, sink) for source in sources for sink in ConnectionKind}


def test_a_client_receives_itself_only_with_echo(account: Account) -> None:
    loud, quiet = Party(ConnectionKind.CLIENT), Party(ConnectionKind.CLIENT, echo=False)
    for party in (loud, quiet):
        hears(account, party, "s")
    assert send(account, loud) == 2
    assert send(account, quiet) == 1
    assert (len(loud.got), len(quiet.got)) == (2, 1)


def test_a_leaf_receives_neither_itself_nor_its_own_cluster(account: Account) -> None:
    a1, a2, b = (
        Party(ConnectionKind.LEAF, "a"),
        Party(ConnectionKind.LEAF, "a"),
        Party(ConnectionKind.LEAF, "b"),
    )
    for party in (a1, a2, b):
        hears(account, party, "s")
    assert send(account, a1) == 1
    assert (a1.got, a2.got, b.got) == ([], [], [(b"s", ())])


def test_leafs_without_a_cluster_receive_each_other(account: Account) -> None:
    one, two = Party(ConnectionKind.LEAF), Party(ConnectionKind.LEAF)
    hears(account, one, "s")
    hears(account, two, "s")
    assert send(account, one) == 1
    assert two.got


def test_one_frame_per_leaf_whatever_matches(account: Account) -> None:
    leaf = Party(ConnectionKind.LEAF)
    hears(account, leaf, "s")
    hears(account, leaf, ">")
    hears(account, leaf, "s", "q")
    hears(account, leaf, "*", "r")
    assert send(account, Party(ConnectionKind.CLIENT)) == 1
    assert leaf.got == [(b"s", (b"q", b"r"))]


def test_denied_subjects_do_not_leave_over_a_leaf(account: Account) -> None:
    leaf = Party(ConnectionKind.LEAF)
    leaf.denied = {"s"}
    hears(account, leaf, ">")
    assert send(account, INTERNAL) == 0
    assert send(account, INTERNAL, b"t") == 1


def test_routes_get_nothing_from_routes_and_leafs_of_hubs(account: Account) -> None:
    route_party, hub, spoke = (
        Party(ConnectionKind.ROUTER),
        Party(ConnectionKind.LEAF, spoke=True),
        Party(ConnectionKind.LEAF),
    )
    hears(account, route_party, "s")
    assert send(account, Party(ConnectionKind.ROUTER)) == 0
    assert send(account, hub) == 0
    assert send(account, spoke) == 1


def test_from_a_route_only_spokes_of_ours_receive(account: Account) -> None:
    hub, spoke = Party(ConnectionKind.LEAF, spoke=True), Party(ConnectionKind.LEAF)
    hears(account, hub, ">")
    hears(account, spoke, ">")
    send(account, Party(ConnectionKind.ROUTER))
    assert (hub.got, spoke.got) == ([], [(b"s", ())])
    send(account, Party(ConnectionKind.ROUTER), b"_R_.a.b")
    assert hub.got == [(b"_R_.a.b", ())]


def test_one_member_of_a_group_gets_each_message_and_all_get_some(account: Account) -> None:
    members = [Party(ConnectionKind.CLIENT) for _ in range(3)]
    for member in members:
        hears(account, member, "s", "q")
    for _ in range(300):
        assert send(account, INTERNAL) == 1
    assert min(len(m.got) for m in members) > 50


def test_the_member_that_serves_is_the_one_drawn() -> None:
    draws = iter([0.0, 0.49, 0.5, 0.99])
    account = Account("A", Flusher(FakeClock()), draw=lambda: next(draws))
    members = [Party(ConnectionKind.CLIENT) for _ in range(2)]
    for member in members:
        hears(account, member, "s", "q")
    served = []
    for _ in range(4):
        send(account, INTERNAL)
        served.append([len(member.got) for member in members])
    assert served == [[1, 0], [2, 0], [2, 1], [2, 2]]


def test_a_member_behind_a_route_is_drawn_as_often_as_it_weighs() -> None:
    draws = iter([0.0, 0.24, 0.25, 0.999])
    account = Account("A", Flusher(FakeClock()), draw=lambda: next(draws))
    near, far = Party(ConnectionKind.CLIENT), Party(ConnectionKind.ROUTER)
    hears(account, near, "s", "q")
    hears(account, far, "s", "q", weight=3)
    for _ in range(4):
        assert send(account, INTERNAL) == 1
    assert (len(near.got), len(far.got)) == (2, 2)


def test_a_member_that_cannot_take_it_leaves_it_to_another(account: Account) -> None:
    dead, live = Party(ConnectionKind.CLIENT), Party(ConnectionKind.CLIENT)
    dead.takes = False
    hears(account, dead, "s", "q")
    hears(account, live, "s", "q")
    for _ in range(20):
        assert send(account, INTERNAL) == 1
    assert len(live.got) == 20


def test_local_members_are_preferred_to_those_behind_leafs(account: Account) -> None:
    leaf, local = Party(ConnectionKind.LEAF), Party(ConnectionKind.CLIENT)
    hears(account, leaf, "s", "q", weight=50)
    member = hears(account, local, "s", "q")
    for _ in range(20):
        send(account, Party(ConnectionKind.CLIENT))
    assert (len(local.got), leaf.got) == (20, [])
    account.remove_subscription(member)
    send(account, Party(ConnectionKind.CLIENT))
    assert leaf.got == [(b"s", (b"q",))]


def test_weights_decide_between_leafs(account: Account) -> None:
    heavy, light = Party(ConnectionKind.LEAF, "a"), Party(ConnectionKind.LEAF, "b")
    hears(account, heavy, "s", "q", weight=9)
    hears(account, light, "s", "q", weight=1)
    for _ in range(500):
        send(account, INTERNAL)
    assert len(heavy.got) + len(light.got) == 500
    assert 10 <= len(light.got) <= 120


def test_a_weight_costs_nothing_however_large_it_is(account: Account) -> None:
    heavy, light, route = Party(ConnectionKind.LEAF), Party(ConnectionKind.LEAF), Party(ConnectionKind.ROUTER)
    hears(account, heavy, "s", "q", weight=2**62)
    hears(account, light, "s", "q", weight=1)
    hears(account, route, "r", "q", weight=2**62)
    for _ in range(10):
        send(account, Party(ConnectionKind.CLIENT), b"s")
        send(account, Party(ConnectionKind.CLIENT), b"r")
    assert (len(heavy.got), len(light.got), len(route.got)) == (10, 0, 10)


def test_a_message_from_a_leaf_serves_only_the_groups_it_names(account: Account) -> None:
    q, r, leaf = Party(ConnectionKind.CLIENT), Party(ConnectionKind.CLIENT), Party(ConnectionKind.LEAF)
    hears(account, q, "s", "q")
    hears(account, r, "s", "r")
    assert send(account, leaf, queues=()) == 0
    assert send(account, leaf, queues=(b"r",)) == 1
    assert (q.got, len(r.got)) == ([], 1)


def test_what_is_shown_may_differ_from_what_is_matched(account: Account) -> None:
    client = Party(ConnectionKind.CLIENT)
    hears(account, client, "deliver")
    seen: list[Message] = []
    account.subscribe("deliver", seen.append)
    assert account.publish("deliver", b"x", show_as="orders.1") == 2
    assert client.got == [(b"orders.1", ())]
    assert seen[0].subject == "orders.1"


def test_publish_counts_who_took_it(account: Account) -> None:
    got: Counter[str] = Counter()
    account.subscribe("a.*", lambda m: got.update([m.subject]))
    account.subscribe("a.>", lambda m: got.update([m.subject]), queue="q")
    assert account.publish("a.b", b"1", reply="r", header=b"NATS/1.0\r\nA: b\r\n\r\n") == 2
    assert account.publish("b") == 0
    assert got == {"a.b": 2}
    assert account.has_interest("a.x")
    assert not account.has_interest("b")


def test_a_subscriber_may_unsubscribe_others_while_it_receives(account: Account) -> None:
    heard: list[str] = []
    second: list[Subscription] = []

    def first(message: Message) -> None:
        heard.append("first")
        account.unsubscribe(second[0])

    account.subscribe("s", first)
    second.append(account.subscribe("s", lambda m: heard.append("second")))
    account.publish("s")
    assert heard == ["first"]
