"""Receivers of inboxes: one that is found is what the sublist finds, whatever came and went before."""

from __future__ import annotations

from time import process_time

from hypothesis import given
from hypothesis import strategies as st
from lib.fake_clock import FakeClock
from pyjs.server.accounts import Account, ConnectionKind, Subscription, inbox_routes
from pyjs.server.accounts.flusher import Flusher, OutboundQueue
from pyjs.server.accounts.subscription import MessageEndpoint

PATTERNS = (
    "_I.a.*",
    "_I.*.*",
    "_I.*.1",
    "*.a.2",
    "_I.>",
    ">",
    "_I.a.1",
    "_I.*",
    "_I.a.*.c",
    "*.a.*",
    "$JS.ACK.*",
    "$JS.ACK.1",
)
SUBJECTS = (
    b"_I.a.1",
    b"_I.a.2",
    b"_I.b.1",
    b"_I.",
    b"_I.a",
    b"_I.a.",
    b"_I..1",
    b"one",
    b"$JS.ACK.1",
    b"_I.*.1",
    b"_GR_.1",
)


class Client(OutboundQueue, MessageEndpoint):
    """A connection that keeps what it is sent."""

    kind = ConnectionKind.CLIENT

    def __init__(self, flusher: Flusher, *, fast: bool = True) -> None:
        super().__init__(flusher)
        self.fast = fast
        self.headers = True
        self.outbound = self


def new_account() -> Account:
    return Account("A", Flusher(FakeClock()))


steps = st.tuples(
    st.sampled_from(["add", "add", "remove", "max", "leave", "ask", "ask"]),
    st.sampled_from(PATTERNS),
    st.sampled_from(["", "", "", "q"]),
    st.integers(0, 9),
)


@given(st.lists(steps, min_size=1, max_size=30), st.lists(st.booleans(), min_size=3, max_size=3))
def test_a_receiver_is_the_only_one_that_the_sublist_finds(
    steps: list[tuple[str, str, str, int]], fast: list[bool]
) -> None:
    account = new_account()
    clients = [Client(account.flusher, fast=one) for one in fast]
    present: list[Subscription] = []
    for what, pattern, queue, number in [*steps, ("ask", "", "", 0)]:
        if what == "add":
            present.append(Subscription(pattern, clients[number % 3], queue=queue, sid=b"%d" % number))
            account.add_subscription(present[-1])
        elif what == "remove" and present:
            account.remove_subscription(present.pop(number % len(present)))
        elif what == "max" and present:
            changed = present[number % len(present)]
            changed.max = number % 2
            account.subscription_changed(changed)
        elif what == "leave":
            account.leave(clients[number % 3])
        elif what == "ask":
            for subject in SUBJECTS:
                check(account, subject)


def check(account: Account, subject: bytes) -> None:
    found = account.inbox_routes.receiver(subject)
    plain, groups = account.sublist.match(subject.decode())
    takes_all = [each for each in plain if each.sink.fast and not each.max]
    if found is not None:
        assert takes_all == plain == [found[0]] and not groups
        assert found[1] is found[0].sink.outbound
        assert not subject.startswith((b"$", b"_GR_."))


def test_the_receiver_of_many_inboxes_is_found_once() -> None:
    account = new_account()
    client = Client(account.flusher)
    account.add_subscription(Subscription("_I.a.*", client, sid=b"1"))
    for number in range(100):
        account.publish_each([(b"_I.a.%d" % number, b"x")])
        assert account.publish(f"_I.a.{number}", b"y", header=b"NATS/1.0\r\n\r\n", reply="r") == 1
    assert not account.plans
    assert b"".join(client.out[:3]) == b"".join(
        (
            b"MSG _I.a.0 1 1\r\nx\r\n",
            b"HMSG _I.a.0 1 r 12 13\r\nNATS/1.0\r\n\r\ny\r\n",
        )
    )
    assert len(client.out) == 300


def test_a_receiver_without_headers_is_sent_none() -> None:
    account = new_account()
    client = Client(account.flusher)
    client.headers = False
    account.add_subscription(Subscription("_I.*", client, sid=b"1"))
    account.publish("_I.a", b"y", header=b"NATS/1.0\r\n\r\n")
    assert client.out == [b"MSG _I.a 1 ", b"1\r\ny\r\n"]


def test_a_literal_subscription_receives_its_inbox_too() -> None:
    account = new_account()
    one, other = Client(account.flusher), Client(account.flusher)
    account.add_subscription(Subscription("_I.*", one, sid=b"1"))
    account.publish("_I.a", b"x")
    account.add_subscription(Subscription("_I.a", other, sid=b"2"))
    account.publish("_I.a", b"y")
    account.publish("_I.b", b"z")
    assert other.out == [b"MSG _I.a 2 ", b"1\r\ny\r\n"]
    assert one.out[-2:] == [b"MSG _I.b 1 ", b"1\r\nz\r\n"]
    assert len(one.out) == 6


def test_it_holds_a_bounded_number() -> None:
    account = new_account()
    client = Client(account.flusher)
    account.add_subscription(Subscription(">", client, sid=b"1"))
    for number in range(3 * inbox_routes._MOST):
        account.publish(f"{number}.x", b"")
    assert len(account.inbox_routes.receivers) <= inbox_routes._MOST


def test_an_inbox_gets_a_place_in_the_cache_when_it_comes_again() -> None:
    account = new_account()
    client = Client(account.flusher)
    account.add_subscription(Subscription("_I.*", client, sid=b"1"))
    assert account.uncached_plan(b"_I.a", ConnectionKind.CLIENT).targets[0][0].sink is client
    account.uncached_plan(b"_I.b", ConnectionKind.CLIENT)
    assert not account.plans
    again = account.uncached_plan(b"_I.a", ConnectionKind.CLIENT)
    assert account.plans == {b"_I.a": again}


def test_a_receiver_is_found_at_once_however_many_patterns_there_are() -> None:
    account = new_account()
    client = Client(account.flusher)
    for number in range(20_000):
        account.add_subscription(Subscription(f"_I.{number}.*", client, sid=b"1"))
    began = process_time()
    for _ in range(200):
        account.inbox_routes.clear()
        assert account.inbox_routes.receiver(b"_I.x") is None
        assert account.inbox_routes.receiver(b"_I.7.x") is not None
    assert process_time() - began < 0.1  # a look at all patterns takes more than a millisecond
