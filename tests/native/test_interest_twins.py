"""Delivering to those who are interested in a subject that has no plan: compiled as in the plain function."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from lib.deliveries import Bucket, Interested, Receiver, Subscriber, deliver
from lib.publishes import Scan
from pyjs.native import deliveries
from pyjs.protocol.subject_tree import SubjectTree

_native = pytest.importorskip("pyjs.native._native", reason="there was no compiler")
BOTH = pytest.mark.parametrize("function", [_native.deliver_publishes, deliveries.deliver_publishes])


def published(subject: bytes, header: bytes = b"", reply: bytes = b"") -> Scan:
    sizes = b"%d 1" % len(header) if header else b"1"
    verb = b"H" * bool(header)
    frame = verb + b"PUB %b %b%b\r\n%b\r\n" % (subject, reply, sizes, header or b"x")
    return frame, 0, 512, 4096, 1 << 20, (b"PUB ", b"HPUB ")


@BOTH
@pytest.mark.parametrize(
    ("subject", "interested", "received"),
    [
        (b"k.1", [("k.*", [0, 1], False)], [0, 1]),
        (b"k.1", [("k.>", [0], False), ("*.1", [1], False), ("k.1", [2], False)], [0, 1, 2]),
        (b"k.1.2", [("k.*", [0], False), ("k.>", [1], False), ("k.*.3", [2], False)], [1]),
        (b"k", [("k.>", [0], False), ("*", [1], False)], [1]),
        (b"k.1", [(">", [0], False)], [0]),
        (b"k.1", [("k.*", [0], False), ("*.>", [3], False)], None),  # not as it is
        (b"k.1", [("k.*", [0], True)], None),  # a queue group
        (b"k.1", [("k.1", [0], True)], None),
        (b"k.1", [("k.2", [0], True)], []),
        (b"k.1", [], []),
        (b"$k.1", [(">", [0], False)], None),  # the server may serve it
        (b"_GR_.1", [(">", [0], False)], None),
        (b"GR_.1", [(">", [0], False)], [0]),
        (b"k..1", [(">", [0], False)], None),
        (b"k.*", [("k.*", [0], False)], None),
        (b"k.>", [("k.*", [0], False)], None),
        (b"k.*a", [("k.*", [0], False)], [0]),
        (b"k.", [("k.*", [0], False)], None),
        (b".k", [("*.k", [0], False)], None),
        (b"j.1", [("j.*", [0], False)], [0]),  # known to have no receiver for all
        (b"k.\xe9", [("k.\udce9", [0], False)], [0]),
        (b"k.\xe9", [("*.\udce9", [0], False)], [0]),
    ],
)
def test_who_is_interested_receives_without_a_plan(
    function: Any, subject: bytes, interested: list[Interested], received: list[int] | None
) -> None:
    (stop, count, _, _, _), receivers, flushed, _, seen = deliver(
        function, [], published(subject), interested=interested
    )
    assert (count, hash(subject) in seen) == ((1, True) if received is not None else (0, False))
    assert (stop > 0, sorted(flushed)) == (received is not None, received or [])
    for number in received or []:
        assert receivers[number][3] == [b"MSG %b %d " % (subject, number), b"1\r\nx\r\n"]


@BOTH
@pytest.mark.parametrize(
    ("count", "delivered"), [(16, True), (17, False)], ids=["as many as may be", "too many"]
)
def test_a_subject_of_many_has_a_plan(function: Any, count: int, delivered: bool) -> None:
    receiver = Receiver(0)
    tree: SubjectTree[Bucket] = SubjectTree()
    half = count // 2
    tree["k.*"] = Bucket([Subscriber(1, receiver) for _ in range(half)], {})
    tree["*.1"] = Bucket([Subscriber(2, receiver) for _ in range(count - half)], {})
    lookups: tuple[Any, ...] = {}, {}, b".", {b"k": None}, {}, {}, {}, {}, (tree.root, {}, {})
    data, pos, *limits = published(b"k.1")
    assert function(lookups, None, 0, b"#", [], [], 1, data, pos, *limits)[1] == delivered
    assert len(receiver.out) == 2 * count * delivered


@BOTH
@pytest.mark.parametrize(("depth", "delivered"), [(4, True), (5, False)])
def test_patterns_that_begin_alike_in_many_ways_need_a_plan(
    function: Any, depth: int, delivered: bool
) -> None:
    receiver = Receiver(0)
    tree: SubjectTree[Bucket] = SubjectTree()
    for ways in product("k*", repeat=depth):
        tree[".".join([*ways, "*"])] = Bucket([], {})
    tree[".".join(["k"] * depth + ["*"])] = Bucket([Subscriber(0, receiver)], {})
    lookups: tuple[Any, ...] = {}, {}, b".", {b".".join([b"k"] * depth): None}, {}, {}, {}, {}
    data, pos, *limits = published(b".".join([b"k"] * (depth + 1)))
    arguments = None, 0, b"#", [], [], 1, data, pos, *limits
    assert function((*lookups, (tree.root, {}, {})), *arguments)[1] == delivered


@BOTH
@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({}, 1),
        ({"leaving": True}, 0),
        ({"ways": {b"k.1": b"x"}}, 0),
        ({"ways": {b"k.2": b"x"}}, 1),
        ({"kind": 1}, 1),
    ],
)
def test_some_subjects_have_a_plan_in_any_case(function: Any, options: dict[str, Any], count: int) -> None:
    interested: list[Interested] = [("k.*", [0, 1], False)]
    assert deliver(function, [], published(b"k.1"), interested=interested, **options)[0][1] == count


@BOTH
@pytest.mark.parametrize(
    ("before", "plans", "after"),
    [(0, 0, 1), (7, 0, 8), (8, 0, 0), (8, 8192, 9), (63, 8192, 64), (64, 8192, 0), (9999, 8191, 0)],
)
@pytest.mark.parametrize("subject", [b"k.1", b"i.1"])
def test_a_subject_that_comes_often_needs_a_plan(
    function: Any, subject: bytes, before: int, plans: int, after: int
) -> None:
    key, interested = hash(subject), [("k.*", [0, 1], False)]
    known = {key: before} if before else {}
    (_, count, *_), *_, seen = deliver(
        function, [], published(subject), interested=interested, seen=known, many=plans
    )
    assert (count, seen) == (int(after > 0), {key: after})


@BOTH
@pytest.mark.parametrize("subject", [b"k.1", b"i.1"])
def test_what_came_before_is_forgotten_when_it_is_much(function: Any, subject: bytes) -> None:
    for known, kept in (
        (dict.fromkeys(range(8191), 1), 8192),
        (dict.fromkeys(range(8192), 1), 1),
        (dict.fromkeys(range(8191), 1) | {hash(subject): 1}, 8192),
    ):
        interested: list[Interested] = [("k.*", [0, 1], False)]
        *_, seen = deliver(function, [], published(subject), interested=interested, seen=known)
        assert len(seen) == kept


@BOTH
@pytest.mark.parametrize(("subject", "many", "count"), [(b"_k.1", 0, 0), (b"_k.1", 5000, 1), (b"_i.1", 0, 1)])
def test_who_receives_all_inboxes_of_a_client_is_found_out_first(
    function: Any, subject: bytes, many: int, count: int
) -> None:
    receivers: dict[bytes, Any] = {b"_i": None} | {b"inbox %d" % number: None for number in range(many)}
    lookups: tuple[Any, ...] = {}, {}, b".", receivers, {}, {}, {}, {}, (SubjectTree().root, {}, {})
    data, pos, *limits = published(subject)
    assert function(lookups, None, 0, b"#", [], [], 1, data, pos, *limits)[1] == count


@BOTH
def test_who_takes_no_headers_and_who_awaits_an_answer_from_nobody_needs_a_plan(function: Any) -> None:
    one: list[Interested] = [("k.*", [1], False)]  # receiver 1 takes no headers
    zero: list[Interested] = [("k.*", [0], False)]
    for interested, scan, count in (
        (one, published(b"k.1", b"N"), 0),
        (one, published(b"k.1"), 1),
        (zero, published(b"k.1", b"N"), 1),
        (zero, published(b"l.1"), 1),
        (zero, published(b"l.1", reply=b"r "), 0),
        (zero, published(b"k.1", reply=b"r "), 1),
    ):
        assert deliver(function, [], scan, interested=interested)[0][1] == count
