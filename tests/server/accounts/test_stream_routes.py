"""The subjects of a stream share a plan, but never when a subscriber can tell them apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.fake_clock import FakeClock
from pyjs.server.accounts import stream_routes
from pyjs.server.accounts.account import Account
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.accounts.plan import Plan
from pyjs.server.accounts.subscription import ConnectionKind, Publish, Subscription

CLIENT = ConnectionKind.CLIENT


def new_account() -> Account:
    return Account("A", Flusher(FakeClock()))


def stream(account: Account, subject: str, taken: list[Publish] | None = None) -> Subscription:
    """What takes the publishes to a stream."""
    found = [] if taken is None else taken
    return account.subscribe(subject, lambda _: None, batch_callback=found.extend)


def plan(account: Account, subject: str) -> Plan:
    return account.uncached_plan(subject.encode(), CLIENT)


@pytest.mark.parametrize(
    ("pattern", "subjects"),
    [
        ("o.>", ["o.1", "o.2", "o.a.b", "o.c.d"]),
        ("o.*", ["o.1", "o.2"]),
        ("o.*.*", ["o.1.a", "o.2.b"]),
        ("*.*", ["o.1", "o.2", "p.1"]),
        (">", ["o.1", "p.q.r.s"]),
        ("$KV.B.>", ["$KV.B.x", "$KV.B.y", "$KV.B.a.b"]),
        ("o.p.>", ["o.p.1", "o.p.2", "o.p.a.b"]),
    ],
)
def test_all_subjects_of_a_stream_share_a_plan_that_is_no_entry_by_subject(
    pattern: str, subjects: list[str]
) -> None:
    account = new_account()
    found = stream(account, pattern)
    assert all(plan(account, subject).batch_subscription is found for subject in subjects)
    assert len(account.plans) <= len(
        {subject.split(".")[0] + str(subject.count(".")) for subject in subjects}
    )
    assert plan(account, subjects[0]) is plan(account, subjects[1]) or subjects[1].startswith("p")


@pytest.mark.parametrize(
    "subject", ["o", "o.", ".o", "o..a", "o.*", "o.>", "o" + ".a" * 16, "o." + "a" * 200]
)
def test_other_subjects_have_plans_of_their_own(subject: str) -> None:
    account = new_account()
    stream(account, "o.x.>")
    assert plan(account, subject).text == subject
    assert subject.encode() in account.plans


@pytest.mark.parametrize("pattern", ["$JS.>", "$SYS.>", "_INBOX.>", "$GR.>"])
def test_subjects_that_the_server_may_serve_share_none(pattern: str) -> None:
    account = new_account()
    stream(account, pattern)
    plan(account, pattern.replace(">", "a.b"))
    assert not any(account.stream_routes.plans.values())


@pytest.mark.parametrize("other", ["o.1.>", "o.1", "*.1", "o.*.x", ">"])
def test_one_who_hears_some_of_them_gets_them(other: str) -> None:
    account = new_account()
    stream(account, "o.>")
    assert plan(account, "o.1").batch_subscription is not None
    heard = account.subscribe(other, lambda _: None)
    for subject in ("o.1", "o.1.x", "o.2"):
        found = plan(account, subject)
        assert (heard in found.plain) == (heard in account.sublist.match(subject)[0])
        assert found.text == subject or found.batch_subscription is not None
    account.unsubscribe(heard)
    assert plan(account, "o.1").batch_subscription is not None


def test_a_leaf_gets_a_plan_of_its_own() -> None:
    account = new_account()
    stream(account, "o.>")
    plan(account, "o.1")
    assert account.uncached_plan(b"o.2", ConnectionKind.LEAF).text == "o.2"


def test_it_holds_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_routes, "_MOST", 8)
    account = new_account()
    for number in range(30):
        stream(account, f"{number}.*.y")
        stream(account, f"{number}.z.>")
    for number in range(30):
        plan(account, f"{number}.z.a")
        assert 1 <= len(account.stream_routes.plans) <= 8


def test_subjects_that_no_stream_receives_are_not_looked_up() -> None:
    account = new_account()
    account.subscribe("o.>", lambda _: None)
    for number in range(30):
        plan(account, f"o.{number}")
    assert not account.stream_routes.plans


def test_a_stream_of_another_shape_adds_no_entry_for_each_subject() -> None:
    account = new_account()
    found = stream(account, "o.*.y")
    for number in range(30):
        assert plan(account, f"o.{number}.y").batch_subscription is found
    assert account.stream_routes.plans == {b"o..": None}


PATTERNS = ("o", "o.>", "o.a", "o.a.>", "o.*", "*.a", "p.>", "*.>", ">", "o.*.*", "o.a.b", "$KV.B.>")
SUBJECTS = ("o", "o.a", "o.b", "o.a.b", "o.c.b", "p.a", "o..a", "$KV.B.k", "$KV.C.k")
steps = st.tuples(
    st.sampled_from(["hear", "group", "store", "remove"]), st.sampled_from(PATTERNS), st.integers(0, 9)
)


@given(st.lists(steps, min_size=1, max_size=12))
def test_a_shared_plan_has_the_receivers_that_the_sublist_finds(steps: list[tuple[str, str, int]]) -> None:
    account = new_account()
    present: list[Subscription] = []
    for what, pattern, number in steps:
        if what == "remove" and present:
            account.unsubscribe(present.pop(number % len(present)))
        elif what == "hear":
            present.append(account.subscribe(pattern, lambda _: None))
        elif what == "group":
            present.append(account.subscribe(pattern, lambda _: None, queue="g"))
        elif what == "store":
            present.append(stream(account, pattern))
        for subject in SUBJECTS:
            found = plan(account, subject)
            plain, groups = account.sublist.match(subject)
            assert set(found.plain) == set(plain)
            assert {group.queue.decode(): set(group.members) for group in found.groups} == {
                queue: set(members) for queue, members in groups.items()
            }
