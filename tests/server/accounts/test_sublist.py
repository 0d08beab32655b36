"""The trie and the plan cache against a linear scan."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st
from lib.fake_clock import FakeClock
from pyjs.protocol.subject import matches
from pyjs.server.accounts import Account, ConnectionKind, Subscription
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.accounts.sublist import Sublist
from pyjs.server.accounts.subscription import InternalEndpoint

TOKENS = st.sampled_from(["a", "b", "c", "b>", "*x"])
LITERAL = st.lists(TOKENS, min_size=1, max_size=4).map(".".join)
PATTERN = st.tuples(
    st.lists(TOKENS | st.just("*"), min_size=0, max_size=3), TOKENS | st.sampled_from(["*", ">"])
).map(lambda parts: ".".join([*parts[0], parts[1]]))
SINK = InternalEndpoint()


def account() -> Account:
    return Account("A", Flusher(FakeClock()))


def sub(subject: str, queue: str = "") -> Subscription:
    return Subscription(subject, SINK, queue=queue)


@given(
    st.lists(st.tuples(st.booleans(), PATTERN, st.sampled_from(["", "q", "r"])), max_size=40),
    st.lists(LITERAL, min_size=1, max_size=6),
)
def test_a_match_is_what_a_scan_finds(steps: list[tuple[bool, str, str]], subjects: list[str]) -> None:
    sublist = Sublist()
    subscriptions: list[Subscription] = []
    for adds, pattern, queue in steps:
        if adds or not subscriptions:
            subscriptions.append(sub(pattern, queue))
            sublist.insert(subscriptions[-1])
        else:
            gone = subscriptions.pop(len(pattern) % len(subscriptions))
            assert sublist.remove(gone)
            assert not sublist.remove(gone)
    assert len(sublist) == len(subscriptions)
    assert set(sublist) == set(subscriptions)
    for subject in subjects:
        plain, groups = sublist.match(subject)
        wanted = [s for s in subscriptions if matches(s.subject, subject)]
        assert set(plain) == {s for s in wanted if not s.queue}
        assert len(plain) == len(set(plain))
        for queue in ("q", "r"):
            assert set(groups.get(queue, [])) == {s for s in wanted if s.queue == queue}
        assert sublist.has_match(subject) == bool(wanted)
    for one in subscriptions:
        sublist.remove(one)
    assert not sublist._tree
    assert not sublist.literal


@given(st.lists(st.tuples(st.sampled_from("+-?"), PATTERN, LITERAL), max_size=40))
def test_a_cached_plan_is_never_stale(steps: list[tuple[str, str, str]]) -> None:
    here = account()
    subscriptions: list[Subscription] = []
    for action, pattern, literal in steps:
        if action == "+":
            subscriptions.append(here.subscribe(pattern, lambda message: None))
        elif action == "-" and subscriptions:
            here.unsubscribe(subscriptions.pop())
        plan = here.plan(literal.encode())
        assert set(plan.plain) == {s for s in subscriptions if matches(s.subject, literal)}
        assert here.plan(literal.encode()) is plan


def test_subjects_with_empty_tokens_find_nobody() -> None:
    sublist = Sublist()
    sublist.insert(sub(">"))
    sublist.insert(sub("a.*.b"))
    for subject in ("a..b", ".a", "a.", ""):
        assert sublist.match(subject) == ([], {})
        assert not sublist.has_match(subject)


def test_a_wildcard_in_a_published_subject_is_an_ordinary_token() -> None:
    sublist = Sublist()
    star, rest = sub("a.*"), sub("a.>")
    for one in (star, rest, sub("a.b")):
        sublist.insert(one)
    assert set(sublist.match("a.*")[0]) == {star, rest}
    assert set(sublist.match("a.>")[0]) == {star, rest}


def test_plans_stay_bounded() -> None:
    here = account()
    here.subscribe("x.>", lambda message: None)
    for i in range(20_000):
        here.plan(b"x.%d" % i)
    assert len(here.plans) <= 8192


def test_watchers_learn_of_every_change_with_the_count_after_it() -> None:
    here = account()
    seen: list[tuple[str, str, int, int]] = []
    watch = here.watch_interest(lambda c: seen.append((c.subject, c.queue, c.count, c.delta)))
    one = here.subscribe("a.*", lambda message: None)
    two = here.subscribe("a.*", lambda message: None)
    here.subscribe("a.*", lambda message: None, queue="q")
    here.unsubscribe(two)
    here.unsubscribe(two)
    here.unsubscribe(one)
    watch.cancel()
    here.subscribe("later", lambda message: None)
    assert seen == [
        ("a.*", "", 1, 1),
        ("a.*", "", 2, 1),
        ("a.*", "q", 1, 1),
        ("a.*", "", 1, -1),
        ("a.*", "", 0, -1),
    ]


def test_a_watch_of_one_subject_sees_only_that_one() -> None:
    here = account()
    seen: list[str] = []
    here.watch_interest(lambda c: seen.append(c.subject), subject="d.x")
    here.subscribe("e", lambda message: None)
    here.subscribe("d.*", lambda message: None)
    assert seen == ["d.*"]


def test_a_change_costs_what_is_sent_of_it() -> None:
    here = account()
    seen: list[str] = []
    for number in range(5000):
        here.watch_interest(lambda c: seen.append(c.subject), subject=f"d.{number}.x")
    began = time.thread_time()
    for number in range(500):
        here.unsubscribe(here.subscribe(f"d.{number}.*", lambda message: None))
    assert time.thread_time() - began < 0.5  # seconds; 5,000,000 comparisons take two
    assert len(seen) == 1000


def test_weights_of_remote_groups_count() -> None:
    here = account()
    seen: list[int] = []
    here.watch_interest(lambda c: seen.append(c.count))
    remote = Subscription("s", SINK, queue="q", weight=3)
    remote.kind = ConnectionKind.LEAF
    here.add_subscription(remote)
    here.set_weight(remote, 5)
    here.set_weight(remote, 1)
    assert seen == [3, 5, 1]


def test_plans_that_many_receive_are_fewer() -> None:
    acc = account()
    for _ in range(1000):
        acc.add_subscription(sub("a.*"))
    for number in range(500):
        acc.add_subscription(sub("b.*", f"queue{number % 3}"))
    for number in range(300):
        assert len(acc.plan(b"a.%d" % number).plain) == 1000
        assert len(acc.plan(b"b.%d" % number).groups) == 3
        assert sum(plan.subscription_count for plan in acc.plans.values()) <= (1 << 16) + 1500
    assert len(acc.plans) > 40
