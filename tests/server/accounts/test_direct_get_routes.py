"""Direct gets of one stream share a plan, but never when a subscriber can tell them apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.fake_clock import FakeClock
from pyjs.server.accounts import direct_get_routes
from pyjs.server.accounts.account import Account
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.accounts.plan import Plan
from pyjs.server.accounts.subscription import ConnectionKind, Publish, Subscription

CLIENT = ConnectionKind.CLIENT
GETS = "$JS.API.DIRECT.GET."


class Reader:
    """What reads a stream, and what it was given."""

    def __init__(self, account: Account, stream: str = "S") -> None:
        self.taken: list[Publish] = []
        self.subscriptions = [
            account.subscribe(subject, lambda _: None, queue="_sys_", batch_callback=self.taken.extend)
            for subject in (GETS + stream, f"{GETS}{stream}.>")
        ]


def new_account() -> Account:
    return Account("A", Flusher(FakeClock()))


def plan(account: Account, rest: str) -> Plan:
    return account.uncached_plan((GETS + rest).encode(), CLIENT)


def test_all_keys_of_a_stream_share_a_plan_that_is_no_entry_by_subject() -> None:
    account = new_account()
    reader, other = Reader(account), Reader(account, "T")
    found = plan(account, "S.a.b")
    assert found.batch_subscription is reader.subscriptions[1]
    assert all(plan(account, f"S.key.{number}") is found for number in range(100))
    assert plan(account, "T.a.b").batch_subscription is other.subscriptions[1]
    assert not account.plans
    assert plan(account, "S").batch_subscription is reader.subscriptions[0]


@pytest.mark.parametrize("rest", ["S.", "S..a", "S.a.", "S.a..b", ".a"])
def test_a_subject_with_an_empty_token_has_no_receiver(rest: str) -> None:
    account = new_account()
    Reader(account)
    plan(account, "S.a")
    assert plan(account, rest).silent


@pytest.mark.parametrize("other", ["S.>", "S.a.>", "S.a.b", "*.a.b", ">"])
def test_one_who_hears_some_of_them_ends_the_sharing(other: str) -> None:
    account = new_account()
    Reader(account)
    plan(account, "S.a.b")
    heard = account.subscribe(GETS + other, lambda _: None)
    for rest in ("S.a.b", "S.c"):
        assert plan(account, rest).batch_subscription is None or rest == "S.c"
    assert heard in plan(account, "S.a.b").plain
    account.unsubscribe(heard)
    assert plan(account, "S.a.b").batch_subscription is not None


def test_a_second_reader_shares_the_requests() -> None:
    account = new_account()
    readers = [Reader(account), Reader(account)]
    found = plan(account, "S.a")
    assert found.batch_subscription is None
    assert len(found.groups[0].members) == 2
    for one in readers[0].subscriptions:
        account.unsubscribe(one)
    assert plan(account, "S.a").batch_subscription is readers[1].subscriptions[1]


def test_a_leaf_is_served_message_by_message() -> None:
    account = new_account()
    Reader(account)
    found = plan(account, "S.a")
    assert found.targets_for == (None, None, None, None, None)
    assert [group.queue for group in found.groups] == [b"_sys_"]
    other = account.uncached_plan(f"{GETS}S.b".encode(), ConnectionKind.LEAF)
    assert (other.text, other.groups) == (f"{GETS}S.b", found.groups)


def test_it_holds_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_get_routes, "_MOST", 8)
    account = new_account()
    for number in range(30):
        plan(account, f"{number}.x")
    assert len(account.direct_get_routes.plans) <= 8


PATTERNS = ("S", "S.>", "S.a", "S.a.>", "S.*", "*.a", "T.>", "*.>", ">")
steps = st.tuples(
    st.sampled_from(["hear", "group", "read", "remove"]), st.sampled_from(PATTERNS), st.integers(0, 9)
)


@given(st.lists(steps, min_size=1, max_size=12))
def test_a_shared_plan_has_the_receivers_that_the_sublist_finds(steps: list[tuple[str, str, int]]) -> None:
    account = new_account()
    present: list[Subscription] = []
    for what, pattern, number in steps:
        if what == "remove" and present:
            account.unsubscribe(present.pop(number % len(present)))
        elif what == "hear":
            present.append(account.subscribe(GETS + pattern, lambda _: None))
        elif what == "group":
            present.append(account.subscribe(GETS + pattern, lambda _: None, queue="g"))
        elif what == "read":
            present.append(
                account.subscribe(
                    GETS + pattern, lambda _: None, queue="_sys_", batch_callback=lambda _: None
                )
            )
        for rest in ("S", "S.a", "S.b", "S.a.b", "T.a", "S..a"):
            found = plan(account, rest)
            plain, groups = account.sublist.match(GETS + rest)
            assert set(found.plain) == set(plain)
            assert {group.queue.decode(): set(group.members) for group in found.groups} == {
                queue: set(members) for queue, members in groups.items()
            }
            if found.batch_subscription is not None:
                assert [found.batch_subscription] == [
                    *plain,
                    *(one for each in groups.values() for one in each),
                ]
